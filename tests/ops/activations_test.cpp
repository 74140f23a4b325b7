#include <cmath>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

TEST_CASE("sigmoid, relu, erf and gelu have the right gradients") {
  for (const xg::Shape& shape : test::shapes()) {
    const auto x = numbers(shape, 1, -3, 3);
    expect_grad("sigmoid", [](const auto& in) { return sigmoid(in[0]); }, {x});
    expect_grad("relu", [](const auto& in) { return relu(in[0]); }, {x});
    expect_grad("erf", [](const auto& in) { return erf(in[0]); }, {x});
    expect_grad("gelu", [](const auto& in) { return gelu(in[0]); }, {x});
  }
}

TEST_CASE_TEMPLATE("S22: the derivative of relu at 0 is 0", T, float, double) {
  Variable<T> x({-1, 0, 1}, true);
  xg::sum(relu(x)).backward();
  CHECK_CLOSE(x.grad(), {0, 0, 1}, test::exactly);
}

TEST_CASE("gelu is accurate in its far left tail, in float") {  // pytorch/pytorch#187806
  const Variable<float> y = gelu(Variable<float>({-5, -6, -10}));
  CHECK_CLOSE(y, {-1.43326e-6f, -5.9195e-9f, -7.62e-23f}, {1e-3, 0});
}

TEST_CASE_TEMPLATE("sigmoid is accurate in both tails", T, float, double) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  CHECK_CLOSE(sigmoid(Variable<T>({-inf, -1000, 0, 1000, inf})), {0, 0, 0.5, 1, 1});
  CHECK_CLOSE(sigmoid(Variable<T>({-40})), {std::exp(T(-40))}, {1e-5, 0});
  Variable<T> x({-1000, 1000}, true);
  xg::sum(sigmoid(x)).backward();
  CHECK_CLOSE(x.grad(), {0, 0});
}

TEST_CASE_TEMPLATE("activations at infinity and NaN", T, float, double) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  CHECK_CLOSE(erf(Variable<T>({-inf, 0, inf})), {-1, 0, 1});
  CHECK_CLOSE(relu(Variable<T>({-inf, inf})), {0, inf});
  CHECK(gelu(Variable<T>(inf)).item() == inf);
  CHECK(std::isnan(relu(Variable<T>(nan)).item()));
  CHECK(std::isnan(sigmoid(Variable<T>(nan)).item()));
}

TEST_CASE("S26: an undefined variable is a GraphError of the activation") {
  const Variable<double> undefined;
  CHECK_ERROR(xg::GraphError, "sigmoid", sigmoid(undefined));
  CHECK_ERROR(xg::GraphError, "relu", relu(undefined));
  CHECK_ERROR(xg::GraphError, "erf", erf(undefined));
  CHECK_ERROR(xg::GraphError, "gelu", gelu(undefined));
}
