// Two mistakes at once: a change to the arguments or the results around a mutant of the first set.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/grading.hpp>

#include "mutants.hpp"

namespace {

using V = xg::Variable<double>;
using Function = xg::AttentionFunction<double>;

struct Call {
  V query, key, value, w_q, w_k, w_v, w_o;
  std::int64_t num_heads;
  xg::Mask mask;
};

xg::Attention<double> run(const Function& f, const Call& c) {
  return f(c.query, c.key, c.value, c.w_q, c.w_k, c.w_v, c.w_o, c.num_heads, c.mask);
}

struct Around {
  const char* id;
  void (*arguments)(Call& call);
  void (*results)(const Call& call, xg::Attention<double>& results);
};

void leave(Call&) {}
void leave_results(const Call&, xg::Attention<double>&) {}
V turned(const V& w) { return swapaxes(w, 0, 1); }

const std::vector<Around>& changes() {
  static const std::vector<Around> all = {
      {"transposed-w-q", [](Call& c) { c.w_q = turned(c.w_q); }, leave_results},
      {"transposed-w-k", [](Call& c) { c.w_k = turned(c.w_k); }, leave_results},
      {"transposed-w-v", [](Call& c) { c.w_v = turned(c.w_v); }, leave_results},
      {"transposed-w-o", [](Call& c) { c.w_o = turned(c.w_o); }, leave_results},
      {"w-q-for-keys", [](Call& c) { c.w_k = c.w_q; }, leave_results},
      {"w-k-for-values", [](Call& c) { c.w_v = c.w_k; }, leave_results},
      {"w-v-w-o-swapped", [](Call& c) { std::swap(c.w_v, c.w_o); }, leave_results},
      {"key-as-value", [](Call& c) { c.value = c.key; }, leave_results},
      {"key-value-swapped", [](Call& c) { std::swap(c.key, c.value); }, leave_results},
      {"mask-ignored", [](Call& c) { c.mask = {}; }, leave_results},
      {"mask-inverted",
       [](Call& c) {
         if (c.mask.defined()) c.mask = ~c.mask;
       },
       leave_results},
      {"mask-always-causal",
       [](Call& c) {
         const xg::Mask causal = xg::causal_mask(static_cast<std::int64_t>(c.query.shape()[1]),
                                                 static_cast<std::int64_t>(c.key.shape()[1]));
         c.mask = c.mask.defined() ? c.mask & causal : causal;
       },
       leave_results},
      {"residual-added", leave,
       [](const Call& c, xg::Attention<double>& r) { r.output = r.output + c.query; }},
      {"w-o-twice", leave,
       [](const Call& c, xg::Attention<double>& r) { r.output = matmul(r.output, c.w_o); }},
      {"output-activation", leave,
       [](const Call&, xg::Attention<double>& r) { r.output = relu(r.output); }},
      {"results-swapped", leave,
       [](const Call&, xg::Attention<double>& r) { std::swap(r.output, r.weights); }},
  };
  return all;
}

Function around(const Around& change, mutants::Function<double> f) {
  return [&change, f](const V& query, const V& key, const V& value, const V& w_q, const V& w_k,
                      const V& w_v, const V& w_o, std::int64_t num_heads, const xg::Mask& mask) {
    const Call given{query, key, value, w_q, w_k, w_v, w_o, num_heads, mask};
    Call changed = given;
    change.arguments(changed);
    xg::Attention<double> results = run(f, changed);
    change.results(given, results);
    return results;
  };
}

bool equal(const V& a, const V& b) {
  return a.defined() && a.shape() == b.shape() && max(abs(a - b)).item() < 1e-8;
}

/// On inputs that are not the grader's.
bool differs_from_reference(const Function& f) {
  for (const std::int64_t K : {4, 5}) {
    const std::int64_t B = 3, Q = 4, D = 8, H = 2;
    Call c{xg::randn<double>({B, Q, D}, 1),
           xg::randn<double>({B, K, D}, 2),
           xg::randn<double>({B, K, D}, 3),
           xg::randn<double>({D, D}, 4),
           xg::randn<double>({D, D}, 5),
           xg::randn<double>({D, D}, 6),
           xg::randn<double>({D, D}, 7),
           H,
           {}};
    for (const bool masked : {false, true}) {
      if (masked) c.mask = xg::randn<double>({B, H, Q, K}, 8) > 0;
      const auto want = run(xg::multi_head_attention<double>, c);
      try {
        const auto got = run(f, c);
        if (!equal(got.output, want.output) || !equal(got.weights, want.weights)) return true;
      } catch (const std::exception&) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

TEST_CASE("of 100 random pairs of mistakes none that shows passes") {
  std::uint64_t state = 1;
  const auto random = [&](std::size_t size) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state >> 33) % size;
  };
  int shows = 0;
  int both = 0;
  int one = 0;
  int wrong = 0;
  std::string unnamed;
  for (int i = 0; i < 100; ++i) {
    const Around& change = changes()[random(changes().size())];
    const mutants::Mutant& mutant =
        mutants::first_forward()[random(mutants::first_forward().size())];
    const Function f = around(change, mutant.in_double);
    if (!differs_from_reference(f)) continue;
    ++shows;
    const auto report = xg::grade<double>(f);
    INFO(change.id << " around " << mutant.id << "\n" << report.to_string());
    CHECK_FALSE(report.passed());
    const auto ids = report.mistakes();
    const bool first = std::find(ids.begin(), ids.end(), change.id) != ids.end();
    const bool second = std::find(ids.begin(), ids.end(), mutant.id) != ids.end();
    const bool other = static_cast<int>(ids.size()) > (first ? 1 : 0) + (second ? 1 : 0) &&
                       std::string(change.id) != mutant.id;
    both += first && second ? 1 : 0;
    one += first != second ? 1 : 0;
    if (!(first && second) || other) {
      std::string text;
      for (const std::string& id : ids) text += " " + id;
      unnamed += std::string("  ") + change.id + " + " + mutant.id + " ->" + text + "\n";
    }
    wrong += other ? 1 : 0;
  }
  std::cout << "of " << shows << " pairs that show, both mistakes are named in " << both
            << ", one of them in " << one << "; another name is given in " << wrong << ":\n"
            << unnamed;
  CHECK(shows > 80);
}
