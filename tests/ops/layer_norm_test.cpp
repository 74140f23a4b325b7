#include <cmath>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

TEST_CASE("layer_norm has the right gradients of input, weight and bias") {
  for (double eps : {1e-5, 0.125}) {
    for (const xg::Shape& shape :
         {xg::Shape{2, 2, 4}, {3, 5}, {4}, {2, 1}, {1, 1}, {0, 4}, {2, 0}}) {
      const auto d = shape.back();
      // Rows of one element are all eps, whose inverse root is too steep for differences.
      if (d == 1 && eps < 0.1) continue;
      expect_grad(
          "layer_norm", [eps](const auto& x) { return layer_norm(x[0], x[1], x[2], eps); },
          {numbers(shape, 1), numbers(d, 2), numbers(d, 3)}, test::Smoothness::kinked);
    }
  }
  test::exempt("layer_norm", "0-D", "it normalises along an axis");
}

TEST_CASE("S11: layer_norm has third derivatives") {
  using V = Variable<double>;
  const auto gradient = [](const std::vector<V>& in) {
    const V y = layer_norm(in[0], in[1], in[2], 0.1);
    return xg::grad(sum(y * y * y), in[0], {}, xg::create_graph)[0];
  };
  const auto report =
      xg::gradgradcheck<double>(gradient, {numbers({2, 4}), V({1, 2, 3, 4}), V({4, 3, 2, 1})});
  CHECK_MESSAGE(report.passed(), report.to_string());
}

TEST_CASE_TEMPLATE("rows of layer_norm have mean 0 and variance 1", T, float, double) {
  const Variable<T> x = xg::randn<T>({3, 300}, 4) * 7 + 1000;
  const Variable<T> y = layer_norm(x, xg::ones<T>(300), xg::zeros<T>(300), 1e-12);
  CHECK_CLOSE(mean(y, 1), {0, 0, 0}, {0, 2e-5});
  CHECK_CLOSE(var(y, 1), {1, 1, 1}, {1e-4, 0});
}

TEST_CASE_TEMPLATE("a constant row gives the bias, and a finite gradient", T, float, double) {
  // pyg-team/pytorch_geometric pull 2917
  Variable<T> x({{3, 3, 3, 3}}, true);
  const Variable<T> y = layer_norm(x, xg::ones<T>(4), xg::zeros<T>(4), 1e-5);
  CHECK_CLOSE(y, {{0, 0, 0, 0}}, test::exactly);
  y.backward({{1, 2, 3, 4}});
  for (T g : x.grad().to_vector()) CHECK(std::isfinite(g));
}

TEST_CASE("S26: bad shapes and eps are named errors, and change nothing") {
  using V = Variable<double>;
  const V x({{1, 2}, {3, 4}});
  const V w({1, 1});
  CHECK_ERROR(xg::ShapeError, "layer_norm", layer_norm(x, V({1}), w));
  CHECK_ERROR(xg::ShapeError, "layer_norm", layer_norm(x, w, x));
  CHECK_ERROR(xg::ShapeError, "layer_norm", layer_norm(V(1), w, w));
  CHECK_ERROR(xg::ArgumentError, "layer_norm", layer_norm(x, w, w, 0));
  CHECK_ERROR(xg::ArgumentError, "layer_norm", layer_norm(x, w, w, -1));
  CHECK_ERROR(xg::ArgumentError, "layer_norm",
              layer_norm(x, w, w, std::numeric_limits<double>::quiet_NaN()));
  CHECK_ERROR(xg::GraphError, "layer_norm", layer_norm(V(), w, w));
  CHECK_CLOSE(x, {{1, 2}, {3, 4}});
}
