#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <xgrad/mha/routing.hpp>
#include <xgrad/xgrad.hpp>

namespace {

enum class Mistake {
  none,
  heads_swapped,
  no_w_o,
  w_q_for_keys,
  merge_by_reshape_alone,
  split_by_reshape_alone,
  softmax_over_queries,
  no_scale,
  half_as_scale,
  scale_of_width,
  w_v_transposed,
  weights_averaged,
  results_swapped,
  throws,
  throws_an_int,
  undefined_result,
  nan_result,
  query_axis_lost
};

/// Multi-head attention as a student writes it, with one mistake.
template <class T>
xg::AttentionFunction<T> hand_written(Mistake mistake) {
  using V = xg::Variable<T>;
  return [mistake](const V& query, const V& key, const V& value, const V& w_q, const V& w_k,
                   const V& w_v, const V& w_o, std::int64_t heads, const xg::Mask& mask) {
    const auto is = [mistake](Mistake m) { return mistake == m; };
    if (is(Mistake::throws)) throw std::invalid_argument("not written yet");
    if (is(Mistake::throws_an_int)) throw 42;
    if (is(Mistake::undefined_result)) return xg::Attention<T>{};

    const auto D = static_cast<std::int64_t>(query.shape()[2]);
    const std::int64_t d = D / heads;
    const auto cut = [&](const V& x) {
      if (is(Mistake::split_by_reshape_alone)) return xg::reshape(x, {1, heads, -1, d});
      return xg::transpose(xg::reshape(x, {1, -1, heads, d}), {0, 2, 1, 3});
    };
    const V q = cut(xg::matmul(query, w_q));
    const V k = cut(xg::matmul(key, is(Mistake::w_q_for_keys) ? w_q : w_k));
    const V v = cut(xg::matmul(value, is(Mistake::w_v_transposed) ? xg::transpose(w_v) : w_v));

    double scale = 1 / std::sqrt(static_cast<double>(d));
    if (is(Mistake::no_scale)) scale = 1;
    if (is(Mistake::half_as_scale)) scale = 0.5;
    if (is(Mistake::scale_of_width)) scale = 1 / std::sqrt(static_cast<double>(D));
    const V scores = xg::matmul(q, xg::swapaxes(k, -1, -2)) * scale;
    V weights = is(Mistake::softmax_over_queries) ? xg::softmax(scores, -2)
                                                  : xg::masked_softmax(scores, mask);
    if (is(Mistake::heads_swapped)) weights = xg::flip(weights, 1);
    const V joined = xg::reshape(is(Mistake::merge_by_reshape_alone)
                                     ? xg::matmul(weights, v)
                                     : xg::transpose(xg::matmul(weights, v), {0, 2, 1, 3}),
                                 {1, -1, D});
    V output = is(Mistake::no_w_o) ? joined : xg::matmul(joined, w_o);
    if (is(Mistake::weights_averaged)) weights = xg::mean(weights, 1);
    if (is(Mistake::nan_result)) output = output * std::numeric_limits<double>::quiet_NaN();
    if (is(Mistake::query_axis_lost)) output = xg::sum(output, 1);
    if (is(Mistake::results_swapped)) std::swap(output, weights);
    return xg::Attention<T>{output, weights};
  };
}

using Names = std::vector<std::string>;
const Names kAll = {"weights of head 0", "weights of head 1", "concatenation", "output"};

Names failed(const xg::RoutingRun& run) {
  Names names;
  for (const xg::RoutingCheck& check : run.checks) {
    if (!check.passed) names.push_back(check.name);
  }
  return names;
}

template <class T>
Names failed(Mistake mistake) {
  return failed(xg::run_routing<T>(hand_written<T>(mistake)).submitted);
}

}  // namespace

TEST_CASE_TEMPLATE("the library's own attention routes as worked out on paper", T, float, double) {
  const auto result = xg::run_routing<T>(xg::multi_head_attention<T>);
  CHECK(result.passed());
  CHECK(result.submitted.label == "submitted function");
  CHECK(result.reference_preview.label == "reference preview");
  CHECK(result.reference_preview.passed());
  CHECK(result.submitted.checks.size() == 4);
}

TEST_CASE("the first query's head 0 prefers key 0 and its head 1 key 2") {
  const auto weights = xg::run_routing(xg::multi_head_attention<double>).submitted.values.weights;
  REQUIRE(weights.size() == 12);
  CHECK(weights[0] > 0.8);
  CHECK(weights[6 + 2] > 0.75);
}

TEST_CASE("the expected numbers are those of another calculation") {
  // By hand in Python, from the same logits and values.
  const auto expected = xg::run_routing(xg::multi_head_attention<double>).expected;
  CHECK(std::abs(expected.weights[0] - 0.8437947344813395) < 1e-15);
  CHECK(std::abs(expected.weights[11] - 1.0 / 3) < 1e-15);
  CHECK(std::abs(expected.concatenation[0] - 1.6154043357121506) < 1e-14);
  CHECK(std::abs(expected.output[0] - 0.7751088280845011) < 1e-14);
}

TEST_CASE_TEMPLATE("a right function written by hand passes", T, float, double) {
  CHECK(failed<T>(Mistake::none).empty());
}

TEST_CASE("a function that asks for any callable type is enough") {
  const auto by_value = [](auto q, auto k, auto v, auto wq, auto wk, auto wv, auto wo, int heads,
                           const xg::Mask& mask) {
    return xg::multi_head_attention(q, k, v, wq, wk, wv, wo, heads, mask);
  };
  CHECK(xg::run_routing(by_value).passed());
}

TEST_CASE_TEMPLATE("a mistake fails the checks that it touches, and no other", T, float, double) {
  CHECK(failed<T>(Mistake::no_w_o) == Names{"output"});
  CHECK(failed<T>(Mistake::merge_by_reshape_alone) == Names{"concatenation", "output"});
  CHECK(failed<T>(Mistake::w_v_transposed) == Names{"concatenation", "output"});
  CHECK(failed<T>(Mistake::weights_averaged) == Names{"weights of head 0", "weights of head 1"});
  CHECK(failed<T>(Mistake::nan_result) == Names{"concatenation", "output"});
  CHECK(failed<T>(Mistake::query_axis_lost) == Names{"concatenation", "output"});
  for (Mistake mistake :
       {Mistake::heads_swapped, Mistake::w_q_for_keys, Mistake::split_by_reshape_alone,
        Mistake::softmax_over_queries, Mistake::no_scale, Mistake::half_as_scale,
        Mistake::scale_of_width, Mistake::results_swapped, Mistake::throws, Mistake::throws_an_int,
        Mistake::undefined_result}) {
    CAPTURE(static_cast<int>(mistake));
    CHECK(failed<T>(mistake) == kAll);
  }
}

TEST_CASE("a failed check says what it got and what it wanted") {
  const auto got = [](Mistake mistake, std::size_t check) {
    return xg::run_routing(hand_written<double>(mistake)).submitted.checks.at(check);
  };
  CHECK(got(Mistake::throws, 0).got == "threw: not written yet");
  CHECK(got(Mistake::throws_an_int, 2).got == "threw something that is not a std::exception");
  CHECK(got(Mistake::undefined_result, 3).got == "an undefined Variable");
  CHECK(got(Mistake::weights_averaged, 0).got == "shape (1, 2, 3)");
  CHECK(got(Mistake::weights_averaged, 0).want == "shape (1, 2, 2, 3)");
  CHECK(got(Mistake::nan_result, 3).got.find("nan") != std::string::npos);
  CHECK(got(Mistake::heads_swapped, 0).got == "[0.1065, 0.1065, 0.787] [0.3333, 0.3333, 0.3333]");
  CHECK(got(Mistake::heads_swapped, 0).want ==
        "[0.8438, 0.1142, 0.04201] [0.03512, 0.7054, 0.2595]");
}

TEST_CASE("a double computed in float fails, and the difference shows it") {
  const auto in_float = [](const auto& query, const auto& key, const auto& value, const auto& w_q,
                           const auto& w_k, const auto& w_v, const auto& w_o, std::int64_t heads,
                           const xg::Mask& mask) {
    const auto narrow = [](const xg::Variable<double>& x) {
      const auto values = x.to_vector();
      return xg::from_data(std::vector<float>(values.begin(), values.end()).data(), x.shape());
    };
    const auto wide = [](const xg::Variable<float>& x) {
      const auto values = x.to_vector();
      return xg::from_data(std::vector<double>(values.begin(), values.end()).data(), x.shape());
    };
    const auto [output, weights] =
        xg::multi_head_attention(narrow(query), narrow(key), narrow(value), narrow(w_q),
                                 narrow(w_k), narrow(w_v), narrow(w_o), heads, mask);
    return xg::Attention<double>{wide(output), wide(weights)};
  };
  const auto run = xg::run_routing(in_float).submitted;
  CHECK(failed(run) == kAll);
  CHECK(run.checks[3].difference > 1e-9);
  CHECK(run.checks[3].difference < 1e-5);
}

TEST_CASE("a wrong submission leaves the reference preview as it is") {
  const auto result = xg::run_routing(hand_written<double>(Mistake::heads_swapped));
  CHECK_FALSE(result.passed());
  CHECK(result.reference_preview.passed());
  const std::string text = result.to_string();
  CHECK(text.find("submitted function: FAILED") != std::string::npos);
  CHECK(text.find("reference preview: passed") != std::string::npos);
}

TEST_CASE("a submission that writes to its inputs does not reach the next call") {
  const auto writes = [](xg::Variable<double> q, const auto& k, const auto& v, const auto& wq,
                         const auto& wk, const auto& wv, const auto& wo, std::int64_t heads,
                         const xg::Mask& mask) {
    auto result = xg::multi_head_attention(q, k, v, wq, wk, wv, wo, heads, mask);
    q.set_value(q * 0.0);
    return result;
  };
  CHECK(xg::run_routing(writes).passed());
}
