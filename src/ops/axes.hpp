#ifndef XGRAD_OPS_AXES_HPP
#define XGRAD_OPS_AXES_HPP

// Private: axes are checked once, at an operation's door.

#include <xgrad/autograd/message.hpp>

namespace xg::detail {

/// 0 <= axis < rank; a negative one counts from the end. Throws ShapeError.
std::size_t checked_axis(const char* op, std::int64_t axis, std::size_t rank);

/// Checked and all different; an empty list means all axes. Throws ShapeError.
Extents checked_axes(const char* op, const Axes& axes, std::size_t rank);

/// `shape` with 1 along `axes`.
Extents keep_axes(Extents shape, const Extents& axes);
/// `shape` without `axes`.
Extents drop_axes(const Extents& shape, const Extents& axes);

}  // namespace xg::detail

#endif
