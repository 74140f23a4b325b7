#include <cmath>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

TEST_CASE("sin, cos and tanh have the right gradients") {
  for (const xg::Shape& shape : test::shapes()) {
    const auto x = numbers(shape, 1, -3, 3);
    expect_grad("sin", [](const auto& in) { return sin(in[0]); }, {x});
    expect_grad("cos", [](const auto& in) { return cos(in[0]); }, {x});
    expect_grad("tanh", [](const auto& in) { return tanh(in[0]); }, {x});
  }
}

TEST_CASE_TEMPLATE("tanh saturates at both ends", T, float, double) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  Variable<T> x({-inf, -1000, 0, 1000, inf}, true);
  const Variable<T> y = tanh(x);
  CHECK_CLOSE(y, {-1, -1, 0, 1, 1});
  xg::sum(y).backward();
  CHECK_CLOSE(x.grad(), {0, 0, 1, 0, 0});
}

TEST_CASE_TEMPLATE("sin and cos of infinity are NaN", T, float, double) {
  CHECK(std::isnan(sin(Variable<T>(std::numeric_limits<T>::infinity())).item()));
  CHECK(std::isnan(cos(Variable<T>(-std::numeric_limits<T>::infinity())).item()));
}

TEST_CASE("S26: an undefined variable is a GraphError of sin, cos and tanh") {
  const Variable<double> undefined;
  CHECK_ERROR(xg::GraphError, "sin", sin(undefined));
  CHECK_ERROR(xg::GraphError, "cos", cos(undefined));
  CHECK_ERROR(xg::GraphError, "tanh", tanh(undefined));
}
