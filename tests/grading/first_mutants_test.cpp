// The submissions themselves: the right ones are right, and each other one is wrong where its
// mistake can show.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "../support/allclose.hpp"
#include "../support/strided.hpp"
#include "mutants.hpp"

using mutants::Function;
using mutants::Mutant;
using test::Layout;
using test::Tolerance;
using xg::Attention;
using xg::Mask;
using xg::Variable;

namespace {

constexpr const char* kNames[] = {"query", "key", "value", "w_q", "w_k", "w_v", "w_o"};

template <class T>
Function<T> function(const Mutant& mutant) {
  if constexpr (std::is_same_v<T, double>) {
    return mutant.in_double;
  } else {
    return mutant.in_float;
  }
}

template <class T>
Attention<T> reference(const Variable<T>& query, const Variable<T>& key, const Variable<T>& value,
                       const Variable<T>& w_q, const Variable<T>& w_k, const Variable<T>& w_v,
                       const Variable<T>& w_o, std::int64_t H, const Mask& mask) {
  return xg::multi_head_attention(query, key, value, w_q, w_k, w_v, w_o, H, mask);
}

struct Input {
  std::string what;
  std::int64_t B, Q, K, D, H;
  Mask mask = {};
  Layout layout = Layout::contiguous;
  double query_size = 1;
  bool one_variable = false;  ///< for query, key and value
};

/// Numbers of 0 and 1, 0 with probability one third.
Mask random_mask(const xg::Dims& shape, std::uint64_t seed) {
  return xg::uniform<double>(shape, 0, 1, seed) < 2.0 / 3;
}

/// The same with the first query of the first item's first head blind.
Mask with_blind_query(std::int64_t B, std::int64_t H, std::int64_t Q, std::int64_t K) {
  const auto row = xg::arange<double>(0, static_cast<double>(B * H * Q));
  return random_mask({B, H, Q, K}, 5) & (reshape(row, {B, H, Q, 1}) > 0);
}

std::vector<Input> inputs() {
  std::vector<Input> out{
      {"no mask", 2, 3, 5, 12, 4},
      {"as many keys as queries", 2, 4, 4, 6, 2},
      {"one head", 2, 3, 4, 3, 1},
      {"one feature a head", 1, 2, 3, 2, 2},
      {"more queries than keys", 2, 5, 2, 6, 3},
      {"one key", 2, 3, 1, 6, 3},
      {"large scores", 1, 2, 3, 6, 2, {}, Layout::contiguous, 3000},
      {"causal", 2, 4, 4, 6, 3, xg::causal_mask(4, 4)},
      {"a mask for all", 2, 3, 5, 6, 3, random_mask({3, 5}, 1)},
      {"a mask for each item, as many as heads", 2, 3, 5, 6, 2, random_mask({2, 1, 3, 5}, 2)},
      {"a mask for each head", 3, 3, 5, 6, 2, random_mask({2, 3, 5}, 3)},
      {"padding", 3, 2, 4, 6, 2, xg::padding_mask({4, 2, 0}, 4)},
      {"a mask for everything", 2, 4, 4, 6, 3, with_blind_query(2, 3, 4, 4)},
      {"a mask for everything, more keys", 2, 3, 5, 12, 4, with_blind_query(2, 4, 3, 5)},
      {"nothing visible", 1, 2, 3, 6, 2, Mask({false})},
      {"one variable", 2, 3, 3, 6, 2, random_mask({3, 3}, 4), Layout::contiguous, 1, true},
  };
  for (Layout layout : test::kLayouts) {
    out.push_back(
        {"memory " + test::name(layout), 2, 3, 4, 6, 3, with_blind_query(2, 3, 3, 4), layout});
  }
  return out;
}

template <class T>
std::vector<Variable<T>> variables(const Input& input) {
  const std::int64_t D = input.D;
  const std::vector<xg::Dims> shapes{{input.B, input.Q, D},
                                     {input.B, input.K, D},
                                     {input.B, input.K, D},
                                     {D, D},
                                     {D, D},
                                     {D, D},
                                     {D, D}};
  std::vector<Variable<T>> out;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto size = static_cast<T>(i == 0 ? input.query_size : 1);
    const auto x = xg::uniform<T>(shapes[i], -size, size, i + 1);
    out.push_back(test::laid_out(x, input.layout).set_requires_grad());
  }
  if (input.one_variable) out[1] = out[2] = out[0];
  return out;
}

template <class T>
Attention<T> call(Function<T> f, const std::vector<Variable<T>>& x, const Input& input) {
  return f(x[0], x[1], x[2], x[3], x[4], x[5], x[6], input.H, input.mask);
}

template <class T>
Tolerance tolerance(const Input& input) {
  if (std::is_same_v<T, double>) return {1e-9, 1e-9};
  return input.query_size > 1 ? Tolerance{2e-2, 2e-2} : Tolerance{1e-4, 1e-4};
}

/// Where a weight is 0 in one and not in the other.
template <class T>
std::string zeros_difference(const Variable<T>& got, const Variable<T>& want) {
  const auto zeros = [](const Variable<T>& x) {
    std::vector<T> out;
    for (T value : x.to_vector()) out.push_back(value == 0 ? 1 : 0);
    return out;
  };
  return test::difference(zeros(got), zeros(want), test::exactly);
}

/// How values of f differ from the right ones, or what else f does wrong; empty if nothing.
template <class T>
std::string value_flaw(Function<T> f, const Input& input) {
  const auto x = variables<T>(input);
  std::vector<std::vector<T>> before;
  for (const auto& one : x) before.push_back(one.to_vector());
  const Attention<T> want = call<T>(reference<T>, x, input);
  try {
    const Attention<T> got = call<T>(f, x, input);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i].to_vector() != before[i]) return std::string(kNames[i]) + " has changed";
    }
    std::string flaw = test::difference(got.output, want.output, tolerance<T>(input));
    if (!flaw.empty()) return "output " + flaw;
    flaw = test::difference(got.weights, want.weights, tolerance<T>(input));
    if (!flaw.empty()) return "weights " + flaw;
    // Large scores may underflow to 0 or not, by rounding.
    if (input.query_size == 1) flaw = zeros_difference(got.weights, want.weights);
    if (!flaw.empty()) return "zero weights " + flaw;
    const Attention<T> again = call<T>(f, x, input);
    flaw = test::difference(again.output, got.output, test::exactly);
    return flaw.empty() ? "" : "second call " + flaw;
  } catch (const std::exception& error) {
    return std::string("throws ") + error.what();
  }
}

/// The gradients of a loss that uses output and weights; zeros where there is none.
template <class T>
std::vector<Variable<T>> gradients(Function<T> f, const Input& input) {
  const auto x = variables<T>(input);
  const Attention<T> a = call<T>(f, x, input);
  const auto weighted = [](const Variable<T>& y, std::uint64_t seed) {
    return sum(y * xg::uniform<T>(y.shape(), -10, 10, seed));
  };
  auto out = xg::grad(weighted(a.output, 21) + weighted(a.weights, 22), x, {}, xg::allow_unused);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!out[i].defined()) out[i] = xg::zeros<T>(x[i].shape());
  }
  return out;
}

template <class T>
std::string gradient_flaw(Function<T> f, const Input& input) {
  const auto want = gradients<T>(reference<T>, input);
  try {
    const auto got = gradients<T>(f, input);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::string flaw = test::difference(got[i], want[i], tolerance<T>(input));
      if (!flaw.empty()) return std::string(kNames[i]) + " " + flaw;
    }
  } catch (const std::exception& error) {
    return std::string("throws ") + error.what();
  }
  return "";
}

/// What f returns for each input, and what it leaves of the query; nothing where it throws.
std::vector<std::vector<Variable<double>>> results(Function<double> f) {
  std::vector<std::vector<Variable<double>>> out;
  for (const Input& input : inputs()) {
    const auto x = variables<double>(input);
    out.emplace_back();
    try {
      const auto a = call<double>(f, x, input);
      out.back() = {a.output, a.weights, x[0]};
    } catch (const std::exception&) {
    }
  }
  return out;
}

std::vector<std::vector<Variable<double>>> all_gradients(Function<double> f) {
  std::vector<std::vector<Variable<double>>> out;
  for (const Input& input : inputs()) {
    out.emplace_back();
    try {
      out.back() = gradients<double>(f, input);
    } catch (const std::exception&) {
    }
  }
  return out;
}

bool alike(const Variable<double>& a, const Variable<double>& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return test::difference(a, b, {1e-12, 1e-12, test::Nan::equals_nan}).empty();
}

/// The first pair of submissions that nothing tells apart; empty if there is none.
std::string indistinguishable(
    const std::vector<Mutant>& mutants,
    std::vector<std::vector<Variable<double>>> (*what)(Function<double>)) {
  std::vector<std::vector<std::vector<Variable<double>>>> all;
  for (const Mutant& mutant : mutants) all.push_back(what(mutant.in_double));
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      bool same = true;
      for (std::size_t i = 0; same && i < all[a].size(); ++i) {
        same = std::equal(all[a][i].begin(), all[a][i].end(), all[b][i].begin(), all[b][i].end(),
                          alike);
      }
      if (same) return std::string(mutants[a].id) + " and " + mutants[b].id;
    }
  }
  return "";
}

/// Empty if f throws for a number of heads that does not divide D.
template <class T>
std::string heads_flaw(Function<T> f) {
  for (std::int64_t H : {2, 0, -1}) {
    const Input input{"", 1, 2, 3, 5, H};
    try {
      call<T>(f, variables<T>(input), input);
      return "nothing thrown for " + std::to_string(H) + " heads";
    } catch (const std::exception&) {
    }
  }
  return "";
}

/// Mistakes that show only for inputs of their own kind.
bool shows_on_ordinary_inputs(const std::string& id) {
  const std::set<std::string> special{"softmax-no-max", "strides-ignored", "heads-unchecked"};
  return special.count(id) == 0 && (id.rfind("mask-", 0) != 0 || id == "mask-always-causal");
}

/// Mistakes that float's own rounding hides.
bool shows_in_float(const std::string& id) {
  const std::set<std::string> hidden{"computed-in-float", "softmax-epsilon", "grad-in-float"};
  return hidden.count(id) == 0;
}

}  // namespace

TEST_CASE("each mistake occurs once") {
  std::set<std::string> ids;
  for (const auto* set : {&mutants::first_forward(), &mutants::first_gradient()}) {
    for (const Mutant& mutant : *set)
      CHECK_MESSAGE(ids.insert(mutant.id).second, std::string(mutant.id));
  }
  CHECK(mutants::first_forward().size() >= 70);
  CHECK(mutants::first_gradient().size() >= 25);
  CHECK(mutants::correct_but_unusual().size() >= 18);
}

TEST_CASE_TEMPLATE("unusual but correct submissions have the right values and gradients", T, double,
                   float) {
  for (const Mutant& correct : mutants::correct_but_unusual()) {
    const std::string id = correct.id;
    CAPTURE(id);
    CHECK(heads_flaw<T>(function<T>(correct)) == "");
    for (const Input& input : inputs()) {
      CAPTURE(input.what);
      CHECK(value_flaw<T>(function<T>(correct), input) == "");
      // Gradients through large scores are differences of numbers in the thousands.
      if (input.query_size == 1) CHECK(gradient_flaw<T>(function<T>(correct), input) == "");
    }
  }
}

TEST_CASE_TEMPLATE("submissions with a mistake in the values are wrong somewhere", T, double,
                   float) {
  const std::vector<Input> all = inputs();
  for (const Mutant& mutant : mutants::first_forward()) {
    const std::string id = mutant.id;
    CAPTURE(id);
    if (std::is_same_v<T, float> && !shows_in_float(id)) continue;
    std::string flaws = heads_flaw<T>(function<T>(mutant));
    CHECK((flaws != "") == (id == "heads-unchecked"));
    for (const Input& input : all) flaws += value_flaw<T>(function<T>(mutant), input);
    CHECK(flaws != "");
    const bool right_on_ordinary = value_flaw<T>(function<T>(mutant), all[0]).empty();
    CHECK(right_on_ordinary == !shows_on_ordinary_inputs(id));
  }
}

TEST_CASE_TEMPLATE("submissions with a mistake in the gradients have the right values", T, double,
                   float) {
  for (const Mutant& mutant : mutants::first_gradient()) {
    const std::string id = mutant.id;
    CAPTURE(id);
    std::string flaws;
    CHECK(heads_flaw<T>(function<T>(mutant)) == "");
    for (const Input& input : inputs()) {
      CAPTURE(input.what);
      CHECK(value_flaw<T>(function<T>(mutant), input) == "");
      if (input.query_size == 1) flaws += gradient_flaw<T>(function<T>(mutant), input);
    }
    if (std::is_same_v<T, double> || shows_in_float(id)) CHECK(flaws != "");
  }
}

TEST_CASE("every two mistakes differ somewhere") {
  CHECK(indistinguishable(mutants::first_forward(), results) == "");
  CHECK(indistinguishable(mutants::first_gradient(), all_gradients) == "");
}
