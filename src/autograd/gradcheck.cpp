#include <xgrad/autograd/gradcheck.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include <xgrad/autograd/grad_mode.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/join.hpp>
#include <xgrad/ops/loops.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace detail {
namespace {

constexpr const char* kOp = "gradcheck";

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", x);
  return text;
}

std::string counted(std::size_t n, const char* what) {
  return text(n) + " " + what + (n == 1 ? "" : "s");
}

template <class T>
void assign(Array<T>& to, const Array<T>& from) {
  map(
      to, [](T x) { return x; }, from);
}

/// The same values with the axes reversed in memory.
template <class T>
Array<T> transposed_in_memory(const Array<T>& x) {
  Extents order;
  for (std::size_t i = x.dim(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  Array<T> out(x.shape(), order);
  assign(out, x);
  return out;
}

/// The same values in every second place of the first and the last axis, the last one backwards;
/// NaN lies in between.
template <class T>
Array<T> stepped_in_memory(const Array<T>& x) {
  if (x.dim() == 0 || x.size() == 0) return x;
  const std::size_t last = x.dim() - 1;
  Extents room = x.shape();
  for (std::size_t axis : {std::size_t{0}, last}) room[axis] = 2 * x.extent(axis);
  Array<T> memory(std::move(room));
  std::fill_n(memory.data(), memory.size(), std::numeric_limits<T>::quiet_NaN());
  Extents strides = memory.strides();
  strides[0] *= 2;
  if (last != 0) strides[last] *= 2;
  T* origin = memory.data() + (x.extent(last) - 1) * strides[last];
  strides[last] = -strides[last];
  Array<T> out(memory, origin, x.shape(), std::move(strides));
  assign(out, x);
  return out;
}

/// One call of f, differentiated.
template <class T>
struct Run {
  std::string layout;                     // how inputs and cotangent lie in memory
  std::vector<std::vector<T>> gradients;  // of each leaf, row-major; empty if there is none
};

template <class T>
class Checker {
 public:
  Checker(FunctionOfMany<T> f, const std::vector<Variable<T>>& inputs,
          const GradcheckOptions& options)
      : f_(std::move(f)), options_(options) {
    constexpr bool wide = sizeof(T) > sizeof(float);
    if (options_.step <= 0) options_.step = wide ? 1e-3 : 2e-2;
    if (options_.relative <= 0) options_.relative = wide ? 1e-6 : 3e-3;
    if (options_.absolute <= 0) options_.absolute = wide ? 1e-9 : 1e-4;
    if (!f_) fail<ArgumentError>(kOp, "empty function", "nothing to call", "a function");
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto seen = std::find_if(
          inputs.begin(), inputs.begin() + std::ptrdiff_t(i),
          [&](const Variable<T>& x) { return Access::state(x) == Access::state(inputs[i]); });
      const auto first = static_cast<std::size_t>(seen - inputs.begin());
      if (first < i) {
        leaf_of_.push_back(leaf_of_[first]);
        continue;
      }
      leaf_of_.push_back(values_.size());
      values_.push_back(array(kOp, inputs[i]));
      names_.push_back(inputs[i].name());
      titles_.push_back("argument " + text(i) +
                        (names_.back().empty() ? "" : " (" + names_.back() + ")"));
    }
  }

  /// A first call: which operation it ends with, and the result.
  Variable<T> look(std::string& op) const {
    const EnableGrad guard;
    std::vector<Variable<T>> leaves;
    Variable<T> output = call(values_, leaves);
    const Node<T>* node = Access::node(output);
    op = node == nullptr || node->is_leaf() ? "the function" : node->op->name();
    return output.detach();
  }

  GradcheckReport run(std::string op = {}) {
    const EnableGrad guard;
    const Variable<T> output = look(op_);
    if (!op.empty()) op_ = std::move(op);
    value_ = output.to_vector();
    shape_ = extents(kOp, output);
    check_repeatable();

    Random random(options_.seed);
    Array<T> cotangent{Extents(shape_)};
    std::generate_n(cotangent.data(), cotangent.size(), [&] {
      const double x = 2 * random.next() - 1;  // away from zero, so that no output goes unseen
      return static_cast<T>(x < 0 ? x - 0.5 : x + 0.5);
    });
    cotangent_ = from_array(cotangent).to_vector();

    std::vector<Array<T>> transposed;
    std::vector<Array<T>> stepped;
    for (const Array<T>& x : values_) {
      transposed.push_back(transposed_in_memory(x));
      stepped.push_back(stepped_in_memory(x));
    }
    differentiate("", values_, from_array(cotangent));
    differentiate("transposed memory", transposed, from_array(transposed_in_memory(cotangent)));
    differentiate("stepped memory", stepped, from_array(stepped_in_memory(cotangent)));
    for (std::size_t i = 0; i < values_.size(); ++i) check_leaf(i, random);
    check_broadcast_cotangent();
    return report();
  }

 private:
  Variable<T> call(const std::vector<Array<T>>& values, std::vector<Variable<T>>& leaves) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      leaves.push_back(from_array(values[i]));
      leaves.back().set_requires_grad();
      if (!names_[i].empty()) leaves.back().set_name(names_[i]);
    }
    std::vector<Variable<T>> arguments;
    for (std::size_t i : leaf_of_) arguments.push_back(leaves[i]);
    Variable<T> output = f_(arguments);
    if (!output.defined()) {
      fail<GradcheckError>(kOp, "undefined result", "a handle without an array",
                           "a function that returns a value");
    }
    return output;
  }

  std::vector<T> evaluate(const std::vector<Array<T>>& values) const {
    std::vector<Variable<T>> leaves;
    const Variable<T> output = call(values, leaves);
    if (extents(kOp, output) != shape_) {
      fail<GradcheckError>(kOp, "shape of the result changes", text(extents(kOp, output)),
                           text(shape_) + " as at first");
    }
    return output.to_vector();
  }

  void check_repeatable() const {
    const std::vector<T> again = evaluate(values_);
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (again[i] == value_[i] || (std::isnan(again[i]) && std::isnan(value_[i]))) continue;
      fail<GradcheckError>(
          kOp, op_ + " is not deterministic",
          number(value_[i]) + ", then " + number(again[i]) + " at element " + text(i),
          "the same result for the same inputs");
    }
  }

  /// Adds a run, if its rules do not throw and its values are those of the first one.
  void differentiate(const std::string& layout, const std::vector<Array<T>>& values,
                     const Variable<T>& cotangent) {
    std::vector<Variable<T>> leaves;
    const Variable<T> output = call(values, leaves);
    if (extents(kOp, output) != shape_) {
      failures_.push_back("wrong shape of " + op_ + where(layout) + ": got " +
                          text(extents(kOp, output)) + ", expected " + text(shape_));
      return;
    }
    const std::vector<T> value = output.to_vector();
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (agree(value[i], value_[i])) continue;
      wrong("value of " + op_ + ": element " + text(i) + where(layout), value[i], value_[i]);
      return;
    }
    Run<T> run{layout, std::vector<std::vector<T>>(leaves.size())};
    if (output.requires_grad()) {
      std::vector<Variable<T>> gradients;
      try {
        gradients = grad(output, leaves, cotangent, allow_unused);
      } catch (const GraphError& error) {
        failures_.push_back("gradient of " + op_ + where(layout) + ": " + error.what());
        return;
      } catch (const ShapeError& error) {
        failures_.push_back("gradient of " + op_ + where(layout) + ": " + error.what());
        return;
      }
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (gradients[i].defined()) run.gradients[i] = gradients[i].to_vector();
      }
    }
    runs_.push_back(std::move(run));
  }

  bool agree(double got, double want) const {
    if (std::isnan(want)) return std::isnan(got);
    return got == want ||
           std::abs(got - want) <= options_.absolute + options_.relative * std::abs(want);
  }

  static std::string where(const std::string& layout) {
    return layout.empty() ? "" : ", " + layout;
  }

  void wrong(const std::string& what, double got, double want) {
    failures_.push_back("wrong " + what + ": got " + number(got) + ", expected " + number(want));
  }

  struct Slope {
    double value;
    double noise;  // what rounding may have done to it
  };

  /// The derivative of <v, f> along +-1 for the elements first to last of a leaf.
  Slope difference(std::size_t leaf, std::size_t first, std::size_t last,
                   const std::vector<int>& signs, double step) const {
    std::vector<T> values[4];
    double largest = 1;
    const Array<T> base = values_[leaf].copy();
    for (std::size_t i = first; i < last; ++i) {
      if (std::isfinite(base.data()[i])) {
        largest = std::max(largest, std::abs(double(base.data()[i])));
      }
    }
    // Along a direction the function changes faster.
    const double h = step * largest / std::pow(double(last - first), 0.25);
    const int multiples[4] = {-2, -1, 1, 2};
    for (int k = 0; k < 4; ++k) {
      std::vector<Array<T>> moved = values_;
      moved[leaf] = base.copy();
      for (std::size_t i = first; i < last; ++i) {
        moved[leaf].data()[i] += static_cast<T>(multiples[k] * h * signs[i]);
      }
      values[k] = evaluate(moved);
    }
    Slope slope{0, 0};
    for (std::size_t i = 0; i < cotangent_.size(); ++i) {
      const double y[4] = {values[0][i], values[1][i], values[2][i], values[3][i]};
      if (y[0] == y[3] && y[1] == y[2]) continue;  // infinite ones, too
      slope.value += cotangent_[i] * (8 * (y[2] - y[1]) - (y[3] - y[0])) / (12 * h);
      const double error =
          8 * std::numeric_limits<T>::epsilon() * cotangent_[i] * std::abs(y[2]) / h;
      slope.noise += error * error;
    }
    slope.noise = std::sqrt(slope.noise);
    return slope;
  }

  struct Mismatch {
    bool found = false;
    std::size_t run = 0;
    double got = 0;
    double want = 0;
  };

  /// The first run whose derivative along these elements is wrong.
  Mismatch compare(std::size_t leaf, std::size_t first, std::size_t last,
                   const std::vector<int>& signs) {
    Mismatch first_wrong;
    std::vector<Slope> slopes;
    for (std::size_t k = 0; k < runs_.size() && !first_wrong.found; ++k) {
      const std::vector<T>& gradient = runs_[k].gradients[leaf];
      double got = 0;
      if (!gradient.empty()) {
        for (std::size_t i = first; i < last; ++i) got += double(gradient[i]) * signs[i];
      }
      double best = std::numeric_limits<double>::infinity();
      bool right = false;
      for (std::size_t attempt = 0; attempt < 3 && std::isfinite(got) && !right; ++attempt) {
        if (slopes.size() == attempt) {
          slopes.push_back(
              difference(leaf, first, last, signs, options_.step / std::pow(8.0, double(attempt))));
        }
        const Slope& slope = slopes[attempt];
        const double scale = std::max(std::abs(got), std::abs(slope.value));
        // A smaller step has more noise; it must not hide an error of one per cent.
        if (slope.noise > std::max(slopes[0].noise, 3e-3 * scale)) continue;
        const double error = std::abs(got - slope.value);
        best = std::min(best, error);
        right = error <= options_.absolute + options_.relative * scale + slope.noise;
      }
      if (right) {
        largest_error_ = std::max(largest_error_, best);
      } else {
        if (slopes.empty()) slopes.push_back(difference(leaf, first, last, signs, options_.step));
        first_wrong = {true, k, got, slopes[0].value};
      }
    }
    return first_wrong;
  }

  void check_leaf(std::size_t leaf, Random& random) {
    const auto size = static_cast<std::size_t>(values_[leaf].size());
    elements_ += size;
    std::vector<int> signs(size, 1);
    if (size <= options_.most_elements) {
      for (std::size_t i = 0; i < size; ++i) {
        const Mismatch mismatch = compare(leaf, i, i + 1, signs);
        if (mismatch.found) report_element(leaf, i, mismatch);
      }
      return;
    }
    constexpr int kDirections = 4;
    for (int k = 0; k < kDirections; ++k) {
      for (int& sign : signs) sign = random.next() < 0.5 ? -1 : 1;
      Mismatch mismatch = compare(leaf, 0, size, signs);
      if (!mismatch.found) continue;
      // Halve to the element that is wrong; where no half shows it, the error lies in many.
      std::size_t first = 0;
      std::size_t last = size;
      while (last - first > 1) {
        const std::size_t middle = first + (last - first) / 2;
        const Mismatch left = compare(leaf, first, middle, signs);
        const Mismatch right = left.found ? left : compare(leaf, middle, last, signs);
        if (!right.found) break;
        mismatch = right;
        (left.found ? last : first) = middle;
      }
      if (last - first == 1) {
        mismatch.got *= signs[first];
        mismatch.want *= signs[first];
        report_element(leaf, first, mismatch);
      } else {
        wrong("gradient of " + op_ + ": " + titles_[leaf] +
                  ", along a random direction in elements " + text(first) + " to " +
                  text(last - 1) + where(runs_[mismatch.run].layout),
              mismatch.got, mismatch.want);
      }
      return;
    }
  }

  void report_element(std::size_t leaf, std::size_t i, const Mismatch& mismatch) {
    wrong("gradient of " + op_ + ": " + titles_[leaf] + ", index " + index_text(leaf, i) +
              where(runs_[mismatch.run].layout),
          mismatch.got, mismatch.want);
  }

  std::string index_text(std::size_t leaf, std::size_t i) const {
    Extents index = values_[leaf].shape();
    auto left = static_cast<std::int64_t>(i);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      const std::int64_t extent = index[axis];
      index[axis] = left % extent;
      left /= extent;
    }
    return text(index);
  }

  /// Ones in memory of their own and a single one, repeated by strides of zero, must do the same.
  void check_broadcast_cotangent() {
    if (!failures_.empty()) return;
    const Dims shape(shape_);
    const std::size_t before = runs_.size();
    differentiate("a cotangent of ones", values_, ones<T>(shape));
    differentiate("a broadcast cotangent", values_, broadcast_to(ones<T>(Dims()), shape));
    if (runs_.size() != before + 2) return;
    for (std::size_t leaf = 0; leaf < values_.size(); ++leaf) {
      const std::vector<T>& want = runs_[before].gradients[leaf];
      const std::vector<T>& got = runs_[before + 1].gradients[leaf];
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (!agree(got[i], want[i])) {
          report_element(leaf, i, {true, before + 1, double(got[i]), double(want[i])});
        }
      }
    }
  }

  GradcheckReport report() const {
    if (failures_.empty()) {
      return {true, std::string("[") + kOp + "] " + op_ + ": passed, " +
                        counted(elements_, "element") + " in " +
                        counted(values_.size(), "argument") + ", largest error " +
                        number(largest_error_)};
    }
    constexpr std::size_t kMostLines = 10;
    std::string lines;
    for (std::size_t i = 0; i < failures_.size() && i < kMostLines; ++i) {
      lines += (i == 0 ? "" : "\n") + (std::string("[") + kOp + "] ") + failures_[i];
    }
    if (failures_.size() > kMostLines) {
      lines += "\nand " + text(failures_.size() - kMostLines) + " more";
    }
    return {false, lines};
  }

  FunctionOfMany<T> f_;
  GradcheckOptions options_;
  std::vector<std::size_t> leaf_of_;  // of each position
  std::vector<Array<T>> values_;      // of each leaf
  std::vector<std::string> names_;
  std::vector<std::string> titles_;
  std::string op_;
  Extents shape_;
  std::vector<T> value_;
  std::vector<T> cotangent_;
  std::vector<Run<T>> runs_;
  std::size_t elements_ = 0;
  double largest_error_ = 0;
  std::vector<std::string> failures_;
};

}  // namespace
}  // namespace detail

template <class T>
GradcheckReport gradcheck(detail::same_t<detail::FunctionOfMany<T>> f,
                          const std::vector<Variable<T>>& inputs, const GradcheckOptions& options) {
  return detail::Checker<T>(std::move(f), inputs, options).run();
}

template <class T>
GradcheckReport gradgradcheck(detail::same_t<detail::FunctionOfMany<T>> f,
                              const std::vector<Variable<T>>& inputs,
                              const GradcheckOptions& options) {
  std::string op;
  const Variable<T> output = detail::Checker<T>(f, inputs, options).look(op);
  std::vector<Variable<T>> arguments = inputs;
  arguments.push_back(randn<T>(Dims(output.shape()), options.seed));
  arguments.back().set_name("cotangent");
  const auto gradients = [&f](const std::vector<Variable<T>>& in) {
    const std::vector<Variable<T>> x(in.begin(), in.end() - 1);
    const Variable<T> y = f(x);
    std::vector<Variable<T>> parts{zeros<T>(0)};
    if (y.requires_grad()) {
      for (Variable<T>& part : grad(y, x, in.back(), create_graph | allow_unused)) {
        if (part.defined()) parts.push_back(flatten(std::move(part)));
      }
    }
    return concat(std::move(parts));
  };
  return detail::Checker<T>(gradients, arguments, options).run("gradient of " + op);
}

#define XGRAD_INSTANTIATE(T)                                                                     \
  template GradcheckReport gradcheck(detail::FunctionOfMany<T>, const std::vector<Variable<T>>&, \
                                     const GradcheckOptions&);                                   \
  template GradcheckReport gradgradcheck(                                                        \
      detail::FunctionOfMany<T>, const std::vector<Variable<T>>&, const GradcheckOptions&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
