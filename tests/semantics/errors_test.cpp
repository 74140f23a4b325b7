#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"

using test::exactly;
using xg::Mask;
using xg::Variable;

namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST_CASE_TEMPLATE("S26: wrong shapes are ShapeErrors", T, float, double) {
  using V = Variable<T>;
  const V m({{1, 2, 3}, {4, 5, 6}});
  CHECK_ERROR(xg::ShapeError, "add", m + V({1, 2}));
  CHECK_ERROR(xg::ShapeError, "sub", m - V({1, 2}));
  CHECK_ERROR(xg::ShapeError, "mul", m * V({{1}, {2}, {3}}));
  CHECK_ERROR(xg::ShapeError, "div", m / V({1, 2}));
  CHECK_ERROR(xg::ShapeError, "less", m < V({1, 2}));
  CHECK_ERROR(xg::ShapeError, "where", xg::where(m > 0, m, V({1, 2})));
  CHECK_ERROR(xg::ShapeError, "where", xg::where(Mask({true, false}), m, m));
  CHECK_ERROR(xg::ShapeError, "matmul", xg::matmul(m, m));
  CHECK_ERROR(xg::ShapeError, "matmul", xg::matmul(m, V(1)));
  CHECK_ERROR(xg::ShapeError, "matmul", xg::matmul(m, V({1, 2})));
  CHECK_ERROR(xg::ShapeError, "matmul", xg::matmul(xg::ones<T>({2, 3, 4}), xg::ones<T>({3, 4, 5})));
  CHECK_ERROR(xg::ShapeError, "reshape", xg::reshape(m, {4, 2}));
  CHECK_ERROR(xg::ShapeError, "reshape", xg::reshape(m, {-1, -1}));
  CHECK_ERROR(xg::ShapeError, "reshape", xg::reshape(m, {-1, 4}));
  CHECK_ERROR(xg::ShapeError, "reshape", xg::reshape(m, {-2, -3}));
  CHECK_ERROR(xg::ShapeError, "reshape", xg::reshape(m, {-1, 0}));
  CHECK_ERROR(xg::ShapeError, "broadcast_to", xg::broadcast_to(m, {3, 3}));
  CHECK_ERROR(xg::ShapeError, "broadcast_to", xg::broadcast_to(m, 3));
  CHECK_ERROR(xg::ShapeError, "broadcast_to", xg::broadcast_to(m, {-1, 3}));
  CHECK_ERROR(xg::ShapeError, "concat", xg::concat({m, V({{1, 2}})}, 1));
  CHECK_ERROR(xg::ShapeError, "concat", xg::concat({m, V({1, 2, 3})}));
  CHECK_ERROR(xg::ArgumentError, "concat", xg::concat(std::vector<V>()));
  CHECK_ERROR(xg::ShapeError, "stack", xg::stack({m, xg::transpose(m)}));
  CHECK_ERROR(xg::ArgumentError, "stack", xg::stack(std::vector<V>()));
  CHECK_ERROR(xg::ShapeError, "split", xg::split(m, 2, 1));
  CHECK_ERROR(xg::ShapeError, "split", xg::split(m, 0));
  CHECK_ERROR(xg::ShapeError, "split", xg::split(m, -1));
  CHECK_ERROR(xg::ShapeError, "squeeze", xg::squeeze(m, 0));
  CHECK_ERROR(xg::ShapeError, "transpose", xg::transpose(m, {0, 0}));
  CHECK_ERROR(xg::ShapeError, "transpose", xg::transpose(m, {0}));
  CHECK_ERROR(xg::ShapeError, "transpose", xg::transpose(m, {0, 1, 2}));
  CHECK_ERROR(xg::ShapeError, "sum", xg::sum(m, {0, -2}));
  CHECK_ERROR(xg::ArgumentError, "slice", xg::slice(m, 0, 0, 1, 0));
  CHECK_ERROR(xg::ShapeError, "item", m.item());
  CHECK_ERROR(xg::ShapeError, "at", m.at({0}));
  CHECK_ERROR(xg::ShapeError, "at", m.at({0, 0, 0}));
  CHECK_ERROR(xg::ShapeError, "at", m.at({2, 0}));
  CHECK_ERROR(xg::ShapeError, "at", m.at({0, -4}));
  CHECK_ERROR(xg::ShapeError, "at", m.at({least, most}));
  CHECK_ERROR(xg::ShapeError, "Variable", V({{1, 2}, {3}}));
  CHECK_ERROR(xg::ShapeError, "Variable", V({{1, 2}, 3}));
  CHECK_ERROR(xg::ShapeError, "Variable", V({1, {2, 3}}));
}

TEST_CASE_TEMPLATE("S26: wrong masks, heads and attention shapes are named errors", T, float,
                   double) {
  const auto x = xg::ones<T>({2, 3, 4});
  const auto w = xg::ones<T>({4, 4});
  const auto call = [&](std::int64_t heads, const Mask& mask) {
    return xg::multi_head_attention(x, x, x, w, w, w, w, heads, mask);
  };
  const char* op = "multi_head_attention";
  for (const std::int64_t heads : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{-2},
                                   std::int64_t{3}, std::int64_t{8}, most, least}) {
    CHECK_ERROR(xg::ArgumentError, op, call(heads, {}));
  }
  CHECK_ERROR(xg::MaskError, op, call(2, Mask({true, false})));
  CHECK_ERROR(xg::MaskError, op, call(2, Mask({3, 3, 3}, std::vector<bool>(27))));
  CHECK_ERROR(xg::MaskError, op, call(4, Mask({2, 2, 3, 3}, std::vector<bool>(36))));
  CHECK_ERROR(xg::MaskError, op, call(2, Mask({1, 2, 2, 3, 3}, std::vector<bool>(36))));
  CHECK_ERROR(xg::ShapeError, op, xg::multi_head_attention(w, x, x, w, w, w, w, 2));
  CHECK_ERROR(xg::ShapeError, op,
              xg::multi_head_attention(x, x, xg::ones<T>({2, 4, 4}), w, w, w, w, 2));
  CHECK_ERROR(
      xg::ShapeError, op,
      xg::multi_head_attention(x, xg::ones<T>({3, 3, 4}), xg::ones<T>({3, 3, 4}), w, w, w, w, 2));
  CHECK_ERROR(xg::ShapeError, op, xg::multi_head_attention(x, x, x, w, w, w, x, 2));
  CHECK_ERROR(xg::ShapeError, op,
              xg::multi_head_attention(x, x, x, xg::ones<T>({4, 5}), w, w, w, 2));
  CHECK_ERROR(xg::ShapeError, "attention_kernel", xg::attention_kernel(x, x, x));
  CHECK_ERROR(xg::MaskError, "masked_softmax", xg::masked_softmax(x, Mask({true, true})));
  CHECK_ERROR(xg::MaskError, "where", xg::where(Mask(), x, x));
  CHECK_ERROR(xg::MaskError, "&", Mask() & Mask({true}));
  CHECK_ERROR(xg::MaskError, "~", ~Mask());
  CHECK_ERROR(xg::ShapeError, "|", Mask({true, false}) | Mask({true, false, true}));
  CHECK_ERROR(xg::ShapeError, "Mask", Mask({{true}, {true, false}}));
  CHECK_ERROR(xg::ShapeError, "Mask", Mask({2, 2}, {true}));
  CHECK_ERROR(xg::ShapeError, "Mask", Mask({-1}, {}));
  CHECK_ERROR(xg::ShapeError, "at", Mask({true}).at({1}));
  CHECK_ERROR(xg::MaskError, "padding_mask", xg::padding_mask({1, 4}, 3));
  CHECK_ERROR(xg::MaskError, "padding_mask", xg::padding_mask({-1}, 3));
  CHECK_ERROR(xg::ShapeError, "causal_mask", xg::causal_mask(-1, 3));
}

TEST_CASE_TEMPLATE("S26: every use of an undefined variable is a GraphError", T, float, double) {
  using V = Variable<T>;
  V u;
  const V x({1, 2});
  CHECK_FALSE(u.defined());
  CHECK_ERROR(xg::GraphError, "shape", u.shape());
  CHECK_ERROR(xg::GraphError, "dim", u.dim());
  CHECK_ERROR(xg::GraphError, "size", u.size());
  CHECK_ERROR(xg::GraphError, "strides", u.strides());
  CHECK_ERROR(xg::GraphError, "is_contiguous", u.is_contiguous());
  CHECK_ERROR(xg::GraphError, "requires_grad", u.requires_grad());
  CHECK_ERROR(xg::GraphError, "set_requires_grad", u.set_requires_grad());
  CHECK_ERROR(xg::GraphError, "is_leaf", u.is_leaf());
  CHECK_ERROR(xg::GraphError, "set_name", u.set_name("u"));
  CHECK_ERROR(xg::GraphError, "name", u.name());
  CHECK_ERROR(xg::GraphError, "item", u.item());
  CHECK_ERROR(xg::GraphError, "at", u.at(0));
  CHECK_ERROR(xg::GraphError, "to_vector", u.to_vector());
  CHECK_ERROR(xg::GraphError, "set_value", u.set_value(x));
  CHECK_ERROR(xg::GraphError, "grad", u.grad());
  CHECK_ERROR(xg::GraphError, "set_grad", u.set_grad(x));
  CHECK_ERROR(xg::GraphError, "zero_grad", u.zero_grad());
  CHECK_ERROR(xg::GraphError, "detach", u.detach());
  CHECK_THROWS_AS(u.clone(), xg::GraphError);
  CHECK_ERROR(xg::GraphError, "retain_grad", u.retain_grad());
  CHECK_ERROR(xg::GraphError, "register_hook", u.register_hook([](const V& g) { return g; }));
  CHECK_ERROR(xg::GraphError, "backward", u.backward());
  CHECK_ERROR(xg::GraphError, "backward", u.backward(x));
  CHECK_ERROR(xg::GraphError, "grad", xg::grad(u, x));
  CHECK_ERROR(xg::GraphError, "grad", xg::grad(xg::sum(V({1}, true)), u));
  CHECK_ERROR(xg::GraphError, "add", u += x);
  CHECK_ERROR(xg::GraphError, "mul", u *= x);
  CHECK_ERROR(xg::GraphError, "add", x + u);
  CHECK_ERROR(xg::GraphError, "sub", u - x);
  CHECK_ERROR(xg::GraphError, "mul", u * 2);
  CHECK_ERROR(xg::GraphError, "div", 1 / u);
  CHECK_ERROR(xg::GraphError, "neg", -u);
  CHECK_ERROR(xg::GraphError, "less", u < x);
  CHECK_ERROR(xg::GraphError, "where", xg::where(x > 0, x, u));
  CHECK_ERROR(xg::GraphError, "exp", xg::exp(u));
  CHECK_ERROR(xg::GraphError, "log", xg::log(u));
  CHECK_ERROR(xg::GraphError, "sqrt", xg::sqrt(u));
  CHECK_ERROR(xg::GraphError, "sum", xg::sum(u));
  CHECK_ERROR(xg::GraphError, "mean", xg::mean(u));
  CHECK_ERROR(xg::GraphError, "softmax", xg::softmax(u));
  CHECK_ERROR(xg::GraphError, "log_softmax", xg::log_softmax(u));
  CHECK_ERROR(xg::GraphError, "masked_softmax", xg::masked_softmax(u, Mask({true})));
  CHECK_ERROR(xg::GraphError, "matmul", xg::matmul(x, u));
  CHECK_ERROR(xg::GraphError, "reshape", xg::reshape(u, 1));
  CHECK_ERROR(xg::GraphError, "flatten", xg::flatten(u));
  CHECK_ERROR(xg::GraphError, "transpose", xg::transpose(u));
  CHECK_ERROR(xg::GraphError, "swapaxes", xg::swapaxes(u, 0, 1));
  CHECK_ERROR(xg::GraphError, "squeeze", xg::squeeze(u));
  CHECK_ERROR(xg::GraphError, "unsqueeze", xg::unsqueeze(u, 0));
  CHECK_ERROR(xg::GraphError, "broadcast_to", xg::broadcast_to(u, 2));
  CHECK_ERROR(xg::GraphError, "flip", xg::flip(u));
  CHECK_ERROR(xg::GraphError, "slice", xg::slice(u, 0, 0, 1));
  CHECK_ERROR(xg::GraphError, "split", xg::split(u, 1));
  CHECK_ERROR(xg::GraphError, "concat", xg::concat({x, u}));
  CHECK_ERROR(xg::GraphError, "stack", xg::stack({u, x}));
  CHECK_ERROR(xg::GraphError, "attention_kernel", xg::attention_kernel(u, u, u));
  CHECK_ERROR(xg::GraphError, "multi_head_attention",
              xg::multi_head_attention(u, u, u, u, u, u, u, 1));
}

TEST_CASE_TEMPLATE("S26: sizes that overflow are errors", T, float, double) {
  using V = Variable<T>;
  const std::int64_t big = std::int64_t{1} << 22;
  const std::size_t all_bits = ~std::size_t{0};
  CHECK_ERROR(xg::AllocationError, "zeros", xg::zeros<T>({big, big, big}));  // 2^66 wraps to 4
  CHECK_ERROR(xg::AllocationError, "ones", xg::ones<T>({all_bits}));
  CHECK_ERROR(xg::AllocationError, "full", xg::full<T>({all_bits, all_bits}, 1));
  CHECK_ERROR(xg::AllocationError, "zeros", xg::zeros<T>({most, 2}));
  CHECK_ERROR(xg::AllocationError, "zeros", xg::zeros<T>({0, most, most}));
  CHECK_ERROR(xg::AllocationError, "randn", xg::randn<T>(most, 1));
  CHECK_ERROR(xg::AllocationError, "arange", xg::arange<T>(0, T(1e30)));
  CHECK_ERROR(xg::AllocationError, "allocate", xg::zeros<T>({1 << 20, 1 << 20}));
  CHECK_ERROR(xg::ShapeError, "zeros", xg::zeros<T>({least}));
  CHECK_ERROR(xg::ShapeError, "zeros", xg::zeros<T>({-1, -1}));
  CHECK_ERROR(xg::AllocationError, "broadcast_to", xg::broadcast_to(V(1), {big, big, big}));
  CHECK_ERROR(xg::AllocationError, "reshape", xg::reshape(V({1, 2, 3, 4}), {big, big, big}));
  const V row = xg::broadcast_to(V(1), {1, most / 64});
  const V column = xg::transpose(row);
  CHECK_ERROR(xg::AllocationError, "add", row + column);
  CHECK_ERROR(xg::AllocationError, "less", row < column);
  CHECK_ERROR(xg::AllocationError, "matmul", xg::matmul(column, row));
  CHECK_ERROR(xg::AllocationError, "concat", xg::concat(std::vector<V>(64, row), 1));
  CHECK_ERROR(xg::AllocationError, "allocate", row + 1);
  CHECK_ERROR(xg::AllocationError, "allocate", row.to_vector());
  CHECK_ERROR(xg::AllocationError, "causal_mask", xg::causal_mask(most, most));
  CHECK_ERROR(xg::AllocationError, "padding_mask", xg::padding_mask({1}, most));
  CHECK_ERROR(xg::AllocationError, "Mask", Mask({big, big, big}, {true, true, true, true}));
  CHECK_ERROR(xg::ShapeError, "zeros", xg::zeros<T>(xg::Shape(33, 1)));
  V deep = xg::ones<T>(xg::Shape(32, 1));
  CHECK_ERROR(xg::ShapeError, "reshape", xg::unsqueeze(deep, 0));
}

TEST_CASE_TEMPLATE("S26: an error comes before any memory is written", T, float, double) {
  using V = Variable<T>;
  V x({1, 2, 3}, true);
  V g({1, 1, 1});
  x.set_grad(g);
  CHECK_THROWS_AS(x.set_value(V({1, 2})), xg::ShapeError);
  CHECK_THROWS_AS(x.set_grad(V({1, 2})), xg::ShapeError);
  CHECK_THROWS_AS((x * 2).backward(V({1, 2})), xg::ShapeError);
  CHECK_THROWS_AS(x += V({1, 2}), xg::ShapeError);
  CHECK_CLOSE(x, {1, 2, 3}, exactly);
  CHECK_CLOSE(x.grad(), {1, 1, 1}, exactly);
}

TEST_CASE_TEMPLATE("S27: a constructor, operation or rule that throws leaves all variables alone",
                   T, float, double) {
  using V = Variable<T>;
  struct Throws final : xg::Op<T> {
    explicit Throws(V held) : held_(std::move(held)) {}
    std::string name() const override { return "throws"; }
    V forward(const std::vector<V>& in) const override {
      V input = in[0];
      input.set_value(V({9, 9}));  // reaches nobody
      throw std::runtime_error("forward");
    }
    std::vector<V> backward(const std::vector<V>&, const V&, V g,
                            const std::vector<bool>&) const override {
      return {g};
    }
    V held_;
  };
  V x({1, 2}, true);
  V y = x * 3;
  const V kept = y;
  const std::size_t nodes = xg::live_nodes();
  const std::vector<std::function<void()>> throwing = {
      [&] {
        y = V({{1}, {2, 3}});
      },
      [&] {
        y = y + V({1, 2, 3});
      },
      [&] {
        y += V({1, 2, 3});
      },
      [&] { y = xg::apply(std::make_shared<Throws>(y), {y}); },
      [&] { y = xg::apply(std::shared_ptr<Throws>(), {y}); },
      [&] {
        y = xg::concat({y, V()});
      },
      [&] { y = xg::zeros<T>(-1); },
      [&] {
        y.set_value(V({0, 0}));
      },
      [&] { y.set_requires_grad(false); },
  };
  for (const auto& f : throwing) {
    CHECK_THROWS(f());
    CHECK_CLOSE(y, {3, 6}, exactly);
    CHECK_CLOSE(x, {1, 2}, exactly);
    CHECK(y.requires_grad());
    CHECK(xg::live_nodes() == nodes);
  }
  xg::sum(y * kept).backward();
  CHECK_CLOSE(x.grad(), {18, 36}, exactly);
}
