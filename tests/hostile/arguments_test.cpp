#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include <xgrad/xtensor.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"

// What a notebook user can get wrong: each is an xg::Error, and the session goes on as it was.

using test::exactly;
using xg::Mask;
using xg::Variable;

namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

/// Calls every function; each throws an xg::Error, and x stays as it is.
template <class T>
void refuse_all(const Variable<T>& x, const std::vector<std::function<void()>>& calls) {
  const auto before = x.to_vector();
  const std::size_t nodes = xg::live_nodes();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CAPTURE(i);
    CHECK_THROWS_AS(calls[i](), xg::Error);
    CHECK(x.to_vector() == before);
    CHECK(xg::live_nodes() == nodes);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("memory that no machine has", T, float, double) {
  using V = Variable<T>;
  const V x({1, 2});
  constexpr std::int64_t k = 1 << 20;
  refuse_all<T>(x,
                {
                    [] {
                      xg::zeros<T>({k, k, k});
                    },
                    [] {
                      xg::zeros<T>({k, k});
                    },
                    [] { xg::zeros<T>(~std::size_t{0}); },
                    [] {
                      xg::zeros<T>({~std::size_t{0}, 0});
                    },
                    [] {
                      xg::ones<T>({k, 64, 1024, 16});
                    },
                    [] {
                      xg::randn<T>({kMost, kMost}, 1);
                    },
                    [] { xg::uniform<T>(std::vector<std::int64_t>(31, 1 << 20), 0, 1, 1); },
                    [] { xg::arange<T>(0, T(1e18)); },
                    [] { xg::arange<T>(0, 1, std::numeric_limits<T>::denorm_min()); },
                    [&] {
                      xg::broadcast_to(x, {k, k, 2}) + x;
                    },
                    [&] {
                      xg::exp(xg::broadcast_to(x, {k, k, 2}));
                    },
                    [&] {
                      xg::broadcast_to(x, {k, k, 2}).clone();
                    },
                    [&] {
                      xg::broadcast_to(x, {k, k, 2}).to_vector();
                    },
                    [&] {
                      xg::softmax(xg::broadcast_to(x, {k, k, 2}));
                    },
                    [&] {
                      xg::reshape(xg::broadcast_to(x, {k, k, 2}), -1);
                    },
                    [&] {
                      (void)(xg::broadcast_to(x, {k, k, 2}) < x);
                    },
                    [&] {
                      xg::concat({xg::broadcast_to(x, {k, k, 2}), xg::broadcast_to(x, {k, k, 2})});
                    },
                    [] { xg::causal_mask(1 << 24, 1 << 24); },
                    [] {
                      xg::padding_mask({1, 2}, kMost / 2);
                    },
                    [&] { xg::split(xg::slice(x, 0, 0, 0), kMost); },
                });
}

// Else a loop over the other extents would outlast any session.
TEST_CASE_TEMPLATE("arrays without elements take no time, whatever their other extents are", T,
                   float, double) {
  using V = Variable<T>;
  constexpr std::int64_t many = std::int64_t{1} << 50;
  const std::vector<std::function<V(const V&)>> functions = {
      [](const V& x) { return xg::softmax(x); },
      [](const V& x) { return xg::softmax(x, 1); },
      [](const V& x) { return xg::masked_softmax(x, Mask{true}); },
      [](const V& x) { return xg::cumsum(x, 0); },
      [](const V& x) { return xg::cumsum(x, 1); },
      [](const V& x) { return xg::cumsum(x, 2); },
      [](const V& x) { return xg::sum(x); },
      [](const V& x) { return xg::var(x); },
      [](const V& x) { return xg::logsumexp(x); },
      [](const V& x) { return xg::matmul(x, xg::swapaxes(x, 1, 2)); },
      [](const V& x) {
        return xg::matmul(x, xg::ones<T>({x.shape()[2], 3}));
      },
      [](const V& x) { return xg::einsum("bij->bj", {x}); },
  };
  for (const xg::Dims& shape : {xg::Dims{many, 0, 2}, {many, 2, 0}, {2, 0, many}, {0, 2, many}}) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
      CAPTURE(i);
      const V x = xg::zeros<T>(shape).set_requires_grad();
      try {
        const V y = functions[i](x);
        CHECK(xg::grad(xg::sum(y), x)[0].size() == 0);
      } catch (const xg::AllocationError&) {
        // A result that does have elements, too many.
      }
    }
  }
}

TEST_CASE_TEMPLATE("axes, indices and steps at the ends of their type", T, float, double) {
  using V = Variable<T>;
  const V x({{1, 2, 3}, {4, 5, 6}});
  for (const std::int64_t i :
       {kMost, kMost - 1, kLeast, kLeast + 1, std::int64_t{2}, std::int64_t{-3}}) {
    refuse_all<T>(
        x,
        {
            [&] { xg::sum(x, i); },
            [&] {
              xg::mean(x, {0, i});
            },
            [&] { xg::var(x, i); },
            [&] { xg::prod(x, i); },
            [&] { xg::max(x, i); },
            [&] { xg::min(x, i); },
            [&] { xg::logsumexp(x, i); },
            [&] { xg::cumsum(x, i); },
            [&] { xg::softmax(x, i); },
            [&] { xg::log_softmax(x, i); },
            [&] { xg::masked_softmax(x, Mask({true}), i); },
            [&] {
              xg::transpose(x, {i, 0});
            },
            [&] { xg::swapaxes(x, i, 0); },
            [&] { xg::squeeze(x, i); },
            [&] { xg::unsqueeze(x, i < 0 ? i - (i > kLeast ? 1 : 0) : i + (i < kMost ? 1 : 0)); },
            [&] { xg::flip(x, i); },
            [&] { xg::slice(x, i, 0, 1); },
            [&] { xg::split(x, 1, i); },
            [&] {
              xg::concat({x, x}, i);
            },
            [&] {
              xg::stack({x, x}, i < 0 ? i - (i > kLeast ? 1 : 0) : i + (i < kMost ? 1 : 0));
            },
            [&] {
              x.at({i, 0});
            },
            [&] {
              x.at({0, i < 0 ? (i < -3 ? i : -4) : (i > 2 ? i : 3)});
            },
            [&] { xg::take(x, {i}, 0); },
            [&] { xg::take(x, {0}, i); },
            [&] { xg::embedding(x, {i}); },
            [&] {
              xg::cross_entropy(x, {0, i < 0 ? i : i + (i < kMost ? 1 : 0)});
            },
        });
  }
}

TEST_CASE_TEMPLATE("slices clamp as Python's do", T, float, double) {
  const auto x = xg::arange<T>(0, 5);
  struct Case {
    std::int64_t start, stop, step;
    std::vector<T> want;
  };
  const std::vector<Case> cases = {
      {kLeast, kMost, 1, {0, 1, 2, 3, 4}},
      {kMost, kLeast, -1, {4, 3, 2, 1, 0}},
      {kLeast, kLeast, 1, {}},
      {kMost, kMost - 1, 1, {}},
      {0, xg::end, kMost, {0}},
      {-1, kLeast, kLeast, {4}},
      {-1, xg::end, kLeast, {4}},
      {3, 1, 1, {}},
      {1, 3, -1, {}},
      {-2, xg::end, 1, {3, 4}},
      {4, 0, -3, {4, 1}},
      {-100, 100, 2, {0, 2, 4}},
      {100, -100, -2, {4, 2, 0}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.start);
    CAPTURE(c.stop);
    CAPTURE(c.step);
    CHECK_CLOSE(xg::slice(x, 0, c.start, c.stop, c.step).to_vector(), c.want, exactly);
  }
  CHECK_ERROR(xg::ArgumentError, "slice", xg::slice(x, 0, 0, 5, 0));
  CHECK_ERROR(xg::ShapeError, "slice", xg::slice(Variable<T>(1), 0, 0, 1));
  const auto parts = xg::split(x, {kLeast, -2, kMost});
  CHECK(parts.size() == 4);
}

TEST_CASE_TEMPLATE("wrong ranks", T, float, double) {
  using V = Variable<T>;
  const V scalar(1);
  const V row({1, 2});
  const V m({{1, 2}, {3, 4}});
  const auto deep = xg::ones<T>(xg::Shape(32, 1));
  refuse_all<T>(m, {
                       [&] { xg::matmul(scalar, m); },
                       [&] { xg::matmul(m, scalar); },
                       [&] { xg::attention_kernel(m, m, m); },
                       [&] { xg::attention_kernel(scalar, row, deep); },
                       [&] { xg::scaled_dot_product_attention(m, m, m); },
                       [&] { xg::scaled_dot_product_attention(scalar, row, deep); },
                       [&] { xg::multi_head_attention(m, m, m, m, m, m, m, 1); },
                       [&] { xg::multi_head_attention_output(m, m, m, m, m, m, m, 1); },
                       [&] { xg::multi_head_attention(deep, deep, deep, m, m, m, m, 1); },
                       [&] { xg::sum(scalar, 0); },
                       [&] { xg::slice(scalar, 0, 0, 1); },
                       [&] { xg::split(scalar, 1); },
                       [&] {
                         xg::concat({scalar, scalar});
                       },
                       [&] { xg::swapaxes(row, 0, 1); },
                       [&] { xg::unsqueeze(deep, 0); },
                       [&] {
                         xg::stack({deep, deep});
                       },
                       [&] { xg::reshape(row, xg::Shape(40, 1)); },
                       [&] { xg::broadcast_to(row, xg::Shape(33, 2)); },
                       [&] { xg::zeros<T>(xg::Shape(1000, 1)); },
                       [&] { xg::softmax(scalar, 1); },
                       [&] { xg::cross_entropy(scalar, {0}); },
                       [&] { xg::layer_norm(scalar, row, row, 1e-5); },
                       [&] { xg::embedding(row, {0}); },
                       [&] { row.item(); },
                       [&] { row.backward(); },
                   });
  CHECK(xg::sum(deep * 2).item() == T(2));
  CHECK(xg::matmul(deep, deep).dim() == 32);
  CHECK(xg::transpose(deep).dim() == 32);
}

TEST_CASE_TEMPLATE("wrong numbers", T, float, double) {
  using V = Variable<T>;
  const V x({1, 2});
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T inf = std::numeric_limits<T>::infinity();
  refuse_all<T>(x, {
                       [] { xg::arange<T>(0, 1, 0); },
                       [] { xg::arange<T>(0, inf); },
                       [] { xg::arange<T>(nan, 1); },
                       [] { xg::uniform<T>(2, 1, 0, 1); },
                       [] { xg::uniform<T>(2, nan, 1, 1); },
                       [] { xg::uniform<T>(2, 0, inf, 1); },
                       [&] { xg::clip(x, 1, 0); },
                       [&] { xg::clip(x, nan, 0); },
                       [&] { xg::dropout(x, 1, 1); },
                       [&] { xg::dropout(x, -0.1, 1); },
                       [&] { xg::dropout(x, double(nan), 1); },
                       [] { xg::from_data<T>(nullptr, 3); },
                       [&] { xg::split(x, 0); },
                       [&] { xg::split(x, -2); },
                       [&] { xg::split(x, 3); },
                   });
}

TEST_CASE_TEMPLATE("backward and grad used wrongly", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  V unrelated({1, 2}, true);
  const V constant({1, 2});
  const V y = xg::sum(x * x);
  const V pair = x * 2;
  const auto all = [&](const std::vector<std::function<void()>>& calls) {
    refuse_all<T>(x, calls);
  };
  all({
      [&] {
        constant.backward(V({1, 1}));
      },
      [&] { xg::sum(constant).backward(); },
      [&] { pair.backward(); },
      [&] {
        pair.backward(V({1, 2, 3}));
      },
      [&] { pair.backward(V(1)); },
      [&] { y.backward(V({1})); },
      [&] { xg::grad(y, unrelated, {}, xg::retain_graph); },
      [&] { xg::grad(y, constant); },
      [&] { xg::grad(constant, x); },
      [&] { xg::grad(y, V()); },
      [&] { xg::grad(V(), x); },
      [&] {
        xg::grad(y, x, {V(1), V(1)});
      },
      [&] {
        xg::grad(std::vector<V>{y, pair}, x, {V(1)});
      },
      [&] {
        xg::grad(std::vector<V>{y, pair}, x);
      },
  });
  CHECK_FALSE(x.grad().defined());
  CHECK_FALSE(unrelated.grad().defined());
  const auto unused = xg::grad(y, {unrelated, x}, {}, xg::allow_unused | xg::retain_graph);
  CHECK_FALSE(unused[0].defined());
  CHECK_CLOSE(unused[1], {2, 4}, exactly);
  CHECK(xg::grad(y, std::vector<V>(), {}, xg::retain_graph).empty());
  CHECK(xg::grad(std::vector<V>(), std::vector<V>()).empty());
  y.backward();
  all({[&] { y.backward(); }, [&] { xg::grad(y, x); }, [&] { y.backward(xg::retain_graph); }});
  CHECK_CLOSE(x.grad(), {2, 4}, exactly);
}

TEST_CASE_TEMPLATE("self-assignment, moved-from and swapped variables", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  V& same = x;
  x = same;
  CHECK_CLOSE(x, {1, 2}, exactly);
  x = std::move(same);
  CHECK_CLOSE(x, {1, 2}, exactly);
  const V taken = std::move(x);
  CHECK_FALSE(x.defined());  // NOLINT: what a moved-from variable is
  CHECK_ERROR(xg::GraphError, "shape", x.shape());
  CHECK_ERROR(xg::GraphError, "add", x + taken);
  CHECK_ERROR(xg::GraphError, "add", x += taken);
  x = taken;
  for (int i = 0; i < 10; ++i) x += x;
  CHECK_CLOSE(x, {1024, 2048}, exactly);
  const auto& itself = x;
  x -= itself;
  x *= itself;
  xg::sum(x).backward();
  CHECK_CLOSE(taken.grad(), {0, 0}, exactly);
  // Given away and used in one call: the compiler orders the arguments, so either comes first.
  V z({3, 4});
  const V& alias = z;
  try {
    CHECK_CLOSE(std::move(z) + alias, {6, 8}, exactly);
  } catch (const xg::GraphError& error) {
    CHECK(std::string(error.what()).find("[add] undefined variable") == 0);
  }
}

TEST_CASE_TEMPLATE("set_value with itself, views of itself and expressions of itself", T, float,
                   double) {
  using V = Variable<T>;
  V x({1, 2, 3, 4});
  x.set_value(xg::flip(x));
  CHECK_CLOSE(x, {4, 3, 2, 1}, exactly);
  x.set_value(x);
  x.set_value(x.value());
  CHECK_CLOSE(x, {4, 3, 2, 1}, exactly);
  x.set_value(xg::concat({xg::slice(x, 0, 1, 4), xg::slice(x, 0, 0, 1)}));
  CHECK_CLOSE(x, {3, 2, 1, 4}, exactly);
  x.set_value(xg::broadcast_to(xg::slice(x, 0, 3, 4), 4));
  CHECK_CLOSE(x, {4, 4, 4, 4}, exactly);
  V y({1, 2}, true);
  y.set_value(y * 2);  // a result as a value: its graph is not taken over
  CHECK(y.is_leaf());
  CHECK_CLOSE(y, {2, 4}, exactly);
  xg::sum(y * y).backward();
  y.set_value(y.grad());
  CHECK_CLOSE(y, {4, 8}, exactly);
  y.set_grad(y);
  y.set_value(V({0, 0}));
  CHECK_CLOSE(y.grad(), {4, 8}, exactly);
}

TEST_CASE_TEMPLATE("update on the wrong variable, and a function that misuses it", T, float,
                   double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  V undefined;
  V result = x * 2;
  const auto fill = [](auto& values) { values.fill(0); };
  CHECK_ERROR(xg::GraphError, "update", undefined.update(fill));
  CHECK_ERROR(xg::GraphError, "update", result.update(fill));
  SUBCASE("it throws") {
    CHECK_THROWS_AS(x.update([](auto&) { throw 1; }), int);
    CHECK_CLOSE(x, {1, 2}, exactly);
  }
  SUBCASE("it drops the variable") {
    V y({1, 2});
    y.update([&](auto& values) {
      y = V();
      values.fill(7);
    });
    CHECK_FALSE(y.defined());
  }
  SUBCASE("it replaces the value") {
    x.update([&](auto& values) {
      x.set_value(V({8, 9}));
      values(0) = 7;
    });
    CHECK(x.at(1) == T(9));
  }
  SUBCASE("it updates the same variable") {
    x.update([&](auto& values) {
      x.update([](auto& inner) { inner.fill(3); });
      values(0) = 7;
    });
    CHECK(x.at(1) == T(3));
  }
}

TEST_CASE("functions, flags and lists that make no sense") {
  using V = Variable<double>;
  const V x({1, 2});
  CHECK_ERROR(xg::AllocationError, "reshape",
              xg::reshape(x, std::vector<unsigned long>{~0UL, ~0UL}));
  CHECK_THROWS_AS(xg::reshape(x, {2, ~0UL}), xg::Error);
  CHECK_THROWS_AS(xg::sum(x, std::vector<unsigned>{7U}), xg::Error);
  CHECK_THROWS_AS(xg::sum(x, std::vector<int>(100, 0)), xg::Error);
  CHECK_THROWS_AS(xg::transpose(x, std::vector<int>(100, 0)), xg::Error);
  CHECK_THROWS_AS(xg::apply(std::shared_ptr<xg::Op<double>>(), {x}), xg::Error);
}
