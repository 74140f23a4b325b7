#include <xgrad/grading.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <type_traits>

#include <xgrad/autograd/message.hpp>
#include <xgrad/grading/compare.hpp>
#include <xgrad/grading/laws.hpp>

namespace xg {
namespace grading {
namespace {

enum class Exercise { multi_head_attention, attention_kernel, masked_softmax_rule };

const char* level(Kind kind) { return kind == Kind::plain ? "T1" : "T2"; }

class Grader {
 public:
  Grader(Exercise exercise, Runner run, const Tolerances& t, std::uint64_t seed)
      : exercise_(exercise), t_(t), seed_(seed) {
    // After a crash nothing of the submission is trusted any more.
    run_ = [this, run = std::move(run)](const Case& c, Layout layout) {
      Observed seen;
      if (crash_.empty()) {
        seen = run(c, layout);
        if (seen.crashed) crash_ = seen.thrown.empty() ? seen.gradient_error : seen.thrown;
        reference_ = reference_ || seen.reference;
        if (changed_.empty()) changed_ = seen.changed;
      } else {
        seen.crashed = true;
        seen.thrown = "not called any more after it " + crash_;
      }
      return seen;
    };
  }

  GradeReport run() {
    if (!first_calls()) return std::move(report_);
    for (Graded& graded : value_cases(seed_)) values_.push_back(judge(std::move(graded), run_, t_));
    if (throws_always()) return std::move(report_);
    for (Graded& graded : gradient_cases(seed_)) {
      gradients_.push_back(judge(std::move(graded), run_, t_));
    }
    interface();
    list(values_, "");
    list(gradients_, "gradients: ");
    std::vector<GradeCheck> laws = check_laws(values_, run_, t_, seed_);
    report_.checks.insert(report_.checks.end(), laws.begin(), laws.end());
    name();
    if (exercise_ == Exercise::multi_head_attention) heads();
    if (!crash_.empty()) check("T0", "does not crash", "it " + crash_);
    return std::move(report_);
  }

 private:
  void check(const char* level, std::string name, std::string detail) {
    report_.checks.push_back({level, std::move(name), detail.empty(), std::move(detail)});
  }
  void add(const std::string& id, const std::string& evidence) {
    const auto ids = report_.mistakes();
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) {
      report_.findings.push_back(finding(id, evidence));
    }
  }

  /// Two inputs in turn, twice: a state that is kept shows before anything else is judged.
  bool first_calls() {
    const Case a = generic_case({}, {2, 3, 4, 6, 2}, seed_ + 11);
    const Case b = generic_case({}, {2, 3, 4, 6, 2}, seed_ + 12);
    const Observed a1 = run_(a, Layout::contiguous);
    const Observed b1 = run_(b, Layout::contiguous);
    const Observed a2 = run_(a, Layout::contiguous);
    const Observed b2 = run_(b, Layout::contiguous);
    if (!crash_.empty()) {
      check("T0", "does not crash", "it " + crash_);
      report_.notes.emplace_back("nothing else was graded");
      return false;
    }
    if (!(a1.returned() && a2.returned() && b1.returned() && b2.returned())) return true;
    const auto equal = [](const Observed& x, const Observed& y) {
      return !compare(x.output, y.output, 0).differs && !compare(x.weights, y.weights, 0).differs;
    };
    const bool stale =
        !compare(a1.output, b1.output, 0).differs || !compare(a1.weights, b1.weights, 0).differs;
    if (!equal(a1, a2) || !equal(b1, b2)) {
      Difference found = compare(a2.output, a1.output, 0);
      std::string what = "output ";
      if (!found.differs) {
        found = compare(a2.weights, a1.weights, 0);
        what = "weights ";
      }
      if (!found.differs) found = compare(b2.output, b1.output, 0);
      repeatable_ = "the second call with the same inputs: " + what + found.text;
    } else if (stale) {
      repeatable_ = "a call with other inputs gives the results of the call before";
    }
    return true;
  }

  bool throws_always() {
    const std::string& first = values_.front().seen.thrown;
    const bool always =
        !first.empty() && std::all_of(values_.begin(), values_.end(),
                                      [&](const Judged& one) { return one.seen.thrown == first; });
    if (!always) return false;
    check("T0", "returns (output, weights)", first);
    report_.notes.emplace_back("every call ended like this, so nothing else was graded");
    return true;
  }

  void interface() {
    check("T0", "returns output [B,Q,D] and weights [B,H,Q,K]", shapes());
    check("T0", "leaves its inputs as they are", changed_.empty() ? "" : changed_ + " changed");
    check("T0", "gives the same again", repeatable_);
    const char* own[] = {"multi_head_attention", "attention_kernel", "the rule"};
    check(
        "T0", std::string(own[static_cast<int>(exercise_)]) + " is written, not called",
        reference_ ? "it calls the library's own attention, which is what was to be written" : "");
  }

  std::string shapes() const {
    for (const Judged& one : values_) {
      if (!one.seen.undefined.empty()) return one.graded.c.name + ": " + one.why;
      if (!one.seen.returned()) continue;
      for (const auto& [got, want, name] :
           {std::make_tuple(&one.seen.output, &one.want.output, "output"),
            std::make_tuple(&one.seen.weights, &one.want.weights, "weights")}) {
        if (got->shape != want->shape) {
          return one.graded.c.name + ": " + name + " have " + compare(*got, *want, 0).text;
        }
      }
    }
    return {};
  }

  void list(const std::vector<Judged>& cases, const std::string& prefix) {
    constexpr const char* layouts[] = {"",           ", transposed",   ", in steps",
                                       ", reversed", ", at an offset", ""};
    for (const Judged& one : cases) {
      check(prefix.empty() ? level(one.kind()) : "T2",
            prefix + one.graded.c.name + layouts[static_cast<int>(one.graded.layout)], one.why);
    }
  }

  void name() {
    const auto undefined = std::find_if(values_.begin(), values_.end(), [](const Judged& one) {
      return !one.seen.undefined.empty();
    });
    if (undefined != values_.end()) {
      add("undefined-result", undefined->graded.c.name + ": " + undefined->why);
      return;
    }
    if (!changed_.empty()) {
      add("inputs-changed", changed_ + " holds other bytes after the call than before it");
    }
    if (!repeatable_.empty()) {
      const bool dropout = law_of_values(plain(), run_, t_) == "dropout-added";
      add(dropout ? "dropout-added" : "not-repeatable", repeatable_);
      return;
    }
    Named named = name_mistakes(values_, gradients_, run_, t_);
    for (GradeFinding& one : named.findings) add(one.id, one.evidence);
    report_.notes = std::move(named.notes);
    if (reference_) {
      report_.notes.emplace_back("what has to be written is called from the library");
      return;
    }
    if (report_.findings.empty() && !report_.passed()) name_late_state();
  }

  /// What only later calls show.
  void name_late_state() {
    for (const Judged& one : values_) {
      const Observed again = run_(one.graded.c, one.graded.layout);
      if (again.thrown != one.seen.thrown || compare(again.output, one.seen.output, 0).differs ||
          compare(again.weights, one.seen.weights, 0).differs) {
        add("not-repeatable", one.graded.c.name + ": a later call gives another result");
        return;
      }
    }
  }

  std::vector<const Judged*> plain() const {
    std::vector<const Judged*> chosen;
    for (const Judged& one : values_) {
      if (one.kind() == Kind::plain) chosen.push_back(&one);
    }
    return chosen;
  }

  /// Last, since a division by zero may be the answer.
  void heads() {
    std::string accepted;
    for (const auto& [D, H] : {std::make_pair(5, 2), std::make_pair(6, -1), std::make_pair(6, 12),
                               std::make_pair(6, 0)}) {
      if (!accepted.empty() || !crash_.empty()) break;
      Case c = generic_case({}, {1, 2, 3, static_cast<std::size_t>(D), 1}, seed_);
      c.n.H = static_cast<std::size_t>(H);
      const Observed seen = run_(c, Layout::contiguous);
      const std::string what = "D=" + std::to_string(D) + " H=" + std::to_string(H);
      if (seen.crashed) {
        accepted = what + ": it " + seen.thrown;
        crash_.clear();
        break;
      }
      if (seen.thrown.empty()) accepted = what + ": no error";
    }
    check("T0", "a wrong number of heads is an error", accepted);
    if (!accepted.empty()) add("heads-unchecked", accepted);
  }

  const Exercise exercise_;
  const Tolerances t_;
  const std::uint64_t seed_;
  Runner run_;
  std::string crash_;
  std::string changed_;
  std::string repeatable_;
  bool reference_ = false;
  std::vector<Judged> values_;
  std::vector<Judged> gradients_;
  GradeReport report_;
};

template <class T>
constexpr Tolerances kTolerances =
    std::is_same_v<T, double> ? Tolerances{1e-10, 1e-10, true} : Tolerances{2e-5, 1e-4, false};

template <class T>
GradeReport graded(Exercise exercise, const char* title, const AttentionFunction<T>& f,
                   std::vector<detail::Called> forbidden, std::uint64_t seed) {
  GradeReport report =
      Grader(exercise, make_runner<T>(f, std::move(forbidden)), kTolerances<T>, seed).run();
  report.title = std::string(title) + (kTolerances<T>.in_double ? " in double" : " in float");
  return report;
}

/// Multi-head attention around somebody's kernel.
template <class T>
AttentionFunction<T> around(KernelFunction<T> kernel) {
  return [kernel = std::move(kernel)](
             const Variable<T>& query, const Variable<T>& key, const Variable<T>& value,
             const Variable<T>& w_q, const Variable<T>& w_k, const Variable<T>& w_v,
             const Variable<T>& w_o, std::int64_t num_heads, const Mask& mask) -> Attention<T> {
    const auto D = static_cast<std::int64_t>(query.shape()[2]);
    const auto project = [&](const Variable<T>& x, const Variable<T>& w) {
      return transpose(
          reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, D / num_heads}),
          {0, 2, 1, 3});
    };
    auto [heads, weights] =
        kernel(project(query, w_q), project(key, w_k), project(value, w_v), mask);
    if (!heads.defined()) return {heads, weights};
    return {matmul(reshape(transpose(heads, {0, 2, 1, 3}), Dims(query.shape())), w_o), weights};
  };
}

/// Scaled dot-product attention around somebody's masked softmax.
template <class T>
KernelFunction<T> around(SoftmaxRule<T> rule) {
  return [rule = std::move(rule)](const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                                  const Mask& mask) -> Attention<T> {
    const T scale = 1 / std::sqrt(static_cast<T>(q.shape()[3]));
    const Variable<T> scores = matmul(q, swapaxes(k, -1, -2)) * scale;
    const Variable<T> weights = detail::apply_op<T>(
        rule(mask.defined() ? mask : Mask({1, 1, 1, 1}, std::vector<bool>{true})), {scores});
    return {matmul(weights, v), weights};
  };
}

/// What the kernel alone can show: values wider than keys, leaves left alone.
template <class T>
GradeCheck values_of_another_width(const KernelFunction<T>& kernel) {
  GradeCheck check{
      "T0", "values may have another width than keys, and inputs are left alone", true, {}};
  bool crashed = false;
  const std::string thrown = attempt(
      [&] {
        const Variable<T> q = randn<T>({2, 2, 3, 4}, 1);
        const Variable<T> k = randn<T>({2, 2, 5, 4}, 2);
        const Variable<T> v = randn<T>({2, 2, 5, 3}, 3);
        const std::vector<std::vector<T>> before = {q.to_vector(), k.to_vector(), v.to_vector()};
        const Attention<T> narrow = kernel(q, k, v, {});
        const Attention<T> wide = kernel(q, k, concat<T>({v, randn<T>({2, 2, 5, 1}, 4)}, 3), {});
        const Variable<T> want = slice(wide.output, 3, 0, 3);
        if (narrow.output.shape() != want.shape()) {
          check.detail = "output has shape " + detail::text(Dims(narrow.output.shape()).values()) +
                         ", want " + detail::text(Dims(want.shape()).values());
        } else if (!(max(abs(narrow.output - want)).item() < T{1e-4})) {
          check.detail = "the width of the values changes the output";
        } else if (before !=
                   std::vector<std::vector<T>>{q.to_vector(), k.to_vector(), v.to_vector()}) {
          check.detail = "q, k or v changed";
        }
      },
      crashed);
  if (!thrown.empty()) check.detail = thrown;
  check.passed = check.detail.empty();
  return check;
}

}  // namespace
}  // namespace grading

namespace detail {

template <class T>
GradeReport grade(const AttentionFunction<T>& f, std::uint64_t seed) {
  using grading::Exercise;
  GradeReport report = grading::graded<T>(Exercise::multi_head_attention, "multi_head_attention", f,
                                          {Called::multi_head_attention}, seed);
  if (report.checks.size() == 1) return report;  // nothing else was graded
  const auto crashed = [](const GradeCheck& check) { return check.name == "does not crash"; };
  if (std::any_of(report.checks.begin(), report.checks.end(), crashed)) return report;
  bool broke = false;
  const std::string thrown =
      grading::attempt([&] { report.routing.push_back(run_routing<T>(f)); }, broke);
  GradeCheck check{"T3", "the routing experiment", false, thrown};
  if (thrown.empty()) {
    check.passed = report.routing[0].passed();
    for (const RoutingCheck& one : report.routing[0].submitted.checks) {
      if (!one.passed && check.detail.empty()) {
        check.detail = one.name + ": got " + one.got + ", want " + one.want;
      }
    }
  }
  report.checks.push_back(std::move(check));
  return report;
}

template <class T>
GradeReport grade_kernel(const KernelFunction<T>& f, std::uint64_t seed) {
  GradeReport report = grading::graded<T>(
      grading::Exercise::attention_kernel, "attention_kernel", grading::around<T>(f),
      {Called::multi_head_attention, Called::attention_kernel}, seed);
  if (report.checks.size() > 1) report.checks.push_back(grading::values_of_another_width<T>(f));
  return report;
}

template <class T>
GradeReport grade_rule(const SoftmaxRule<T>& f, std::uint64_t seed) {
  return grading::graded<T>(grading::Exercise::masked_softmax_rule, "the rule of masked softmax",
                            grading::around<T>(grading::around<T>(f)),
                            {Called::multi_head_attention, Called::attention_kernel}, seed);
}

template GradeReport grade(const AttentionFunction<float>&, std::uint64_t);
template GradeReport grade(const AttentionFunction<double>&, std::uint64_t);
template GradeReport grade_kernel(const KernelFunction<float>&, std::uint64_t);
template GradeReport grade_kernel(const KernelFunction<double>&, std::uint64_t);
template GradeReport grade_rule(const SoftmaxRule<float>&, std::uint64_t);
template GradeReport grade_rule(const SoftmaxRule<double>&, std::uint64_t);

}  // namespace detail
}  // namespace xg
