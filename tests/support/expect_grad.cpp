#include "expect_grad.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace test {
namespace {

using xg::Variable;

template <class T>
using Variables = std::vector<Variable<T>>;

template <class T>
Variables<T> leaves(const Variables<T>& values, bool requires_grad = true) {
  Variables<T> out;
  for (const auto& x : values) out.push_back(x.detach().set_requires_grad(requires_grad));
  return out;
}

template <class T>
Variables<T> contiguous(const Variables<T>& values) {
  Variables<T> out;
  for (const auto& x : values) out.push_back(x.detach().clone());
  return out;
}

template <class To, class From>
Variables<To> cast_all(const Variables<From>& values) {
  Variables<To> out;
  for (const auto& x : values) out.push_back(cast<To>(x));
  return out;
}

/// Bits, so that NaN equals itself and -0 differs from 0.
template <class T>
std::vector<std::vector<T>> snapshot(const Variables<T>& values) {
  std::vector<std::vector<T>> out;
  for (const auto& x : values) out.push_back(x.to_vector());
  return out;
}

template <class T>
bool same_bits(const std::vector<std::vector<T>>& a, const std::vector<std::vector<T>>& b) {
  const auto bits = [](T x, T y) {
    return x == y ? std::signbit(x) == std::signbit(y) : std::isnan(x) && std::isnan(y);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), bits);
  });
}

/// The derivative of a vector by each element of the inputs: by x's element i, `columns[x][i]`.
using Jacobian = std::vector<std::vector<std::vector<double>>>;

/// f'(x) = (8 (f(x + h) - f(x - h)) - (f(x + 2h) - f(x - 2h))) / 12 h + O(h^4).
Jacobian differences(const std::function<std::vector<double>(const Variables<double>&)>& f,
                     const Variables<double>& inputs) {
  Jacobian out;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    std::vector<double> values = inputs[k].to_vector();
    const xg::Dims shape(inputs[k].shape());
    out.emplace_back();
    for (double& value : values) {
      const double x = value;
      const double h = 1e-3 * std::max(1.0, std::abs(x));
      const auto at = [&](double moved) {
        value = moved;
        Variables<double> changed = inputs;
        changed[k] = xg::from_data(values.data(), shape);
        return f(changed);
      };
      std::vector<double> column = at(x + h);
      const std::vector<double> left = at(x - h);
      const std::vector<double> right2 = at(x + 2 * h);
      const std::vector<double> left2 = at(x - 2 * h);
      value = x;
      for (std::size_t i = 0; i < column.size(); ++i) {
        column[i] = (8 * (column[i] - left[i]) - (right2[i] - left2[i])) / (12 * h);
      }
      out.back().push_back(std::move(column));
    }
  }
  return out;
}

/// seed^T J, for input k.
std::vector<double> pulled_back(const Jacobian& jacobian, std::size_t k,
                                const std::vector<double>& seed) {
  std::vector<double> out;
  for (const auto& column : jacobian[k]) {
    out.push_back(std::inner_product(column.begin(), column.end(), seed.begin(), 0.0));
  }
  return out;
}

double largest(const std::vector<double>& values) {
  double out = 0;
  for (double x : values) out = std::max(out, std::abs(x));
  return out;
}

constexpr Tolerance kDifferences{1e-7, 1e-7};
constexpr Tolerance kSecondDifferences{1e-6, 1e-6};

/// For results whose sums may run in another order. Some are NaN everywhere: the mean of nothing.
template <class T>
Tolerance reordered(const std::vector<double>& want) {
  return {rounding<T>.relative, rounding<T>.absolute * std::max(1.0, largest(want)),
          Nan::equals_nan};
}

/// One call of check_grad.
class Check {
 public:
  Check(const Function<double>& f, const Function<float>& g, Variables<double> inputs,
        Smoothness smoothness)
      : f_(f), g_(g), inputs_(std::move(inputs)), smoothness_(smoothness) {}

  void run(GradReport& report) {
    report_ = &report;
    for (const auto& x : inputs_) {
      if (x.dim() == 0) meet("0-D");
      if (x.size() == 0) meet("size 0");
      if (x.dim() > 0 && x.size() == 1) meet("size 1");
    }
    const std::size_t nodes = xg::live_nodes();
    const auto n = kLayouts.size();
    for (std::size_t first = 0; first < n; ++first) {
      guarded("all ", {first, 0});
      if (inputs_.size() > 1) guarded("mixed from ", {first, 1});
    }
    if (xg::live_nodes() != nodes) {
      fail("graph nodes: got " + std::to_string(xg::live_nodes()) + ", want " +
           std::to_string(nodes));
    }
  }

 private:
  /// Input i has layout first + i * step.
  struct Arrangement {
    std::size_t first;
    std::size_t step;
    Layout operator()(std::size_t i) const {
      return kLayouts[(first + i * step) % kLayouts.size()];
    }
  };

  void meet(const Aspect& aspect) {
    auto& met = report_->met;
    if (std::find(met.begin(), met.end(), aspect) == met.end()) met.push_back(aspect);
  }

  void fail(const std::string& what) {
    constexpr std::size_t kMost = 8;
    if (report_->failures.size() < kMost) report_->failures.push_back(context_ + what);
  }
  void expect(bool condition, const std::string& what) {
    if (!condition) fail(what);
  }
  void expect_close(const std::string& what, const xg::Shape& got_shape,
                    const std::vector<double>& got, const xg::Shape& want_shape,
                    const std::vector<double>& want, Tolerance tolerance) {
    const std::string text = difference(got_shape, got, want_shape, want, tolerance);
    if (!text.empty()) fail(what + " " + text);
  }

  void guarded(const char* how, Arrangement arrangement) {
    context_ = how + name(arrangement(0)) + ": ";
    try {
      arranged(arrangement);
    } catch (const std::exception& error) {
      fail(error.what());
    }
  }

  void arranged(Arrangement arrangement) {
    Variables<double> wide;
    Variables<float> narrow;
    bool repeats = false;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Layout layout = arrangement(i);
      wide.push_back(laid_out(inputs_[i], layout));
      narrow.push_back(laid_out(cast<float>(inputs_[i]), layout));
      if (lies(wide[i], layout)) {
        meet(name(layout));
        repeats |= layout == Layout::broadcast && inputs_[i].size() > 0;
      }
    }
    // Without stride 0 the values are the same in every arrangement, and so is the Jacobian.
    const Variables<double> values = contiguous(wide);
    const bool differentiable = !repeats || smoothness_ == Smoothness::smooth;
    const Jacobian* jacobian = nullptr;
    Jacobian own;
    if (repeats) {
      if (differentiable) own = differences(evaluate(), values);
      jacobian = &own;
    } else {
      if (jacobian_.empty()) jacobian_ = differences(evaluate(), values);
      jacobian = &jacobian_;
    }
    if (!differentiable) jacobian = nullptr;

    const Variable<double> output = f_(values);
    const Variable<double> seed =
        laid_out(numbers(output.shape(), 99, -1, 1), arrangement(0)).detach();
    const auto reference =
        first_order(f_, values, contiguous<double>({seed})[0], values, nullptr, jacobian);
    first_order(f_, wide, seed, values, &reference, jacobian);
    first_order(g_, narrow, cast_layout(seed, arrangement(0)), values, &reference, nullptr);
    one_at_a_time(wide, seed, reference);
    if (differentiable) second_order(wide, seed, values);
  }

  static Variable<float> cast_layout(const Variable<double>& x, Layout layout) {
    return laid_out(cast<float>(x), layout);
  }

  std::function<std::vector<double>(const Variables<double>&)> evaluate() const {
    return [this](const Variables<double>& inputs) { return f_(inputs).to_vector(); };
  }

  struct Results {
    std::vector<double> output;
    std::vector<std::vector<double>> gradients;
  };

  /// Forward and two backward passes, compared with the Jacobian and with a reference, if given.
  template <class T>
  Results first_order(const Function<T>& f, const Variables<T>& inputs, const Variable<T>& seed,
                      const Variables<double>& values, const Results* reference,
                      const Jacobian* jacobian) {
    const std::string before = context_;
    context_ += sizeof(T) == sizeof(float) ? "float: " : "double: ";
    meet(sizeof(T) == sizeof(float) ? "float" : "double");
    const auto old_inputs = snapshot(inputs);
    const auto old_seed = snapshot<T>({seed});
    Variables<T> x = leaves(inputs);
    const Variable<T> y = f(x);
    Results out{doubles(y.to_vector()), {}};
    {
      const xg::NoGrad guard;
      const Variable<T> plain = f(x);
      expect(!plain.requires_grad() || plain.is_leaf(), "recorded under NoGrad");
      expect(same_bits(snapshot<T>({plain}), snapshot<T>({y})), "another value under NoGrad");
    }
    if (reference != nullptr) {
      meet("value");
      expect_close("value", y.shape(), out.output, seed.shape(), reference->output,
                   reordered<T>(reference->output));
    }
    y.backward(seed, xg::retain_graph);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::string what = "gradient of input " + std::to_string(i);
      const Variable<T> once = x[i].grad();
      if (!once.defined()) {
        fail(what + " is undefined");
        out.gradients.emplace_back(x[i].size());
        continue;
      }
      out.gradients.push_back(doubles(once.to_vector()));
      const auto& got = out.gradients.back();
      if (jacobian != nullptr) {
        if (!got.empty()) meet("gradient");
        expect_close(what + " against differences", once.shape(), got, values[i].shape(),
                     pulled_back(*jacobian, i, doubles(seed.to_vector())), kDifferences);
      }
      if (reference != nullptr) {
        expect_close(what, once.shape(), got, values[i].shape(), reference->gradients[i],
                     reordered<T>(reference->gradients[i]));
      }
    }
    y.backward(seed);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!x[i].grad().defined()) continue;
      std::vector<double> twice = out.gradients[i];
      for (double& value : twice) value *= 2;
      expect_close("second backward: gradient of input " + std::to_string(i), x[i].grad().shape(),
                   doubles(x[i].grad().to_vector()), values[i].shape(), twice,
                   {0, 0, Nan::equals_nan});
    }
    expect(same_bits(snapshot(x), old_inputs), "an input has changed");
    expect(same_bits(snapshot<T>({seed}), old_seed), "the seed has changed");
    context_ = before;
    return out;
  }

  /// A rule may skip what is not needed, and only that.
  void one_at_a_time(const Variables<double>& inputs, const Variable<double>& seed,
                     const Results& reference) {
    for (std::size_t i = 0; inputs.size() > 1 && i < inputs.size(); ++i) {
      Variables<double> x = leaves(inputs, false);
      x[i].set_requires_grad();
      f_(x).backward(seed);
      const std::string what = "gradient of input " + std::to_string(i) + " alone";
      if (!x[i].grad().defined()) {
        fail(what + " is undefined");
        continue;
      }
      expect_close(what, x[i].grad().shape(), x[i].grad().to_vector(), inputs[i].shape(),
                   reference.gradients[i], reordered<double>(reference.gradients[i]));
    }
  }

  /// s = sum of all gradients, weighted at random; its derivatives by inputs and seed.
  void second_order(const Variables<double>& inputs, const Variable<double>& seed,
                    const Variables<double>& values) {
    const auto weighted = [](const Variables<double>& gradients) {
      Variable<double> s(0);
      for (std::size_t i = 0; i < gradients.size(); ++i) {
        s += xg::sum(gradients[i] * numbers(gradients[i].shape(), 7 + i, -1, 1));
      }
      return s;
    };
    const auto s_of = [&](const Variables<double>& at) {
      const Variables<double> x = leaves<double>({at.begin(), at.end() - 1});
      return weighted(xg::grad(f_(x), x, at.back())).to_vector();
    };
    Variables<double> x = leaves(inputs);
    x.push_back(leaves<double>({seed})[0]);
    const Variables<double> first =
        xg::grad(f_({x.begin(), x.end() - 1}), Variables<double>(x.begin(), x.end() - 1), x.back(),
                 xg::create_graph);
    const Variables<double> second =
        xg::grad(weighted(first), x, {}, xg::create_graph | xg::allow_unused);
    Variables<double> at = values;
    at.push_back(seed.clone());
    const Jacobian want = differences(s_of, at);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto got =
          second[i].defined() ? second[i].to_vector() : std::vector<double>(x[i].size());
      const auto got_shape = second[i].defined() ? second[i].shape() : x[i].shape();
      const std::string what =
          i + 1 < x.size() ? "input " + std::to_string(i) : std::string("the seed");
      if (!got.empty()) meet("second derivative");
      expect_close("second derivative by " + what, got_shape, got, x[i].shape(),
                   pulled_back(want, i, {1}), kSecondDifferences);
    }
  }

  const Function<double>& f_;
  const Function<float>& g_;
  Variables<double> inputs_;
  Smoothness smoothness_;
  Jacobian jacobian_;
  std::string context_;
  GradReport* report_ = nullptr;
};

}  // namespace

std::string GradReport::to_string() const {
  std::string out = op + ": " + (passed() ? "passed" : "failed");
  for (const std::string& failure : failures) out += "\n  " + failure;
  return out;
}

GradReport check_grad(const std::string& op, const Function<double>& f, const Function<float>& g,
                      const std::vector<Variable<double>>& inputs, Smoothness smoothness) {
  GradReport report{op, {}, {}};
  Check(f, g, cast_all<double>(cast_all<float>(inputs)), smoothness).run(report);
  return report;
}

Variable<double> numbers(const xg::Dims& shape, std::uint64_t seed, double low, double high) {
  Variable<double> order = xg::uniform<double>(shape, 0, 1, seed);
  const std::vector<double> keys = order.to_vector();
  const std::size_t n = keys.size();
  std::vector<std::size_t> rank(n);
  std::iota(rank.begin(), rank.end(), std::size_t{0});
  std::sort(rank.begin(), rank.end(), [&](auto i, auto j) { return keys[i] < keys[j]; });
  std::vector<double> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    // A place of its own in the range for each, off its middle by a quarter at most.
    const double place = (double(i) + 0.25 + 0.5 * keys[rank[i]]) / double(n);
    out[rank[i]] = static_cast<float>(low + (high - low) * place);
  }
  return xg::from_data(out.data(), shape);
}

const std::vector<xg::Shape>& shapes() {
  static const std::vector<xg::Shape> shapes{{2, 3}, {4}, {}, {1, 1}, {0, 3}};
  return shapes;
}

}  // namespace test
