#ifndef XGRAD_AUTOGRAD_GRADCHECK_HPP
#define XGRAD_AUTOGRAD_GRADCHECK_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/variable.hpp>

namespace xg {

namespace detail {
template <class T>
using FunctionOfMany = std::function<Variable<T>(const std::vector<Variable<T>>&)>;
}

/// How gradcheck judges; 0 is the default for the type.
struct GradcheckOptions {
  /// Of the differences, relative to max(1, |x|): 1e-3 for double, 2e-2 for float.
  double step = 0;
  /// Tolerance relative to the larger of both derivatives: 1e-6 for double, 3e-3 for float.
  double relative = 0;
  /// Tolerance near zero: 1e-9 for double, 1e-4 for float.
  double absolute = 0;
  /// An argument with more elements is tested along random directions.
  std::size_t most_elements = 256;
  /// Of the random cotangent and directions.
  std::uint64_t seed = 1;
};

/// The outcome of a check; true if it passed.
class XGRAD_API GradcheckReport {
 public:
  GradcheckReport(bool passed, std::string text) : passed_(passed), text_(std::move(text)) {}
  bool passed() const noexcept { return passed_; }
  operator bool() const noexcept { return passed_; }  // NOLINT(google-explicit-constructor)
  /// What was checked, or for each wrong derivative its operation, argument, index, got and want.
  std::string to_string() const { return text_; }

 private:
  bool passed_;
  std::string text_;
};

/// Compares the gradients of f with differences of its values.
///
///     auto f = [](const auto& in) { return xg::matmul(in[0], in[1]); };
///     auto report = xg::gradcheck(f, {a, b});
///     if (!report) std::cout << report.to_string() << "\n";
///
/// The derivative of <v, f> in each element of each input, with a random cotangent v of f's shape,
/// is compared with (8 (f(x+h) - f(x-h)) - (f(x+2h) - f(x-2h))) / 12h. Where that fails, steps of
/// h/8 and h/64 are tried, since a kink or a singularity may be near. An input with many elements
/// is tested along random directions, and a failure is narrowed down to an element. One handle at
/// several positions is one argument.
///
/// The gradients are computed with the inputs as they lie in memory, and again with inputs and
/// cotangent transposed in memory and spread out in steps between NaN, and compared for a cotangent
/// that is a broadcast scalar; they must agree, as must the values. A gradient that is NaN or
/// infinite, missing, or wrong by one per cent fails.
///
/// The tolerance is `absolute`, plus `relative` times the larger derivative, plus the differences'
/// own rounding error, 8 epsilon |v f| / h. For float that last part matters: with f near 1000 a
/// derivative near 1 cannot be told from one that is off by 5 %, and along a random direction one
/// wrong element among thousands stays unseen. Check in double where you can.
///
/// Every input is checked, whether or not it requires grad; none is changed, nor is any `.grad()`.
/// What f throws comes through. Throws GradcheckError if two evaluations of f at the same inputs
/// differ, or f returns an undefined Variable.
template <class T>
XGRAD_API GradcheckReport gradcheck(detail::same_t<detail::FunctionOfMany<T>> f,
                                    const std::vector<Variable<T>>& inputs,
                                    const GradcheckOptions& options = {});
template <class T>
GradcheckReport gradcheck(detail::same_t<detail::FunctionOfMany<T>> f,
                          std::initializer_list<Variable<T>> inputs,
                          const GradcheckOptions& options = {}) {
  return gradcheck(std::move(f), std::vector<Variable<T>>(inputs), options);
}

/// The same for the second derivatives: checks the gradients of f, as a function of the inputs and
/// of a random cotangent.
template <class T>
XGRAD_API GradcheckReport gradgradcheck(detail::same_t<detail::FunctionOfMany<T>> f,
                                        const std::vector<Variable<T>>& inputs,
                                        const GradcheckOptions& options = {});
template <class T>
GradcheckReport gradgradcheck(detail::same_t<detail::FunctionOfMany<T>> f,
                              std::initializer_list<Variable<T>> inputs,
                              const GradcheckOptions& options = {}) {
  return gradgradcheck(std::move(f), std::vector<Variable<T>>(inputs), options);
}

}  // namespace xg

#endif
