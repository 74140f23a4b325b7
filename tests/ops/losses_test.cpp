#include <cmath>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Indices;
using xg::Variable;

TEST_CASE("cross_entropy has the right gradient") {
  const auto expect_loss = [](const xg::Shape& shape, const Indices& targets) {
    expect_grad("cross_entropy", [&](const auto& x) { return cross_entropy(x[0], targets); },
                {numbers(shape)});
  };
  expect_loss({3, 4}, {1, 0, 3});
  expect_loss({2, 2, 3}, {{1, 2}, {0, 2}});
  expect_loss({4}, 2);
  expect_loss({1, 1}, {0});
  expect_loss({0, 3}, Indices(0, std::vector<int>{}));
  test::exempt("cross_entropy", "0-D", "logits have an axis of classes");
}

TEST_CASE("mse_loss has the right gradients") {
  for (const xg::Shape& shape : test::shapes()) {
    expect_grad("mse_loss", [](const auto& x) { return mse_loss(x[0], x[1]); },
                {numbers(shape, 1), numbers(shape, 2)});
  }
}

TEST_CASE_TEMPLATE("S19: cross_entropy is stable", T, float, double) {
  Variable<T> x({{1000, 0, -1000}, {-1000, 0, 1000}}, true);
  const Variable<T> loss = cross_entropy(x, {0, 0});
  CHECK_CLOSE(loss, Variable<T>(1000));
  loss.backward();
  CHECK_CLOSE(x.grad(), {{0, 0, 0}, {-0.5, 0, 0.5}});
}

TEST_CASE("S15: losses over nothing are NaN") {
  CHECK(std::isnan(mse_loss(xg::zeros<double>(0), xg::zeros<double>(0)).item()));
  CHECK(
      std::isnan(cross_entropy(xg::zeros<double>({0, 3}), Indices(0, std::vector<int>{})).item()));
}

TEST_CASE("S26: targets that are no class, and shapes that differ, are a ShapeError") {
  using V = Variable<double>;
  const V x({{1, 2, 3}, {4, 5, 6}});
  CHECK_ERROR(xg::ShapeError, "cross_entropy", cross_entropy(x, {0, -4}));  // pytorch#15508
  CHECK_ERROR(xg::ShapeError, "cross_entropy", cross_entropy(x, {0, -1}));
  CHECK_ERROR(xg::ShapeError, "cross_entropy", cross_entropy(x, {3, 0}));
  CHECK_ERROR(xg::ShapeError, "cross_entropy", cross_entropy(x, {0, 0, 0}));
  CHECK_ERROR(xg::ShapeError, "cross_entropy", cross_entropy(x, {{0}, {0}}));
  CHECK_ERROR(xg::ShapeError, "cross_entropy", cross_entropy(V(1), 0));
  CHECK_ERROR(xg::ShapeError, "mse_loss", mse_loss(x, V({1, 2, 3})));
  CHECK_ERROR(xg::GraphError, "cross_entropy", cross_entropy(V(), 0));
  CHECK_ERROR(xg::GraphError, "mse_loss", mse_loss(V(), V()));
  CHECK_CLOSE(x, {{1, 2, 3}, {4, 5, 6}});
}
