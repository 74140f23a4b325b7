#ifndef XGRAD_OPS_BROADCAST_HPP
#define XGRAD_OPS_BROADCAST_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// The array repeated along axes of extent 1 and new leading axes; a view, nothing is copied.
///
/// Formula: y[..., i, ...] = x[..., i or 0, ...], NumPy's broadcast_to.
/// Gradient: the cotangent summed over the repeated axes.
/// Throws ShapeError if x does not broadcast to `shape`.
template <class T>
XGRAD_API Variable<T> broadcast_to(Variable<T> x, const Dims& shape);

namespace detail {

/// NumPy's rule: aligned at the last axis, extents are equal or one of them is 1.
Extents broadcast_shape(const char* op, const Extents& a, const Extents& b);
bool broadcasts_to(const Extents& from, const Extents& to) noexcept;

/// The sum over the axes along which an array of `shape` was broadcast: undoes broadcast_to.
template <class T>
Variable<T> sum_to(Variable<T> x, const Extents& shape);

}  // namespace detail
}  // namespace xg

#endif
