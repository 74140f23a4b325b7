#include <cmath>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

TEST_CASE("exp, log and sqrt have the right gradients") {
  for (const xg::Shape& shape : test::shapes()) {
    expect_grad("exp", [](const auto& x) { return exp(x[0]); }, {numbers(shape)});
    expect_grad("log", [](const auto& x) { return log(x[0]); }, {numbers(shape, 1, 0.5, 3)});
    expect_grad("sqrt", [](const auto& x) { return sqrt(x[0]); }, {numbers(shape, 1, 0.5, 3)});
  }
}

TEST_CASE_TEMPLATE("exp, log and sqrt at the ends of their domains", T, float, double) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  CHECK_CLOSE(exp(Variable<T>({0, -inf, inf})), {1, 0, inf});
  CHECK_CLOSE(log(Variable<T>({1, 0, inf})), {0, -inf, inf});
  CHECK_CLOSE(sqrt(Variable<T>({4, 0, inf})), {2, 0, inf});
  CHECK(std::isnan(log(Variable<T>(-1)).item()));
  CHECK(std::isnan(sqrt(Variable<T>(-1)).item()));
}

TEST_CASE_TEMPLATE("S22: the derivatives of sqrt and log at 0 are infinite", T, float, double) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  Variable<T> x({0}, true);
  xg::sum(sqrt(x)).backward();
  CHECK_CLOSE(x.grad(), {inf});
  x.set_grad({});
  xg::sum(log(x)).backward();
  CHECK_CLOSE(x.grad(), {inf});
}

TEST_CASE_TEMPLATE("S21: a cotangent of zero meets an infinite derivative as zero", T, float,
                   double) {
  Variable<T> x({0, 4}, true);
  sqrt(x).backward({0, 1});
  CHECK_CLOSE(x.grad(), {0, 0.25});
  x.set_grad({});
  log(sqrt(x)).backward({0, 1});
  CHECK_CLOSE(x.grad(), {0, 0.125});
}

TEST_CASE("S26: an undefined variable is a GraphError of the operation") {
  const Variable<double> undefined;
  CHECK_ERROR(xg::GraphError, "exp", exp(undefined));
  CHECK_ERROR(xg::GraphError, "log", log(undefined));
  CHECK_ERROR(xg::GraphError, "sqrt", sqrt(undefined));
}
