#ifndef XGRAD_OPS_KERNELS_ATTENTION_HPP
#define XGRAD_OPS_KERNELS_ATTENTION_HPP

// Private: the vectorised loops of scaled_dot_product_attention on one block of scores, a row for
// each query and `n` contiguous scores in each row. Compiled and chosen as kernels.hpp says.

#include <cstdint>

namespace xg::detail {

template <class T>
struct AttentionKernels {
  /// The next scores of rows whose largest score so far is `most` (-inf before the first ones) and
  /// whose weights so far add up to `sum`, on the scale where the largest score weighs 1. Replaces
  /// the scores by weights and updates both; what was computed on the old scale is to be multiplied
  /// by `correction`. Hidden scores are -inf.
  void (*softmax_step)(T* scores, std::int64_t rows, std::int64_t n, T* most, T* sum,
                       T* correction);
  /// In place: exp(score - most) inverse_sum, the weights again.
  void (*weights)(T* scores, std::int64_t rows, std::int64_t n, const T* most,
                  const T* inverse_sum);
  /// In place: the scores' gradient w (g - dot) from the weights' gradient g; exactly 0 where the
  /// weight w is 0. dot = sum_k w g is computed here if it is null, since the block holds whole
  /// rows, and where `most` is inf, since one weight is all that the row has.
  void (*score_gradient)(const T* weights, T* g, std::int64_t rows, std::int64_t n, const T* most,
                         const T* dot);
  /// x[i] = filler where not visible.
  void (*hide)(T* x, const bool* visible, std::int64_t n, T filler);
  /// Each row times its factor; rows are `stride` apart.
  void (*scale_rows)(T* x, std::int64_t stride, std::int64_t rows, std::int64_t n, const T* factor);
  /// dot[i] = the product of rows i of a and b, which are `a_stride` and `b_stride` apart.
  void (*dot_rows)(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
                   std::int64_t rows, std::int64_t n, T* dot);
};

template <class T>
const AttentionKernels<T>& attention_kernels() noexcept;

}  // namespace xg::detail

#endif
