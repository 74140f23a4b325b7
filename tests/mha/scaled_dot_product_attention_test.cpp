#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"
#include "../support/fixtures.hpp"

// Its oracle is attention_kernel, the composed form.

using test::exactly;
using test::Json;
using xg::AttentionOptions;
using xg::Mask;
using xg::Variable;

namespace {

template <class T>
using Inputs = std::vector<Variable<T>>;

struct Sizes {
  std::int64_t B, H, Q, K, d, Dv;
};

/// q, k, v.
template <class T>
Inputs<T> inputs(const Sizes& s, double width = 2) {
  return {xg::uniform<T>({s.B, s.H, s.Q, s.d}, -width, width, 1).set_requires_grad(),
          xg::uniform<T>({s.B, s.H, s.K, s.d}, -width, width, 2).set_requires_grad(),
          xg::uniform<T>({s.B, s.H, s.K, s.Dv}, -width, width, 3).set_requires_grad()};
}

template <class T>
Variable<T> seed(const Sizes& s) {
  return xg::uniform<T>({s.B, s.H, s.Q, s.Dv}, -1, 1, 9);
}

/// A few products are added in another order.
template <class T>
constexpr test::Tolerance rounding{1e3 * std::numeric_limits<T>::epsilon(),
                                   1e2 * std::numeric_limits<T>::epsilon()};

Mask both(const Mask& mask, const Mask& causal) { return mask.defined() ? mask & causal : causal; }

/// Output and gradients are the composed form's.
template <class T>
void check_composed(const Sizes& s, const Mask& mask, bool causal,
                    const test::Tolerance& tolerance = rounding<T>) {
  CAPTURE(test::text(xg::Shape(xg::zeros<T>({s.B, s.H, s.Q, s.K, s.d, s.Dv}).shape())));
  CAPTURE(causal);
  const Inputs<T> x = inputs<T>(s);
  const Variable<T> got = xg::scaled_dot_product_attention(x[0], x[1], x[2], mask, {causal});
  const Mask seen = causal ? both(mask, xg::causal_mask(s.Q, s.K)) : mask;
  const Variable<T> want = xg::attention_kernel(x[0], x[1], x[2], seen).output;
  CHECK_CLOSE(got, want, tolerance);
  const Inputs<T> got_gradients = xg::grad(got, x, seed<T>(s));
  const Inputs<T> want_gradients = xg::grad(want, x, seed<T>(s));
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(i);
    CHECK_CLOSE(got_gradients[i], want_gradients[i], tolerance);
  }
}

Mask random_mask(const xg::Dims& shape, double visible) {
  return xg::uniform<double>(shape, 0, 1, 11) < visible;
}

template <class T>
bool all_zero(const Variable<T>& x) {
  for (T value : x.to_vector()) {
    if (value != 0) return false;
  }
  return true;
}

/// x[axis = index] set to `value`.
template <class T>
Variable<T> replaced(const Variable<T>& x, std::int64_t axis, std::int64_t index, T value) {
  const Variable<T> here = slice(x, axis, index, index + 1);
  return xg::concat({slice(x, axis, 0, index), xg::full<T>(here.shape(), value),
                     slice(x, axis, index + 1, xg::end)},
                    axis)
      .detach()
      .set_requires_grad();
}

}  // namespace

TEST_CASE_TEMPLATE("blocks of any size give the composed form's output and gradients", T, float,
                   double) {
  for (const Sizes& s :
       {Sizes{1, 1, 1, 1, 1, 1}, Sizes{2, 2, 1, 5, 3, 2}, Sizes{2, 2, 5, 1, 3, 2},
        Sizes{2, 3, 16, 16, 16, 16}, Sizes{1, 2, 127, 129, 7, 5}, Sizes{1, 1, 128, 256, 8, 8},
        Sizes{1, 2, 129, 257, 8, 9}, Sizes{1, 1, 300, 300, 16, 16}, Sizes{1, 1, 2, 1000, 4, 4},
        Sizes{1, 1, 1000, 2, 4, 4}, Sizes{1, 1, 1000, 1000, 8, 8}}) {
    for (const bool causal : {false, true}) check_composed<T>(s, {}, causal);
  }
}

TEST_CASE_TEMPLATE("nothing to attend to or with gives zeros", T, float, double) {
  for (const Sizes& s :
       {Sizes{0, 2, 3, 4, 2, 2}, Sizes{2, 0, 3, 4, 2, 2}, Sizes{2, 2, 0, 4, 2, 2},
        Sizes{2, 2, 3, 0, 2, 2}, Sizes{2, 2, 3, 4, 0, 2}, Sizes{2, 2, 3, 4, 2, 0}}) {
    for (const bool causal : {false, true}) check_composed<T>(s, {}, causal);
  }
}

TEST_CASE_TEMPLATE("nothing at all takes no time, whatever the other extents are", T, float,
                   double) {
  constexpr std::int64_t many = std::int64_t{1} << 40;
  for (const Sizes& s : {Sizes{1, many, 0, 0, 4, 4}, Sizes{0, 1, 512, many, 1 << 17, 1 << 17}}) {
    const Inputs<T> x{xg::zeros<T>({s.B, s.H, s.Q, s.d}).set_requires_grad(),
                      xg::zeros<T>({s.B, s.H, s.K, s.d}).set_requires_grad(),
                      xg::zeros<T>({s.B, s.H, s.K, s.Dv}).set_requires_grad()};
    const auto y = xg::scaled_dot_product_attention(x[0], x[1], x[2]);
    for (const auto& g : xg::grad(sum(y), x)) CHECK(g.size() == 0);
  }
}

TEST_CASE_TEMPLATE("a mask of any broadcastable shape acts as in the composed form", T, float,
                   double) {
  for (const Sizes& s : {Sizes{2, 2, 3, 5, 4, 3}, Sizes{2, 2, 150, 300, 4, 3}}) {
    for (const xg::Dims& shape : {xg::Dims{s.K},
                                  {s.Q, s.K},
                                  {1, s.K},
                                  {s.H, 1, s.K},
                                  {s.H, s.Q, s.K},
                                  {s.B, 1, 1, s.K},
                                  {s.B, 1, s.Q, s.K},
                                  {1, s.H, s.Q, s.K},
                                  {s.B, s.H, s.Q, s.K},
                                  {s.B, s.H, s.Q, 1},
                                  {s.Q, 1},
                                  {s.B, 1, 1, 1},
                                  {1, 1, 1, 1},
                                  {}}) {
      CAPTURE(test::text(random_mask(shape, 0.5).shape()));
      for (const bool causal : {false, true}) {
        check_composed<T>(s, random_mask(shape, 0.6), causal);
        check_composed<T>(s, random_mask(shape, 0.05), causal);
      }
    }
  }
}

TEST_CASE_TEMPLATE("blocks that the mask hides entirely are skipped", T, float, double) {
  const Sizes s{2, 2, 300, 600, 4, 3};
  check_composed<T>(s, xg::padding_mask({5, 300}, 600), false);
  check_composed<T>(s, xg::padding_mask({0, 600}, 600), true);
  check_composed<T>(s, ~xg::padding_mask({280, 1}, 600), false);
  check_composed<T>(s, ~xg::causal_mask(300, 600), false);
}

TEST_CASE_TEMPLATE("causal hides later keys from the lower right corner on", T, float, double) {
  for (const Sizes& s :
       {Sizes{1, 2, 3, 5, 4, 4}, Sizes{1, 2, 5, 3, 4, 4}, Sizes{1, 1, 200, 500, 4, 4},
        Sizes{1, 1, 500, 200, 4, 4}, Sizes{1, 1, 400, 400, 4, 4}}) {
    check_composed<T>(s, {}, true);
    const Inputs<T> x = inputs<T>(s);
    CHECK_CLOSE(xg::scaled_dot_product_attention(x[0], x[1], x[2], {}, {true}),
                xg::scaled_dot_product_attention(x[0], x[1], x[2], xg::causal_mask(s.Q, s.K)),
                rounding<T>);
  }
}

TEST_CASE_TEMPLATE("any scale can be given", T, float, double) {
  const Sizes s{1, 2, 3, 5, 4, 3};
  const Inputs<T> x = inputs<T>(s);
  for (const double scale : {0.0, 1.0, -0.7, 3.0}) {
    AttentionOptions options;
    options.scale = scale;
    const auto got = xg::scaled_dot_product_attention(x[0], x[1], x[2], {}, options);
    const auto want = matmul(softmax(matmul(x[0], swapaxes(x[1], 2, 3)) * scale), x[2]);
    CHECK_CLOSE(got, want, rounding<T>);
    const auto got_gradients = xg::grad(got, x, seed<T>(s));
    const auto want_gradients = xg::grad(want, x, seed<T>(s));
    for (std::size_t i = 0; i < 3; ++i)
      CHECK_CLOSE(got_gradients[i], want_gradients[i], rounding<T>);
  }
}

TEST_CASE_TEMPLATE("scores far apart do not overflow, in whichever block the largest is", T, float,
                   double) {
  const Sizes s{1, 1, 3, 700, 2, 3};
  for (const std::int64_t largest : {0, 255, 256, 512, 699}) {
    Inputs<T> x = inputs<T>(s);
    x[1] = replaced(x[1], 2, largest, T(1e4));
    const auto got = xg::scaled_dot_product_attention(x[0], x[1], x[2]);
    const auto want = xg::attention_kernel(x[0], x[1], x[2]).output;
    CHECK_CLOSE(got, want, rounding<T>);
    const auto got_gradients = xg::grad(got, x, seed<T>(s));
    const auto want_gradients = xg::grad(want, x, seed<T>(s));
    const double key = 1e4;  // what the rounding of a score's gradient is multiplied by
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK_CLOSE(got_gradients[i], want_gradients[i],
                  {rounding<T>.relative, key * rounding<T>.absolute});
    }
  }
}

TEST_CASE_TEMPLATE("S19: infinite scores weigh what they weigh in the composed form", T, float,
                   double) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const auto weights = [](std::vector<std::int64_t> at, T score) {
    std::vector<T> keys(600, T(0.5));
    for (std::int64_t i : at) keys[static_cast<std::size_t>(i)] = score;
    const auto q = xg::ones<T>({1, 1, 1, 1});
    const auto k = xg::from_data<T>(keys.data(), {1, 1, 600, 1});
    const auto v = reshape(xg::arange<T>(0, 600), {1, 1, 600, 1});
    const auto want = xg::attention_kernel(q, k, v).output;
    const auto got = xg::scaled_dot_product_attention(q, k, v);
    CHECK_CLOSE(got, want, {rounding<T>.relative, rounding<T>.absolute, test::Nan::equals_nan});
    return got.item();
  };
  for (const std::int64_t i : {0, 255, 256, 599}) CHECK(weights({i}, inf) == static_cast<T>(i));
  CHECK(std::isnan(weights({0, 1}, inf)));
  CHECK(std::isnan(weights({0, 599}, inf)));
  CHECK(std::isnan(weights({300}, std::numeric_limits<T>::quiet_NaN())));
  weights({0, 5, 256, 599}, -inf);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < 600; ++i) all.push_back(i);
  CHECK(std::isnan(weights(all, -inf)));
  all.pop_back();
  CHECK(weights(all, -inf) == 599);
  all.erase(all.begin());
  all.push_back(599);
  CHECK(weights(all, -inf) == 0);
}

TEST_CASE_TEMPLATE("S19: the only infinite score takes all the weight, and no gradient", T, float,
                   double) {
  constexpr T most = std::numeric_limits<T>::max();
  for (const std::int64_t at : {0, 300}) {
    const Sizes s{1, 1, 2, 400, 1, 2};
    Inputs<T> x = inputs<T>(s);
    x[0] = xg::full<T>({1, 1, 2, 1}, 10).set_requires_grad();
    x[1] = replaced(x[1], 2, at, most);  // 10 most is inf
    const auto got = xg::scaled_dot_product_attention(x[0], x[1], x[2]);
    const auto row = slice(x[2], 2, at, at + 1);
    CHECK_CLOSE(got, xg::concat({row, row}, 2), exactly);
    const auto gradients = xg::grad(got, x, seed<T>(s));
    CHECK(all_zero(gradients[0]));
    CHECK(all_zero(gradients[1]));
    CHECK_CLOSE(slice(gradients[2], 2, at, at + 1), sum(seed<T>(s), 2, true));
  }
}

TEST_CASE_TEMPLATE("S20: a hidden score is hidden whatever it is, in output and gradients", T,
                   float, double) {
  // Key 1 is for query 1 only, key 270 for query 2 only.
  const Sizes s{1, 2, 3, 300, 4, 3};
  std::vector<bool> bits(900, true);
  for (const std::size_t query : {0u, 1u, 2u}) {
    bits[query * 300 + 1] = query == 1;
    bits[query * 300 + 270] = query == 2;
  }
  const Mask mask({3, 300}, bits);
  SUBCASE("NaN") {
    Inputs<T> x = inputs<T>(s);
    const auto want = xg::scaled_dot_product_attention(x[0], x[1], x[2], mask);
    for (const std::int64_t key : {1, 270}) {
      x[1] = replaced(x[1], 2, key, std::numeric_limits<T>::quiet_NaN());
    }
    const auto got = xg::scaled_dot_product_attention(x[0], x[1], x[2], mask);
    CHECK_CLOSE(slice(got, 2, 0, 1), slice(want, 2, 0, 1), exactly);
    CHECK(std::isnan(got.at({0, 0, 1, 0})));
    CHECK(std::isnan(got.at({0, 0, 2, 0})));
  }
  SUBCASE("inf") {
    Inputs<T> x = inputs<T>(s);
    x[0] = xg::full<T>({1, 2, 3, 4}, 2).set_requires_grad();
    for (const std::int64_t key : {1, 270}) {
      x[1] = replaced(x[1], 2, key, std::numeric_limits<T>::max());
    }
    const auto got = xg::scaled_dot_product_attention(x[0], x[1], x[2], mask);
    const auto want = xg::attention_kernel(x[0], x[1], x[2], mask).output;
    CHECK_CLOSE(got, want, rounding<T>);
    const auto gradients = xg::grad(got, x, seed<T>(s));
    const auto want_gradients = xg::grad(want, x, seed<T>(s));
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK_CLOSE(gradients[i], want_gradients[i], rounding<T>);
    }
  }
}

TEST_CASE_TEMPLATE("S20: padding may hold NaN or inf without effect on anything", T, float,
                   double) {
  const Sizes s{2, 2, 3, 300, 4, 3};
  const Mask padding = xg::padding_mask({280, 200}, 300);
  // By the mask alone each is seen by a query, but only by one that causal hides it from.
  std::vector<bool> bits(900, true);
  bits[2 * 300 + 299] = bits[1 * 300 + 298] = bits[2 * 300 + 298] = false;
  const Mask with_causal({3, 300}, bits);
  for (T garbage : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    for (const bool causal : {false, true}) {
      const Mask& mask = causal ? with_causal : padding;
      const Inputs<T> clean = inputs<T>(s);
      Inputs<T> dirty = clean;
      for (std::size_t i : {1u, 2u}) {
        dirty[i] = replaced(replaced(clean[i], 2, 298, garbage), 2, 299, garbage);
      }
      const auto want =
          xg::scaled_dot_product_attention(clean[0], clean[1], clean[2], mask, {causal});
      const auto got =
          xg::scaled_dot_product_attention(dirty[0], dirty[1], dirty[2], mask, {causal});
      CHECK_CLOSE(got, want, exactly);
      for (const auto flags : {xg::retain_graph, xg::create_graph}) {
        const auto want_gradients = xg::grad(want, clean, seed<T>(s), flags);
        const auto got_gradients = xg::grad(got, dirty, seed<T>(s), flags);
        for (std::size_t i = 0; i < 3; ++i) {
          CHECK_CLOSE(got_gradients[i], want_gradients[i], exactly);
        }
        CHECK(all_zero(slice(got_gradients[1], 2, 298, 300)));
        CHECK(all_zero(slice(got_gradients[2], 2, 298, 300)));
      }
    }
  }
}

TEST_CASE_TEMPLATE("S20: a query that sees nothing gets zeros, whatever the others hold", T, float,
                   double) {
  const Sizes s{1, 2, 3, 300, 4, 3};
  const Mask mask({3, 1}, {true, false, true});
  Inputs<T> x = inputs<T>(s);
  x[2] = replaced(x[2], 2, 7, std::numeric_limits<T>::quiet_NaN());
  const auto got = xg::scaled_dot_product_attention(x[0], x[1], x[2], mask);
  CHECK(all_zero(slice(got, 2, 1, 2)));
  CHECK(std::isnan(got.at({0, 0, 0, 0})));
  const auto none = xg::scaled_dot_product_attention(x[0], x[1], x[2], Mask{false});
  CHECK(all_zero(none));
  for (const auto& g : xg::grad(none, x, seed<T>(s))) CHECK(all_zero(g));
  // More queries than keys: the first ones see none.
  Inputs<T> y = inputs<T>({1, 2, 300, 3, 4, 3});
  const auto causal = xg::scaled_dot_product_attention(y[0], y[1], y[2], {}, {true});
  CHECK(all_zero(slice(causal, 2, 0, 297)));
  CHECK_FALSE(all_zero(slice(causal, 2, 297, 298)));
  CHECK(all_zero(slice(xg::grad(sum(causal * causal), y)[0], 2, 0, 298)));
}

TEST_CASE("attention without weights has the right gradients in every layout and at every size") {
  test::exempt("scaled_dot_product_attention", "0-D", "queries, keys and values have four axes");
  test::exempt("multi_head_attention_output", "0-D", "queries, keys and values have three axes");
  const Mask hides{{true, false, true}, {false, false, false}};
  const auto check = [](const Sizes& s, const Mask& mask, const AttentionOptions& options) {
    test::expect_grad(
        "scaled_dot_product_attention",
        [&](const auto& x) {
          return xg::scaled_dot_product_attention(x[0], x[1], x[2], mask, options);
        },
        {test::numbers({s.B, s.H, s.Q, s.d}, 1), test::numbers({s.B, s.H, s.K, s.d}, 2),
         test::numbers({s.B, s.H, s.K, s.Dv}, 3)});
    const std::int64_t width = s.H * s.d;
    const auto weight = [&](int i) { return test::numbers({width, width}, i, -1, 1); };
    test::expect_grad(
        "multi_head_attention_output",
        [&](const auto& x) {
          return xg::multi_head_attention_output(x[0], x[1], x[2], x[3], x[4], x[5], x[6], s.H,
                                                 mask);
        },
        {test::numbers({s.B, s.Q, width}, 1), test::numbers({s.B, s.K, width}, 2),
         test::numbers({s.B, s.K, width}, 3), weight(4), weight(5), weight(6), weight(7)});
  };
  check({2, 2, 2, 3, 1, 2}, {}, {});
  check({1, 2, 2, 3, 2, 1}, hides, {});
  check({1, 2, 3, 3, 2, 2}, {}, {true, 0.5});
  check({1, 1, 1, 1, 1, 1}, {}, {});
  check({0, 2, 2, 3, 1, 1}, {}, {});
  check({1, 2, 0, 3, 1, 1}, {}, {});
  check({1, 2, 2, 0, 1, 1}, {}, {});
}

TEST_CASE_TEMPLATE("only the gradients that are asked for are needed", T, float, double) {
  const Sizes s{1, 2, 130, 260, 3, 2};
  const Inputs<T> all = inputs<T>(s);
  const auto want =
      xg::grad(xg::scaled_dot_product_attention(all[0], all[1], all[2]), all, seed<T>(s));
  for (std::size_t i = 0; i < 3; ++i) {
    const auto output = xg::scaled_dot_product_attention(all[0], all[1], all[2]);
    CHECK_CLOSE(xg::grad(output, {all[i]}, seed<T>(s))[0], want[i], exactly);
  }
}

TEST_CASE_TEMPLATE("S14: blocks read heads, slices and reversed arrays as they lie", T, float,
                   double) {
  const Sizes s{2, 2, 140, 270, 5, 3};
  const Inputs<T> plain = inputs<T>(s);
  const auto want = xg::scaled_dot_product_attention(plain[0], plain[1], plain[2]);
  const auto want_gradients = xg::grad(want, plain, seed<T>(s));
  for (const test::Layout layout : test::kLayouts) {
    if (layout == test::Layout::broadcast) continue;  // changes the values
    CAPTURE(test::name(layout));
    Inputs<T> x;
    for (const auto& one : plain) {
      x.push_back(test::laid_out(one.detach(), layout).set_requires_grad());
    }
    const auto got = xg::scaled_dot_product_attention(x[0], x[1], x[2]);
    CHECK_CLOSE(got, want, rounding<T>);
    const auto gradients = xg::grad(got, x, test::laid_out(seed<T>(s), layout));
    for (std::size_t i = 0; i < 3; ++i) CHECK_CLOSE(gradients[i], want_gradients[i], rounding<T>);
  }
}

TEST_CASE_TEMPLATE("second derivatives are the composed form's, with masks and across blocks", T,
                   float, double) {
  const Sizes s{1, 1, 130, 260, 2, 2};
  for (const bool causal : {false, true}) {
    const Mask mask = causal ? Mask() : random_mask({s.Q, s.K}, 0.7);
    const Inputs<T> x = inputs<T>(s);
    const auto second = [&](const Variable<T>& output) {
      const Inputs<T> first = xg::grad(output, x, seed<T>(s), xg::create_graph);
      Variable<T> loss(0);
      for (const auto& g : first) loss += sum(g * g);
      return xg::grad(loss, x);
    };
    const Mask seen = causal ? xg::causal_mask(s.Q, s.K) : mask;
    const auto got = second(xg::scaled_dot_product_attention(x[0], x[1], x[2], mask, {causal}));
    const auto want = second(xg::attention_kernel(x[0], x[1], x[2], seen).output);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK_CLOSE(got[i], want[i], {1e4 * rounding<T>.relative, 1e4 * rounding<T>.absolute});
    }
  }
}

TEST_CASE_TEMPLATE("S18: two calls agree bit for bit, on however many threads", T, float, double) {
  const Sizes s{2, 2, 600, 300, 4, 3};
  const Inputs<T> x = inputs<T>(s);
  const auto run = [&] {
    const auto output = xg::scaled_dot_product_attention(x[0], x[1], x[2], {}, {true});
    Inputs<T> out = xg::grad(output, x, seed<T>(s));
    out.push_back(output);
    return out;
  };
  const int threads = xg::num_threads();
  const Inputs<T> want = run();
  for (const int n : {1, 2, 5}) {
    xg::set_num_threads(n);
    const Inputs<T> got = run();
    for (std::size_t i = 0; i < want.size(); ++i) CHECK_CLOSE(got[i], want[i], exactly);
  }
  xg::set_num_threads(threads);
}

TEST_CASE_TEMPLATE("multi_head_attention_output is multi_head_attention's output", T, float,
                   double) {
  struct Case {
    std::int64_t B, Q, K, D, H;
    Mask mask;
  };
  for (const Case& c : {Case{2, 3, 5, 8, 2, {}}, Case{2, 3, 5, 8, 4, xg::padding_mask({5, 2}, 5)},
                        Case{2, 4, 4, 6, 1, xg::causal_mask(4, 4)},
                        Case{1, 2, 3, 4, 2, Mask{{true, false, true}, {false, false, false}}},
                        Case{1, 200, 300, 8, 2, random_mask({200, 300}, 0.5)}}) {
    Inputs<T> x;
    const std::vector<xg::Dims> shapes{{c.B, c.Q, c.D}, {c.B, c.K, c.D}, {c.B, c.K, c.D},
                                       {c.D, c.D},      {c.D, c.D},      {c.D, c.D},
                                       {c.D, c.D}};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      x.push_back(xg::uniform<T>(shapes[i], -1, 1, i + 1).set_requires_grad());
    }
    const auto got =
        xg::multi_head_attention_output(x[0], x[1], x[2], x[3], x[4], x[5], x[6], c.H, c.mask);
    const auto want =
        xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], c.H, c.mask).output;
    CHECK_CLOSE(got, want, rounding<T>);
    const auto s = xg::uniform<T>({c.B, c.Q, c.D}, -1, 1, 9);
    const auto got_gradients = xg::grad(got, x, s);
    const auto want_gradients = xg::grad(want, x, s);
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(i);
      CHECK_CLOSE(got_gradients[i], want_gradients[i],
                  {rounding<T>.relative, 10 * rounding<T>.absolute});
    }
  }
}

TEST_CASE_TEMPLATE("outputs agree with PyTorch", T, float, double) {
  const Json fixture = test::load_fixture("attention.json");
  const test::Tolerance tolerance =
      std::is_same_v<T, double> ? test::Tolerance{1e-12, 1e-13} : test::Tolerance{2e-5, 5e-6};
  const auto compare = [&](const std::string& op, const std::vector<std::string>& names,
                           auto attend) {
    for (const Json& one : fixture.at(op)) {
      CAPTURE(one.at("case").get<std::string>());
      Inputs<T> x;
      for (const std::string& name : names) {
        x.push_back(test::tensor<T>(one.at(name)).set_requires_grad());
      }
      const Variable<T> got = attend(x, one);
      CHECK(test::difference(test::cast<double>(got), test::tensor<double>(one.at("output")),
                             tolerance) == "");
    }
  };
  compare("attention_kernel", {"q", "k", "v"}, [](const Inputs<T>& x, const Json& one) {
    test::Coverage::instance().record("scaled_dot_product_attention", "PyTorch");
    return xg::scaled_dot_product_attention(x[0], x[1], x[2], test::mask_of(one));
  });
  compare("multi_head_attention", {"query", "key", "value", "w_q", "w_k", "w_v", "w_o"},
          [](const Inputs<T>& x, const Json& one) {
            test::Coverage::instance().record("multi_head_attention_output", "PyTorch");
            return xg::multi_head_attention_output(x[0], x[1], x[2], x[3], x[4], x[5], x[6],
                                                   one.at("num_heads").get<std::int64_t>(),
                                                   test::mask_of(one));
          });
}

TEST_CASE("S26: what does not fit is refused") {
  const char* op = "scaled_dot_product_attention";
  const auto q = xg::ones<double>({2, 2, 3, 4});
  const auto k = xg::ones<double>({2, 2, 5, 4});
  for (const auto& other : {xg::ones<double>({2, 3, 4}), xg::ones<double>({1, 2, 3, 4}),
                            xg::ones<double>({2, 1, 3, 4}), xg::ones<double>({})}) {
    CHECK_ERROR(xg::ShapeError, op, xg::scaled_dot_product_attention(other, k, k));
    CHECK_ERROR(xg::ShapeError, op, xg::scaled_dot_product_attention(q, other, k));
    CHECK_ERROR(xg::ShapeError, op, xg::scaled_dot_product_attention(q, k, other));
  }
  CHECK_ERROR(xg::MaskError, op, xg::scaled_dot_product_attention(q, k, k, Mask{true, false}));
  CHECK_ERROR(xg::GraphError, op, xg::scaled_dot_product_attention(q, k, Variable<double>()));
  for (const double scale : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    CHECK_ERROR(xg::ArgumentError, op,
                xg::scaled_dot_product_attention(q, k, k, {}, {false, scale}));
  }
  const auto single = xg::ones<float>({1, 1, 2, 2});
  CHECK_ERROR(xg::ArgumentError, op,
              xg::scaled_dot_product_attention(single, single, single, {}, {false, 1e300}));
  const auto x = xg::ones<double>({2, 3, 4});
  const auto w = xg::ones<double>({4, 4});
  CHECK_ERROR(xg::ArgumentError, "multi_head_attention_output",
              xg::multi_head_attention_output(x, x, x, w, w, w, w, 3));
  CHECK_ERROR(xg::ShapeError, "multi_head_attention_output",
              xg::multi_head_attention_output(x, x, x, w, w, w, x, 2));
  CHECK_ERROR(xg::MaskError, "multi_head_attention_output",
              xg::multi_head_attention_output(x, x, x, w, w, w, w, 2, Mask{true, false}));
}
