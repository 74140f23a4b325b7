#ifndef XGRAD_OPS_MATMUL_HPP
#define XGRAD_OPS_MATMUL_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// NumPy's matmul: y[..., i, j] = sum_k a[..., i, k] b[..., k, j].
///
/// Shapes: a [..., M, K], b [..., K, N] -> [..., M, N]; leading axes broadcast. A 1-D a is a row, a
/// 1-D b a column, and that axis is dropped from the result.
/// Gradients: da = g b^T  ([M,N] x [N,K] -> [M,K]), db = a^T g  ([K,M] x [M,N] -> [K,N]), each
/// summed over the axes along which its input was broadcast. Operands of any strides are read as
/// they lie; transposes, slices and head splits are not copied. Throws ShapeError for a 0-D
/// operand, or if the inner extents or the leading axes do not fit.
template <class T>
XGRAD_API Variable<T> matmul(Variable<T> a, Variable<T> b);

namespace detail {

/// alpha a b, laid out in memory with the axes in `memory_order`, outermost first (row-major if
/// empty), so that a transpose that follows gives contiguous memory. Both at least 2-D.
template <class T>
Variable<T> scaled_matmul(Variable<T> a, Variable<T> b, double alpha,
                          const Extents& memory_order = {});
/// a b with batch axes broadcast, then summed down to the batch axes of `shape`, which may be 1.
template <class T>
Variable<T> summed_matmul(Variable<T> a, Variable<T> b, const Extents& shape,
                          const Extents& memory_order = {});

/// The axes of an array from the outermost to the innermost in memory, if it is a permutation of
/// contiguous memory whose innermost axis is one of the last two; else empty. A gradient that is
/// laid out as its input lies makes undoing a head split free.
template <class T>
Extents memory_order(const Array<T>& x);

}  // namespace detail
}  // namespace xg

#endif
