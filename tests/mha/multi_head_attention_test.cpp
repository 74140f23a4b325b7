#include <cstdint>
#include <limits>
#include <type_traits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"
#include "../support/fixtures.hpp"
#include "../support/graph.hpp"

using test::exactly;
using test::Json;
using xg::Mask;
using xg::Variable;

namespace {

/// query, key, value, w_q, w_k, w_v, w_o.
template <class T>
using Inputs = std::vector<Variable<T>>;

constexpr const char* kNames[] = {"query", "key", "value", "w_q", "w_k", "w_v", "w_o"};

struct Sizes {
  std::int64_t B, Q, K, D, H;
};

constexpr Sizes kCross{2, 3, 5, 8, 2};

template <class T>
Inputs<T> inputs(const Sizes& s, bool requires_grad = false) {
  const std::int64_t d = s.D;
  const std::vector<xg::Dims> shapes{{s.B, s.Q, d}, {s.B, s.K, d}, {s.B, s.K, d}, {d, d},
                                     {d, d},        {d, d},        {d, d}};
  Inputs<T> out;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    out.push_back(xg::uniform<T>(shapes[i], -1, 1, i + 1).set_requires_grad(requires_grad));
  }
  return out;
}

template <class T>
xg::Attention<T> attend(const Inputs<T>& x, std::int64_t heads, const Mask& mask = {}) {
  return xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], heads, mask);
}

template <class T>
Variable<T> both(const xg::Attention<T>& a) {
  return xg::concat({flatten(a.output), flatten(a.weights)});
}

template <class T>
std::vector<std::vector<T>> values_of(const Inputs<T>& x) {
  std::vector<std::vector<T>> out;
  for (const auto& one : x) out.push_back(one.to_vector());
  return out;
}

/// A leaf that holds x[axis = index] set to `value`.
template <class T>
Variable<T> replaced(const Variable<T>& x, std::int64_t axis, std::int64_t index, T value) {
  const Variable<T> here = slice(x, axis, index, index + 1);
  return xg::concat({slice(x, axis, 0, index), xg::full<T>(here.shape(), value),
                     slice(x, axis, index + 1, xg::end)},
                    axis)
      .detach();
}

template <class T>
bool all_zero(const Variable<T>& x) {
  for (T value : x.to_vector()) {
    if (value != 0) return false;
  }
  return true;
}

/// A mask of every shape that broadcasts to [B,H,Q,K].
std::vector<Mask> masks(const Sizes& s) {
  const std::vector<xg::Dims> shapes{{s.K},
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
                                     {1, 1, 1, 1},
                                     {}};
  std::vector<Mask> out;
  for (const xg::Dims& shape : shapes) {
    const Variable<double> noise = xg::uniform<double>(shape, 0, 1, 11);
    out.push_back(noise < 0.7);
  }
  return out;
}

template <class T>
void check_case(const Json& one, const std::vector<std::string>& names,
                const test::Tolerance& tolerance) {
  CAPTURE(one.at("case").get<std::string>());
  const auto want = [&](const Json& json) { return test::tensor<double>(json); };
  const auto agrees = [&](const Variable<T>& got, const Json& json) {
    return test::difference(test::cast<double>(got), want(json), tolerance);
  };
  for (test::Layout layout : test::kLayouts) {
    if (layout == test::Layout::broadcast) continue;  // changes the values
    CAPTURE(test::name(layout));
    Inputs<T> x;
    for (const std::string& name : names) {
      x.push_back(test::laid_out(test::tensor<T>(one.at(name)), layout).set_requires_grad());
    }
    const Mask mask = test::mask_of(one);
    const xg::Attention<T> got = x.size() == 7
                                     ? attend(x, one.at("num_heads").get<std::int64_t>(), mask)
                                     : xg::attention_kernel(x[0], x[1], x[2], mask);
    CHECK(agrees(got.output, one.at("output")) == "");
    CHECK(agrees(got.weights, one.at("weights")) == "");
    const Inputs<T> gradients =
        xg::grad({got.output, got.weights}, x,
                 {test::tensor<T>(one.at("seed_output")), test::tensor<T>(one.at("seed_weights"))},
                 xg::allow_unused);
    for (std::size_t i = 0; i < names.size(); ++i) {
      CAPTURE(names[i]);
      CHECK(agrees(gradients[i], one.at("grads").at(names[i])) == "");
    }
  }
}

}  // namespace

// T0: the interface.

TEST_CASE_TEMPLATE("T0: output is [B,Q,D] and weights are [B,H,Q,K], of the inputs' type", T, float,
                   double) {
  const Inputs<T> x = inputs<T>(kCross, true);
  auto [output, weights] = attend(x, kCross.H);
  static_assert(std::is_same_v<decltype(output), Variable<T>>);
  static_assert(std::is_same_v<decltype(weights), Variable<T>>);
  CHECK(output.shape() == xg::Shape{2, 3, 8});
  CHECK(weights.shape() == xg::Shape{2, 2, 3, 5});
  CHECK(output.requires_grad());
  CHECK(weights.requires_grad());
  CHECK_CLOSE(sum(weights, -1), xg::ones<T>({2, 2, 3}));
}

TEST_CASE_TEMPLATE("T0: inputs keep their bits, and two calls agree bit for bit", T, float,
                   double) {
  const Inputs<T> x = inputs<T>(kCross, true);
  const auto before = values_of(x);
  const Mask mask = xg::padding_mask({5, 2}, 5);
  const auto first = attend(x, kCross.H, mask);
  both(first).backward(xg::uniform<T>(2 * 3 * 8 + 2 * 2 * 3 * 5, -1, 1, 9));
  CHECK(values_of(x) == before);
  const auto second = attend(x, kCross.H, mask);
  CHECK_CLOSE(second.output, first.output, exactly);
  CHECK_CLOSE(second.weights, first.weights, exactly);
}

TEST_CASE_TEMPLATE("T0: nothing is recorded for inputs that need no gradient", T, float, double) {
  const std::size_t nodes = xg::live_nodes();
  const auto result = attend(inputs<T>(kCross), kCross.H);
  CHECK_FALSE(result.output.requires_grad());
  CHECK(xg::live_nodes() == nodes);
}

// T1: PyTorch's operator, one projected head at a time.

TEST_CASE_TEMPLATE("T1: outputs, weights and gradients agree with PyTorch", T, float, double) {
  const Json fixture = test::load_fixture("attention.json");
  const bool is_double = std::is_same_v<T, double>;
  const test::Tolerance tolerance =
      is_double ? test::Tolerance{1e-12, 1e-13} : test::Tolerance{2e-5, 5e-6};
  for (const Json& one : fixture.at("multi_head_attention")) {
    check_case<T>(one, {std::begin(kNames), std::end(kNames)}, tolerance);
    test::Coverage::instance().record("multi_head_attention", "PyTorch");
  }
  for (const Json& one : fixture.at("attention_kernel")) {
    check_case<T>(one, {"q", "k", "v"}, tolerance);
    test::Coverage::instance().record("attention_kernel", "PyTorch");
  }
}

// T2: what attention must be, without a reference.

TEST_CASE("T2: all seven gradients agree with differences, in every layout of the inputs") {
  const Sizes s{2, 2, 3, 4, 2};
  const Inputs<double> x = inputs<double>(s);
  const Mask mask{
      {{{true, false, true}, {false, false, false}}, {{true, true, true}, {false, true, true}}}};
  for (const Mask& m : {Mask(), mask}) {
    test::expect_grad(
        "multi_head_attention",
        [&](const auto& in) {
          return both(
              xg::multi_head_attention(in[0], in[1], in[2], in[3], in[4], in[5], in[6], s.H, m));
        },
        x);
  }
}

TEST_CASE_TEMPLATE("T2: a mask of any broadcastable shape acts as the full one", T, float, double) {
  const Inputs<T> x = inputs<T>(kCross);
  const Mask everything({2, 2, 3, 5}, std::vector<bool>(60, true));
  for (const Mask& mask : masks(kCross)) {
    CAPTURE(test::text(mask.shape()));
    const Mask full = mask & everything;
    const auto got = attend(x, kCross.H, mask);
    const auto want = attend(x, kCross.H, full);
    CHECK_CLOSE(got.output, want.output);
    CHECK_CLOSE(got.weights, want.weights);
    const std::vector<bool> visible = full.to_vector();
    const std::vector<T> weights = got.weights.to_vector();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      if (!visible[i]) CHECK(weights[i] == 0);
      if (visible[i]) CHECK(weights[i] > 0);
    }
  }
}

TEST_CASE_TEMPLATE("T2: each head has its own mask", T, float, double) {
  const Inputs<T> x = inputs<T>(kCross);
  const Mask by_head{{{{true, true, false, false, false}}, {{false, false, true, true, true}}}};
  const Variable<T> weights = attend(x, 2, by_head).weights;
  CHECK(all_zero(slice(slice(weights, 1, 0, 1), 3, 2, 5)));
  CHECK(all_zero(slice(slice(weights, 1, 1, 2), 3, 0, 2)));
  CHECK_CLOSE(sum(weights, -1), xg::ones<T>({2, 2, 3}));
}

TEST_CASE_TEMPLATE("T2: a mask [H,Q,K] is the heads', not the items', when B = H", T, float,
                   double) {
  const Inputs<T> x = inputs<T>({2, 1, 3, 4, 2});
  const Mask by_head{{{true, false, false}}, {{false, true, true}}};
  const Variable<T> weights = attend(x, 2, by_head).weights;
  for (int b : {0, 1}) {
    CHECK(weights.at({b, 0, 0, 0}) == 1);
    CHECK(weights.at({b, 1, 0, 0}) == 0);
  }
}

TEST_CASE_TEMPLATE("T2: fully masked rows are zero, and so are their gradients", T, float, double) {
  SUBCASE("some rows") {
    Inputs<T> x = inputs<T>(kCross, true);
    // Query 1 of item 0 sees nothing in any head; query 2 of item 1 nothing in head 0.
    std::vector<bool> bits(60, true);
    for (std::size_t h : {0u, 1u}) {
      for (std::size_t k = 0; k < 5; ++k) bits[(h * 3 + 1) * 5 + k] = false;
    }
    for (std::size_t k = 0; k < 5; ++k) bits[(6 + 2) * 5 + k] = false;
    const auto result = attend(x, 2, Mask({2, 2, 3, 5}, bits));
    CHECK(all_zero(slice(slice(result.output, 0, 0, 1), 1, 1, 2)));
    CHECK(all_zero(slice(slice(result.weights, 0, 0, 1), 2, 1, 2)));
    CHECK(all_zero(slice(slice(slice(result.weights, 0, 1, 2), 1, 0, 1), 2, 2, 3)));
    both(result).backward(xg::uniform<T>(2 * 3 * 8 + 60, -1, 1, 3));
    CHECK(all_zero(slice(slice(x[0].grad(), 0, 0, 1), 1, 1, 2)));
    for (const auto& one : x) {
      CHECK_FALSE(all_zero(one.grad()));
      for (T g : one.grad().to_vector()) CHECK(std::isfinite(g));
    }
  }
  SUBCASE("all rows") {
    Inputs<T> x = inputs<T>(kCross, true);
    const auto result = attend(x, 2, Mask{false});
    CHECK(all_zero(result.output));
    CHECK(all_zero(result.weights));
    both(result).backward(xg::ones<T>(2 * 3 * 8 + 60));
    for (const auto& one : x) CHECK(all_zero(one.grad()));
  }
}

TEST_CASE_TEMPLATE("T2: a cotangent on a fully masked row reaches nothing", T, float, double) {
  Inputs<T> x = inputs<T>({1, 2, 3, 4, 2}, true);
  const auto result = attend(x, 2, Mask{{true, true, true}, {false, false, false}});
  sum(slice(result.output, 1, 1, 2) * 5).backward();
  for (const auto& one : x) CHECK(all_zero(one.grad()));
}

TEST_CASE_TEMPLATE("T2: one head is attention_kernel between projections", T, float, double) {
  const Inputs<T> x = inputs<T>({2, 3, 5, 6, 1});
  const Mask mask = xg::padding_mask({5, 2}, 5);
  const auto result = attend(x, 1, mask);
  const auto kernel =
      xg::attention_kernel(unsqueeze(matmul(x[0], x[3]), 1), unsqueeze(matmul(x[1], x[4]), 1),
                           unsqueeze(matmul(x[2], x[5]), 1), mask);
  CHECK_CLOSE(result.output, matmul(squeeze(kernel.output, 1), x[6]));
  CHECK_CLOSE(result.weights, kernel.weights);
}

TEST_CASE_TEMPLATE("T2: H heads are H one-head calls on feature slices", T, float, double) {
  const Sizes s{2, 3, 5, 12, 3};
  const std::int64_t d = s.D / s.H;
  Inputs<T> x = inputs<T>(s, true);
  const Mask mask = masks(s)[7];  // [1,H,Q,K]
  const auto result = attend(x, s.H, mask);
  const Variable<T> count = xg::arange<T>(0, d);
  const Variable<T> identity = where(count == unsqueeze(count, 1), Variable<T>(1), 0);
  std::vector<Variable<T>> outputs;
  std::vector<Variable<T>> weights;
  for (std::int64_t h = 0; h < s.H; ++h) {
    const auto projected = [&](int i) {
      return matmul(x[i], slice(x[i + 3], 1, h * d, (h + 1) * d));
    };
    std::vector<bool> rows = mask.to_vector();
    rows = {rows.begin() + h * 15, rows.begin() + (h + 1) * 15};
    auto one = xg::multi_head_attention(projected(0), projected(1), projected(2), identity,
                                        identity, identity, identity, 1, Mask({3, 5}, rows));
    outputs.push_back(one.output);
    weights.push_back(one.weights);
  }
  const Variable<T> want = matmul(xg::concat(outputs, -1), x[6]);
  CHECK_CLOSE(result.output, want);
  CHECK_CLOSE(result.weights, xg::concat(weights, 1));
  const auto seed = xg::uniform<T>({2, 3, 12}, -1, 1, 8);
  const auto got_gradients = xg::grad(result.output, x, seed);
  const auto want_gradients = xg::grad(want, x, seed);
  for (std::size_t i = 0; i < x.size(); ++i) {
    CAPTURE(kNames[i]);
    CHECK_CLOSE(got_gradients[i], want_gradients[i], {1e-4, 64 * test::rounding<T>.absolute});
  }
}

TEST_CASE_TEMPLATE("T2: under a causal mask no token depends on a later one", T, float, double) {
  const Sizes s{1, 4, 4, 6, 2};
  Inputs<T> x = inputs<T>(s, true);
  const Mask causal = xg::causal_mask(4, 4);
  const Variable<T> output = attend(x, s.H, causal).output;
  for (std::int64_t q = 0; q < 3; ++q) {
    Inputs<T> changed = x;
    for (int i : {1, 2}) changed[i] = replaced(x[i], 1, q + 1, T(1e3));
    CHECK_CLOSE(slice(attend(changed, s.H, causal).output, 1, 0, q + 1),
                slice(output, 1, 0, q + 1));
    const auto gradients =
        xg::grad(sum(slice(output, 1, 0, q + 1)), {x[1], x[2]}, {}, xg::retain_graph);
    for (const auto& g : gradients) CHECK(all_zero(slice(g, 1, q + 1, xg::end)));
    CHECK_FALSE(all_zero(slice(gradients[1], 1, q, q + 1)));
  }
}

TEST_CASE_TEMPLATE("T2: the causal mask names its corner", T, float, double) {
  const Inputs<T> x = inputs<T>({1, 2, 4, 4, 1});
  const auto upper = attend(x, 1, xg::causal_mask(2, 4, xg::CausalAlign::upper_left)).weights;
  const auto lower = attend(x, 1, xg::causal_mask(2, 4, xg::CausalAlign::lower_right)).weights;
  CHECK(upper.at({0, 0, 0, 0}) == 1);
  CHECK(lower.at({0, 0, 0, 2}) > 0);
  CHECK(lower.at({0, 0, 0, 3}) == 0);
}

TEST_CASE_TEMPLATE("T2: queries from one sequence read keys and values from another", T, float,
                   double) {
  const Inputs<T> x = inputs<T>(kCross);
  const auto result = attend(x, kCross.H);
  SUBCASE("permuting keys, values and mask columns together changes only the weights' order") {
    const auto permuted = [](const Variable<T>& v, std::int64_t axis) { return flip(v, axis); };
    Inputs<T> y = x;
    for (int i : {1, 2}) y[i] = permuted(x[i], 1);
    const Mask hidden{true, true, false, true, false};
    const Mask reversed{false, true, false, true, true};
    CHECK_CLOSE(attend(y, 2, reversed).output, attend(x, 2, hidden).output);
    CHECK_CLOSE(attend(y, 2, reversed).weights, permuted(attend(x, 2, hidden).weights, -1));
  }
  SUBCASE("a batch is its items one by one") {
    for (std::int64_t b : {0, 1}) {
      Inputs<T> one = x;
      for (int i : {0, 1, 2}) one[i] = slice(x[i], 0, b, b + 1);
      const auto item = attend(one, kCross.H);
      CHECK_CLOSE(item.output, slice(result.output, 0, b, b + 1));
      CHECK_CLOSE(item.weights, slice(result.weights, 0, b, b + 1));
    }
  }
  SUBCASE("doubling w_o doubles the output") {
    Inputs<T> y = x;
    y[6] = x[6] * 2;
    CHECK_CLOSE(attend(y, kCross.H).output, result.output * 2);
  }
  SUBCASE("scores times 1000 stay finite") {
    Inputs<T> y = x;
    y[3] = x[3] * 1000;
    const auto sharp = attend(y, kCross.H);
    for (T w : sharp.weights.to_vector()) CHECK(std::isfinite(w));
    CHECK_CLOSE(sum(sharp.weights, -1), xg::ones<T>({2, 2, 3}));
  }
}

TEST_CASE_TEMPLATE("T2: one variable as query, key and value gets the sum of three gradients", T,
                   float, double) {
  Inputs<T> apart = inputs<T>({2, 3, 3, 4, 2}, true);
  apart[1] = apart[0].detach().set_requires_grad();
  apart[2] = apart[0].detach().set_requires_grad();
  Inputs<T> same = apart;
  same[0] = same[1] = same[2] = apart[0].detach().set_requires_grad();
  const auto seed = xg::uniform<T>({2, 3, 4}, -1, 1, 5);
  attend(apart, 2).output.backward(seed);
  attend(same, 2).output.backward(seed);
  CHECK_CLOSE(same[0].grad(), apart[0].grad() + apart[1].grad() + apart[2].grad());
}

TEST_CASE_TEMPLATE("T2: a loss of the weights reaches queries, keys and their projections", T,
                   float, double) {
  const Inputs<T> x = inputs<T>(kCross, true);
  const auto seed = xg::uniform<T>({2, 2, 3, 5}, -1, 1, 5);
  attend(x, 2).weights.backward(seed);
  for (int i : {0, 1, 3, 4}) CHECK_FALSE(all_zero(x[i].grad()));
  for (int i : {2, 5, 6}) CHECK_FALSE(x[i].grad().defined());
}

TEST_CASE_TEMPLATE("T2: a single key leaves no choice: queries and keys get gradient zero", T,
                   float, double) {
  const Variable<T> one({{{1}}});
  Inputs<T> x;  // Dao-AILab/flash-attention#334
  for (double value : {3.0, -2.0, 5.0}) x.push_back(Variable<T>({{{value}}}, true));
  for (int i = 0; i < 4; ++i) x.push_back(Variable<T>({{1}}, true));
  attend(x, 1).output.backward(one);
  const T want[] = {0, 0, 1, 0, 0, 5, 5};
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i].grad().item() == want[i]);
}

TEST_CASE_TEMPLATE("S20: padding may hold NaN or inf without effect on anything", T, float,
                   double) {
  const Mask padding = xg::padding_mask({3, 5}, 5) & Mask{true, true, true, true, false};
  for (T garbage : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    Inputs<T> clean = inputs<T>(kCross, true);
    Inputs<T> dirty = clean;
    for (int i : {1, 2}) dirty[i] = replaced(clean[i], 1, 4, garbage).set_requires_grad();
    const auto want = attend(clean, 2, padding);
    const auto got = attend(dirty, 2, padding);
    CHECK_CLOSE(got.output, want.output);
    CHECK_CLOSE(got.weights, want.weights);
    const auto seed = xg::uniform<T>(2 * 3 * 8 + 60, -1, 1, 9);
    const Inputs<T> want_gradients = xg::grad(both(want), clean, seed);
    const Inputs<T> got_gradients = xg::grad(both(got), dirty, seed);
    for (std::size_t i = 0; i < clean.size(); ++i) {
      CAPTURE(kNames[i]);
      CHECK_CLOSE(got_gradients[i], want_gradients[i]);
    }
    CHECK(all_zero(slice(got_gradients[1], 1, 4, 5)));
    CHECK(all_zero(slice(got_gradients[2], 1, 4, 5)));
  }
}

TEST_CASE_TEMPLATE("hiding keys is deleting them", T, float, double) {
  const Inputs<T> x = inputs<T>(kCross);
  Inputs<T> shorter = x;
  for (int i : {1, 2}) shorter[i] = slice(x[i], 1, 0, 3);
  const auto hidden = attend(x, 2, Mask{true, true, true, false, false});
  const auto deleted = attend(shorter, 2);
  CHECK_CLOSE(hidden.output, deleted.output);
  CHECK_CLOSE(slice(hidden.weights, -1, 0, 3), deleted.weights);
}

TEST_CASE_TEMPLATE("attention is composed, at every size", T, float, double) {
  for (const Sizes& s : {Sizes{1, 1, 1, 1, 1}, kCross, Sizes{1, 128, 96, 64, 8}}) {
    const Mask mask = xg::causal_mask(s.Q, s.K, xg::CausalAlign::upper_left);
    auto count = test::operations_behind(attend(inputs<T>(s, true), s.H, mask).output);
    CHECK(count["matmul"] == 6);  // four projections, scores, weighted values
    CHECK(count["reshape"] == 4);
    CHECK(count["transpose"] == 5);  // three splits, one merge, the keys
    CHECK(count["masked_softmax"] == 1);
  }
}

TEST_CASE("the graph is gone with its results") {
  const std::size_t nodes = xg::live_nodes();
  {
    const Inputs<double> x = inputs<double>(kCross, true);
    const auto result = attend(x, 2, xg::padding_mask({5, 0}, 5));
    CHECK(xg::live_nodes() > nodes);
    both(result).backward(xg::ones<double>(2 * 3 * 8 + 60));
  }
  CHECK(xg::live_nodes() == nodes);
}

// Bad input.

namespace {

/// The error of a call with one argument changed.
template <class E>
std::string flaw(const Inputs<double>& x, std::int64_t heads, const Mask& mask = {}) {
  return test::error_flaw<E>("multi_head_attention", [&] { attend(x, heads, mask); });
}

}  // namespace

TEST_CASE("S26: a number of heads must be positive and divide D") {
  const Inputs<double> x = inputs<double>(kCross);
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t heads : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{-2}, std::int64_t{3},
                             std::int64_t{16}, most, -most, -most - 1}) {
    CHECK(flaw<xg::ArgumentError>(x, heads) == "");
  }
  try {
    attend(inputs<double>({1, 1, 1, 10, 1}), 3);  // pytorch/pytorch#28719
    FAIL("no error");
  } catch (const xg::ArgumentError& error) {
    const std::string text = error.what();
    CHECK(text.find("3 heads") != std::string::npos);
    CHECK(text.find("10") != std::string::npos);
  }
}

TEST_CASE("S26: a mask must broadcast to [B,H,Q,K]") {
  const Inputs<double> x = inputs<double>(kCross);
  const auto mask = [](const xg::Dims& shape) { return xg::ones<double>(shape) > 0; };
  for (const xg::Dims& shape :
       {xg::Dims{4}, {3}, {5, 3}, {2, 3, 3, 5}, {3, 3, 5}, {2, 3, 5, 1}, {1, 2, 2, 3, 5}, {0}}) {
    CHECK(flaw<xg::MaskError>(x, 2, mask(shape)) == "");
  }
}

TEST_CASE("S26: arrays must fit each other") {
  const Inputs<double> good = inputs<double>(kCross);
  const auto with = [&](std::size_t i, const xg::Dims& shape) {
    Inputs<double> x = good;
    x[i] = xg::ones<double>(shape);
    return flaw<xg::ShapeError>(x, 2);
  };
  CHECK(with(0, {3, 8}) == "");
  CHECK(with(0, {1, 3, 8}) == "");
  CHECK(with(0, {2, 3, 6}) == "");
  CHECK(with(0, {2, 2, 3, 4}) == "");
  CHECK(with(0, {}) == "");
  CHECK(with(1, {2, 4, 8}) == "");
  CHECK(with(1, {3, 5, 8}) == "");
  CHECK(with(1, {2, 5, 4}) == "");
  CHECK(with(2, {2, 4, 8}) == "");
  CHECK(with(2, {2, 5, 4}) == "");
  CHECK(with(2, {5, 8}) == "");
  for (std::size_t i = 3; i < 7; ++i) {
    CHECK(with(i, {8, 4}) == "");
    CHECK(with(i, {4, 8}) == "");
    CHECK(with(i, {8}) == "");
    CHECK(with(i, {1, 8, 8}) == "");
    CHECK(with(i, {}) == "");
  }
}

TEST_CASE("S26: every array must be defined") {
  for (std::size_t i = 0; i < 7; ++i) {
    Inputs<double> x = inputs<double>(kCross);
    x[i] = Variable<double>();
    CHECK(flaw<xg::GraphError>(x, 2) == "");
  }
}

TEST_CASE("S27: a failed call changes nothing and leaves no graph") {
  const Inputs<double> x = inputs<double>(kCross, true);
  const auto before = values_of(x);
  const std::size_t nodes = xg::live_nodes();
  CHECK(flaw<xg::ArgumentError>(x, 3) == "");
  CHECK(flaw<xg::MaskError>(x, 2, Mask{true, false}) == "");
  CHECK(values_of(x) == before);
  CHECK(xg::live_nodes() == nodes);
  for (const auto& one : x) CHECK_FALSE(one.grad().defined());
}

TEST_CASE("S26: attention_kernel refuses what does not fit") {
  const auto q = xg::ones<double>({2, 2, 3, 4});
  const auto k = xg::ones<double>({2, 2, 5, 4});
  const auto bad = [&](const Variable<double>& other) {
    CHECK_ERROR(xg::ShapeError, "attention_kernel", xg::attention_kernel(other, k, k));
    CHECK_ERROR(xg::ShapeError, "attention_kernel", xg::attention_kernel(q, other, k));
    CHECK_ERROR(xg::ShapeError, "attention_kernel", xg::attention_kernel(q, k, other));
  };
  bad(xg::ones<double>({2, 3, 4}));
  bad(xg::ones<double>({1, 2, 3, 4}));
  bad(xg::ones<double>({2, 1, 3, 4}));
  CHECK_ERROR(xg::ShapeError, "attention_kernel",
              xg::attention_kernel(xg::ones<double>({2, 2, 3, 3}), k, k));
  CHECK_ERROR(xg::MaskError, "attention_kernel", xg::attention_kernel(q, k, k, Mask{true, false}));
  CHECK_ERROR(xg::GraphError, "attention_kernel", xg::attention_kernel(q, k, Variable<double>()));
}
