#ifndef XGRAD_OPS_EXTREMA_HPP
#define XGRAD_OPS_EXTREMA_HPP

#include <xgrad/ops/arithmetic.hpp>

namespace xg {

/// y = |x|, elementwise. Gradient: g sign(x), 0 at 0.
template <class T>
XGRAD_API Variable<T> abs(Variable<T> x);

/// The larger of a and b, elementwise, broadcasting; NaN if either is NaN.
/// Gradients: g to the one that was taken; equal ones, or two NaN, get half each.
/// Throws ShapeError if the shapes do not broadcast.
template <class T>
XGRAD_API Variable<T> maximum(Variable<T> a, Variable<T> b);
/// The smaller of a and b; otherwise as maximum.
template <class T>
XGRAD_API Variable<T> minimum(Variable<T> a, Variable<T> b);

#define XGRAD_WITH_SCALAR(NAME)                         \
  template <class T, class S, detail::if_number<S> = 0> \
  Variable<T> NAME(Variable<T> a, S b) {                \
    return NAME(std::move(a), Variable<T>(b));          \
  }                                                     \
  template <class T, class S, detail::if_number<S> = 0> \
  Variable<T> NAME(S a, Variable<T> b) {                \
    return NAME(Variable<T>(a), std::move(b));          \
  }
XGRAD_WITH_SCALAR(maximum)
XGRAD_WITH_SCALAR(minimum)
#undef XGRAD_WITH_SCALAR

/// y = x held within [low, high], elementwise; NaN stays. The bounds may be infinite.
/// Gradient: g where low <= x <= high, at the bounds too, and where x is NaN; 0 elsewhere.
/// Throws ArgumentError if low > high or one of them is NaN.
template <class T>
XGRAD_API Variable<T> clip(Variable<T> x, detail::same_t<T> low, detail::same_t<T> high);

/// The largest element over `axes` (all of them by default); NaN if there is one.
///
/// Shapes: the reduced axes disappear, or stay with extent 1 if `keep_dims`.
/// Gradient: shared equally among the elements that are equal to the result (or are NaN as it is).
/// Throws ShapeError for an axis that is out of range or repeated, and for the maximum of nothing.
template <class T>
XGRAD_API Variable<T> max(Variable<T> x, const Axes& axes = {}, bool keep_dims = false);
/// The smallest element over `axes`; otherwise as max.
template <class T>
XGRAD_API Variable<T> min(Variable<T> x, const Axes& axes = {}, bool keep_dims = false);

}  // namespace xg

#endif
