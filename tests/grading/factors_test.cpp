// Gradients with a wrong factor, of each input and behind each step; and mistakes that nobody
// listed, which have to stay without a name.

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <xgrad/grading.hpp>

#include "expect_named.hpp"
#include "first_parts.hpp"

namespace {

using mutants::first::merge_heads;
using mutants::first::project;
using mutants::first::scaled_scores;
using V = xg::Variable<double>;

/// Where a factor may sit on the way back: each input, then what lies behind a step.
enum Place { query, key, value, w_q, w_k, w_v, w_o, q, k, v, scores, heads, output, weights };
constexpr std::size_t kPlaces = 14;

struct Call {
  std::int64_t B, H, rows;  // rows: of what a parameter is multiplied by
  Place place;
};
using Factor = double (*)(const Call& call);

template <class T>
xg::AttentionFunction<T> with_factors(std::vector<Place> places, Factor factor) {
  using X = xg::Variable<T>;
  return [places, factor](const X& query_, const X& key_, const X& value_, const X& w_q_,
                          const X& w_k_, const X& w_v_, const X& w_o_, std::int64_t H,
                          const xg::Mask& mask) -> xg::Attention<T> {
    const auto at = [&](Place place, const X& x) {
      for (Place one : places) {
        if (one != place) continue;
        const bool keys = place == w_k || place == w_v;
        const std::int64_t rows = mutants::first::extent(keys ? key_ : query_, 1);
        const Call call{mutants::first::extent(query_, 0), H, rows, place};
        const auto by = static_cast<T>(factor(call));
        const auto op = xg::custom<T>(
            "scaled back", [](const std::vector<X>& in) { return in[0]; },
            [by](const std::vector<X>&, const X&, X g) { return std::vector<X>{g * by}; });
        return op(x);
      }
      return x;
    };
    const auto parts = project<T>(at(query, query_), at(key, key_), at(value, value_),
                                  at(w_q, w_q_), at(w_k, w_k_), at(w_v, w_v_), H);
    const X s = at(scores, scaled_scores(at(q, parts.q), at(k, parts.k)));
    const X a = masked_softmax(s, mask);
    const X joined = merge_heads(at(heads, matmul(a, at(v, parts.v))));
    return {at(output, matmul(joined, at(w_o, w_o_))), at(weights, a)};
  };
}

/// Each place alone, and groups.
std::vector<std::vector<Place>> groups() {
  std::vector<std::vector<Place>> all;
  for (std::size_t i = 0; i < kPlaces; ++i) all.push_back({static_cast<Place>(i)});
  for (const std::vector<Place>& more :
       std::vector<std::vector<Place>>{{query, key},
                                       {query, w_q},
                                       {key, w_v, w_o},
                                       {w_q, w_k, w_v},
                                       {w_q, w_k, w_v, w_o},
                                       {query, key, value},
                                       {q, v},
                                       {query, key, value, w_q, w_k, w_v, w_o}}) {
    all.push_back(more);
  }
  return all;
}

std::string text_of(const std::vector<Place>& places) {
  std::string text = "places";
  for (Place one : places) text += " " + std::to_string(one);
  return text;
}

template <class T>
void expect(const std::vector<Place>& places, Factor factor, const std::string& ids,
            const std::string& says = "") {
  const auto report = xg::grade<T>(with_factors<T>(places, factor));
  INFO(text_of(places) << "\n" << report.to_string());
  CHECK_FALSE(report.passed());
  CHECK(test::joined(report.mistakes()) == ids);
  CHECK(report.to_string().find(says) != std::string::npos);
}

template <class T>
using Function = xg::AttentionFunction<T>;

template <class T>
struct Made {
  xg::Variable<T> q, k, v, w_o;
  xg::Mask mask;
  std::int64_t H;
};

/// A submission from its projections.
template <class T, class F>
Function<T> made(F f) {
  using X = xg::Variable<T>;
  return [f](const X& query_, const X& key_, const X& value_, const X& w_q_, const X& w_k_,
             const X& w_v_, const X& w_o_, std::int64_t H, const xg::Mask& mask) {
    const auto parts = project<T>(query_, key_, value_, w_q_, w_k_, w_v_, H);
    return f(Made<T>{parts.q, parts.k, parts.v, w_o_, mask, H});
  };
}

template <class T>
xg::Attention<T> finished(const Made<T>& m, const xg::Variable<T>& weights_) {
  return mutants::first::finish<T>(weights_, m.v, m.w_o);
}

/// x, with rule(g) for its gradient.
template <class T>
xg::Variable<T> with_rule(const xg::Variable<T>& x,
                          std::function<xg::Variable<T>(const xg::Variable<T>&)> rule) {
  using X = xg::Variable<T>;
  return xg::custom<T>(
      "ruled", [](const std::vector<X>& in) { return in[0]; },
      [rule](const std::vector<X>&, const X&, X g) { return std::vector<X>{rule(g)}; })(x);
}

template <class T>
xg::Variable<T> right_weights(const Made<T>& m) {
  return masked_softmax(scaled_scores(m.q, m.k), m.mask);
}

/// What no list of mistakes has. Of the values.
template <class T>
std::vector<std::pair<const char*, Function<T>>> unknown_values() {
  using X = xg::Variable<T>;
  using M = Made<T>;
  const auto output_of = [](const M& m, auto change) -> xg::Attention<T> {
    auto result = finished(m, right_weights(m));
    result.output = change(result.output);
    return result;
  };
  return {
      {"temperature 1.3", made<T>([](const M& m) {
         return finished(m, masked_softmax(scaled_scores(m.q, m.k) / T(1.3), m.mask));
       })},
      {"output times 0.9",
       made<T>([=](const M& m) { return output_of(m, [](const X& y) { return y * T(0.9); }); })},
      {"output times 1.5",
       made<T>([=](const M& m) { return output_of(m, [](const X& y) { return y * T(1.5); }); })},
      {"output over the number of items", made<T>([=](const M& m) {
         return output_of(
             m, [](const X& y) { return y / static_cast<T>(mutants::first::extent(y, 0)); });
       })},
      {"weights squared and normalised", made<T>([](const M& m) {
         const X a = right_weights(m) * right_weights(m);
         return finished(m, X(a / (sum(a, -1, true) + T(1e-30))));
       })},
      {"weights times 0.9",
       made<T>([](const M& m) { return finished(m, X(right_weights(m) * T(0.9))); })},
      {"weights times 1.25",
       made<T>([](const M& m) { return finished(m, X(right_weights(m) * T(1.25))); })},
      {"noise", made<T>([=](const M& m) {
         return output_of(m, [](const X& y) { return y + xg::randn<T>(y.shape(), 3) * T(1e-3); });
       })},
      {"the last query is left out", made<T>([](const M& m) -> xg::Attention<T> {
         const auto rows = xg::arange<T>(0, static_cast<T>(mutants::first::extent(m.q, 2)));
         const auto last = static_cast<T>(mutants::first::extent(m.q, 2) - 1);
         const X a = right_weights(m);
         const X kept = where(reshape(rows, {1, 1, -1, 1}) < last, a, 0);
         return finished(m, kept);
       })},
      {"the last head is left out", made<T>([](const M& m) -> xg::Attention<T> {
         const auto all = xg::arange<T>(0, static_cast<T>(m.H));
         const X a = right_weights(m);
         const X y = matmul(a, m.v);
         const X kept =
             where(reshape(all, {1, -1, 1, 1}) < static_cast<T>(m.H - 1) + T(m.H == 1), y, 0);
         return {matmul(merge_heads(kept), m.w_o), a};
       })},
      {"features rotated", made<T>([](const M& m) -> xg::Attention<T> {
         const X a = right_weights(m);
         const X y = merge_heads(matmul(a, m.v));
         const X rotated = xg::concat<T>({slice(y, 2, 1, xg::end), slice(y, 2, 0, 1)}, 2);
         return {matmul(rotated, m.w_o), a};
       })},
      {"a row without visible keys sees the first", made<T>([](const M& m) {
         const X a = right_weights(m);
         const X first =
             where(reshape(xg::arange<T>(0, static_cast<T>(mutants::first::extent(a, 3))),
                           {1, 1, 1, -1}) == T(0),
                   xg::ones<T>(a.shape()), 0);
         return finished(m, where(sum(a, -1, true) == T(0), first, a));
       })},
      {"the mask one key too far", made<T>([](const M& m) {
         const X s = scaled_scores(m.q, m.k);
         const X seen = mutants::first::as_numbers<T>(m.mask, s.shape());
         const X moved = xg::concat<T>({slice(seen, 3, 1, xg::end), slice(seen, 3, 0, 1)}, 3);
         return finished(m, masked_softmax(s, moved != T(0)));
       })},
      {"no mask for the last head", made<T>([](const M& m) {
         const X s = scaled_scores(m.q, m.k);
         const X seen = mutants::first::as_numbers<T>(m.mask, s.shape());
         const X head = reshape(xg::arange<T>(0, static_cast<T>(m.H)), {1, -1, 1, 1});
         const xg::Mask last = head == static_cast<T>(m.H - 1);
         return finished(m, masked_softmax(s, (seen != T(0)) | last));
       })},
      {"hidden keys get a little weight", made<T>([](const M& m) {
         const X a = right_weights(m);
         const X seen = mutants::first::as_numbers<T>(m.mask, a.shape());
         return finished(m, X(a + (T(1) - seen) * T(1e-3)));
       })},
      {"scores clipped to 40", made<T>([](const M& m) {
         return finished(m, masked_softmax(clip(scaled_scores(m.q, m.k), -40, 40), m.mask));
       })},
      {"half of each of two heads' weights", made<T>([](const M& m) {
         const X a = right_weights(m);
         return finished(m, X(a * T(0.3) + broadcast_to(mean(a, 1, true), a.shape()) * T(0.7)));
       })},
  };
}

/// Right values, wrong gradients.
template <class T>
std::vector<std::pair<const char*, Function<T>>> unknown_gradients() {
  using X = xg::Variable<T>;
  using M = Made<T>;
  const auto ruled = [](std::function<X(const X&)> rule) {
    return made<T>([rule](const M& m) {
      const X a = right_weights(m);
      auto result = finished(M{m.q, m.k, with_rule<T>(m.v, rule), m.w_o, m.mask, m.H}, a);
      result.output = with_rule<T>(result.output, rule);
      return result;
    });
  };
  return {
      {"noise", ruled([](const X& g) { return g + xg::randn<T>(g.shape(), 3) * T(1e-3); })},
      {"the sine", ruled([](const X& g) { return sin(g) * T(0.7); })},
      {"the cube", ruled([](const X& g) { return g + g * g * g; })},
      {"one too much", ruled([](const X& g) { return g + T(1); })},
      {"always of norm one", ruled([](const X& g) { return g / sqrt(sum(g * g)); })},
      {"a row without visible keys sends ones", made<T>([](const M& m) {
         const X a = right_weights(m);
         const X blind = where(sum(a, -1, true) == T(0), xg::ones<T>(a.shape()), 0);
         const X s =
             with_rule<T>(scaled_scores(m.q, m.k), [blind](const X& g) { return g + blind; });
         return finished(m, masked_softmax(s, m.mask));
       })},
  };
}

template <class T>
void expect_unnamed(const std::string& what, const Function<T>& f, const std::string& says = "") {
  const auto report = xg::grade<T>(f);
  INFO(what << "\n" << report.to_string());
  CHECK_FALSE(report.passed());
  CHECK(test::joined(report.mistakes()) == "");
  CHECK(report.to_string().find("No known mistake explains what failed.") != std::string::npos);
  CHECK(report.to_string().find(says) != std::string::npos);
}

/// The first six inputs, each with a rule of its own for its gradient or none.
template <class T>
Function<T> with_rules(std::vector<Place> places,
                       std::function<xg::Variable<T>(const xg::Variable<T>&)> rule) {
  using X = xg::Variable<T>;
  return [=](const X& query_, const X& key_, const X& value_, const X& w_q_, const X& w_k_,
             const X& w_v_, const X& w_o_, std::int64_t H, const xg::Mask& mask) {
    std::array<X, 7> x = {query_, key_, value_, w_q_, w_k_, w_v_, w_o_};
    for (Place one : places) x[one] = with_rule<T>(x[one], rule);
    const auto parts = project<T>(x[0], x[1], x[2], x[3], x[4], x[5], H);
    const Made<T> m{parts.q, parts.k, parts.v, x[6], mask, H};
    return finished(m, right_weights(m));
  };
}

}  // namespace

TEST_CASE_TEMPLATE("gradients with a wrong sign are named, whichever they are", T, double, float) {
  for (const auto& places : groups()) {
    expect<T>(
        places, [](const Call&) { return -1.0; }, "grad-negated");
  }
}

TEST_CASE_TEMPLATE("gradients twice too large are named, whichever they are", T, double, float) {
  for (const auto& places : groups()) {
    expect<T>(
        places, [](const Call&) { return 2.0; }, "grad-doubled");
  }
}

TEST_CASE_TEMPLATE("means over the heads are named, whichever they are", T, double, float) {
  for (const auto& places : groups()) {
    expect<T>(
        places, [](const Call& call) { return 1 / static_cast<double>(call.H); },
        "grad-heads-averaged");
  }
}

TEST_CASE_TEMPLATE("means over the batch are named for parameters only", T, double, float) {
  const Factor batch = [](const Call& call) { return 1 / static_cast<double>(call.B); };
  const Factor rows = [](const Call& call) { return 1 / static_cast<double>(call.B * call.rows); };
  for (const std::vector<Place>& places : std::vector<std::vector<Place>>{
           {w_q}, {w_o}, {w_q, w_o}, {w_k, w_v}, {w_q, w_k, w_v, w_o}}) {
    expect<T>(places, batch, "grad-w-averaged");
    expect<T>(places, rows, "grad-w-averaged");
  }
  for (const std::vector<Place>& places :
       std::vector<std::vector<Place>>{{query}, {query, w_q}, {scores}, {output}}) {
    expect<T>(places, batch, "");
  }
}

TEST_CASE_TEMPLATE("a factor without a meaning is measured, not named", T, double, float) {
  for (const auto& places : groups()) {
    expect<T>(
        places, [](const Call&) { return 0.5; }, "");
    if (places.size() == 1) continue;
    expect<T>(
        places, [](const Call&) { return -0.7; }, "");
    // Another one for each size.
    expect<T>(
        places, [](const Call& call) { return 1 / static_cast<double>(call.B + call.H); }, "");
  }
  expect<T>(
      {query, key}, [](const Call&) { return 0.5; }, "",
      "the gradients of query and key are 0.5 times what is right");
  expect<T>(
      {w_q, w_o}, [](const Call& call) { return 1 / static_cast<double>(call.B); },
      "grad-w-averaged", "the gradients of w_q and w_o are 1/B times what is right");
  expect<T>(
      {value}, [](const Call& call) { return 1 / static_cast<double>(call.B); }, "",
      "the gradient of value is 0.5 with B=2 Q=4 K=4 D=6 H=3, 0.333333 with B=3");
}

TEST_CASE_TEMPLATE("two factors are both named, and one without a meaning leaves none", T, double,
                   float) {
  expect<T>(
      {query, value}, [](const Call& call) { return call.place == query ? -1.0 : 2.0; },
      "grad-negated, grad-doubled",
      "the gradient of query is -1 times what is right; the gradient of value is 2 times");
  expect<T>(
      {w_k, w_o}, [](const Call& call) { return call.place == w_k ? 0.0 : -1.0; },
      "grad-missing-w-k, grad-negated");
  expect<T>(
      {query, value}, [](const Call& call) { return call.place == query ? -1.0 : 0.3; }, "");
}

TEST_CASE_TEMPLATE("only gradients that stop growing are named as clipped", T, double, float) {
  using X = xg::Variable<T>;
  for (const std::vector<Place>& places :
       std::vector<std::vector<Place>>{{query}, {w_q, w_o}, {value, w_k}}) {
    const auto named = [&](std::function<X(const X&)> rule) {
      const auto report = xg::grade<T>(with_rules<T>(places, rule));
      INFO(text_of(places) << "\n" << report.to_string());
      CHECK_FALSE(report.passed());
      return test::joined(report.mistakes());
    };
    CHECK(named([](const X& g) { return clip(g, -0.5, 0.5); }) == "grad-clipped");
    CHECK(named([](const X& g) { return clip(g, -1000, 1000); }) == "grad-clipped");
    CHECK(named([](const X& g) {
            const double norm = std::sqrt(sum(g * g).item());
            return norm > 1 ? g / static_cast<T>(norm) : g;
          }) == "grad-clipped");
    CHECK(named([](const X& g) { return g + g * abs(g); }) == "");
    CHECK(named([](const X& g) { return where(abs(g) > T(1), g * T(0.5), g); }) == "");
  }
}

TEST_CASE_TEMPLATE("mistakes that nobody listed get no name", T, double, float) {
  for (const auto& [what, f] : unknown_values<T>()) expect_unnamed<T>(what, f);
  for (const auto& [what, f] : unknown_gradients<T>()) expect_unnamed<T>(what, f);
  const auto all = unknown_values<T>();
  expect_unnamed<T>(all[0].first, all[0].second,
                    "the weights are those of scores divided by 1.3 times sqrt(d)");
  expect_unnamed<T>(all[1].first, all[1].second, "the output is 0.9 times the right one");
}

TEST_CASE("mixtures of mistakes get no name") {
  const auto& mutants = mutants::first_forward();
  for (std::size_t i = 0; i + 1 < mutants.size(); i += 6) {
    const std::string id = mutants[i].id;
    // So are the mixture's.
    if (id == "inputs-changed" || std::string(mutants[i + 1].id) == "inputs-changed") continue;
    const auto f = [&, i](const V& query_, const V& key_, const V& value_, const V& w_q_,
                          const V& w_k_, const V& w_v_, const V& w_o_, std::int64_t H,
                          const xg::Mask& mask) -> xg::Attention<double> {
      const auto a = mutants[i].in_double(query_, key_, value_, w_q_, w_k_, w_v_, w_o_, H, mask);
      const auto b =
          mutants[i + 1].in_double(query_, key_, value_, w_q_, w_k_, w_v_, w_o_, H, mask);
      return {a.output * 0.37 + b.output * 0.41, a.weights * 0.37 + b.weights * 0.63};
    };
    const auto report = xg::grade<double>(f);
    INFO(id << " and " << std::string(mutants[i + 1].id) << "\n" << report.to_string());
    CHECK_FALSE(report.passed());
    CHECK(test::joined(report.mistakes()) == "");
  }
}

TEST_CASE("one variable whose gradient comes three times has lost none") {
  const auto report = xg::grade<double>([](const V& query_, const V& key_, const V& value_,
                                           const V& w_q_, const V& w_k_, const V& w_v_,
                                           const V& w_o_, std::int64_t H, const xg::Mask& mask) {
    const bool one = xg::detail::raw_view(query_).memory == xg::detail::raw_view(key_).memory;
    const double times = one ? 3 : 1;
    const V x = with_rule<double>(query_, [times](const V& g) { return g * times; });
    const auto parts = project<double>(x, key_, value_, w_q_, w_k_, w_v_, H);
    const Made<double> m{parts.q, parts.k, parts.v, w_o_, mask, H};
    return finished(m, right_weights(m));
  });
  INFO(report.to_string());
  CHECK_FALSE(report.passed());
  CHECK(test::joined(report.mistakes()) == "");
}

TEST_CASE("what is a little off in double is not computed in float") {
  using M = Made<double>;
  for (const double off : {1e-6, 1e-7, 1e-8}) {
    expect_unnamed<double>("values", made<double>([off](const M& m) {
                             auto result = finished(m, right_weights(m));
                             result.output = result.output * (1 + off);
                             return result;
                           }));
    expect_unnamed<double>("gradients",
                           with_rules<double>({query, w_v}, [off](const V& g) { return g + off; }));
  }
}
