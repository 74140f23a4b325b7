#ifndef XGRAD_OPS_REDUCE_HPP
#define XGRAD_OPS_REDUCE_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// The sum over `axes` (all of them by default), by halves: the error grows with log n.
///
/// Shapes: the reduced axes disappear, or stay with extent 1 if `keep_dims`. The sum of nothing is 0.
/// Gradient: the cotangent, repeated along the reduced axes.
/// Throws ShapeError for an axis that is out of range or repeated.
template <class T>
XGRAD_API Variable<T> sum(Variable<T> x, const Axes& axes = {}, bool keep_dims = false);

/// The mean over `axes`: sum / n. The mean of nothing is NaN. Gradient: g / n, repeated.
template <class T>
XGRAD_API Variable<T> mean(Variable<T> x, const Axes& axes = {}, bool keep_dims = false);

}  // namespace xg

#endif
