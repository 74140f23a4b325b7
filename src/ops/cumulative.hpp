#ifndef XGRAD_OPS_CUMULATIVE_HPP
#define XGRAD_OPS_CUMULATIVE_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// y_i = x_0 + ... + x_i along an axis, by halves: the error grows with log n.
///
/// Gradient: dx_i = g_i + ... + g_(n-1), the same sum from the other end.
/// Throws ShapeError for the axis. A 0-D array is one line of one element.
template <class T>
XGRAD_API Variable<T> cumsum(Variable<T> x, std::int64_t axis);

}  // namespace xg

#endif
