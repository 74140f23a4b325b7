#ifndef XGRAD_OPS_SOFTMAX_HPP
#define XGRAD_OPS_SOFTMAX_HPP

#include <xgrad/mha/mask.hpp>

namespace xg {

/// y_i = exp(x_i - max) / sum_k exp(x_k - max) along an axis.
///
/// Stable for finite scores of any size, and for infinite ones where the limit exists: one +inf
/// takes all the weight, -inf none; a line that is all -inf, or holds +inf twice, is NaN.
/// Gradient: dx = y (g - sum_k g_k y_k).
/// Throws ShapeError for the axis. A 0-D array is one line of one element.
template <class T>
XGRAD_API Variable<T> softmax(Variable<T> x, std::int64_t axis = -1);

/// y_i = x_i - max - ln sum_k exp(x_k - max) along an axis, as stable as softmax.
/// Gradient: dx = g - exp(y) sum_k g_k.
template <class T>
XGRAD_API Variable<T> log_softmax(Variable<T> x, std::int64_t axis = -1);

/// Softmax over the elements that the mask shows (true = visible); the mask broadcasts to x's
/// shape.
///
/// A hidden weight is exactly 0 and its score gets gradient exactly 0, even if the score is NaN or
/// inf. Visible weights sum to one; a line with nothing visible is 0, and so is its gradient.
/// Without a mask (`Mask()`) this is softmax.
/// Throws ShapeError for the axis, MaskError if the mask does not broadcast to x's shape.
template <class T>
XGRAD_API Variable<T> masked_softmax(Variable<T> x, const Mask& mask, std::int64_t axis = -1);

}  // namespace xg

#endif
