#ifndef XGRAD_OPS_LOGSUMEXP_HPP
#define XGRAD_OPS_LOGSUMEXP_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// y = max + ln sum_k exp(x_k - max) over `axes` (all of them by default).
///
/// Stable for finite x of any size; +inf if an element is, -inf if all are, and for nothing.
/// Shapes: the reduced axes disappear, or stay with extent 1 if `keep_dims`.
/// Gradient: dx_i = g exp(x_i - max) / sum_k exp(x_k - max), the softmax. It is 0 where all
/// elements are -inf, and shared equally among those that are +inf. Throws ShapeError for an axis
/// that is out of range or repeated.
template <class T>
XGRAD_API Variable<T> logsumexp(Variable<T> x, const Axes& axes = {}, bool keep_dims = false);

}  // namespace xg

#endif
