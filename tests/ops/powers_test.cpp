#include <cmath>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

TEST_CASE("square and pow have the right gradients") {
  for (const xg::Shape& shape : test::shapes()) {
    expect_grad("square", [](const auto& x) { return square(x[0]); }, {numbers(shape)});
    for (double p : {-2.0, -1.5, 0.0, 0.5, 1.0, 3.0}) {
      expect_grad("pow", [p](const auto& x) { return pow(x[0], p); }, {numbers(shape, 1, 0.5, 2)});
    }
    expect_grad("pow", [](const auto& x) { return pow(1.5, x[0]); }, {numbers(shape)});
    expect_grad("pow", [](const auto& x) { return pow(x[0], 3); }, {numbers(shape)});
  }
  for (const auto& [a, p] : std::vector<std::pair<xg::Shape, xg::Shape>>{
           {{2, 3}, {2, 3}}, {{3, 1}, {2}}, {{}, {2, 3}}, {{2, 3}, {}}, {{0, 3}, {1, 3}}}) {
    expect_grad("pow", [](const auto& x) { return pow(x[0], x[1]); },
                {numbers(a, 1, 0.5, 2), numbers(p, 2)});
  }
}

TEST_CASE_TEMPLATE("pow at zero and below", T, float, double) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  CHECK_CLOSE(pow(Variable<T>({0, 0, -2}), Variable<T>({0, 2, 3})), {1, 0, -8});
  CHECK(std::isnan(pow(Variable<T>(-2), 0.5).item()));
  Variable<T> a({0, 0, 0, -2}, true);
  Variable<T> p({0, 2, 0.5, 0}, true);
  xg::sum(pow(a, p)).backward();
  CHECK_CLOSE(a.grad(), {0, 0, inf, 0});
  CHECK_CLOSE(slice(p.grad(), 0, 0, 3), {0, 0, 0});
  CHECK(std::isnan(p.grad().at(3)));
}

TEST_CASE_TEMPLATE("S21: pow beside a branch not taken", T, float, double) {
  Variable<T> x({0, 4}, true);
  xg::sum(where(x > 0, pow(x, 0.5), 0)).backward();
  CHECK_CLOSE(x.grad(), {0, 0.25});
}

TEST_CASE_TEMPLATE("S12: backward differentiates what forward computed", T, float, double) {
  Variable<T> x(3, true);  // NVIDIA/warp#1350
  const Variable<T> y = square(x);
  x.set_value(Variable<T>(5));
  y.backward();
  CHECK(x.grad().item() == 6);
}

TEST_CASE("S26: bad operands of pow and square are named errors") {
  CHECK_ERROR(xg::ShapeError, "pow", pow(Variable<double>({1, 2, 3}), Variable<double>({1, 2})));
  CHECK_ERROR(xg::GraphError, "pow", pow(Variable<double>(), 2));
  CHECK_ERROR(xg::GraphError, "square", square(Variable<double>()));
}
