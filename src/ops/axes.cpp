#include <xgrad/ops/axes.hpp>

#include <algorithm>

namespace xg::detail {

std::size_t checked_axis(const char* op, std::int64_t axis, std::size_t rank) {
  const auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n) {
    fail<ShapeError>(op, "axis out of range", text(axis) + " for " + text(rank) + " axes",
                     n == 0 ? "no axis of a 0-D array" : text(-n) + " to " + text(n - 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + n : axis);
}

Extents checked_axes(const char* op, const Axes& axes, std::size_t rank) {
  Extents out;
  if (axes.empty()) {
    for (std::size_t i = 0; i < rank; ++i) out.push_back(static_cast<std::int64_t>(i));
    return out;
  }
  for (std::int64_t axis : axes.values()) {
    const auto checked = static_cast<std::int64_t>(checked_axis(op, axis, rank));
    if (std::find(out.begin(), out.end(), checked) != out.end()) {
      fail<ShapeError>(op, "repeated axis", text(axes.values()), "axes that are all different");
    }
    out.push_back(checked);
  }
  return out;
}

Extents keep_axes(Extents shape, const Extents& axes) {
  for (std::int64_t axis : axes) shape[static_cast<std::size_t>(axis)] = 1;
  return shape;
}

Extents drop_axes(const Extents& shape, const Extents& axes) {
  Extents out;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end()) {
      out.push_back(shape[i]);
    }
  }
  return out;
}

}  // namespace xg::detail
