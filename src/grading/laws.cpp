#include <xgrad/grading/laws.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include <xgrad/grading/compare.hpp>

namespace xg::grading {
namespace {

using Numbers = std::vector<double>;

/// Of cotangents: a power of two, so that products with it are exact.
constexpr double kFactor = 1048576;
/// A change of the inputs that float cannot hold.
constexpr double kTiny = 1.0 / (1 << 30);

Numbers identity(std::size_t D, double value = 1) {
  Numbers w(D * D);
  for (std::size_t i = 0; i < D; ++i) w[i * (D + 1)] = value;
  return w;
}

std::string threw(const Observed& seen) {
  return seen.thrown.empty() ? seen.undefined + " is undefined" : seen.thrown;
}

/// x[.., positions, ..] along the middle of three extents.
Numbers taken(const Numbers& x, std::size_t outer, std::size_t inner,
              const std::vector<std::size_t>& positions) {
  const std::size_t length = x.size() / (outer * inner);
  Numbers y;
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t p : positions) {
      for (std::size_t i = 0; i < inner; ++i) y.push_back(x[(o * length + p) * inner + i]);
    }
  }
  return y;
}

Case with_full_mask(
    Case c,
    const std::function<bool(std::size_t, std::size_t, std::size_t, std::size_t)>& visible) {
  std::vector<bool> mask;
  for (std::size_t b = 0; b < c.n.B; ++b) {
    for (std::size_t h = 0; h < c.n.H; ++h) {
      for (std::size_t q = 0; q < c.n.Q; ++q) {
        for (std::size_t k = 0; k < c.n.K; ++k) mask.push_back(visible(b, h, q, k));
      }
    }
  }
  set_mask(c, {c.n.B, c.n.H, c.n.Q, c.n.K}, std::move(mask));
  return c;
}

class Laws {
 public:
  Laws(const std::vector<Judged>& values, const Runner& run, const Tolerances& t,
       std::uint64_t seed)
      : values_(values), run_(run), t_(t), seed_(seed) {
    cross_ = generic_case({}, {3, 4, 5, 6, 2}, seed + 1);
    masked_ = cross_;
    set_random_mask(masked_, {3, 2, 4, 5}, seed + 1);
  }

  std::vector<GradeCheck> run() {
    law("each row of the weights sums to one, or is zero", [&] { return row_sums(); });
    law("permuting keys, values and the mask leaves the output", [&] { return permuted(); });
    law("what hidden keys hold changes nothing", [&] { return garbage(); });
    law("leaving hidden keys out changes nothing", [&] { return truncated(); });
    law("a batch equals its items one by one", [&] { return batch(); });
    law("H heads equal H calls with one head on slices of the features", [&] { return blocks(); });
    law("doubling w_o doubles the output", [&] { return doubled(); });
    law("causal isolation: a later key changes no earlier query", [&] { return causal(); });
    law("large scores stay finite", [&] { return finite(); });
    law("the gradients are linear in the cotangent", [&] { return linear(); });
    if (t_.in_double) {
      law("the gradients are those of the function itself", [&] { return directional(); });
    }
    return std::move(checks_);
  }

 private:
  void law(const char* name, const std::function<std::string()>& f) {
    std::string detail = f();
    checks_.push_back({"T2", name, detail.empty(), std::move(detail)});
  }

  Observed call(const Case& c) const { return run_(c, Layout::contiguous); }

  std::string same(const Case& a, const Case& b,
                   const std::function<Values(const Values&)>& of_output,
                   const std::function<Values(const Values&)>& of_weights) const {
    const Observed first = call(a);
    const Observed second = call(b);
    if (!first.returned()) return threw(first);
    if (!second.returned()) return threw(second);
    const Difference output = compare(second.output, of_output(first.output), t_.values);
    if (output.differs) return "then output " + output.text;
    const Difference weights = compare(second.weights, of_weights(first.weights), t_.values);
    return weights.differs ? "then weights " + weights.text : "";
  }

  std::string row_sums() const {
    for (const Judged& one : values_) {
      if (!one.seen.returned() || one.seen.weights.shape != one.want.weights.shape) continue;
      const std::size_t K = one.graded.c.n.K;
      const Numbers& w = one.seen.weights.data;
      for (std::size_t row = 0; row < w.size() / K; ++row) {
        double sum = 0;
        bool hidden = true;
        for (std::size_t k = 0; k < K; ++k) {
          sum += w[row * K + k];
          hidden = hidden && one.want.weights.data[row * K + k] == 0;
        }
        const double want = hidden ? 0 : 1;
        if (!(std::abs(sum - want) <= t_.values)) {
          Shape rows = one.seen.weights.shape;
          rows.pop_back();
          return one.graded.c.name + ": the row " + index_text(rows, row) + " sums to " +
                 number_text(sum) + ", want " + number_text(want);
        }
      }
    }
    return {};
  }

  std::string permuted() const {
    const std::vector<std::size_t> order = {3, 0, 4, 1, 2};
    const Sizes n = masked_.n;
    Case c = masked_;
    for (std::size_t i : {1, 2}) c.inputs[i] = taken(c.inputs[i], n.B, n.D, order);
    c = with_full_mask(
        c, [&](auto b, auto h, auto q, auto k) { return masked_.visible(b, h, q, order[k]); });
    return same(
        masked_, c, [](const Values& x) { return x; },
        [&](const Values& x) {
          if (x.data.size() != n.B * n.H * n.Q * n.K) return x;
          return Values{x.shape, taken(x.data, n.B * n.H * n.Q, 1, order)};
        });
  }

  Case padded() const {
    return with_full_mask(cross_, [](auto, auto, auto, auto k) { return k < 3; });
  }

  std::string garbage() const {
    const Case a = padded();
    Case c = a;
    for (std::size_t input : {1, 2}) {
      for (std::size_t i = 0; i < c.inputs[input].size(); ++i) {
        if (i / c.n.D % c.n.K >= 3) c.inputs[input][i] = 16 - 5 * static_cast<double>(i % 7);
      }
    }
    const auto keep = [](const Values& x) { return x; };
    return same(a, c, keep, keep);
  }

  std::string truncated() const {
    const Case a = padded();
    Case c = cross_;
    c.n.K = 3;
    for (std::size_t i : {1, 2}) c.inputs[i] = taken(c.inputs[i], c.n.B, c.n.D, {0, 1, 2});
    return same(
        a, c, [](const Values& x) { return x; },
        [&](const Values& x) {
          if (x.data.size() != a.n.B * a.n.H * a.n.Q * a.n.K) return x;
          return Values{{c.n.B, c.n.H, c.n.Q, 3},
                        taken(x.data, c.n.B * c.n.H * c.n.Q, 1, {0, 1, 2})};
        });
  }

  std::string batch() const {
    const Observed all = call(cross_);
    if (!all.returned()) return threw(all);
    const Sizes n = cross_.n;
    const std::vector<Case> items = items_of(cross_);
    for (std::size_t b = 0; b < n.B; ++b) {
      const Observed one = call(items[b]);
      if (!one.returned()) return threw(one);
      for (const auto& [whole, item, name] :
           {std::make_tuple(&all.output, &one.output, "output"),
            std::make_tuple(&all.weights, &one.weights, "weights")}) {
        if (whole->data.size() != n.B * item->data.size()) {
          return std::string(name) + " of an item and of the batch have shapes that do not fit";
        }
        const Values want{item->shape, taken(whole->data, 1, item->data.size(), {b})};
        const Difference found = compare(*item, want, t_.values);
        if (found.differs) {
          return "item " + std::to_string(b) + ": " + name + " " + found.text + " in the batch";
        }
      }
    }
    return {};
  }

  std::string blocks() const {
    Case c = cross_;
    const std::size_t D = c.n.D;
    const std::size_t d = D / c.n.H;
    for (std::size_t i = 3; i < kInputs; ++i) c.inputs[i] = identity(D);
    const Observed all = call(c);
    if (!all.returned()) return threw(all);
    if (all.output.data.size() != c.n.B * c.n.Q * D) return "output has the wrong size";
    for (std::size_t h = 0; h < c.n.H; ++h) {
      std::vector<std::size_t> columns;
      for (std::size_t i = 0; i < d; ++i) columns.push_back(h * d + i);
      Case one = c;
      one.n.D = d;
      one.n.H = 1;
      for (std::size_t i : {0, 1, 2}) {
        one.inputs[i] = taken(c.inputs[i], c.inputs[i].size() / D, 1, columns);
      }
      for (std::size_t i = 3; i < kInputs; ++i) one.inputs[i] = identity(d);
      const Observed head = call(one);
      if (!head.returned()) return threw(head);
      const Values want{{c.n.B, c.n.Q, d}, taken(all.output.data, c.n.B * c.n.Q, 1, columns)};
      const Difference found = compare(head.output, want, t_.values);
      if (found.differs) {
        return "head " + std::to_string(h) + " alone: output " + found.text + " among all heads";
      }
    }
    return {};
  }

  std::string doubled() const {
    Case c = cross_;
    for (double& w : c.inputs[6]) w *= 2;
    return same(
        cross_, c,
        [](Values x) {
          for (double& y : x.data) y *= 2;
          return x;
        },
        [](const Values& x) { return x; });
  }

  std::string causal() const {
    Case a = generic_case({}, {2, 4, 4, 6, 3}, seed_ + 2);
    a = with_full_mask(a, [](auto, auto, auto q, auto k) { return k <= q; });
    Case c = a;
    for (std::size_t input : {1, 2}) {
      for (std::size_t i = 0; i < c.inputs[input].size(); ++i) {
        if (i / c.n.D % c.n.K == 3) c.inputs[input][i] += 1;
      }
    }
    const auto earlier = [&](std::size_t outer, std::size_t width) {
      return [=](const Values& x) {
        if (x.data.size() != outer * 4 * width) return x;
        return Values{{outer, 3, width}, taken(x.data, outer, width, {0, 1, 2})};
      };
    };
    const Observed first = call(a);
    const Observed second = call(c);
    if (!first.returned()) return threw(first);
    if (!second.returned()) return threw(second);
    const auto cut = earlier(a.n.B, a.n.D);
    const Difference found = compare(cut(second.output), cut(first.output), t_.values);
    return found.differs ? "output [B,Q,D] " + found.text : "";
  }

  std::string finite() const {
    for (const Judged& one : values_) {
      if (one.kind() != Kind::large || !one.seen.returned()) continue;
      for (const Values* x : {&one.seen.output, &one.seen.weights}) {
        for (std::size_t i = 0; i < x->data.size(); ++i) {
          if (!std::isfinite(x->data[i])) {
            return one.graded.c.name + (x == &one.seen.output ? ": output " : ": weights ") +
                   "at " + index_text(x->shape, i) + ": got " + number_text(x->data[i]) +
                   ", want a finite number";
          }
        }
      }
    }
    return {};
  }

  std::string linear() const {
    Case a = cross_;
    set_cotangents(a, seed_ + 3);
    Case c = a;
    for (double& g : c.output_cotangent) g *= kFactor;
    for (double& g : c.weights_cotangent) g *= kFactor;
    const Observed first = call(a);
    const Observed second = call(c);
    if (!first.returned()) return threw(first);
    if (!second.returned()) return threw(second);
    if (!first.gradient_error.empty()) return "backward " + first.gradient_error;
    if (!second.gradient_error.empty()) return "backward " + second.gradient_error;
    for (std::size_t i = 0; i < kInputs; ++i) {
      Values want{a.shape(i), first.gradients[i]};
      Values got{a.shape(i), second.gradients[i]};
      for (double& g : got.data) g /= kFactor;
      if (want.data.size() != got.data.size()) return "a gradient comes and goes";
      if (want.data.empty()) continue;
      const Difference found = compare(got, want, t_.gradients);
      if (found.differs) {
        return "2^20 times the cotangent, d/d " + std::string(kInputNames[i]) + " / 2^20 " +
               found.text;
      }
    }
    return {};
  }

  /// <gradient, direction> is the derivative of <cotangent, results> along the direction.
  std::string directional() const {
    Case a = masked_;
    set_cotangents(a, seed_ + 4);
    const Case direction = generic_case({}, a.n, seed_ + 5);
    const Observed here = call(a);
    if (!here.returned()) return threw(here);
    if (!here.gradient_error.empty()) return "backward " + here.gradient_error;
    double got = 0;
    for (std::size_t i = 0; i < kInputs; ++i) {
      for (std::size_t j = 0; j < here.gradients[i].size(); ++j) {
        got += here.gradients[i][j] * direction.inputs[i][j];
      }
    }
    const auto value = [&](double step) {
      Case c = a;
      c.output_cotangent.clear();
      for (std::size_t i = 0; i < kInputs; ++i) {
        for (std::size_t j = 0; j < c.inputs[i].size(); ++j) {
          c.inputs[i][j] += step * direction.inputs[i][j];
        }
      }
      const Observed seen = call(c);
      if (seen.output.data.size() != a.output_cotangent.size() ||
          seen.weights.data.size() != a.weights_cotangent.size()) {
        return std::numeric_limits<double>::quiet_NaN();
      }
      double sum = 0;
      for (std::size_t i = 0; i < a.output_cotangent.size(); ++i) {
        sum += a.output_cotangent[i] * seen.output.data[i];
      }
      for (std::size_t i = 0; i < a.weights_cotangent.size(); ++i) {
        sum += a.weights_cotangent[i] * seen.weights.data[i];
      }
      return sum;
    };
    constexpr double h = 1.0 / 1024;
    const double want = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);
    if (std::abs(got - want) <= 1e-6 * std::max(1.0, std::abs(want))) return {};
    return "along a direction in all seven inputs: gradient " + number_text(got) +
           ", differences " + number_text(want);
  }

  const std::vector<Judged>& values_;
  const Runner& run_;
  const Tolerances t_;
  const std::uint64_t seed_;
  Case cross_;
  Case masked_;
  std::vector<GradeCheck> checks_;
};

/// got = factor want throughout, with zeros allowed in got; 0 if not.
double common_factor(const Numbers& got, const Numbers& want, double tolerance,
                     std::size_t& zeros) {
  double factor = 0;
  zeros = 0;
  if (got.size() != want.size()) return 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i] == 0) {
      ++zeros;
    } else if (factor == 0) {
      factor = got[i] / want[i];
    } else if (!(std::abs(got[i] - factor * want[i]) <=
                 tolerance * std::max(1.0, std::abs(factor)))) {
      return 0;
    }
  }
  return factor;
}

bool normalised(const Numbers& got, const Numbers& source, std::size_t D) {
  for (std::size_t row = 0; row < got.size() / D; ++row) {
    double mean = 0;
    double mean_source = 0;
    for (std::size_t i = 0; i < D; ++i) {
      mean += got[row * D + i] / static_cast<double>(D);
      mean_source += source[row * D + i] / static_cast<double>(D);
    }
    double variance = 0;
    double product = 0;
    double square = 0;
    for (std::size_t i = 0; i < D; ++i) {
      const double x = got[row * D + i] - mean;
      const double y = source[row * D + i] - mean_source;
      variance += x * x / static_cast<double>(D);
      product += x * y;
      square += y * y;
    }
    // Bessel's correction allowed; a direction equal to the source's.
    if (std::abs(mean) > 1e-5 || variance < 0.7 || variance > 1.01) return false;
    if (product < 0.999 * std::sqrt(square * variance * static_cast<double>(D))) return false;
  }
  return true;
}

bool layer_norm(const Judged& one, const Tolerances& t) {
  const Case& c = one.graded.c;
  const Numbers& got = one.seen.output.data;
  Numbers sum = one.want.output.data;
  if (got.size() != sum.size()) return false;
  if (normalised(got, sum, c.n.D)) return true;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += c.inputs[0][i];
  if (normalised(got, sum, c.n.D)) return true;
  // Before the projections.
  for (double epsilon : {1e-5, 1e-6, 1e-8, 1e-12, 0.0}) {
    for (std::size_t inputs : {1, 3}) {
      Case before = c;
      for (std::size_t i = 0; i < inputs; ++i) {
        Numbers& x = before.inputs[i];
        for (std::size_t row = 0; row < x.size() / c.n.D; ++row) {
          const auto first = x.begin() + static_cast<std::ptrdiff_t>(row * c.n.D);
          const auto last = first + static_cast<std::ptrdiff_t>(c.n.D);
          double mean = 0;
          double variance = 0;
          for (auto y = first; y != last; ++y) mean += *y / static_cast<double>(c.n.D);
          for (auto y = first; y != last; ++y) {
            variance += (*y - mean) * (*y - mean) / static_cast<double>(c.n.D);
          }
          for (auto y = first; y != last; ++y) *y = (*y - mean) / std::sqrt(variance + epsilon);
        }
      }
      const Outcome predicted = attend(before, {}, false);
      if (!compare(one.seen.output, predicted.output, t.values).differs) return true;
    }
  }
  return false;
}

bool dropped(const Values& got, const Values& want, double tolerance) {
  std::size_t zeros = 0;
  // Zeros in the place of all negative numbers are an activation's.
  bool by_sign = got.shape == want.shape;
  for (std::size_t i = 0; by_sign && i < got.data.size(); ++i) {
    by_sign = (got.data[i] == 0) == (want.data[i] <= 0);
  }
  if (by_sign) return false;
  return got.shape == want.shape &&
         common_factor(got.data, want.data, 100 * tolerance, zeros) > 1.01 && zeros > 0;
}

/// Whether each head's output is made of a part of its weights, scaled up.
bool weights_dropped(const Judged& one, const Runner& run, const Tolerances& t) {
  Case c = one.graded.c;
  const Sizes n = c.n;
  const std::size_t d = n.D / n.H;
  if (d < 2) return false;
  c.inputs[6] = identity(n.D);
  const Observed seen = run(c, Layout::contiguous);
  const Outcome want = attend(c, {}, false);
  if (!seen.returned() || seen.output.shape != want.output.shape) return false;
  if (dropped(seen.output, want.output, t.values)) return true;
  std::vector<Numbers> parts;  // of each key, for each query
  for (std::size_t key = 0; key < n.K; ++key) {
    const Case only = with_full_mask(c, [&](auto, auto, auto, auto k) { return k == key; });
    parts.push_back(attend(only, {}, false).output.data);
  }
  std::vector<double> factors;       // that the rows so far allow
  std::vector<Numbers> of_all_keys;  // of each row: the factors by which all its keys fit
  bool first = true;
  for (std::size_t row = 0; row < n.B * n.Q; ++row) {
    for (std::size_t h = 0; h < n.H; ++h) {
      std::vector<double> here;
      of_all_keys.emplace_back();
      const std::size_t at = row * n.D + h * d;
      for (std::size_t set = 1; set < std::size_t{1} << n.K; ++set) {
        Numbers u(d);
        for (std::size_t k = 0; k < n.K; ++k) {
          if ((set >> k & 1) == 0) continue;
          const std::size_t w = ((row / n.Q * n.H + h) * n.Q + row % n.Q) * n.K + k;
          for (std::size_t i = 0; i < d; ++i) u[i] += want.weights.data[w] * parts[k][at + i];
        }
        double product = 0;
        double square = 0;
        for (std::size_t i = 0; i < d; ++i) {
          product += u[i] * seen.output.data[at + i];
          square += u[i] * u[i];
        }
        const double factor = product / square;
        double rest = 0;
        for (std::size_t i = 0; i < d; ++i) {
          rest = std::max(rest, std::abs(seen.output.data[at + i] - factor * u[i]));
        }
        if (!(factor > 1.01) || rest > 10 * t.values) continue;
        here.push_back(factor);
        if (set + 1 == std::size_t{1} << n.K) of_all_keys.back().push_back(factor);
      }
      bool zero = true;
      for (std::size_t i = 0; i < d; ++i) zero = zero && seen.output.data[at + i] == 0;
      if (zero) continue;
      if (first) factors = here;
      first = false;
      factors.erase(std::remove_if(factors.begin(), factors.end(),
                                   [&](double factor) {
                                     return std::none_of(here.begin(), here.end(), [&](double x) {
                                       return std::abs(x - factor) < 100 * t.values;
                                     });
                                   }),
                    factors.end());
      if (factors.empty()) return false;
    }
  }
  // A factor alone drops nothing.
  return std::any_of(factors.begin(), factors.end(), [&](double factor) {
    return std::any_of(of_all_keys.begin(), of_all_keys.end(), [&](const Numbers& all) {
      return all.empty() || std::abs(all[0] - factor) > 100 * t.values;
    });
  });
}

}  // namespace

std::vector<GradeCheck> check_laws(const std::vector<Judged>& values, const Runner& run,
                                   const Tolerances& t, std::uint64_t seed) {
  return Laws(values, run, t, seed).run();
}

std::vector<Case> items_of(const Case& c) {
  std::vector<Case> items(c.n.B, c);
  for (std::size_t b = 0; b < c.n.B; ++b) {
    items[b].n.B = 1;
    for (std::size_t i : {0, 1, 2}) {
      items[b].inputs[i] = taken(c.inputs[i], 1, c.inputs[i].size() / c.n.B, {b});
    }
  }
  return items;
}

std::string law_of_values(const std::vector<const Judged*>& plain, const Runner& run,
                          const Tolerances& t) {
  const auto every = [&](const auto& law) {
    return std::all_of(plain.begin(), plain.end(),
                       [&](const Judged* one) { return !one->seen.returned() || law(*one); });
  };
  const auto& cross = *plain[1];
  if (!cross.seen.returned()) return {};
  if (every([](const Judged& one) {
        const Sizes n = one.graded.c.n;
        const Shape& shape = one.seen.output.shape;
        return shape == Shape{n.B, n.H, n.Q, n.D / n.H} || shape == Shape{n.B, n.Q, n.H, n.D / n.H};
      })) {
    return "output-not-merged";
  }
  if (layer_norm(cross, t)) return "layer-norm-added";
  // Before w_o.
  Case joined = cross.graded.c;
  joined.inputs[6] = identity(joined.n.D);
  if (layer_norm(judge({Kind::plain, joined}, run, t), t)) return "layer-norm-added";
  for (const Judged* one : {plain[0], plain[1]}) {
    if (dropped(one->seen.weights, one->want.weights, t.values) ||
        dropped(one->seen.output, one->want.output, t.values) || weights_dropped(*one, run, t)) {
      return "dropout-added";
    }
  }
  return {};
}

/// Do these choices give the values that were seen in every one of the cases?
bool explains(const Choices& choices, const std::vector<const Judged*>& cases,
              const Tolerances& t) {
  return std::all_of(cases.begin(), cases.end(), [&](const Judged* one) {
    const Outcome predicted = attend(one->graded.c, choices, false);
    return one->seen.returned() &&
           !compare(one->seen.weights, predicted.weights, t.values).differs &&
           !compare(one->seen.output, predicted.output, t.values).differs;
  });
}

double fitted_epsilon(const std::vector<const Judged*>& plain, const Tolerances& t,
                      Choices& choices) {
  const Judged& cross = *plain[1];
  if (cross.seen.weights.shape != cross.want.weights.shape) return 0;
  Choices raw;
  raw.returned = Returned::scores;
  const Numbers scores = attend(cross.graded.c, raw, false).weights.data;
  const std::size_t K = cross.graded.c.n.K;
  for (bool subtract : {true, false}) {
    // sum of weights = S / (S + epsilon), from the row where that shows best
    double epsilon = 0;
    double most = 0;
    for (std::size_t row = 0; row < scores.size() / K; ++row) {
      double weights = 0;
      double largest = -std::numeric_limits<double>::infinity();
      double sum = 0;
      for (std::size_t k = 0; k < K; ++k) {
        weights += cross.seen.weights.data[row * K + k];
        largest = std::max(largest, scores[row * K + k]);
      }
      for (std::size_t k = 0; k < K; ++k) {
        sum += std::exp(scores[row * K + k] - (subtract ? largest : 0));
      }
      if (1 - weights > most && weights > 0) {
        most = 1 - weights;
        epsilon = sum * (1 - weights) / weights;
      }
    }
    if (epsilon == 0) continue;
    Choices fitted;
    fitted.epsilon = epsilon;
    fitted.subtract_maximum = subtract;
    if (explains(fitted, plain, t)) {
      choices = fitted;
      return epsilon;
    }
  }
  return 0;
}

bool fitted_fill(const std::vector<const Judged*>& masked, const Tolerances& t, Choices& choices) {
  const Judged& first = *masked[1];
  const Numbers& got = first.seen.weights.data;
  if (first.seen.weights.shape != first.want.weights.shape) return false;
  Choices raw;
  raw.returned = Returned::scores;
  const Numbers scores = attend(first.graded.c, raw, false).weights.data;
  const std::size_t K = first.graded.c.n.K;
  for (std::size_t hidden = 0; hidden < got.size(); ++hidden) {
    if (first.want.weights.data[hidden] != 0 || !(got[hidden] > 0)) continue;
    for (std::size_t seen = hidden / K * K; seen < (hidden / K + 1) * K; ++seen) {
      if (first.want.weights.data[seen] == 0 || !(got[seen] > 0)) continue;
      const double score = std::log(got[hidden] / got[seen]) + scores[seen];
      for (Hide hide : {Hide::fill, Hide::fill_added}) {
        Choices fitted;
        fitted.hide = hide;
        fitted.fill = hide == Hide::fill ? score : score - scores[hidden];
        // From a logarithm; what people write is whole.
        if (std::abs(fitted.fill - std::round(fitted.fill)) < 1e-2) {
          fitted.fill = std::round(fitted.fill);
        }
        if (fitted.fill > -5) continue;
        if (explains(fitted, masked, t)) {
          choices = fitted;
          return true;
        }
      }
      break;
    }
  }
  return false;
}

bool loses_small_changes(const Judged& one, const Choices& choices, const Runner& run) {
  const bool gradients = !one.graded.c.output_cotangent.empty();
  Case c = one.graded.c;
  for (Numbers& input : c.inputs) {
    for (std::size_t i = 0; i < input.size(); ++i) input[i] += i % 3 == 0 ? kTiny : -kTiny;
  }
  const Observed seen = run(c, Layout::contiguous);
  if (!one.seen.returned() || !seen.returned()) return false;
  const Outcome before = attend(one.graded.c, choices, gradients);
  const Outcome after = attend(c, choices, gradients);
  const auto lost = [](const Numbers& got, const Numbers& changed, const Numbers& want,
                       const Numbers& changed_want) {
    if (got.size() != want.size() || changed.size() != want.size()) return false;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double error = (changed[i] - got[i]) - (changed_want[i] - want[i]);
      if (std::abs(error) > kTiny / 64) return true;
    }
    return false;
  };
  bool any =
      lost(one.seen.output.data, seen.output.data, before.output.data, after.output.data) ||
      lost(one.seen.weights.data, seen.weights.data, before.weights.data, after.weights.data);
  for (std::size_t i = 0; gradients && i < kInputs; ++i) {
    any = any ||
          lost(one.seen.gradients[i], seen.gradients[i], before.gradients[i], after.gradients[i]);
  }
  return any;
}

bool gradients_in_float(const std::vector<const Judged*>& plain, const Runner& run,
                        const Tolerances& t) {
  if (!t.in_double) return false;
  for (const Judged* one : plain) {
    if (!one->seen.returned()) return false;
    for (std::size_t i = 0; i < kInputs; ++i) {
      const Numbers& want = one->want.gradients[i];
      if (!want.empty() && !same_gradient(one->seen.gradients[i], want, 1e-5)) return false;
    }
  }
  return loses_small_changes(*plain[1], {}, run);
}

std::string clipped(const std::vector<const Judged*>& plain, const Runner& run,
                    const Tolerances& t) {
  const auto with_factor = [&](const Judged& one, double factor) {
    Case c = one.graded.c;
    for (double& g : c.output_cotangent) g *= factor;
    for (double& g : c.weights_cotangent) g *= factor;
    return run(c, Layout::contiguous);
  };
  const auto right = [&](const Judged& one, const Observed& seen, std::size_t input,
                         double factor) {
    Numbers got = seen.gradients[input];
    for (double& g : got) g /= factor;
    return same_gradient(got, one.want.gradients[input], t.gradients);
  };
  const auto norm = [](const Numbers& x) {
    double square = 0;
    for (double g : x) square += g * g;
    return std::sqrt(square);
  };
  std::string evidence;
  for (const Judged* one : {plain[0], plain[1]}) {
    const Observed large = with_factor(*one, kFactor);
    if (!large.returned() || !large.gradient_error.empty()) return {};
    std::vector<std::size_t> wrong;
    for (std::size_t i = 0; i < kInputs; ++i) {
      if (!right(*one, large, i, kFactor)) wrong.push_back(i);
    }
    if (wrong.empty()) continue;
    const Observed small = with_factor(*one, 1 / kFactor);
    const Observed larger = with_factor(*one, kFactor * kFactor);
    for (std::size_t i = 0; i < kInputs; ++i) {
      if (!right(*one, small, i, 1 / kFactor)) return {};
    }
    for (std::size_t i : wrong) {
      const double here = norm(large.gradients[i]);
      if (!(here > 0) || !(here < kFactor * norm(one->want.gradients[i])) ||
          !(norm(larger.gradients[i]) <= 2 * here)) {
        return {};
      }
      if (!evidence.empty()) continue;
      evidence = one->graded.c.name +
                 ": with a cotangent 2^-20 times as large every gradient is "
                 "right; with one 2^20 times as large d/d " +
                 kInputNames[i] + " has the norm " + number_text(here) + ", right is " +
                 number_text(kFactor * norm(one->want.gradients[i])) +
                 ", and with one 2^40 times as large it has the norm " +
                 number_text(norm(larger.gradients[i]));
    }
  }
  return evidence;
}

bool items_depend(const Judged& one, const Runner& run, const Tolerances& t) {
  Case c = one.graded.c;
  const std::size_t B = c.n.B;
  for (std::size_t input : {0, 1, 2}) {
    for (std::size_t i = 0; i < c.inputs[input].size() / B; ++i) c.inputs[input][i] += 1;
  }
  const Observed seen = run(c, Layout::contiguous);
  if (!one.seen.returned() || !seen.returned() || seen.output.shape != one.seen.output.shape) {
    return false;
  }
  const auto others = [B](const Values& x) {
    const auto first = x.data.begin() + static_cast<std::ptrdiff_t>(x.data.size() / B);
    return Values{{x.data.size() - x.data.size() / B}, {first, x.data.end()}};
  };
  return compare(others(seen.output), others(one.seen.output), t.values).differs ||
         compare(others(seen.weights), others(one.seen.weights), t.values).differs;
}

}  // namespace xg::grading
