#ifndef XGRAD_OPS_REDUCE_HPP
#define XGRAD_OPS_REDUCE_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// The sum over `axes` (all of them by default), by halves: the error grows with log n.
///
/// Shapes: the reduced axes disappear, or stay with extent 1 if `keep_dims`. The sum of nothing is
/// 0. Gradient: the cotangent, repeated along the reduced axes. Throws ShapeError for an axis that
/// is out of range or repeated.
template <class T>
XGRAD_API Variable<T> sum(Variable<T> x, const Axes& axes = {}, bool keep_dims = false);

/// The mean over `axes`: sum / n. The mean of nothing is NaN. Gradient: g / n, repeated.
template <class T>
XGRAD_API Variable<T> mean(Variable<T> x, const Axes& axes = {}, bool keep_dims = false);

/// The variance over `axes`: sum_i (x_i - mean)^2 / (n - ddof), axes and shapes as for sum.
///
/// Two passes and a correction for the rounding of the mean, so that a large mean costs no digits.
/// As in NumPy the divisor is max(n - ddof, 0): without degrees of freedom the variance is NaN,
/// or inf if the elements differ; that of nothing is NaN.
/// Gradient: dx_i = 2 g (x_i - mean) / (n - ddof).
template <class T>
XGRAD_API Variable<T> var(Variable<T> x, const Axes& axes = {}, bool keep_dims = false,
                          std::int64_t ddof = 0);

/// The product over `axes`, axes and shapes as for sum. The product of nothing is 1.
/// Gradient: dx_i = g times the product of the others, which is right where elements are zero.
template <class T>
XGRAD_API Variable<T> prod(Variable<T> x, const Axes& axes = {}, bool keep_dims = false);

}  // namespace xg

#endif
