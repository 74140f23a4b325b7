#ifndef XGRAD_OPS_VIEWS_HPP
#define XGRAD_OPS_VIEWS_HPP

#include <limits>

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// As the stop of a slice: to the end of the axis (with a negative step, to its front).
constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();

/// The same elements in row-major order under another shape, in which one extent may be -1. A view
/// where the strides allow it, else a copy. Gradient: the cotangent in the old shape.
/// Throws ShapeError if the number of elements differs.
template <class T>
XGRAD_API Variable<T> reshape(Variable<T> x, const Dims& shape);
/// One axis: reshape(x, -1).
template <class T>
XGRAD_API Variable<T> flatten(Variable<T> x);

/// y's axis i is x's axis axes[i]; reversed by default. A view. Gradient: the inverse permutation.
/// Throws ShapeError unless `axes` is a permutation.
template <class T>
XGRAD_API Variable<T> transpose(Variable<T> x, const Axes& axes = {});
/// Exchanges two axes. A view.
template <class T>
XGRAD_API Variable<T> swapaxes(Variable<T> x, std::int64_t i, std::int64_t j);

/// Drops axes of extent 1 (all of them by default). A view.
/// Throws ShapeError for an axis of another extent.
template <class T>
XGRAD_API Variable<T> squeeze(Variable<T> x, const Axes& axes = {});
/// Inserts an axis of extent 1 before `axis` of the result. A view.
template <class T>
XGRAD_API Variable<T> unsqueeze(Variable<T> x, std::int64_t axis);

/// x[start:stop:step] along one axis, clamped as Python clamps. A view.
/// Gradient: the cotangent in the places that were taken, 0 elsewhere.
/// Throws ShapeError for the axis, ArgumentError for a step of 0.
template <class T>
XGRAD_API Variable<T> slice(Variable<T> x, std::int64_t axis, std::int64_t start, std::int64_t stop,
                            std::int64_t step = 1);
/// Reverses axes (all of them by default). A view.
template <class T>
XGRAD_API Variable<T> flip(Variable<T> x, const Axes& axes = {});

/// Parts of one axis: `sections` equal ones, or cut at a list of points as NumPy's split does.
/// Views. Throws ShapeError if the axis does not divide.
template <class T>
XGRAD_API std::vector<Variable<T>> split(Variable<T> x, const Sections& sections,
                                         std::int64_t axis = 0);

}  // namespace xg

#endif
