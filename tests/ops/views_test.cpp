#include <cstdint>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

namespace {

template <class T>
bool share_memory(const Variable<T>& a, const Variable<T>& b) {
  const auto first = xg::detail::raw_view(a).memory;
  const auto second = xg::detail::raw_view(b).memory;
  return first.get() == second.get();
}

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("reshape, flatten, squeeze and unsqueeze have the right gradients") {
  const auto expect_reshape = [](const xg::Shape& from, const xg::Dims& to) {
    expect_grad("reshape", [to](const auto& x) { return reshape(x[0], to); }, {numbers(from)});
  };
  expect_reshape({2, 3, 2}, {6, 2});
  expect_reshape({2, 3, 2}, {3, -1});
  expect_reshape({6}, {-1, 2, 1});
  expect_reshape({1, 1}, {});
  expect_reshape({}, {1, 1});
  expect_reshape({0, 3}, {-1, 6});
  expect_reshape({2, 0, 2}, {4, 0});
  for (const xg::Shape& shape : test::shapes()) {
    expect_grad("flatten", [](const auto& x) { return flatten(x[0]); }, {numbers(shape)});
    expect_grad("unsqueeze", [](const auto& x) { return unsqueeze(x[0], 0); }, {numbers(shape)});
    expect_grad("unsqueeze", [](const auto& x) { return unsqueeze(x[0], -1); }, {numbers(shape)});
    expect_grad("squeeze", [](const auto& x) { return squeeze(x[0]); }, {numbers(shape)});
  }
  expect_grad("squeeze", [](const auto& x) { return squeeze(x[0]); }, {numbers({1, 2, 1, 3})});
  expect_grad("squeeze", [](const auto& x) { return squeeze(x[0], -2); }, {numbers({2, 1, 3})});
}

TEST_CASE("transpose, swapaxes and flip have the right gradients") {
  for (const xg::Shape& shape : test::shapes()) {
    expect_grad("transpose", [](const auto& x) { return transpose(x[0]); }, {numbers(shape)});
    expect_grad("flip", [](const auto& x) { return flip(x[0]); }, {numbers(shape)});
    if (shape.size() < 2) continue;
    expect_grad("swapaxes", [](const auto& x) { return swapaxes(x[0], 0, 1); }, {numbers(shape)});
  }
  expect_grad("transpose",
              [](const auto& x) {
                return transpose(x[0], {1, 2, 0});
              },
              {numbers({2, 3, 2})});
  expect_grad("transpose",
              [](const auto& x) {
                return transpose(x[0], {0, 2, 1, 3});
              },
              {numbers({2, 2, 2, 2})});
  expect_grad("swapaxes", [](const auto& x) { return swapaxes(x[0], -1, 1); },
              {numbers({2, 2, 3})});
  expect_grad("flip", [](const auto& x) { return flip(x[0], {0, -1}); }, {numbers({2, 2, 3})});
  test::exempt("swapaxes", "0-D", "a 0-D array has no axes to exchange");
}

TEST_CASE("slice and split have the right gradients") {
  const auto expect_slice = [](const xg::Shape& shape, std::int64_t axis, std::int64_t start,
                               std::int64_t stop, std::int64_t step) {
    expect_grad("slice", [=](const auto& x) { return slice(x[0], axis, start, stop, step); },
                {numbers(shape)});
  };
  expect_slice({5, 2}, 0, 1, 4, 1);
  expect_slice({2, 6}, 1, 0, xg::end, 2);
  expect_slice({2, 7}, -1, 6, 0, -3);
  expect_slice({5}, 0, -1, xg::end, -1);
  expect_slice({4, 2}, 0, 3, 1, 1);
  expect_slice({1, 1}, 0, 0, 1, 1);
  expect_slice({0, 3}, 1, 1, xg::end, 1);
  test::exempt("slice", "0-D", "a 0-D array has no axis to slice");

  const auto expect_split = [](const xg::Shape& shape, const xg::Sections& sections,
                               std::int64_t axis) {
    // Every part in one result, each with a factor of its own.
    expect_grad("split",
                [=](const auto& x) {
                  auto parts = split(x[0], sections, axis);
                  auto out = xg::sum(parts[0]) * 1;
                  for (std::size_t i = 1; i < parts.size(); ++i) {
                    out += xg::sum(parts[i] * parts[i]) * (i + 1);
                  }
                  return out;
                },
                {numbers(shape)});
    expect_grad("split", [=](const auto& x) { return split(x[0], sections, axis).back(); },
                {numbers(shape)});
  };
  expect_split({2, 6}, 3, 1);
  expect_split({4, 3}, 2, 0);
  expect_split({2, 7}, {2, 3}, -1);
  expect_split({5, 2}, {1, 1, 4}, 0);
  expect_split({1}, 1, 0);
  expect_split({0, 4}, 2, 1);
  test::exempt("split", "0-D", "a 0-D array has no axis to split");
}

TEST_CASE("broadcast_to has the right gradient") {
  const auto expect_broadcast = [](const xg::Shape& from, const xg::Dims& to) {
    expect_grad("broadcast_to", [to](const auto& x) { return broadcast_to(x[0], to); },
                {numbers(from)});
  };
  expect_broadcast({3}, {2, 3});
  expect_broadcast({2, 1, 3}, {2, 4, 3});
  expect_broadcast({3, 1}, {2, 3, 2});
  expect_broadcast({2, 3}, {2, 2, 3});
  expect_broadcast({}, {2, 3});
  expect_broadcast({1}, {1});
  expect_broadcast({2, 3}, {2, 3});
  expect_broadcast({1, 3}, {0, 3});
  expect_broadcast({0, 3}, {2, 0, 3});
}

TEST_CASE_TEMPLATE("views read the elements that NumPy's do", T, float, double) {
  const Variable<T> x({{1, 2, 3}, {4, 5, 6}});
  CHECK_CLOSE(reshape(x, {3, 2}), {{1, 2}, {3, 4}, {5, 6}});
  CHECK_CLOSE(reshape(transpose(x), {2, -1}), {{1, 4, 2}, {5, 3, 6}});
  CHECK_CLOSE(flatten(flip(x)), {6, 5, 4, 3, 2, 1});
  CHECK_CLOSE(transpose(x), {{1, 4}, {2, 5}, {3, 6}});
  CHECK_CLOSE(flip(x, 1), {{3, 2, 1}, {6, 5, 4}});
  CHECK_CLOSE(slice(x, 1, 0, xg::end, 2), {{1, 3}, {4, 6}});
  CHECK_CLOSE(slice(x, 1, xg::end, 0, -1), {{3, 2}, {6, 5}});
  CHECK_CLOSE(squeeze(unsqueeze(x, 1)), x);
  CHECK_CLOSE(split(x, {1}, 1)[1], {{2, 3}, {5, 6}});
  CHECK_CLOSE(broadcast_to(Variable<T>({{1}, {2}}), {2, 2, 2}),
              {{{1, 1}, {2, 2}}, {{1, 1}, {2, 2}}});
  CHECK(xg::transpose(xg::zeros<T>({2, 3, 2}), {1, 0, -1}).shape() == xg::Shape{3, 2, 2});
}

TEST_CASE_TEMPLATE("slices clamp as Python's do", T, float, double) {
  const Variable<T> x({0, 1, 2, 3, 4});
  CHECK_CLOSE(slice(x, 0, -2, xg::end), {3, 4});
  CHECK_CLOSE(slice(x, 0, -100, 100), x);
  CHECK_CLOSE(slice(x, 0, 100, -100, -2), {4, 2, 0});
  CHECK_CLOSE(slice(x, 0, 3, -2), xg::zeros<T>(0));
  CHECK_CLOSE(slice(x, 0, 3, -2, -1), xg::zeros<T>(0));
  CHECK_CLOSE(slice(x, 0, 3, -4, -1), {3, 2});
  CHECK_CLOSE(slice(x, 0, 5, xg::end), xg::zeros<T>(0));
  for (std::int64_t start : {kLeast, std::int64_t{1}, kMost}) {
    for (std::int64_t stop : {kLeast, std::int64_t{3}, kMost}) {
      for (std::int64_t step : {kLeast, kLeast + 1, std::int64_t{-1}, std::int64_t{1}, kMost}) {
        CHECK(slice(x, 0, start, stop, step).size() <= 5);
      }
    }
  }
  CHECK_CLOSE(slice(x, 0, 1, kMost, kMost), {1});
  CHECK_CLOSE(slice(x, 0, 3, kMost, kLeast), {3});
  CHECK_CLOSE(slice(slice(x, 0, 1, kMost, kMost), 0, 0, 1), {1});
}

TEST_CASE_TEMPLATE("S13: views share memory where strides allow it", T, float, double) {
  const Variable<T> x = xg::randn<T>({2, 3, 4}, 1);
  CHECK(share_memory(x, reshape(x, {6, 4})));
  CHECK(share_memory(x, flatten(x)));
  CHECK(share_memory(x, transpose(x)));
  CHECK(share_memory(x, swapaxes(x, 0, 1)));
  CHECK(share_memory(x, unsqueeze(x, 1)));
  CHECK(share_memory(x, squeeze(unsqueeze(x, 0))));
  CHECK(share_memory(x, slice(x, 0, 0, 1)));
  CHECK(share_memory(x, split(x, 2, 0)[0]));
  CHECK(share_memory(x, broadcast_to(x, {5, 2, 3, 4})));
  CHECK(share_memory(x, flip(flip(x))));
  // Merging and splitting axes that step evenly, in any direction.
  const Variable<T> columns = slice(x, 2, 0, xg::end, 2);
  CHECK(share_memory(columns, reshape(columns, {6, 2})));
  CHECK(share_memory(columns, flatten(columns)));
  const Variable<T> reversed = flip(flatten(x));
  CHECK(share_memory(reversed, reshape(reversed, {4, 3, 2})));
  const Variable<T> rows = slice(x, 1, 0, 2);
  CHECK(share_memory(rows, reshape(rows, {2, 2, 2, 2})));
  CHECK_FALSE(share_memory(rows, flatten(rows)));
  CHECK_FALSE(share_memory(transpose(x), flatten(transpose(x))));
}

TEST_CASE_TEMPLATE("S12, S13: a write shows in no view", T, float, double) {
  Variable<T> x({{1, 2}, {3, 4}});
  const Variable<T> t = transpose(x);
  const Variable<T> row = slice(x, 0, 0, 1);
  x.set_value({{5, 6}, {7, 8}});
  CHECK_CLOSE(t, {{1, 3}, {2, 4}});
  CHECK_CLOSE(row, {{1, 2}});
}

TEST_CASE("S26: bad shapes and axes are named errors, and change nothing") {
  using V = Variable<double>;
  const V x({{1, 2, 3}, {4, 5, 6}});
  CHECK_ERROR(xg::ShapeError, "reshape", reshape(x, {4, 2}));
  CHECK_ERROR(xg::ShapeError, "reshape", reshape(x, {-1, 4}));
  CHECK_ERROR(xg::ShapeError, "reshape", reshape(x, {-1, -1}));
  CHECK_ERROR(xg::ShapeError, "reshape", reshape(x, {-2, -3}));
  CHECK_ERROR(xg::ShapeError, "reshape", reshape(x, {}));
  CHECK_ERROR(xg::ShapeError, "reshape", reshape(xg::zeros<double>({0, 3}), {-1, 0}));
  CHECK_ERROR(xg::AllocationError, "reshape", reshape(x, {kMost, kMost}));
  CHECK_ERROR(xg::ShapeError, "transpose", transpose(x, {0, 0}));
  CHECK_ERROR(xg::ShapeError, "transpose", transpose(x, {0, -2}));
  CHECK_ERROR(xg::ShapeError, "transpose", transpose(x, 0));
  CHECK_ERROR(xg::ShapeError, "transpose", transpose(x, {0, 2}));
  CHECK_ERROR(xg::ShapeError, "swapaxes", swapaxes(x, 0, 2));
  CHECK_ERROR(xg::ShapeError, "swapaxes", swapaxes(V(1), 0, 0));
  CHECK_ERROR(xg::ShapeError, "squeeze", squeeze(x, 0));
  CHECK_ERROR(xg::ShapeError, "squeeze", squeeze(x, 2));
  CHECK_ERROR(xg::ShapeError, "unsqueeze", unsqueeze(x, 3));
  CHECK_ERROR(xg::ShapeError, "unsqueeze", unsqueeze(x, -4));
  CHECK_ERROR(xg::ShapeError, "slice", slice(x, 2, 0, 1));
  CHECK_ERROR(xg::ShapeError, "slice", slice(V(1), 0, 0, 1));
  CHECK_ERROR(xg::ArgumentError, "slice", slice(x, 0, 0, 1, 0));
  CHECK_ERROR(xg::ShapeError, "flip", flip(x, {0, 0}));
  CHECK_ERROR(xg::ShapeError, "flip", flip(x, kLeast));
  CHECK_ERROR(xg::ShapeError, "split", split(x, 2, 1));
  CHECK_ERROR(xg::ShapeError, "split", split(x, 0));
  CHECK_ERROR(xg::ShapeError, "split", split(x, -1));
  CHECK_ERROR(xg::ShapeError, "split", split(x, 2, 2));
  CHECK_ERROR(xg::ShapeError, "broadcast_to", broadcast_to(x, {2, 2}));
  CHECK_ERROR(xg::ShapeError, "broadcast_to", broadcast_to(x, 3));
  CHECK_ERROR(xg::ShapeError, "broadcast_to", broadcast_to(x, {-1, 3}));
  CHECK_ERROR(xg::AllocationError, "broadcast_to", broadcast_to(x, {kMost, 2, 3}));
  CHECK_CLOSE(x, {{1, 2, 3}, {4, 5, 6}});
}

TEST_CASE("S26: a view of an undefined variable is a GraphError") {
  const Variable<double> undefined;
  CHECK_ERROR(xg::GraphError, "reshape", reshape(undefined, 1));
  CHECK_ERROR(xg::GraphError, "flatten", flatten(undefined));
  CHECK_ERROR(xg::GraphError, "transpose", transpose(undefined));
  CHECK_ERROR(xg::GraphError, "swapaxes", swapaxes(undefined, 0, 1));
  CHECK_ERROR(xg::GraphError, "squeeze", squeeze(undefined));
  CHECK_ERROR(xg::GraphError, "unsqueeze", unsqueeze(undefined, 0));
  CHECK_ERROR(xg::GraphError, "slice", slice(undefined, 0, 0, 1));
  CHECK_ERROR(xg::GraphError, "flip", flip(undefined));
  CHECK_ERROR(xg::GraphError, "split", split(undefined, 1));
  CHECK_ERROR(xg::GraphError, "broadcast_to", broadcast_to(undefined, 1));
}

TEST_CASE_TEMPLATE("a slice's gradient adds to one that is shared, and leaves that as it is", T,
                   float, double) {
  xg::Variable<T> x({1, 2, 3}, true);
  xg::Variable<T> whole = xg::sum(x);  // its gradient is one number, repeated
  (xg::sum(xg::slice(x, 0, 0, 2) * 5) + whole).backward();
  CHECK_CLOSE(x.grad(), {6, 6, 1});
}
