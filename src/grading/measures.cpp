#include <xgrad/grading/measures.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include <xgrad/grading/compare.hpp>

namespace xg::grading {
namespace {

using Numbers = std::vector<double>;

struct Factor {
  const char* text;
  const char* id;  // nullptr: right, or one id for each input
  double (*value)(const Sizes& n, std::size_t input);
  bool parameters_only;
};

/// Sums over the batch are the gradients of parameters only.
const std::array<Factor, 7>& factors() {
  static const std::array<Factor, 7> all = {
      Factor{"1", nullptr, [](const Sizes&, std::size_t) { return 1.0; }, false},
      Factor{"-1", "grad-negated", [](const Sizes&, std::size_t) { return -1.0; }, false},
      Factor{"2", "grad-doubled", [](const Sizes&, std::size_t) { return 2.0; }, false},
      Factor{"1/H", "grad-heads-averaged",
             [](const Sizes& n, std::size_t) { return 1 / static_cast<double>(n.H); }, false},
      Factor{"1/B", "grad-w-averaged",
             [](const Sizes& n, std::size_t) { return 1 / static_cast<double>(n.B); }, true},
      Factor{"1/(B Q) or 1/(B K)", "grad-w-averaged",
             [](const Sizes& n, std::size_t input) {
               return 1 / static_cast<double>(n.B * (input == 4 || input == 5 ? n.K : n.Q));
             },
             true},
      Factor{"0", nullptr, [](const Sizes&, std::size_t) { return 0.0; }, false},
  };
  return all;
}
constexpr std::size_t kRight = 0;
constexpr std::size_t kZero = 6;

/// A case and what each of the two cotangents contributes to the right gradients.
struct Parts {
  const Judged* one;
  Outcome from_output, from_weights;
};

/// The factors of both parts in all cases.
std::optional<std::pair<std::size_t, std::size_t>> factors_of(const std::vector<Parts>& cases,
                                                              std::size_t input, double tolerance) {
  const auto fits = [&](std::size_t a, std::size_t b) {
    if (input < 3 && (factors()[a].parameters_only || factors()[b].parameters_only)) return false;
    return std::all_of(cases.begin(), cases.end(), [&](const Parts& c) {
      const Sizes& n = c.one->graded.c.n;
      Numbers want = c.from_output.gradients[input];
      const Numbers& other = c.from_weights.gradients[input];
      const double of_output = factors()[a].value(n, input);
      const double of_weights = factors()[b].value(n, input);
      for (std::size_t i = 0; i < want.size(); ++i) {
        want[i] = of_output * want[i] + of_weights * other[i];
      }
      return same_gradient(c.one->seen.gradients[input], want, tolerance);
    });
  };
  for (std::size_t a = 0; a < factors().size(); ++a) {
    if (fits(a, a)) return std::make_pair(a, a);
  }
  for (std::size_t a = 0; a < kZero; ++a) {
    for (std::size_t b = 0; b < kZero; ++b) {
      if (fits(a, b)) return std::make_pair(a, b);
    }
  }
  return std::nullopt;
}

std::string id_of(std::size_t factor, std::size_t input) {
  if (factor != kZero) return factors()[factor].id;
  std::string name = kInputNames[input];
  std::replace(name.begin(), name.end(), '_', '-');
  return "grad-missing-" + name;
}

/// The factor in got = factor want, if there is one.
std::optional<double> factor_of(const Numbers& got, const Numbers& want, double tolerance) {
  double product = 0;
  double square = 0;
  if (got.size() != want.size()) return std::nullopt;
  for (std::size_t i = 0; i < got.size(); ++i) {
    product += got[i] * want[i];
    square += want[i] * want[i];
  }
  const double factor = square > 0 ? product / square : 0;
  Numbers scaled = want;
  for (double& x : scaled) x *= factor;
  if (!std::isfinite(factor) || !same_gradient(got, scaled, tolerance)) return std::nullopt;
  return factor;
}

/// Factors of several cases: "0.5" or "0.333333 with B=2 H=3, 0.5 with B=3 H=2"; empty if all
/// are 1.
std::string text_of(const std::vector<std::pair<Sizes, double>>& measured) {
  const auto equal = [](double a, double b) { return std::abs(a - b) <= 1e-4 * std::abs(b); };
  if (measured.empty()) return {};
  const double first = measured.front().second;
  if (std::all_of(measured.begin(), measured.end(),
                  [&](const auto& one) { return equal(one.second, first); })) {
    return equal(first, 1) ? "" : number_text(first);
  }
  std::string text;
  for (const auto& [n, factor] : measured) {
    text += (text.empty() ? "" : ", ") + number_text(factor) + " with B=" + std::to_string(n.B) +
            " Q=" + std::to_string(n.Q) + " K=" + std::to_string(n.K) +
            " D=" + std::to_string(n.D) + " H=" + std::to_string(n.H);
  }
  return text;
}

/// Gradients with one text become one clause.
class Clauses {
 public:
  void add(const std::string& text, std::size_t input) {
    for (auto& [known, inputs] : all_) {
      if (known == text) {
        inputs.push_back(input);
        return;
      }
    }
    all_.push_back({text, {input}});
  }
  std::string text() const {
    std::string result;
    for (const auto& [text, inputs] : all_) {
      const bool many = inputs.size() > 1;
      result += std::string(result.empty() ? "" : "; ") +
                (many ? "the gradients of " : "the gradient of ");
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        result += (i == 0                   ? ""
                   : i + 1 == inputs.size() ? " and "
                                            : ", ") +
                  std::string(kInputNames[inputs[i]]);
      }
      result += (many ? " are " : " is ") + text;
    }
    return result;
  }

 private:
  std::vector<std::pair<std::string, std::vector<std::size_t>>> all_;
};

}  // namespace

Multiples multiples_of_gradients(const std::vector<const Judged*>& plain, const Tolerances& t) {
  std::vector<Parts> cases;
  for (const Judged* one : plain) {
    if (one->graded.c.self) continue;
    if (!one->seen.returned() || !one->seen.gradient_error.empty()) return {};
    Case c = one->graded.c;
    std::fill(c.weights_cotangent.begin(), c.weights_cotangent.end(), 0);
    Outcome from_output = attend(c, {}, true);
    c.weights_cotangent = one->graded.c.weights_cotangent;
    std::fill(c.output_cotangent.begin(), c.output_cotangent.end(), 0);
    cases.push_back({one, std::move(from_output), attend(c, {}, true)});
  }
  Multiples result;
  bool explained = true;
  Clauses known;
  Clauses measured;
  for (std::size_t input = 0; input < kInputs; ++input) {
    if (const auto found = factors_of(cases, input, t.gradients)) {
      const auto [a, b] = *found;
      for (std::size_t factor : {a, b}) {
        if (factor == kRight) continue;
        const std::string id = id_of(factor, input);
        if (std::find(result.ids.begin(), result.ids.end(), id) == result.ids.end()) {
          result.ids.push_back(id);
        }
      }
      const std::string times = factors()[a].text;
      if (a != b) {
        known.add(times + " times right in what comes from the output, " + factors()[b].text +
                      " times in what comes from the weights",
                  input);
      } else if (a != kRight) {
        known.add(a == kZero ? "zero or absent" : times + " times what is right", input);
      }
    } else {
      explained = false;
    }
    std::vector<std::pair<Sizes, double>> of_cases;
    bool all = true;
    for (const Parts& one : cases) {
      const Numbers& want = one.one->want.gradients[input];
      if (same_gradient({}, want, t.gradients)) continue;
      const auto factor = factor_of(one.one->seen.gradients[input], want, t.gradients);
      all = all && factor.has_value();
      of_cases.emplace_back(one.one->graded.c.n, factor.value_or(0));
    }
    const std::string text = all ? text_of(of_cases) : "";
    if (!text.empty()) measured.add(text + " times what is right", input);
  }
  if (!explained) result.ids.clear();
  result.text = (result.ids.empty() ? measured : known).text();
  return result;
}

std::string measured_values(const std::vector<const Judged*>& plain, const Tolerances& t) {
  std::vector<std::pair<Sizes, double>> outputs;
  std::vector<std::pair<Sizes, double>> weights;
  std::vector<std::pair<Sizes, double>> divisors;
  bool same_output = true;
  bool same_weights = true;
  bool scaled_scores = true;
  for (const Judged* one : plain) {
    const Sizes& n = one->graded.c.n;
    if (!one->seen.returned() || one->seen.weights.shape != one->want.weights.shape) return {};
    const Numbers& got = one->seen.weights.data;
    const auto of_output = factor_of(one->seen.output.data, one->want.output.data, t.values);
    const auto of_weights = factor_of(got, one->want.weights.data, t.values);
    same_output = same_output && of_output.has_value();
    same_weights = same_weights && of_weights.has_value();
    outputs.emplace_back(n, of_output.value_or(0));
    weights.emplace_back(n, of_weights.value_or(0));
    if (n.K == 1) continue;
    // log w_k - log w_0 = (s_k - s_0) / divisor
    Choices raw;
    raw.returned = Returned::scores;
    const Numbers scores = attend(one->graded.c, raw, false).weights.data;
    double product = 0;
    double square = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t first = i / n.K * n.K;
      const double step = scores[i] - scores[first];
      product += step * std::log(got[i] / got[first]);
      square += step * step;
    }
    const double factor = product / square;
    Numbers softmax(got.size());
    for (std::size_t row = 0; row < got.size(); row += n.K) {
      double sum = 0;
      for (std::size_t k = 0; k < n.K; ++k) sum += std::exp(factor * scores[row + k]);
      for (std::size_t k = 0; k < n.K; ++k) {
        softmax[row + k] = std::exp(factor * scores[row + k]) / sum;
      }
    }
    scaled_scores =
        scaled_scores && std::isfinite(factor) && same_gradient(got, softmax, 10 * t.values);
    divisors.emplace_back(n, 1 / factor);
  }
  std::string text;
  const auto say = [&](const std::string& clause) { text += (text.empty() ? "" : "; ") + clause; };
  if (const std::string by = scaled_scores ? text_of(divisors) : ""; !by.empty()) {
    say("the weights are those of scores divided by " + by + " times sqrt(d)");
  }
  if (const std::string by = same_weights ? text_of(weights) : ""; !by.empty()) {
    say("the weights are " + by + " times the right ones");
  }
  if (const std::string by = same_output ? text_of(outputs) : ""; !by.empty()) {
    say("the output is " + by + " times the right one");
  }
  return text;
}

}  // namespace xg::grading
