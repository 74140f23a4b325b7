#ifndef XGRAD_OPS_TAKE_HPP
#define XGRAD_OPS_TAKE_HPP

#include <xgrad/autograd/variable.hpp>
#include <xgrad/ops/indices.hpp>

namespace xg {

/// Elements of one axis by their indices, NumPy's take: y[a, i, b] = x[a, indices[i], b], where a,
/// i and b stand for any number of axes. A negative index counts from the end.
///
/// Shapes: x [A..., N, B...], indices [I...] -> [A..., I..., B...].
/// Gradient: dx[a, n, b] = sum of g[a, i, b] over the i with indices[i] = n; an element that was
/// taken twice gets both cotangents.
/// Throws ShapeError for the axis, or for an index that is not in [-N, N).
template <class T>
XGRAD_API Variable<T> take(Variable<T> x, const Indices& indices, std::int64_t axis);

/// Rows of a table, one for each index: y[i, :] = table[indices[i], :].
///
/// Shapes: table [N, D], indices [I...] -> [I..., D]. The gradient is that of take.
/// Throws ShapeError unless the table is 2-D, or for an index that is not in [-N, N).
template <class T>
XGRAD_API Variable<T> embedding(Variable<T> table, const Indices& indices);

}  // namespace xg

#endif
