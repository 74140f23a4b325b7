#include <cstdint>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Indices;
using xg::Variable;

TEST_CASE("take has the right gradient for indices of every rank, repeated and negative too") {
  const auto expect_take = [](const xg::Shape& shape, const Indices& indices, std::int64_t axis) {
    expect_grad("take", [&](const auto& x) { return take(x[0], indices, axis); }, {numbers(shape)});
  };
  expect_take({4, 3}, {2, 0, 2}, 0);
  expect_take({2, 5}, {{-1, 1}, {1, 1}}, 1);
  expect_take({2, 3, 2}, {1, 0}, -1);
  expect_take({2, 3, 2}, {2, -3}, 1);
  expect_take({4, 3}, 2, 0);
  expect_take({4, 3}, Indices(0, std::vector<int>{}), 0);
  expect_take({1}, {0, 0}, 0);
  expect_take({0, 3}, {1, 2}, 1);
  test::exempt("take", "0-D", "a 0-D array has no axis to take from");
}

TEST_CASE("embedding has the right gradient") {
  const auto expect_embedding = [](const xg::Shape& shape, const Indices& indices) {
    expect_grad("embedding", [&](const auto& x) { return embedding(x[0], indices); },
                {numbers(shape)});
  };
  expect_embedding({3, 2}, {0, 0, 2});
  expect_embedding({4, 3}, {{3, 1}, {1, 0}});
  expect_embedding({4, 3}, -1);
  expect_embedding({1, 1}, {0});
  expect_embedding({0, 3}, Indices(0, std::vector<int>{}));
  test::exempt("embedding", "0-D", "a table has two axes");
}

TEST_CASE_TEMPLATE("a row that is used twice gets both gradients", T, float, double) {
  Variable<T> table(xg::ones<T>({3, 2}).set_requires_grad());  // pytorch/pytorch#1528
  embedding(table, {0, 0, 2}).backward(xg::ones<T>({3, 2}));
  CHECK_CLOSE(table.grad(), {{2, 2}, {0, 0}, {1, 1}});
}

TEST_CASE_TEMPLATE("take follows NumPy's shapes", T, float, double) {
  const Variable<T> x({{1, 2, 3}, {4, 5, 6}});
  CHECK_CLOSE(take(x, {{2, 0}, {-1, 1}}, 1), {{{3, 1}, {3, 2}}, {{6, 4}, {6, 5}}});
  CHECK_CLOSE(take(x, 1, 0), {4, 5, 6});
}

TEST_CASE("indices can be read") {
  const Indices indices{{4, 0, 2}, {1, 1, 3}};
  CHECK(indices.shape() == xg::Shape{2, 3});
  CHECK(indices.dim() == 2);
  CHECK(indices.size() == 6);
  CHECK(indices.at({0, -1}) == 2);
  CHECK(indices.to_vector() == std::vector<std::int64_t>{4, 0, 2, 1, 1, 3});
  CHECK_ERROR(xg::ShapeError, "at", indices.at({0}));
  CHECK_ERROR(xg::ShapeError, "Indices", Indices({2, 2}, std::vector<int>{1, 2, 3}));
}

TEST_CASE("S26: bad indices, axes and tables are a ShapeError, and change nothing") {
  using V = Variable<double>;
  const V x({{1, 2, 3}, {4, 5, 6}});
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  CHECK_ERROR(xg::ShapeError, "take", take(x, {0, 2}, 0));
  CHECK_ERROR(xg::ShapeError, "take", take(x, -3, 0));
  CHECK_ERROR(xg::ShapeError, "take", take(x, least, 0));
  CHECK_ERROR(xg::ShapeError, "take", take(x, std::numeric_limits<std::uint64_t>::max(), 0));
  CHECK_ERROR(xg::ShapeError, "take", take(x, 0, 2));
  CHECK_ERROR(xg::ShapeError, "take", take(V(1), 0, 0));
  CHECK_ERROR(xg::ShapeError, "take", take(xg::zeros<double>({0, 3}), 0, 0));
  CHECK_ERROR(xg::ShapeError, "embedding", embedding(x, 2));
  CHECK_ERROR(xg::ShapeError, "embedding", embedding(V({1, 2}), 0));
  CHECK_ERROR(xg::GraphError, "take", take(V(), 0, 0));
  CHECK_ERROR(xg::GraphError, "embedding", embedding(V(), 0));
  CHECK_CLOSE(x, {{1, 2, 3}, {4, 5, 6}});
}
