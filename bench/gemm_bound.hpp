#ifndef XGRAD_BENCH_GEMM_BOUND_HPP
#define XGRAD_BENCH_GEMM_BOUND_HPP

#include <cstddef>
#include <vector>

#include <cblas.h>

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
/// memory with the strides that the heads really have: 12 for the projections, 6 for each head.
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

  void run() {
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
  void forward(int rows, const std::vector<T>& x, std::vector<T>& y) {
    gemm(CblasNoTrans, CblasNoTrans, rows, s_.D, s_.D, x.data(), s_.D, w_.data(), s_.D, y.data(),
         s_.D);
  }
  /// From the cotangent dy of y = x w: dw = x^T dy, dx = dy w^T (into memory that is read no more).
  void backward(int rows, std::vector<T>& x, const std::vector<T>& dy) {
    gemm(CblasTrans, CblasNoTrans, s_.D, s_.D, rows, x.data(), s_.D, dy.data(), s_.D, dw_.data(),
         s_.D);
    scratch_.resize(x.size());
    gemm(CblasNoTrans, CblasTrans, rows, s_.D, s_.D, dy.data(), s_.D, w_.data(), s_.D,
         scratch_.data(), s_.D);
  }
  template <class F>
  void heads(F f) {
    const int d = s_.D / s_.H;
    for (int b = 0; b < s_.B; ++b) {
      for (int h = 0; h < s_.H; ++h) {
        const std::size_t q = std::size_t(b) * s_.Q * s_.D + std::size_t(h) * d;
        const std::size_t k = std::size_t(b) * s_.K * s_.D + std::size_t(h) * d;
        const std::size_t p = (std::size_t(b) * s_.H + h) * s_.Q * s_.K;
        f(&q_[q], &k_[k], &v_[k], &context_[q], &scores_[p], &dscores_[p]);
      }
    }
  }

  Size s_;
  std::vector<T> x_, y_, w_, dw_, q_, k_, v_, context_, out_, scores_, dscores_, scratch_;
};

}  // namespace bench

#endif
