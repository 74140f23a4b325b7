#ifndef XGRAD_BENCH_GEMM_BOUND_HPP
#define XGRAD_BENCH_GEMM_BOUND_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cblas.h>

#include <xgrad/autograd/thread_pool.hpp>

namespace bench {

struct Size {
  int B, Q, K, D, H;
};

inline void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const float* a,
                 int lda, const float* b, int ldb, float* c, int ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1.0F, a, lda, b, ldb, 0.0F, c, ldc);
}
inline void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const double* a,
                 int lda, const double* b, int ldb, double* c, int ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1.0, a, lda, b, ldb, 0.0, c, ldc);
}

/// Exactly the BLAS calls that forward and backward of multi-head attention need, on preallocated
/// memory with the strides that the heads really have: 12 for the projections, 6 for each head. One
/// pool shares out rows and heads; BLAS itself is to run on one thread.
template <class T>
class GemmBound {
 public:
  explicit GemmBound(Size s)
      : s_(s),
        x_(std::size_t(s.B) * s.Q * s.D, T(0.1)),
        y_(std::size_t(s.B) * s.K * s.D, T(0.1)),
        w_(std::size_t(s.D) * s.D, T(0.1)),
        dw_(w_.size()),
        q_(x_.size()),
        k_(y_.size()),
        v_(y_.size()),
        context_(x_.size()),
        out_(x_.size()),
        scores_(std::size_t(s.B) * s.H * s.Q * s.K),
        dscores_(scores_.size()) {}

  void run_forward() {
    const int rows_q = s_.B * s_.Q;
    const int rows_k = s_.B * s_.K;
    forward(rows_q, x_, q_);
    forward(rows_k, y_, k_);
    forward(rows_k, y_, v_);
    heads([&](T* q, T* k, T* v, T* c, T* p, T*) {
      const int d = s_.D / s_.H;
      gemm(CblasNoTrans, CblasTrans, s_.Q, s_.K, d, q, s_.D, k, s_.D, p, s_.K);
      gemm(CblasNoTrans, CblasNoTrans, s_.Q, d, s_.K, p, s_.K, v, s_.D, c, s_.D);
    });
    forward(rows_q, context_, out_);
  }
  void run() {
    run_forward();
    const int rows_q = s_.B * s_.Q;
    const int rows_k = s_.B * s_.K;
    backward(rows_q, context_, out_);
    heads([&](T* q, T* k, T* v, T* c, T* p, T* dp) {
      const int d = s_.D / s_.H;
      gemm(CblasNoTrans, CblasTrans, s_.Q, s_.K, d, c, s_.D, v, s_.D, dp, s_.K);
      gemm(CblasTrans, CblasNoTrans, s_.K, d, s_.Q, p, s_.K, c, s_.D, v, s_.D);
      gemm(CblasNoTrans, CblasNoTrans, s_.Q, d, s_.K, dp, s_.K, k, s_.D, q, s_.D);
      gemm(CblasTrans, CblasNoTrans, s_.K, d, s_.Q, dp, s_.K, q, s_.D, k, s_.D);
    });
    backward(rows_q, x_, q_);
    backward(rows_k, y_, k_);
    backward(rows_k, y_, v_);
  }

 private:
  /// Shares out the rows of a product of [rows, inner] and [inner, D].
  template <class F>
  void in_rows(int rows, int inner, F f) {
    constexpr double kLeastWork = 1 << 18;  // multiply-adds worth a thread
    constexpr std::int64_t kLeastRows = 128;
    const double row = static_cast<double>(inner) * s_.D;
    xg::detail::parallel_ranges(rows,
                                std::max(kLeastRows, static_cast<std::int64_t>(kLeastWork / row)),
                                16, [&](std::int64_t begin, std::int64_t end) {
                                  f(static_cast<int>(begin), static_cast<int>(end - begin));
                                });
  }
  void forward(int rows, const std::vector<T>& x, std::vector<T>& y) {
    in_rows(rows, s_.D, [&](int i, int n) {
      const std::size_t at = std::size_t(i) * s_.D;
      gemm(CblasNoTrans, CblasNoTrans, n, s_.D, s_.D, &x[at], s_.D, w_.data(), s_.D, &y[at], s_.D);
    });
  }
  /// From the cotangent dy of y = x w: dw = x^T dy, dx = dy w^T (into memory that is read no more).
  void backward(int rows, std::vector<T>& x, const std::vector<T>& dy) {
    in_rows(s_.D, rows, [&](int i, int n) {
      gemm(CblasTrans, CblasNoTrans, n, s_.D, rows, &x[i], s_.D, dy.data(), s_.D,
           &dw_[std::size_t(i) * s_.D], s_.D);
    });
    scratch_.resize(x.size());
    in_rows(rows, s_.D, [&](int i, int n) {
      const std::size_t at = std::size_t(i) * s_.D;
      gemm(CblasNoTrans, CblasTrans, n, s_.D, s_.D, &dy[at], s_.D, w_.data(), s_.D, &scratch_[at],
           s_.D);
    });
  }
  template <class F>
  void heads(F f) {
    const int d = s_.D / s_.H;
    const double work = 3.0 * s_.Q * s_.K * d;
    const auto head = [&](std::int64_t i) {
      const std::size_t b = std::size_t(i) / s_.H;
      const std::size_t h = std::size_t(i) % s_.H;
      const std::size_t q = b * s_.Q * s_.D + h * d;
      const std::size_t k = b * s_.K * s_.D + h * d;
      const std::size_t p = std::size_t(i) * s_.Q * s_.K;
      f(&q_[q], &k_[k], &v_[k], &context_[q], &scores_[p], &dscores_[p]);
    };
    xg::detail::parallel_ranges(s_.B * s_.H, 1 + static_cast<std::int64_t>((1 << 18) / work), 1,
                                [&](std::int64_t i, std::int64_t end) {
                                  for (; i < end; ++i) head(i);
                                });
  }

  Size s_;
  std::vector<T> x_, y_, w_, dw_, q_, k_, v_, context_, out_, scores_, dscores_, scratch_;
};

}  // namespace bench

#endif
