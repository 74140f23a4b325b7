#include <xgrad/grading/naming.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <xgrad/grading/compare.hpp>
#include <xgrad/grading/laws.hpp>
#include <xgrad/grading/measures.hpp>

namespace xg::grading {
namespace {

using Cases = std::vector<const Judged*>;

struct Variant {
  const Mistake* mistake;
  Change change;
};

std::vector<Variant> variants(const std::vector<Mistake>& mistakes) {
  std::vector<Variant> all;
  for (const Mistake& one : mistakes) {
    for (Change change : one.variants) all.push_back({&one, change});
  }
  return all;
}

/// Choices that explain the cases, and the mistakes in them, each with its choices alone.
struct Candidate {
  std::vector<std::string> ids;
  Choices choices;
  std::vector<Choices> alone;

  void add(const Variant& one) {
    one.change(choices);
    ids.emplace_back(one.mistake->id);
    alone.emplace_back();
    one.change(alone.back());
  }
};

bool same_values(const Observed& seen, const Outcome& predicted, double tolerance) {
  return !compare(seen.output, predicted.output, tolerance).differs &&
         !compare_weights(seen.weights, predicted.weights, tolerance).differs;
}

Cases of_kind(const std::vector<Judged>& cases, std::initializer_list<Kind> kinds) {
  Cases chosen;
  for (const Judged& one : cases) {
    if (std::find(kinds.begin(), kinds.end(), one.kind()) != kinds.end()) chosen.push_back(&one);
  }
  return chosen;
}

bool all_right(const Cases& cases) {
  return std::all_of(cases.begin(), cases.end(), [](const Judged* one) { return one->right; });
}

/// How well choices explain the values: -1 if they contradict a case, else the number of wrong
/// cases that they reproduce; what was thrown may come from a mistake as well as its values.
int explains_values(const Choices& choices, const Cases& cases, double tolerance) {
  int reproduced = 0;
  for (const Judged* one : cases) {
    if (!one->seen.thrown.empty()) continue;
    const Outcome predicted = attend(one->graded.c, choices, false);
    if (!predicted.specified) continue;
    if (!same_values(one->seen, predicted, tolerance)) return -1;
    if (!one->right) ++reproduced;
  }
  return reproduced;
}

/// The candidates with the most cases reproduced, one for each set of ids.
std::vector<Candidate> best(const std::vector<std::pair<int, Candidate>>& found) {
  int most = 1;
  for (const auto& one : found) most = std::max(most, one.first);
  std::vector<Candidate> chosen;
  for (const auto& one : found) {
    const bool known = std::any_of(chosen.begin(), chosen.end(), [&](const Candidate& c) {
      return std::is_permutation(c.ids.begin(), c.ids.end(), one.second.ids.begin(),
                                 one.second.ids.end());
    });
    if (one.first == most && !known) chosen.push_back(one.second);
  }
  return chosen;
}

/// Each mistake alone on top of what is known already.
std::vector<Candidate> single_values(const Candidate& base, const Cases& cases, double tolerance) {
  std::vector<std::pair<int, Candidate>> found;
  for (const Variant& one : variants(forward_mistakes())) {
    Candidate candidate = base;
    candidate.add(one);
    const int score = explains_values(candidate.choices, cases, tolerance);
    if (score > 0) found.emplace_back(score, std::move(candidate));
  }
  return best(found);
}

/// Wrong ones first, small ones of these: the first refutes nearly all pairs of mistakes.
Cases quickest_first(Cases cases) {
  const auto cost = [](const Judged* one) {
    const Sizes& n = one->graded.c.n;
    return std::make_pair(one->right || !one->seen.thrown.empty(), n.B * (n.Q + n.K) * n.D);
  };
  std::sort(cases.begin(), cases.end(),
            [&](const Judged* a, const Judged* b) { return cost(a) < cost(b); });
  return cases;
}

std::vector<Candidate> pairs_of_values(const Cases& cases, double tolerance) {
  const Cases order = quickest_first(cases);
  std::vector<std::pair<int, Candidate>> found;
  const std::vector<Variant> all = variants(forward_mistakes());
  // In both orders: the second may overwrite what the first chose.
  for (const Variant& first : all) {
    for (const Variant& second : all) {
      if (first.mistake == second.mistake) continue;
      Candidate candidate;
      candidate.add(first);
      candidate.add(second);
      const int score = explains_values(candidate.choices, order, tolerance);
      if (score > 0) found.emplace_back(score, std::move(candidate));
    }
  }
  return best(found);
}

/// The ids that every candidate has.
std::vector<std::string> certain(const std::vector<Candidate>& candidates) {
  std::vector<std::string> ids = candidates.front().ids;
  for (const Candidate& one : candidates) {
    ids.erase(std::remove_if(ids.begin(), ids.end(),
                             [&](const std::string& id) {
                               return std::find(one.ids.begin(), one.ids.end(), id) ==
                                      one.ids.end();
                             }),
              ids.end());
  }
  return ids;
}

class Namer {
 public:
  Namer(const std::vector<Judged>& values, const std::vector<Judged>& gradients, const Runner& run,
        const Tolerances& tolerances)
      : values_(values), gradients_(gradients), run_(run), t_(tolerances) {}

  Named name() {
    const Cases plain = of_kind(values_, {Kind::plain});
    const Cases masked = of_kind(values_, {Kind::masked});
    const Cases contiguous = of_kind(values_, {Kind::plain, Kind::masked, Kind::hidden});
    if (name_lengths()) return std::move(named_);
    bool explained = true;
    if (!all_right(plain)) {
      explained = name_plain(plain, masked);
    } else if (!all_right(masked)) {
      explained = name_masked(contiguous, masked);
    } else {
      explained = name_hidden(contiguous);
    }
    if (explained) name_rest();
    if (!all_right(plain) && named_.findings.empty()) note(measured_values(plain, t_));
    if (all_right(contiguous) && named_.findings.empty()) name_gradients();
    return std::move(named_);
  }

 private:
  void add(const std::string& id, const std::string& evidence) {
    named_.findings.push_back(finding(id, evidence));
  }
  void note(const std::string& measured) {
    if (measured.empty()) return;
    named_.notes.push_back("No known mistake explains what failed. Measured: " + measured + ".");
  }
  void add(const Candidate& candidate, const std::vector<std::string>& ids, bool gradients) {
    for (std::size_t i = 0; i < candidate.ids.size(); ++i) {
      if (std::find(ids.begin(), ids.end(), candidate.ids[i]) == ids.end()) continue;
      add(candidate.ids[i], smallest(&candidate.choices, &candidate.alone[i], gradients));
    }
  }
  /// One mistake whose choices were fitted.
  void add(const std::string& id, const Choices& choices) {
    base_ = {{id}, choices, {choices}};
    add(base_, base_.ids, false);
  }

  /// Names the candidates' mistakes, or those that all of them share; false if there are none.
  bool settle(const std::vector<Candidate>& candidates, bool gradients) {
    if (candidates.empty()) return false;
    const std::vector<std::string> ids = certain(candidates);
    if (ids.empty()) return false;
    add(candidates.front(), ids, gradients);
    base_ = candidates.front();
    return true;
  }

  /// Where all that is right has as many keys as queries, and the rest throws.
  bool name_lengths() {
    const auto square = [](const Case& c) { return c.n.Q == c.n.K; };
    for (const Judged& one : values_) {
      if (square(one.graded.c) ? !one.right : one.seen.thrown.empty()) return false;
    }
    for (const Case& c : ladder(false)) {
      if (square(c)) continue;
      const Observed seen = run_(c, Layout::contiguous);
      if (seen.thrown.empty()) continue;
      add("keys-counted-as-queries",
          input_text(c) + seen.thrown + "; where Q = K every result is right");
      return true;
    }
    return false;
  }

  bool name_plain(const Cases& plain, const Cases& masked) {
    std::vector<Candidate> found = single_values({}, plain, t_.values);
    if (found.size() > 1) found = prefer(found, masked);
    if (settle(found, false)) {
      name_second(plain, masked);
      return true;
    }
    if (const std::string id = law_of_values(plain, run_, t_); !id.empty()) {
      add(id, smallest(nullptr, nullptr, false));
      return false;
    }
    Choices fitted;
    if (fitted_epsilon(plain, t_, fitted) != 0) {
      add("softmax-epsilon", fitted);
      return true;
    }
    if (t_.in_double && loosely_right(plain) && loses_small_changes(*plain[1], {}, run_)) {
      add("computed-in-float", smallest(nullptr, nullptr, false));
      return false;
    }
    found = pairs_of_values(plain, t_.values);
    if (found.size() > 1) found = prefer(found, masked);
    if (settle(found, false)) return true;
    if (right_item_by_item(plain) && items_depend(*plain[1], run_, t_)) {
      add("batch-mixed", smallest(nullptr, nullptr, false));
      return false;
    }
    if (t_.in_double) {
      found = single_values({}, plain, kLoose);
      if (!found.empty() && loses_small_changes(*plain[1], found.front().choices, run_) &&
          settle(found, false)) {
        add("computed-in-float", "the results agree with those of the mistake above to 1e-5 only");
        return true;
      }
    }
    return false;
  }

  /// Those that explain the masked cases too, if there are any.
  std::vector<Candidate> prefer(const std::vector<Candidate>& found, const Cases& masked) const {
    std::vector<Candidate> better;
    for (const Candidate& one : found) {
      if (explains_values(one.choices, masked, t_.values) >= 0) better.push_back(one);
    }
    return better.empty() ? found : better;
  }

  /// A mistake about the mask beside the one that shows without it.
  void name_second(const Cases& plain, const Cases& masked) {
    if (explains_values(base_.choices, masked, t_.values) >= 0) return;
    Cases both = plain;
    both.insert(both.end(), masked.begin(), masked.end());
    std::vector<Candidate> found = single_values(base_, both, t_.values);
    // Of a row that sees no key the first mistake may have made another.
    found.erase(std::remove_if(
                    found.begin(), found.end(),
                    [](const Candidate& one) { return one.ids.back().rfind("mask-fill", 0) == 0; }),
                found.end());
    // What is known already has been said.
    for (Candidate& one : found) {
      one.ids.erase(one.ids.begin(), one.ids.end() - 1);
      one.alone.erase(one.alone.begin(), one.alone.end() - 1);
    }
    settle(found, false);
  }

  /// Whether each item is right when it is alone, in every case.
  bool right_item_by_item(const Cases& cases) const {
    for (const Judged* one : cases) {
      if (one->right) continue;
      if (!one->seen.thrown.empty() || one->graded.c.n.B == 1) return false;
      for (const Case& item : items_of(one->graded.c)) {
        if (!judge({Kind::plain, item}, run_, t_).right) return false;
      }
    }
    return true;
  }

  bool loosely_right(const Cases& cases) const {
    return std::all_of(cases.begin(), cases.end(), [](const Judged* one) {
      return one->seen.returned() && same_loosely(one->seen, one->want);
    });
  }
  static bool same_loosely(const Observed& seen, const Outcome& want) {
    return !compare(seen.output, want.output, kLoose).differs &&
           !compare(seen.weights, want.weights, kLoose).differs;
  }

  bool name_masked(const Cases& all, const Cases& masked) {
    std::vector<Candidate> found = single_values({}, all, t_.values);
    if (found.empty()) found = single_values({}, masked, t_.values);
    if (settle(found, false)) return true;
    Choices fitted;
    if (fitted_fill(masked, t_, fitted)) {
      add("mask-fill-weak", fitted);
      return true;
    }
    // A mask with all four axes leaves the least to how a mistake is written.
    Cases full;
    for (const Judged* one : masked) {
      const Case& c = one->graded.c;
      if (c.mask.size() == c.n.B * c.n.H * c.n.Q * c.n.K) full.push_back(one);
    }
    if (settle(single_values({}, full, t_.values), false)) return true;
    return settle(pairs_of_values(masked, t_.values), false);
  }

  bool name_hidden(const Cases& all) {
    const Cases hidden = of_kind(values_, {Kind::hidden});
    if (all_right(hidden)) return true;
    const Cases masked_large = of_kind(values_, {Kind::large});
    if (std::any_of(masked_large.begin(), masked_large.end(), hidden_keys_get_weight)) {
      add("mask-fill-weak", why(masked_large));
      return false;
    }
    if (settle(single_values({}, all, t_.values), false)) return true;
    if (only_blind_rows(hidden, true)) {
      add("mask-fill-inf", why(hidden));
    } else if (only_blind_rows(hidden, false)) {
      add("mask-fill-finite", why(hidden));
    } else {
      return false;
    }
    return true;
  }

  /// A hidden key that has weight where scores are large, and nothing overflows.
  static bool hidden_keys_get_weight(const Judged* one) {
    const std::vector<double>& got = one->seen.weights.data;
    if (!one->graded.c.masked() || one->right || !one->seen.returned() ||
        one->seen.weights.shape != one->want.weights.shape) {
      return false;
    }
    bool weight = false;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!std::isfinite(got[i])) return false;
      weight =
          weight || (got[i] > 0 && one->want.weights.data[i] == 0 && !visible(one->graded.c, i));
    }
    return weight;
  }
  /// Of the weight with this index.
  static bool visible(const Case& c, std::size_t i) {
    return c.visible(i / (c.n.K * c.n.Q * c.n.H), i / (c.n.K * c.n.Q) % c.n.H, i / c.n.K % c.n.Q,
                     i % c.n.K);
  }

  /// Whether only rows that see no key are wrong: NaN, or with weights that sum to one.
  bool only_blind_rows(const Cases& hidden, bool nan) const {
    for (const Judged* one : hidden) {
      const Case& c = one->graded.c;
      if (!one->seen.returned() || one->seen.weights.shape != one->want.weights.shape ||
          one->seen.output.shape != one->want.output.shape) {
        return false;
      }
      std::vector<char> touched(c.n.B * c.n.Q);  // a query with a blind row
      const std::vector<double>& got = one->seen.weights.data;
      bool weights_right = true;
      for (std::size_t row = 0; row < got.size() / c.n.K; ++row) {
        double sum = 0;
        bool blind = true;
        bool right = true;
        bool all_nan = true;
        bool positive = true;
        for (std::size_t i = row * c.n.K; i < (row + 1) * c.n.K; ++i) {
          sum += got[i];
          blind = blind && !visible(c, i);
          right = right && std::abs(got[i] - one->want.weights.data[i]) <= t_.values;
          all_nan = all_nan && std::isnan(got[i]);
          positive = positive && got[i] > 0;
        }
        if (blind) touched[row / (c.n.H * c.n.Q) * c.n.Q + row % c.n.Q] = 1;
        if (right) continue;
        if (!blind || !(nan ? all_nan : positive && std::abs(sum - 1) < kVisible)) return false;
        weights_right = false;
      }
      // The returned weights may be repaired, and the output not.
      for (std::size_t i = 0; i < one->seen.output.data.size(); ++i) {
        const double x = one->seen.output.data[i];
        if (std::abs(x - one->want.output.data[i]) <= t_.values * 10) continue;
        if (touched[i / c.n.D] == 0 || std::isnan(x) != nan) return false;
        if (!nan && weights_right && !output_of_all_keys(*one)) return false;
      }
    }
    return true;
  }

  /// Whether rows that see no key gave an output as if they saw all, equally or by their scores.
  static bool output_of_all_keys(const Judged& one) {
    Choices equal;
    equal.hide = Hide::fill;
    equal.fill = -1e30;
    Choices added;
    added.hide = Hide::fill_added;
    added.fill = -1e9;
    return !compare(one.seen.output, attend(one.graded.c, equal, false).output, kVisible).differs ||
           !compare(one.seen.output, attend(one.graded.c, added, false).output, kVisible).differs;
  }

  /// Large scores and strides, where the rest is right or explained.
  void name_rest() {
    bool overflow = false;
    for (const Judged* one : of_kind(values_, {Kind::large})) {
      if (one->right || !one->seen.returned()) continue;
      const auto& got = one->seen.weights.data;
      if (std::any_of(got.begin(), got.end(), [](double x) { return !std::isfinite(x); })) {
        const Outcome predicted = attend(one->graded.c, base_.choices, false);
        const auto& expected = predicted.weights.data;
        overflow = overflow || std::all_of(expected.begin(), expected.end(),
                                           [](double x) { return std::isfinite(x); });
      }
    }
    if (overflow) add("softmax-no-max", why(of_kind(values_, {Kind::large})));
    if (!overflow && named_.findings.empty()) {
      for (const Judged* one : of_kind(values_, {Kind::large})) {
        if (!hidden_keys_get_weight(one)) continue;
        add("mask-fill-weak", one->graded.c.name + ": " + one->why);
        break;
      }
    }
    const Cases strided = of_kind(values_, {Kind::strided});
    if (!all_right(strided) && explains_values(base_.choices, strided, t_.values) < 0 &&
        explains_values(base_.choices, of_kind(values_, {Kind::plain, Kind::masked}), t_.values) >=
            0) {
      add("strides-ignored", why(strided));
    }
  }

  static std::string why(const Cases& cases) {
    for (const Judged* one : cases) {
      if (!one->right) return one->graded.c.name + ": " + one->why;
    }
    return {};
  }

  // Gradients.

  /// -1 if the choices contradict a case, else the number of wrong gradients that they reproduce.
  /// With `mixed` each input's gradient may also be the right one, the same one in all cases.
  int explains_gradients(const Choices& choices, const Cases& cases, bool mixed) const {
    int reproduced = 0;
    std::array<bool, kInputs> only_right = {};
    std::array<bool, kInputs> only_mistaken = {};
    for (const Judged* one : cases) {
      // A backward that fails may come from a mistake as well as wrong numbers.
      if (!one->seen.returned() || !one->seen.gradient_error.empty()) continue;
      const Outcome predicted = attend(one->graded.c, choices, true);
      if (!predicted.specified) continue;
      for (std::size_t i = 0; i < kInputs; ++i) {
        const std::vector<double>& want = one->want.gradients[i];
        if (want.empty()) continue;
        const std::vector<double>& got = one->seen.gradients[i];
        const bool right = same_gradient(got, want, t_.gradients);
        if (same_gradient(got, predicted.gradients[i], t_.gradients)) {
          if (!right) {
            ++reproduced;
            only_mistaken[i] = true;
          }
        } else if (mixed && right && !one->graded.c.self) {
          only_right[i] = true;
        } else {
          return -1;
        }
        if (only_right[i] && only_mistaken[i]) return -1;
      }
    }
    return reproduced;
  }

  std::vector<Candidate> single_gradients(const Cases& cases, bool mixed) const {
    std::vector<std::pair<int, Candidate>> found;
    for (const Variant& one : variants(gradient_mistakes())) {
      Candidate candidate;
      candidate.add(one);
      const int score = explains_gradients(candidate.choices, cases, mixed);
      if (score > 0) found.emplace_back(score, std::move(candidate));
    }
    return best(found);
  }

  std::vector<Candidate> pairs_of_gradients(const Cases& cases) const {
    std::vector<std::pair<int, Candidate>> found;
    const Cases order = quickest_first(cases);
    const std::vector<Variant> all = variants(gradient_mistakes());
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = i + 1; j < all.size(); ++j) {
        if (all[i].mistake == all[j].mistake) continue;
        Candidate candidate;
        candidate.add(all[i]);
        candidate.add(all[j]);
        const int score = explains_gradients(candidate.choices, order, false);
        if (score > 0) found.emplace_back(score, std::move(candidate));
      }
    }
    return best(found);
  }

  void name_gradients() {
    if (std::none_of(gradients_.begin(), gradients_.end(),
                     [](const Judged& one) { return one.seen.gradient_error.empty(); })) {
      named_.notes.push_back("backward " + gradients_.front().seen.gradient_error);
      return;
    }
    const Cases plain = of_kind(gradients_, {Kind::plain});
    const Cases masked = of_kind(gradients_, {Kind::masked});
    const Cases hidden = of_kind(gradients_, {Kind::hidden});
    if (!all_right(plain)) {
      if (settle(single_gradients(plain, false), true)) return;
      const Multiples multiples = multiples_of_gradients(plain, t_);
      if (name_multiples(multiples)) return;
      if (settle(single_gradients(plain, true), true)) return;
      if (name_clipped(plain)) return;
      if (gradients_in_float(plain, run_, t_)) {
        add("grad-in-float", smallest(nullptr, nullptr, true));
        return;
      }
      if (name_overwritten(plain)) return;
      if (!settle(pairs_of_gradients(plain), true)) note(multiples.text);
      return;
    }
    if (!all_right(masked)) {
      if (hidden_keys_get_gradient(masked)) add("grad-reaches-masked", why(masked));
      return;
    }
    if (!all_right(hidden)) {
      const bool nan = std::any_of(hidden.begin(), hidden.end(), [](const Judged* one) {
        return std::any_of(one->seen.gradients.begin(), one->seen.gradients.end(),
                           [](const std::vector<double>& g) {
                             return std::any_of(g.begin(), g.end(),
                                                [](double x) { return std::isnan(x); });
                           });
      });
      if (nan) {
        add("grad-fully-masked-nan", why(hidden));
      } else if (as_if_all_seen(hidden)) {
        add("grad-fully-masked-uniform", why(hidden));
      }
      return;
    }
    if (name_clipped(plain)) return;
    const Cases strided = of_kind(gradients_, {Kind::strided});
    if (!all_right(strided)) add("strides-ignored", why(strided));
  }

  bool name_clipped(const Cases& plain) {
    const std::string evidence = clipped(plain, run_, t_);
    if (!evidence.empty()) add("grad-clipped", evidence);
    return !evidence.empty();
  }

  /// Where one variable is query, key and value: some of the three gradients are lost, and nothing
  /// else is wrong.
  bool name_overwritten(const Cases& cases) {
    for (const Judged* one : cases) {
      if (one->right) continue;
      if (!one->graded.c.self || !one->seen.gradient_error.empty()) return false;
      Case apart = one->graded.c;
      apart.self = false;
      const Outcome parts = attend(apart, {}, true);
      bool lost = false;
      for (std::size_t kept = 1; kept < 7 && !lost; ++kept) {
        std::vector<double> sum(parts.gradients[0].size());
        for (std::size_t part = 0; part < 3; ++part) {
          if ((kept >> part & 1) == 0) continue;
          for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += parts.gradients[part][i];
        }
        lost = same_gradient(one->seen.gradients[0], sum, t_.gradients);
      }
      for (std::size_t i = 3; i < kInputs; ++i) {
        lost = lost && same_gradient(one->seen.gradients[i], one->want.gradients[i], t_.gradients);
      }
      if (!lost) return false;
    }
    add("grad-overwritten", why(cases));
    return true;
  }

  /// Whether each gradient of a case without a visible key is zero or that of all keys seen, with
  /// the weights of the scores or equal ones, for the cotangents of both results or of one.
  static bool as_if_all_seen(const Cases& hidden) {
    for (const Judged* one : hidden) {
      if (one->graded.c.mask.size() != 1) continue;
      if (!one->seen.gradient_error.empty()) return false;
      std::vector<Outcome> possible;
      Choices scores;
      scores.hide = Hide::nowhere;
      Choices equal;
      equal.hide = Hide::fill;
      equal.fill = -1e30;
      for (const Choices& choices : {scores, equal}) {
        Case c = one->graded.c;
        possible.push_back(attend(c, choices, true));
        std::fill(c.weights_cotangent.begin(), c.weights_cotangent.end(), 0);
        possible.push_back(attend(c, choices, true));
        c.weights_cotangent = one->graded.c.weights_cotangent;
        std::fill(c.output_cotangent.begin(), c.output_cotangent.end(), 0);
        possible.push_back(attend(c, choices, true));
      }
      for (std::size_t i = 0; i < kInputs; ++i) {
        const std::vector<double>& got = one->seen.gradients[i];
        if (same_gradient(got, one->want.gradients[i], kVisible)) continue;
        if (std::none_of(possible.begin(), possible.end(), [&](const Outcome& all) {
              return same_gradient(got, all.gradients[i], kVisible);
            })) {
          return false;
        }
      }
      return !one->right;
    }
    return false;
  }

  /// Each of the seven gradients right, absent, or a multiple that has a name.
  bool name_multiples(const Multiples& found) {
    for (const std::string& id : found.ids) {
      Choices alone;
      const Choices* choices = nullptr;
      for (std::size_t i = 0; i < kInputs; ++i) {
        if (id != gradient_mistakes()[i].id) continue;
        alone.missing[i] = true;
        choices = &alone;
      }
      add(id, smallest(choices, choices, true) + "; " + found.text);
    }
    return !found.ids.empty();
  }

  bool hidden_keys_get_gradient(const Cases& cases) const {
    for (const Judged* one : cases) {
      const Case& c = one->graded.c;
      for (std::size_t row = 0; row < c.n.B * c.n.K; ++row) {
        bool seen = false;
        for (std::size_t h = 0; h < c.n.H; ++h) {
          for (std::size_t q = 0; q < c.n.Q; ++q) {
            seen = seen || c.visible(row / c.n.K, h, q, row % c.n.K);
          }
        }
        for (std::size_t input : {1, 2}) {
          const std::vector<double>& g = one->seen.gradients[input];
          if (seen || g.empty()) continue;
          for (std::size_t i = 0; i < c.n.D; ++i) {
            if (g[row * c.n.D + i] != 0) return true;
          }
        }
      }
    }
    return false;
  }

  /// The smallest input on which the mistake alone shows, and what the submission gives there. Both
  /// choices are nullptr for a mistake that is known by a law.
  std::string smallest(const Choices* all, const Choices* alone, bool gradients) const {
    for (const Case& c : ladder(gradients)) {
      const Outcome want = attend(c, {}, gradients);
      const Outcome own = alone == nullptr ? want : attend(c, *alone, gradients);
      const Outcome predicted = all == nullptr ? want : attend(c, *all, gradients);
      if (!own.specified || !predicted.specified) continue;
      if (alone != nullptr && !gradients && !shows(own.output, want.output) &&
          !shows(own.weights, want.weights)) {
        continue;
      }
      const Observed seen = run_(c, Layout::contiguous);
      if (seen.crashed) return "it " + seen.thrown;
      if (!seen.returned()) continue;
      std::string text;
      for (std::size_t i = 0; gradients && i < kInputs && text.empty(); ++i) {
        const std::vector<double> zeros(want.gradients[i].size());
        const bool arrived = !seen.gradients[i].empty();
        text = difference(
            "d/d " + std::string(kInputNames[i]), {c.shape(i), arrived ? seen.gradients[i] : zeros},
            {c.shape(i), want.gradients[i]}, {c.shape(i), own.gradients[i]}, alone != nullptr);
        if (!text.empty() && !arrived) text += " (no gradient arrived)";
      }
      if (!gradients) {
        text = difference("weights", seen.weights, want.weights, own.weights, alone != nullptr);
        if (!text.empty()) text += sums_text(c, seen.weights);
        if (text.empty()) {
          text = difference("output", seen.output, want.output, own.output, alone != nullptr);
        }
      }
      if (!text.empty()) return input_text(c) + text;
    }
    return "it shows on the cases below only";
  }

  static bool shows(const Values& mistaken, const Values& right) {
    return compare(mistaken, right, kVisible).differs;
  }

  static std::string input_text(const Case& c) {
    std::string text = "B=" + std::to_string(c.n.B) + " Q=" + std::to_string(c.n.Q) +
                       " K=" + std::to_string(c.n.K) + " D=" + std::to_string(c.n.D) +
                       " H=" + std::to_string(c.n.H);
    if (c.masked()) text += c.mask.size() == 1 ? ", every key hidden" : ", some keys hidden";
    return text + ": ";
  }

  /// Where got differs from what is right, and so does what the mistake gives.
  std::string difference(const std::string& what, const Values& got, const Values& right,
                         const Values& mistaken, bool known) const {
    if (known && !shows(mistaken, right)) return {};
    const Difference found = compare(got, right, known ? kVisible : t_.values);
    if (!found.differs) return {};
    if (got.shape != right.shape) return what + " have " + found.text;
    std::string text = what + " " + index_text(right.shape, found.at) + ": got " +
                       number_text(got.data[found.at]) + ", right is " +
                       number_text(right.data[found.at]);
    if (known && mistaken.shape == right.shape && !compare(got, mistaken, kVisible).differs) {
      text += ", this mistake gives " + number_text(mistaken.data[found.at]);
    }
    return text;
  }

  /// Along which axis the weights sum to one, if the rows do not.
  static std::string sums_text(const Case& c, const Values& weights) {
    const Shape shape = {c.n.B, c.n.H, c.n.Q, c.n.K};
    if (weights.shape != shape || c.masked()) return {};
    const auto sums = [&](std::size_t axis) {
      std::size_t step = 1;
      for (std::size_t i = axis + 1; i < 4; ++i) step *= shape[i];
      std::vector<double> all;
      for (std::size_t start = 0; start < weights.data.size(); ++start) {
        if (start / step % shape[axis] != 0) continue;
        double sum = 0;
        for (std::size_t i = 0; i < shape[axis]; ++i) sum += weights.data[start + i * step];
        all.push_back(sum);
      }
      return all;
    };
    const auto ones = [](const std::vector<double>& all) {
      return std::all_of(all.begin(), all.end(), [](double x) { return std::abs(x - 1) < 1e-4; });
    };
    const std::vector<double> rows = sums(3);
    if (ones(rows)) return {};
    std::string text = "; the first row sums to " + number_text(rows[0]) + " instead of 1";
    const std::array<const char*, 3> names = {"batch", "heads", "queries"};
    for (std::size_t axis : {2, 1, 0}) {
      if (shape[axis] > 1 && ones(sums(axis))) {
        text += std::string("; the sums over the ") + names[axis] + " are 1";
      }
    }
    return text;
  }

  static constexpr double kLoose = 1e-5;
  static constexpr double kVisible = 1e-3;

  const std::vector<Judged>& values_;
  const std::vector<Judged>& gradients_;
  const Runner& run_;
  const Tolerances t_;
  Candidate base_;
  Named named_;
};

}  // namespace

GradeFinding finding(const std::string& id, const std::string& evidence) {
  const Mistake& one = mistake(id);
  return {one.id, one.name, one.place, evidence, one.hint};
}

Judged judge(Graded graded, const Runner& run, const Tolerances& tolerances) {
  Judged one;
  one.graded = std::move(graded);
  const Case& c = one.graded.c;
  const bool gradients = !c.output_cotangent.empty();
  one.want = attend(c, {}, gradients);
  one.seen = run(c, one.graded.layout);
  if (!one.seen.thrown.empty()) {
    one.why = one.seen.thrown;
    return one;
  }
  if (!one.seen.undefined.empty()) {
    one.why = one.seen.undefined + " is an undefined Variable";
    return one;
  }
  const double loose = one.graded.kind == Kind::large ? 1e-3 : tolerances.values;
  const Difference output = compare(one.seen.output, one.want.output, loose);
  const Difference weights = compare_weights(one.seen.weights, one.want.weights, loose);
  if (weights.differs || output.differs) {
    one.why = weights.differs ? "weights " + weights.text : "output " + output.text;
    return one;
  }
  if (gradients && !one.seen.gradient_error.empty()) {
    one.why = "backward " + one.seen.gradient_error;
    return one;
  }
  for (std::size_t i = 0; gradients && i < kInputs; ++i) {
    const std::vector<double>& want = one.want.gradients[i];
    if (want.empty()) continue;
    const std::vector<double>& got = one.seen.gradients[i];
    const Values zeros{c.shape(i), std::vector<double>(want.size())};
    const Difference found = compare(got.empty() ? zeros : Values{c.shape(i), got},
                                     {c.shape(i), want}, tolerances.gradients);
    if (found.differs) {
      one.why = "d/d " + std::string(kInputNames[i]) + " " + found.text +
                (one.seen.has_gradient[i] ? "" : ", no gradient arrived");
      return one;
    }
  }
  one.right = true;
  return one;
}

Named name_mistakes(const std::vector<Judged>& values, const std::vector<Judged>& gradients,
                    const Runner& run, const Tolerances& tolerances) {
  return Namer(values, gradients, run, tolerances).name();
}

}  // namespace xg::grading
