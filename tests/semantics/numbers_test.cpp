#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"

using test::exactly;
using xg::Mask;
using xg::Variable;

namespace {

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
constexpr test::Tolerance nan_too{0, 0, test::Nan::equals_nan};

}  // namespace

TEST_CASE_TEMPLATE("S19: the softmax family is stable for any finite input", T, float, double) {
  using V = Variable<T>;
  constexpr T most = std::numeric_limits<T>::max();
  for (const T scale : {T(1), T(1000), T(1e6), most / 4}) {
    V x({{0, scale}, {scale, scale}, {-scale, 0}}, true);
    const V y = xg::softmax(x);
    CHECK_CLOSE(xg::sum(y, 1), {1, 1, 1});
    CHECK(y.at({1, 0}) == T(0.5));
    if (scale > 100) {
      CHECK(y.at({0, 0}) == T(0));
      CHECK(xg::log_softmax(x).at({0, 0}) == -scale);
      CHECK(xg::logsumexp(x, 1).at(0) == scale);
    }
    xg::sum(y * y + xg::log_softmax(x) / scale).backward();
    xg::sum(xg::logsumexp(x, 1)).backward();
    for (const T g : x.grad().to_vector()) CHECK(std::isfinite(g));
  }
  CHECK_CLOSE(xg::softmax(V({most, -most, most})), {0.5, 0, 0.5}, exactly);
  CHECK_CLOSE(xg::log_softmax(V({0, -1000})), {0, -1000}, exactly);
}

TEST_CASE_TEMPLATE("S19: and for infinite input where the limit exists", T, float, double) {
  using V = Variable<T>;
  V x({{-kInf<T>, 0, 0}, {kInf<T>, 0, 5}, {-kInf<T>, -kInf<T>, -kInf<T>}, {-kInf<T>, -kInf<T>, 3}},
      true);
  const V y = xg::softmax(x);
  CHECK_CLOSE(y, {{0, 0.5, 0.5}, {1, 0, 0}, {kNan<T>, kNan<T>, kNan<T>}, {0, 0, 1}}, nan_too);
  CHECK_CLOSE(xg::slice(xg::log_softmax(x), 0, 1, 2), {{0, -kInf<T>, -kInf<T>}}, exactly);
  CHECK_CLOSE(xg::logsumexp(x, 1), V({std::log(T(2)), kInf<T>, -kInf<T>, 3}));
  const V row({-kInf<T>, -kInf<T>}, true);
  xg::logsumexp(row).backward();
  CHECK_CLOSE(row.grad(), {0, 0}, exactly);
  V one({kInf<T>, 0}, true);
  xg::logsumexp(one).backward();
  CHECK_CLOSE(one.grad(), {1, 0}, exactly);
}

TEST_CASE_TEMPLATE("S19: cross_entropy of confident and wrong logits is finite", T, float, double) {
  using V = Variable<T>;
  V logits({{1000, 0}, {0, 1000}}, true);
  const V loss = xg::cross_entropy(logits, {1, 1});
  CHECK(loss.item() == T(500));
  loss.backward();
  CHECK_CLOSE(logits.grad(), {{0.5, -0.5}, {0, 0}}, exactly);
}

TEST_CASE_TEMPLATE("S20: hidden weights are exactly 0, and so are their scores' gradients", T,
                   float, double) {
  using V = Variable<T>;
  const Mask mask({{true, false, true}, {false, false, false}, {true, true, false}});
  V x({{1, kNan<T>, 2}, {kNan<T>, kInf<T>, -kInf<T>}, {3, 3, kInf<T>}}, true);
  const V y = xg::masked_softmax(x, mask);
  CHECK(y.at({0, 1}) == T(0));
  CHECK_CLOSE(xg::slice(y, 0, 1, 3), {{0, 0, 0}, {0.5, 0.5, 0}}, exactly);
  CHECK_CLOSE(xg::sum(y, 1), {1, 0, 1});
  y.backward(V({{1, kNan<T>, 3}, {4, 5, kInf<T>}, {1, 2, kNan<T>}}));
  const V g = x.grad();
  CHECK(g.at({0, 1}) == T(0));
  CHECK_CLOSE(xg::slice(g, 0, 1, 2), {{0, 0, 0}}, exactly);
  CHECK_CLOSE(xg::slice(g, 0, 2, 3), {{-0.25, 0.25, 0}}, exactly);
  CHECK(std::isfinite(g.at({0, 0})));
}

TEST_CASE_TEMPLATE("S20: the hidden part of a softmax stays out of second derivatives", T, float,
                   double) {
  using V = Variable<T>;
  V x({{1, kNan<T>, 2}, {kNan<T>, kInf<T>, -kInf<T>}}, true);
  const V y = xg::masked_softmax(x, Mask({{true, false, true}, {false, false, false}}));
  const V g = xg::grad(xg::sum(y * y * y), x, {}, xg::create_graph)[0];
  xg::sum(g * g).backward();
  CHECK(x.grad().at({0, 1}) == T(0));
  CHECK(std::isfinite(x.grad().at({0, 0})));
  CHECK(x.grad().at({0, 0}) != T(0));
  CHECK_CLOSE(xg::slice(x.grad(), 0, 1, 2), {{0, 0, 0}}, exactly);
}

TEST_CASE_TEMPLATE("S20: masks combine by AND, true is visible", T, float, double) {
  using V = Variable<T>;
  const Mask both = xg::causal_mask(3, 3) & xg::padding_mask({2}, 3);
  CHECK(both.shape() == xg::Shape{1, 1, 3, 3});
  const V y = xg::masked_softmax(xg::zeros<T>({1, 1, 3, 3}), both);
  CHECK_CLOSE(y, {{{{1, 0, 0}, {0.5, 0.5, 0}, {0.5, 0.5, 0}}}}, exactly);
}

TEST_CASE_TEMPLATE("S20: padding may hold NaN or inf without any effect", T, float, double) {
  using V = Variable<T>;
  const auto run = [](T garbage) {
    std::vector<V> x;
    for (std::size_t i = 0; i < 7; ++i) {
      x.push_back(xg::randn<T>(i < 3 ? xg::Dims{2, 3, 4} : xg::Dims{4, 4}, i));
    }
    for (std::size_t i = 1; i < 3; ++i) {  // key and value: item 1 has one key only
      std::vector<T> values = x[i].to_vector();
      std::fill(values.begin() + 16, values.end(), garbage);
      x[i] = xg::from_data(values.data(), {2, 3, 4});
    }
    for (V& v : x) v.set_requires_grad();
    auto [output, weights] = xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], 2,
                                                      xg::padding_mask({3, 1}, 3));
    (xg::sum(output * output) + xg::sum(weights * weights * weights)).backward();
    std::vector<std::vector<T>> results{output.to_vector(), weights.to_vector()};
    for (const V& v : x) results.push_back(v.grad().to_vector());
    return results;
  };
  const auto want = run(0);
  for (const T garbage : {kNan<T>, kInf<T>, -kInf<T>, std::numeric_limits<T>::max()}) {
    CHECK(run(garbage) == want);
  }
}

TEST_CASE_TEMPLATE("S20: a fully masked query gives zeros everywhere", T, float, double) {
  using V = Variable<T>;
  V q = xg::randn<T>({1, 2, 2, 3}, 1);
  V k = xg::randn<T>({1, 2, 4, 3}, 2);
  V v = xg::randn<T>({1, 2, 4, 3}, 3);
  for (V* x : {&q, &k, &v}) x->set_requires_grad();
  auto [output, weights] = xg::attention_kernel(q, k, v, Mask({{false}, {true}}));
  CHECK_CLOSE(xg::slice(weights, 2, 0, 1), xg::zeros<T>({1, 2, 1, 4}), exactly);
  CHECK_CLOSE(xg::slice(output, 2, 0, 1), xg::zeros<T>({1, 2, 1, 3}), exactly);
  (xg::sum(output * output) + xg::sum(weights * weights)).backward();
  CHECK_CLOSE(xg::slice(q.grad(), 2, 0, 1), xg::zeros<T>({1, 2, 1, 3}), exactly);
  for (V* x : {&q, &k, &v}) x->set_grad({});
  auto all = xg::attention_kernel(q, k, v, Mask({false}));
  (xg::sum(all.output) + xg::sum(all.weights)).backward();
  for (const V* x : {&q, &k, &v}) CHECK_CLOSE(x->grad(), x->detach() * 0, exactly);
}

TEST_CASE_TEMPLATE("S20: a fully masked query gives zeros whatever values the others see", T, float,
                   double) {
  using V = Variable<T>;
  const V q = xg::randn<T>({1, 2, 2, 3}, 1).set_requires_grad();
  const V k = xg::randn<T>({1, 2, 4, 3}, 2).set_requires_grad();
  V v = xg::where(xg::Mask({{true}, {false}, {true}, {true}}), xg::randn<T>({1, 2, 4, 3}, 3),
                  kNan<T>);
  v.set_requires_grad();
  const auto [output, weights] = xg::attention_kernel(q, k, v, Mask({{false}, {true}}));
  CHECK_CLOSE(xg::slice(output, 2, 0, 1), xg::zeros<T>({1, 2, 1, 3}), exactly);
  CHECK(std::isnan(output.at({0, 0, 1, 0})));
  const V by_query = xg::grad(xg::sum(output) + xg::sum(weights), q)[0];
  CHECK_CLOSE(xg::slice(by_query, 2, 0, 1), xg::zeros<T>({1, 2, 1, 3}), exactly);
}

TEST_CASE_TEMPLATE("S21: the branch not taken gets gradient exactly 0", T, float, double) {
  using V = Variable<T>;
  const auto gradient = [](const V& x, const V& y) {
    y.backward();
    return x.grad().item();
  };
  {
    V x(1, true);
    CHECK(gradient(x, xg::where(x >= 0, x, xg::sqrt(-x))) == T(1));
  }
  {
    V x(0, true);
    CHECK(gradient(x, xg::where(x > 0, xg::log(x) * x, x)) == T(1));
  }
  {
    V x(1000, true);
    CHECK(gradient(x, xg::where(x <= 0, xg::exp(x), 1 + x)) == T(1));
  }
  {  // a long way back to x
    V x(0, true);
    const V bad = xg::exp(1 / (xg::sqrt(x) * xg::log(x) / x - x)) + xg::log(x * 0 - 1) / x;
    CHECK(gradient(x, xg::where(x > 0, bad, x * 3)) == T(3));
  }
  {
    V x({-1, 0, 4}, true);
    xg::sum(xg::where(x > 0, xg::sqrt(x), x * x)).backward();
    CHECK_CLOSE(x.grad(), {-2, 0, 0.25}, exactly);
  }
}

TEST_CASE_TEMPLATE("S21: and in second derivatives", T, float, double) {
  using V = Variable<T>;
  V x({0, 2}, true);
  const V y = xg::where(x > 0, xg::log(x) * xg::sqrt(x), x * x * x);
  const V g = xg::grad(xg::sum(y), x, {}, xg::create_graph)[0];
  CHECK(g.at(0) == T(0));
  xg::sum(g).backward();
  CHECK(x.grad().at(0) == T(0));  // 6 x
  // (ln x sqrt x)'' = -ln x / (4 x^(3/2))
  CHECK_CLOSE(xg::slice(x.grad(), 0, 1, 2), V({-std::log(T(2)) / (4 * std::pow(T(2), T(1.5)))}));
}

TEST_CASE_TEMPLATE("S21: a cotangent of zero still has derivatives", T, float, double) {
  // Forward mode by double backward: the first cotangent is 0, its derivative is not.
  using V = Variable<T>;
  V x({1, 4}, true);
  V u({0, 0}, true);
  const V g = xg::grad(xg::sqrt(x) * x, x, u, xg::create_graph)[0];
  CHECK_CLOSE(g, {0, 0}, exactly);
  const V jvp = xg::grad(g, u, V({1, 1}))[0];
  CHECK_CLOSE(jvp, {1.5, 3});
}

TEST_CASE_TEMPLATE("S22: ties and kinks", T, float, double) {
  using V = Variable<T>;
  V x({{2, 2, 1}, {0, 5, 5}}, true);
  xg::max(x).backward();
  CHECK_CLOSE(x.grad(), {{0, 0, 0}, {0, 0.5, 0.5}}, exactly);
  x.set_grad({});
  xg::sum(xg::max(x, 1)).backward();
  CHECK_CLOSE(x.grad(), {{0.5, 0.5, 0}, {0, 0.5, 0.5}}, exactly);
  x.set_grad({});
  xg::min(x * 0).backward();
  CHECK_CLOSE(x.grad(), x.detach() * 0, exactly);

  V k({-1, 0, 1, 2}, true);
  const auto derivative = [&](const V& y) {
    k.set_grad({});
    xg::sum(y).backward();
    return k.grad();
  };
  CHECK_CLOSE(derivative(xg::clip(k, 0, 1)), {0, 1, 1, 0}, exactly);
  CHECK_CLOSE(derivative(xg::relu(k)), {0, 0, 1, 1}, exactly);
  CHECK_CLOSE(derivative(xg::abs(k)), {-1, 0, 1, 1}, exactly);
  CHECK_CLOSE(derivative(xg::maximum(k, 0)), {0, 0.5, 1, 1}, exactly);
  V zero({0}, true);
  xg::sum(xg::sqrt(zero)).backward();
  CHECK_CLOSE(zero.grad(), {kInf<T>}, exactly);
  zero.set_grad({});
  xg::sum(xg::log(zero)).backward();
  CHECK_CLOSE(zero.grad(), {kInf<T>}, exactly);
}
