#ifndef XGRAD_GRADING_HPP
#define XGRAD_GRADING_HPP

/// Grading: what is wrong with a hand-written multi-head attention, and which mistake it is.

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <xgrad/grading/report.hpp>
#include <xgrad/xgrad.hpp>

namespace xg {

template <class T>
using KernelFunction = std::function<Attention<T>(const Variable<T>& q, const Variable<T>& k,
                                                  const Variable<T>& v, const Mask& mask)>;
/// Makes the masked softmax over the last axis, an operation of one input, for a mask.
template <class T>
using SoftmaxRule = std::function<std::shared_ptr<Op<T>>(const Mask& mask)>;

namespace detail {
template <class T>
XGRAD_API GradeReport grade(const AttentionFunction<T>& f, std::uint64_t seed = 1);
template <class T>
XGRAD_API GradeReport grade_kernel(const KernelFunction<T>& f, std::uint64_t seed = 1);
template <class T>
XGRAD_API GradeReport grade_rule(const SoftmaxRule<T>& f, std::uint64_t seed = 1);
}  // namespace detail

/// Grades any f with multi_head_attention's signature:
///
///     auto report = xg::grade<double>(my::multi_head_attention<double>);
///     std::cout << report.to_string();
///     report.mistakes();   // {"softmax-over-queries"}
///
/// T0 interface and inputs left alone; T1 an independent oracle for each head; T2 masks, gradients,
/// strides and laws that hold without a reference; T3 the routing experiment. Where a check fails,
/// the results are compared with those of the mistakes listed in docs/grading.md. An exception of f
/// fails the check that met it; a division by zero or a bad pointer inside f ends the grading, not
/// the process. An f that calls the library's own multi_head_attention does not pass.
template <class T, class F>
GradeReport grade(F&& f) {
  return detail::grade<T>(AttentionFunction<T>(std::forward<F>(f)));
}

/// Grades any f with attention_kernel's signature.
template <class T, class F>
GradeReport grade_attention_kernel(F&& f) {
  return detail::grade_kernel<T>(KernelFunction<T>(std::forward<F>(f)));
}

/// Grades the gradient rule of masked softmax: f(mask) gives the Op as a std::shared_ptr.
template <class T, class F>
GradeReport grade_masked_softmax_rule(F&& f) {
  return detail::grade_rule<T>(SoftmaxRule<T>(std::forward<F>(f)));
}

}  // namespace xg

#endif
