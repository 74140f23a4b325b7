#ifndef XGRAD_OPS_GEMM_HPP
#define XGRAD_OPS_GEMM_HPP

// Private: one matrix product on memory of any strides.

#include <cstdint>

namespace xg::detail {

template <class T>
struct MatrixView {
  T* data;
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t row_stride;
  std::int64_t col_stride;

  MatrixView transposed() const noexcept { return {data, cols, rows, col_stride, row_stride}; }
  MatrixView rows_from(std::int64_t begin, std::int64_t end) const noexcept {
    return {data + begin * row_stride, end - begin, cols, row_stride, col_stride};
  }
};

/// A copy, rows one after another.
template <class T>
MatrixView<const T> row_major_copy(const MatrixView<const T>& m, T* out);

/// c = alpha a b + (accumulate ? c : 0). `c` has unit stride along one of its axes.
template <class T>
void gemm(T alpha, MatrixView<const T> a, MatrixView<const T> b, bool accumulate, MatrixView<T> c);

}  // namespace xg::detail

#endif
