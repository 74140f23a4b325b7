#include <xgrad/ops/gemm.hpp>

#include <algorithm>
#include <complex>
#include <limits>
#include <utility>

#include <xtensor-blas/xblas_config.hpp>

#include <xflens/cxxblas/cxxblas.cxx>

#include <xgrad/ops/kernels/kernels.hpp>

namespace xg::detail {
namespace {

// In multiply-adds: up to here our own product without packing is faster than OpenBLAS's (see
// docs/performance.md).
constexpr double kMostSmallWork = 96 * 96 * 96;
constexpr std::int64_t kMostIndex = std::numeric_limits<int>::max();

/// How BLAS reads a matrix as it lies: row-major with a leading dimension, perhaps transposed.
struct BlasLayout {
  bool valid;
  bool transposed;
  int leading;
};

template <class T>
BlasLayout row_major(const MatrixView<T>& m) {
  // An axis of extent 1 has no stride to speak of.
  const std::int64_t least = std::max<std::int64_t>(m.cols, 1);
  const std::int64_t leading = m.rows > 1 ? m.row_stride : least;
  const bool valid = (m.cols <= 1 || m.col_stride == 1) && leading >= least &&
                     leading <= kMostIndex && m.rows <= kMostIndex;
  return {valid, false, valid ? static_cast<int>(leading) : 0};
}

template <class T>
BlasLayout blas_layout(const MatrixView<T>& m) {
  BlasLayout layout = row_major(m);
  if (layout.valid) return layout;
  layout = row_major(m.transposed());
  layout.transposed = true;
  return layout;
}

template <class T>
void blas_gemm(T alpha, const MatrixView<const T>& a, BlasLayout la, const MatrixView<const T>& b,
               BlasLayout lb, T beta, const MatrixView<T>& c, int leading) {
  const auto flag = [](bool transposed) { return transposed ? cxxblas::Trans : cxxblas::NoTrans; };
  cxxblas::gemm<int>(cxxblas::RowMajor, flag(la.transposed), flag(lb.transposed),
                     static_cast<int>(c.rows), static_cast<int>(c.cols), static_cast<int>(a.cols),
                     alpha, a.data, la.leading, b.data, lb.leading, beta, c.data, leading);
}

/// A block of a matrix that BLAS cannot read in place, packed into a fixed amount of stack memory.
template <class T>
class Block {
 public:
  static constexpr std::int64_t kSide = 64;

  MatrixView<const T> pack(const MatrixView<const T>& m, std::int64_t row, std::int64_t col,
                           std::int64_t rows, std::int64_t cols) {
    const T* first = m.data + row * m.row_stride + col * m.col_stride;
    return row_major_copy<T>({first, rows, cols, m.row_stride, m.col_stride}, memory_);
  }

 private:
  alignas(64) T memory_[kSide * kSide];
};

template <class T>
void blocked_gemm(T alpha, const MatrixView<const T>& a, const MatrixView<const T>& b, T beta,
                  const MatrixView<T>& c) {
  constexpr std::int64_t side = Block<T>::kSide;
  Block<T> block_a;
  Block<T> block_b;
  for (std::int64_t k = 0; k < a.cols; k += side) {
    const std::int64_t depth = std::min(side, a.cols - k);
    for (std::int64_t i = 0; i < c.rows; i += side) {
      const std::int64_t rows = std::min(side, c.rows - i);
      const auto left = block_a.pack(a, i, k, rows, depth);
      for (std::int64_t j = 0; j < c.cols; j += side) {
        const std::int64_t cols = std::min(side, c.cols - j);
        const auto right = block_b.pack(b, k, j, depth, cols);
        const MatrixView<T> part{c.data + i * c.row_stride + j, rows, cols, c.row_stride, 1};
        blas_gemm(alpha, left, row_major(left), right, row_major(right), k == 0 ? beta : T(1), part,
                  static_cast<int>(c.row_stride));
      }
    }
  }
}

/// False, with nothing done, if the product is too large for it.
template <class T>
bool small_gemm(T alpha, const MatrixView<const T>& a, const MatrixView<const T>& b,
                bool accumulate, const MatrixView<T>& c) {
  constexpr std::int64_t kMostCopied = 4096;
  if (static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(a.cols) >
      kMostSmallWork) {
    return false;
  }
  BlockProduct<T> product{c.rows,       c.cols, a.cols,       alpha,      a.data, a.row_stride,
                          a.col_stride, b.data, b.row_stride, accumulate, c.data, c.row_stride};
  alignas(64) T rows[kMostCopied];
  if (b.col_stride != 1 && b.cols > 1) {
    if (b.rows * b.cols > kMostCopied) return false;
    row_major_copy(b, rows);
    product.b = rows;
    product.b_row = b.cols;
  }
  kernels<T>().product(product);
  return true;
}

}  // namespace

template <class T>
MatrixView<const T> row_major_copy(const MatrixView<const T>& m, T* out) {
  if (m.row_stride == 1) {
    kernels<T>().transpose(m.data, m.col_stride, m.cols, m.rows, out, m.cols);
  } else {
    for (std::int64_t i = 0; i < m.rows; ++i) {
      const T* row = m.data + i * m.row_stride;
      for (std::int64_t j = 0; j < m.cols; ++j) out[i * m.cols + j] = row[j * m.col_stride];
    }
  }
  return {out, m.rows, m.cols, m.cols, 1};
}

template <class T>
void gemm(T alpha, MatrixView<const T> a, MatrixView<const T> b, bool accumulate, MatrixView<T> c) {
  if (c.rows == 0 || c.cols == 0) return;
  BlasLayout out = row_major(c);
  if (!out.valid) {  // c^T = b^T a^T
    std::swap(a, b);
    a = a.transposed();
    b = b.transposed();
    c = c.transposed();
    out = row_major(c);
  }
  if (a.cols == 0) {
    for (std::int64_t i = 0; !accumulate && i < c.rows; ++i) {
      std::fill_n(c.data + i * c.row_stride, c.cols, T(0));
    }
    return;
  }
  if (small_gemm(alpha, a, b, accumulate, c)) return;
  const T beta = accumulate ? T(1) : T(0);
  const BlasLayout la = blas_layout(a);
  const BlasLayout lb = blas_layout(b);
  if (la.valid && lb.valid && out.valid && c.cols <= kMostIndex && a.cols <= kMostIndex) {
    blas_gemm(alpha, a, la, b, lb, beta, c, out.leading);
  } else {
    blocked_gemm(alpha, a, b, beta, c);
  }
}

template MatrixView<const float> row_major_copy(const MatrixView<const float>&, float*);
template MatrixView<const double> row_major_copy(const MatrixView<const double>&, double*);
template void gemm(float, MatrixView<const float>, MatrixView<const float>, bool,
                   MatrixView<float>);
template void gemm(double, MatrixView<const double>, MatrixView<const double>, bool,
                   MatrixView<double>);

}  // namespace xg::detail
