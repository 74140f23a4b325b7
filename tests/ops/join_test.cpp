#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

namespace {

void expect_join_grad(const std::string& op, std::int64_t axis,
                      const std::vector<xg::Shape>& shapes) {
  std::vector<Variable<double>> parts;
  for (std::size_t i = 0; i < shapes.size(); ++i) parts.push_back(numbers(shapes[i], i + 1));
  if (op == "concat") {
    expect_grad(
        op, [axis](const auto& x) { return xg::concat(x, axis); }, parts);
  } else {
    expect_grad(
        op, [axis](const auto& x) { return xg::stack(x, axis); }, parts);
  }
}

}  // namespace

TEST_CASE("concat has the right gradients along every axis") {
  expect_join_grad("concat", 0, {{2, 3}, {1, 3}});
  expect_join_grad("concat", 1, {{2, 1, 2}, {2, 3, 2}, {2, 2, 2}});
  expect_join_grad("concat", -1, {{2, 3}, {2, 1}});
  expect_join_grad("concat", 0, {{3}});
  expect_join_grad("concat", 0, {{1}, {1}});
  expect_join_grad("concat", 0, {{0, 3}, {2, 3}});
  expect_join_grad("concat", 1, {{0, 3}, {0, 2}});
  expect_join_grad("concat", 0, std::vector<xg::Shape>(10, {1, 2}));
  test::exempt("concat", "0-D", "a 0-D array has no axis to join along");
}

TEST_CASE("stack has the right gradients along every axis") {
  for (std::int64_t axis : {0, 1, 2, -1}) expect_join_grad("stack", axis, {{2, 3}, {2, 3}});
  expect_join_grad("stack", 0, {{}, {}, {}});
  expect_join_grad("stack", 0, {{1}});
  expect_join_grad("stack", 1, {{0, 3}, {0, 3}});
}

TEST_CASE("a part that is joined twice gets both gradients") {
  expect_grad("concat",
              [](const auto& x) {
                return xg::concat({x[0], x[0]}, 1);
              },
              {numbers({2, 3})});
}

TEST_CASE_TEMPLATE("joined parts lie one after another", T, float, double) {
  const Variable<T> a({{1, 2}, {3, 4}});
  const Variable<T> b({{5, 6}, {7, 8}});
  CHECK_CLOSE(xg::concat({a, b}), {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
  CHECK_CLOSE(xg::concat({a, transpose(b)}, 1), {{1, 2, 5, 7}, {3, 4, 6, 8}});
  CHECK_CLOSE(xg::stack({a, b}, 1), {{{1, 2}, {5, 6}}, {{3, 4}, {7, 8}}});
  CHECK_CLOSE(xg::concat(split(a, 2, 1), 1), a);
}

TEST_CASE("S26: parts that do not fit are named errors, and change nothing") {
  using V = Variable<double>;
  const V a({{1, 2}, {3, 4}});
  CHECK_ERROR(xg::ArgumentError, "concat", xg::concat(std::vector<V>{}));
  CHECK_ERROR(xg::ArgumentError, "stack", xg::stack(std::vector<V>{}));
  CHECK_ERROR(xg::ArgumentError, "record", xg::stack(std::vector<V>(65536, V(1, true))));
  CHECK_ERROR(xg::ShapeError, "concat", xg::concat({a, V({1, 2})}));
  CHECK_ERROR(xg::ShapeError, "concat", xg::concat({a, V({{1, 2, 3}})}));
  CHECK_ERROR(xg::ShapeError, "concat", xg::concat({a, a}, 2));
  CHECK_ERROR(xg::ShapeError, "concat", xg::concat({V(1), V(2)}));
  CHECK_ERROR(xg::ShapeError, "stack", xg::stack({a, V({{1, 2}})}));
  CHECK_ERROR(xg::ShapeError, "stack", xg::stack({a, a}, 3));
  CHECK_ERROR(xg::GraphError, "concat", xg::concat({a, V()}));
  CHECK_ERROR(xg::GraphError, "stack", xg::stack({V(), a}));
  CHECK_CLOSE(a, {{1, 2}, {3, 4}});
}

TEST_CASE("S26: a joined axis too long for memory is an error") {
  const auto long_row = broadcast_to(Variable<double>({1}), std::int64_t{1} << 57);
  CHECK_ERROR(xg::AllocationError, "concat",
              xg::concat(std::vector<Variable<double>>(8, long_row)));
}
