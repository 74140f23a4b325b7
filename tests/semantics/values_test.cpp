#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <xgrad/xtensor.hpp>

#if __has_include(<xtensor/views/xview.hpp>)
#include <xtensor/views/xview.hpp>
#else
#include <xtensor/xview.hpp>
#endif

#include "../support/allclose.hpp"
#include "../support/errors.hpp"
#include "../support/strided.hpp"

using test::exactly;
using xg::Variable;

TEST_CASE_TEMPLATE("S12: backward differentiates what forward computed", T, float, double) {
  using V = Variable<T>;
  V x(3, true);
  const V y = x * x;
  x.set_value(V(5));
  const V g = xg::grad(y, x, {}, xg::create_graph)[0];
  CHECK(g.item() == T(6));
  CHECK(xg::grad(g, x)[0].item() == T(2));
  CHECK(x.item() == T(5));
  y.backward(xg::create_graph);
  CHECK(x.grad().item() == T(6));
}

TEST_CASE_TEMPLATE("S12: whatever still uses the old memory keeps the old values", T, float,
                   double) {
  using V = Variable<T>;
  V x({1, 2, 3}, true);
  const V view = xg::slice(x, 0, 1, 3);
  const V same = x.detach();
  const auto expression = x.value();
  const V product = x * x;
  const auto write = [&](int how) {
    if (how == 0) x.set_value(V({7, 8, 9}));
    if (how == 1) x.update([](auto& values) { values.fill(4); });
    if (how == 2) x.set_value(xt::xarray<double>{4, 4, 4});
  };
  for (int how = 0; how < 3; ++how) {
    write(how);
    CHECK_CLOSE(view, {2, 3}, exactly);
    CHECK_CLOSE(same, {1, 2, 3}, exactly);
    CHECK(expression(0) == T(1));
    CHECK(expression(2) == T(3));
  }
  xg::sum(product).backward();
  CHECK_CLOSE(x.grad(), {2, 4, 6}, exactly);
  CHECK_CLOSE(x, {4, 4, 4}, exactly);
}

TEST_CASE_TEMPLATE("S12: a sole owner is written in place, anybody else on a copy", T, float,
                   double) {
  using V = Variable<T>;
  V x({1, 2, 3}, true);
  const T* const where = x.value().data();
  xg::sum(x * x).backward();
  x.set_value(V({4, 5, 6}));
  x.update([](auto& values) { values += 1; });
  CHECK(x.value().data() == where);
  {
    const V held = x * x;  // a graph that saved x
    x.update([](auto& values) { values += 1; });
    CHECK(x.value().data() != where);
  }
  CHECK_CLOSE(x, {6, 7, 8}, exactly);
  const V handle = x;  // a copy of the handle shares the value
  const T* const now = x.value().data();
  x.update([](auto& values) { values += 1; });
  CHECK(x.value().data() == now);
  CHECK_CLOSE(handle, {7, 8, 9}, exactly);
}

TEST_CASE_TEMPLATE("S12: elements that share memory are separate once written", T, float, double) {
  using V = Variable<T>;
  V x = xg::broadcast_to(V(1), {2, 2}).detach();
  x.update([](auto& values) { values(0, 1) = 5; });
  CHECK_CLOSE(x, {{1, 5}, {1, 1}}, exactly);
  V y = xg::broadcast_to(V({1, 2}), {2, 2}).detach();
  y.set_value(V({{1, 2}, {3, 4}}));
  CHECK_CLOSE(y, {{1, 2}, {3, 4}}, exactly);
}

TEST_CASE_TEMPLATE("S12: set_value reads what it writes over before it writes", T, float, double) {
  using V = Variable<T>;
  V x({1, 2, 3});
  x.set_value(xg::flip(x));
  CHECK_CLOSE(x, {3, 2, 1}, exactly);
  x.set_value(x);
  CHECK_CLOSE(x, {3, 2, 1}, exactly);
  x.set_value(xt::view(x.value(), xt::range(2, xt::placeholders::_, -1)));
  CHECK_CLOSE(x, {1, 2, 3}, exactly);
  V square({{1, 2}, {3, 4}});
  square.set_value(xg::transpose(square).detach());
  CHECK_CLOSE(square, {{1, 3}, {2, 4}}, exactly);
  square.set_value(xg::broadcast_to(xg::slice(square, 0, 1, 2), {2, 2}));
  CHECK_CLOSE(square, {{2, 4}, {2, 4}}, exactly);
}

TEST_CASE_TEMPLATE("S12: set_value is all or nothing", T, float, double) {
  using V = Variable<T>;
  V x({1, 2, 3}, true);
  CHECK_ERROR(xg::ShapeError, "set_value", x.set_value(V({1, 2})));
  CHECK_ERROR(xg::ShapeError, "set_value", x.set_value(V({{1, 2, 3}})));
  CHECK_ERROR(xg::ShapeError, "set_value", x.set_value(V(1)));
  CHECK_ERROR(xg::GraphError, "set_value", x.set_value(V()));
  const xt::xarray<double> wrong = {1, 2};
  CHECK_ERROR(xg::ShapeError, "set_value", x.set_value(wrong));
  CHECK_CLOSE(x, {1, 2, 3}, exactly);
}

TEST_CASE_TEMPLATE("S12: if the function given to update throws, its writes so far may stand", T,
                   float, double) {
  using V = Variable<T>;
  V x({1, 2, 3}, true);
  const V saved = x * x;
  const auto throws = [](auto& values) {
    values(0) = 9;
    throw std::runtime_error("stop");
  };
  CHECK_THROWS_AS(x.update(throws), std::runtime_error);
  CHECK(x.at(1) == T(2));
  CHECK(x.at(2) == T(3));
  xg::sum(saved).backward();
  CHECK_CLOSE(x.grad(), {2, 4, 6}, exactly);
  x.update([](auto& values) { values.fill(1); });
  CHECK_CLOSE(x, {1, 1, 1}, exactly);
}

TEST_CASE_TEMPLATE("S12: writing to a result is an error", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  V y = x * 2;
  CHECK_ERROR(xg::GraphError, "set_value", y.set_value(V({0, 0})));
  CHECK_ERROR(xg::GraphError, "update", y.update([](auto& values) { values.fill(0); }));
  CHECK_CLOSE(y, {2, 4}, exactly);
  V free = y.detach();
  free.set_value(V({0, 0}));
  CHECK_CLOSE(y, {2, 4}, exactly);
}

TEST_CASE_TEMPLATE("S13: no operation changes its inputs or a seed", T, float, double) {
  using V = Variable<T>;
  V a = xg::uniform<T>({2, 3, 4}, 0.5, 1.5, 1);
  V b = xg::uniform<T>({2, 4, 3}, 0.5, 1.5, 2);
  const auto a_before = a.to_vector();
  const auto b_before = b.to_vector();
  a.set_requires_grad();
  b.set_requires_grad();
  const xg::Mask mask = xg::causal_mask(3, 3);
  const std::vector<std::function<V()>> calls = {
      [&] { return a + a; },
      [&] { return a * xg::swapaxes(b, 1, 2); },
      [&] { return a / xg::swapaxes(b, 1, 2) - a; },
      [&] { return xg::matmul(a, b); },
      [&] { return xg::softmax(a, 1); },
      [&] { return xg::log_softmax(a, -1); },
      [&] { return xg::masked_softmax(xg::matmul(a, b), mask); },
      [&] { return xg::exp(xg::log(xg::sqrt(a))); },
      [&] {
        return xg::concat({a, a}, 1);
      },
      [&] { return xg::where(a > 1, a, -a); },
      [&] { return xg::mean(xg::flip(a), 1); },
      [&] { return xg::reshape(xg::transpose(a), {-1}); },
      [&] {
        return xg::broadcast_to(xg::unsqueeze(a, 0), {3, 2, 3, 4});
      },
  };
  for (const auto& call : calls) {
    const V y = call();
    V seed = xg::uniform<T>(y.shape(), -1, 1, 3);
    const auto seed_before = seed.to_vector();
    y.backward(seed);
    CHECK(a.to_vector() == a_before);
    CHECK(b.to_vector() == b_before);
    CHECK(seed.to_vector() == seed_before);
  }
}

TEST_CASE_TEMPLATE("S13: views share memory where strides allow it", T, float, double) {
  using V = Variable<T>;
  const V x = xg::arange<T>(0, 24);
  const auto shares = [&](const V& y) {
    const auto from = x.value();
    const auto to = y.value();
    return to.data() >= from.data() && to.data() < from.data() + 24;
  };
  const V cube = xg::reshape(x, {2, 3, 4});
  CHECK(shares(cube));
  CHECK(shares(xg::transpose(cube)));
  CHECK(shares(xg::slice(cube, 2, 3, xg::end, -2)));
  CHECK(shares(xg::split(cube, 3, 1)[2]));
  CHECK(shares(xg::squeeze(xg::unsqueeze(cube, 1))));
  CHECK(shares(xg::broadcast_to(cube, {5, 2, 3, 4})));
  CHECK(shares(xg::flip(cube)));
  // Split and merge of heads: a transpose in between is still free on the way in.
  CHECK(shares(xg::transpose(xg::reshape(cube, {2, 3, 2, 2}), {0, 2, 1, 3})));
  // Rows that lie apart can be split, not merged.
  const V columns = xg::slice(cube, 2, 0, 2);
  CHECK(shares(xg::reshape(columns, {6, 1, 2})));
  CHECK_FALSE(shares(xg::reshape(columns, {12})));
  CHECK_CLOSE(xg::reshape(columns, 12), {0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21}, exactly);
}

TEST_CASE_TEMPLATE("S14: results and gradients on any strides equal those of a contiguous copy", T,
                   float, double) {
  using V = Variable<T>;
  struct Case {
    const char* name;
    std::function<V(const V&)> f;
    bool exact;
  };
  const xg::Mask mask = xg::causal_mask(3, 4);
  const std::vector<Case> cases = {
      {"add", [](const V& x) { return x + x; }, true},
      {"chain", [](const V& x) { return xg::exp(-x) / (x + 2) - xg::sqrt(x) * x; }, true},
      {"where", [](const V& x) { return xg::where(x > 1, x * x, 1 / x); }, true},
      {"sum", [](const V& x) { return xg::sum(x, 1); }, false},
      {"mean",
       [](const V& x) {
         return xg::mean(x, {0, 2}, true);
       },
       false},
      {"softmax", [](const V& x) { return xg::softmax(x); }, false},
      {"softmax on axis 0", [](const V& x) { return xg::softmax(x, 0); }, false},
      {"log_softmax", [](const V& x) { return xg::log_softmax(x, 1); }, false},
      {"masked_softmax", [=](const V& x) { return xg::masked_softmax(x, mask); }, false},
      {"matmul", [](const V& x) { return xg::matmul(x, xg::swapaxes(x, 1, 2)); }, false},
      {"concat",
       [](const V& x) {
         return xg::concat({x, x * 2}, 1);
       },
       true},
      {"views",
       [](const V& x) {
         return xg::reshape(xg::slice(xg::transpose(x, {2, 0, 1}), 0, 3, 0, -2), {2, 6});
       },
       true},
  };
  const V plain = xg::uniform<T>({2, 3, 4}, 0.5, 2, 1);
  for (const test::Layout layout : test::kLayouts) {
    for (const Case& c : cases) {
      CAPTURE(test::name(layout));
      CAPTURE(std::string(c.name));
      V x = test::laid_out(plain, layout);
      REQUIRE(test::lies(x, layout));
      V copy = x.clone().detach();
      REQUIRE(copy.is_contiguous());
      x.set_requires_grad();
      copy.set_requires_grad();
      const V y = c.f(x);
      const V want = c.f(copy);
      const V seed = xg::uniform<T>(want.shape(), -1, 1, 2);
      y.backward(test::laid_out(seed, test::Layout::transposed));
      want.backward(seed);
      const auto tolerance = c.exact ? exactly : test::rounding<T>;
      CHECK_CLOSE(y, want, tolerance);
      CHECK_CLOSE(x.grad(), copy.grad(), tolerance);
    }
  }
}

TEST_CASE_TEMPLATE("S15: axes may be negative and are checked at the door", T, float, double) {
  using V = Variable<T>;
  const V x = xg::arange<T>(0, 6);
  const V m = xg::reshape(x, {2, 3});
  CHECK_CLOSE(xg::sum(m, -1), xg::sum(m, 1), exactly);
  CHECK_CLOSE(xg::softmax(m, -2), xg::softmax(m, 0), exactly);
  CHECK_CLOSE(xg::transpose(m, {-1, 0}), xg::transpose(m), exactly);
  CHECK_CLOSE(xg::concat({m, m}, -1), xg::concat({m, m}, 1), exactly);
  CHECK_CLOSE(xg::stack({m, m}, -1), xg::stack({m, m}, 2), exactly);
  CHECK_CLOSE(xg::unsqueeze(m, -1), xg::unsqueeze(m, 2), exactly);
  const std::int64_t least = std::numeric_limits<std::int64_t>::min();
  for (const std::int64_t axis : {std::int64_t{2}, std::int64_t{-3}, least, xg::end}) {
    CHECK_ERROR(xg::ShapeError, "sum", xg::sum(m, axis));
    CHECK_ERROR(xg::ShapeError, "mean", xg::mean(m, {0, axis}));
    CHECK_ERROR(xg::ShapeError, "softmax", xg::softmax(m, axis));
    CHECK_ERROR(xg::ShapeError, "log_softmax", xg::log_softmax(m, axis));
    CHECK_ERROR(xg::ShapeError, "concat", xg::concat({m, m}, axis));
    CHECK_ERROR(xg::ShapeError, "slice", xg::slice(m, axis, 0, 1));
    CHECK_ERROR(xg::ShapeError, "split", xg::split(m, 1, axis));
    CHECK_ERROR(xg::ShapeError, "swapaxes", xg::swapaxes(m, 0, axis));
    CHECK_ERROR(xg::ShapeError, "transpose", xg::transpose(m, {0, axis}));
    CHECK_ERROR(xg::ShapeError, "squeeze", xg::squeeze(m, axis));
    CHECK_ERROR(xg::ShapeError, "flip", xg::flip(m, axis));
  }
  CHECK_ERROR(xg::ShapeError, "unsqueeze", xg::unsqueeze(m, 3));
  CHECK_ERROR(xg::ShapeError, "unsqueeze", xg::unsqueeze(m, -4));
  CHECK_ERROR(xg::ShapeError, "stack", xg::stack({m, m}, 3));
}

TEST_CASE_TEMPLATE("S15: size 0 and 0-D work in every operation", T, float, double) {
  using V = Variable<T>;
  V none = xg::zeros<T>({2, 0});
  none.set_requires_grad();
  CHECK_CLOSE(xg::softmax(none), xg::zeros<T>({2, 0}), exactly);
  CHECK_CLOSE(xg::softmax(none, 0), xg::zeros<T>({2, 0}), exactly);
  CHECK_CLOSE(xg::log_softmax(none), xg::zeros<T>({2, 0}), exactly);
  CHECK_CLOSE(xg::masked_softmax(none, xg::Mask({true})), xg::zeros<T>({2, 0}), exactly);
  CHECK_CLOSE(xg::sum(none), V(0), exactly);
  CHECK_CLOSE(xg::sum(none, 1), {0, 0}, exactly);
  CHECK(xg::sum(none, 0).shape() == xg::Shape{0});
  CHECK(std::isnan(xg::mean(none).item()));
  CHECK_CLOSE(xg::prod(none, 1), {1, 1}, exactly);
  CHECK_CLOSE(xg::logsumexp(none, 1),
              V({-std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()}),
              exactly);
  CHECK(std::isnan(xg::var(none).item()));
  CHECK_ERROR(xg::ShapeError, "max", xg::max(none));
  CHECK_ERROR(xg::ShapeError, "min", xg::min(none, 1));
  CHECK_CLOSE(xg::matmul(none, xg::transpose(none)), {{0, 0}, {0, 0}}, exactly);
  CHECK_CLOSE(xg::concat({none, V({{1}, {2}})}, 1), {{1}, {2}}, exactly);
  xg::sum(xg::exp(none) * none + none / 2).backward();
  CHECK_CLOSE(none.grad(), xg::zeros<T>({2, 0}), exactly);

  V scalar(2, true);
  const V y = xg::softmax(scalar) + xg::log_softmax(scalar) + xg::sum(scalar) + xg::mean(scalar) +
              xg::transpose(scalar) + xg::reshape(scalar, {}) + xg::flatten(scalar) +
              xg::squeeze(scalar) + xg::flip(scalar) + xg::exp(scalar * 0) +
              xg::masked_softmax(scalar, xg::Mask(xg::Dims(), {true}));
  CHECK(y.shape() == xg::Shape{1});  // as flatten makes it
  CHECK(y.item() == T(1 + 0 + 2 * 7 + 1 + 1));
  y.backward();
  CHECK(scalar.grad().item() == T(7));
}

TEST_CASE_TEMPLATE("S16: broadcasting is NumPy's, and a gradient has its input's shape", T, float,
                   double) {
  const std::vector<xg::Shape> shapes = {{},     {1},       {3}, {2, 1},   {2, 3},
                                         {1, 3}, {4, 1, 1}, {0}, {4, 2, 3}};
  const auto broadcast = [](const xg::Shape& a, const xg::Shape& b, xg::Shape& out) {
    out.assign(std::max(a.size(), b.size()), 1);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
      const std::size_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
      if (x != y && x != 1 && y != 1) return false;
      out[out.size() - 1 - i] = x == 1 ? y : x;
    }
    return true;
  };
  for (const auto& sa : shapes) {
    for (const auto& sb : shapes) {
      auto a = xg::full<T>(sa, 2);
      auto b = xg::full<T>(sb, 3);
      a.set_requires_grad();
      b.set_requires_grad();
      xg::Shape want;
      if (!broadcast(sa, sb, want)) {
        CHECK_ERROR(xg::ShapeError, "mul", a * b);
        CHECK_ERROR(xg::ShapeError, "add", a + b);
        continue;
      }
      const auto y = a * b;
      CHECK_CLOSE(y, xg::full<T>(want, 6), exactly);
      xg::sum(y).backward();
      // Every element was used as often as any other.
      const auto uses = [&](const Variable<T>& x) { return double(y.size()) / double(x.size()); };
      CHECK_CLOSE(a.grad(), xg::full<T>(sa, T(3 * uses(a))), exactly);
      CHECK_CLOSE(b.grad(), xg::full<T>(sb, T(2 * uses(b))), exactly);
    }
  }
}

TEST_CASE_TEMPLATE("S17: every result has its inputs' type", T, float, double) {
  using V = Variable<T>;
  const V x({1, 2});
  const auto keeps = [](const auto&... results) {
    return (std::is_same_v<std::decay_t<decltype(results)>, V> && ...);
  };
  CHECK(keeps(x + 1, x + 2.0, 2.0 - x, 1 * x, x / 3.0L, x * 2.0f, 1u + x, 'a' * x));
  CHECK(keeps(xg::where(x > 1.5, x, 0.0), xg::where(x > 1, 0, x), xg::pow(x, 2), xg::pow(x, 0.5)));
  CHECK(keeps(xg::sum(x), xg::mean(x), xg::var(x), xg::max(x), xg::exp(x), xg::softmax(x)));
  CHECK(keeps(xg::maximum(x, 0.0), xg::minimum(1, x), xg::clip(x, 0, 1), xg::full<T>(2, 3.0)));
  CHECK(std::is_same_v<decltype(x.item()), T>);
  CHECK(std::is_same_v<typename std::decay_t<decltype(x.value())>::value_type, T>);
}

TEST_CASE_TEMPLATE("S17: a sum of 20,000,000 ones is exact, forward and in broadcast gradients", T,
                   float, double) {
  constexpr int n = 20000000;
  const auto x = xg::broadcast_to(Variable<T>(1), n);
  CHECK(xg::sum(x).item() == T(n));
  CHECK(xg::mean(x).item() == T(1));
  Variable<T> one(1, true);
  xg::broadcast_to(one, n).backward(x);
  CHECK(one.grad().item() == T(n));
}

TEST_CASE("S17: the error of a float sum does not grow with n") {
  for (const int n : {1000, 100000, 10000000}) {
    const auto x = xg::uniform<float>(n, 0, 1, 7);
    double want = 0;
    for (const float value : x.to_vector()) want += value;
    CHECK(std::abs(xg::sum(x).item() - want) < 3e-7 * want);
    CHECK(std::abs(xg::mean(x).item() - want / n) < 3e-7);
    CHECK(std::abs(xg::cumsum(x, 0).at(-1) - want) < 1e-6 * want);
    double squares = 0;
    for (const float value : x.to_vector()) squares += std::pow(value - want / n, 2);
    CHECK(std::abs(xg::var(x).item() - squares / n) < 1e-6);
    const auto rows = xg::reshape(x, {n / 10, 10});
    CHECK(std::abs(xg::sum(xg::sum(rows, 0)).item() - want) < 3e-7 * want);
  }
}

TEST_CASE_TEMPLATE("S18: the same call gives the same bits", T, float, double) {
  const auto run = [] {
    Variable<T> leaf[7];
    std::vector<std::vector<T>> bits;
    for (std::size_t i = 0; i < 7; ++i) {
      leaf[i] = xg::randn<T>(i < 3 ? xg::Dims{3, 33, 24} : xg::Dims{24, 24}, i);
      leaf[i].set_requires_grad();
    }
    auto [output, weights] = xg::multi_head_attention(leaf[0], leaf[1], leaf[2], leaf[3], leaf[4],
                                                      leaf[5], leaf[6], 4, xg::causal_mask(33, 33));
    const auto loss = xg::sum(output * output) + xg::sum(xg::exp(weights)) + xg::mean(leaf[0]);
    loss.backward();
    bits.push_back(loss.to_vector());
    bits.push_back(output.to_vector());
    for (const auto& x : leaf) bits.push_back(x.grad().to_vector());
    return bits;
  };
  const auto first = run();
  const auto noise = xg::randn<T>({100, 100}, 3);  // other memory
  for (int i = 0; i < 5; ++i) CHECK(run() == first);
}
