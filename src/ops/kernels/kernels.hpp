#ifndef XGRAD_OPS_KERNELS_KERNELS_HPP
#define XGRAD_OPS_KERNELS_KERNELS_HPP

// Private: the vectorised loops on contiguous memory. They are compiled once for each instruction
// set, and the best one that the processor has is chosen at run time.

#include <cstdint>

namespace xg::detail {

/// A row of an operand: n elements one after another, or one element that stands for all.
template <class T>
struct Operand {
  const T* data;
  bool constant;
};

/// y[i] = f(x[i]); y may be x.
template <class T>
using UnaryKernel = void (*)(const T* x, T* y, std::int64_t n);
/// y[i] = f(a[i], b[i]), at most one of them constant; y may be a or b.
template <class T>
using BinaryKernel = void (*)(Operand<T> a, Operand<T> b, T* y, std::int64_t n);
/// y[i] = f(a[i], b[i]), at most one of them constant.
template <class T>
using CompareKernel = void (*)(Operand<T> a, Operand<T> b, bool* y, std::int64_t n);

/// c [m,n] = alpha a b + (accumulate ? c : 0), with any strides but the columns' of c, which is 1.
template <class T>
struct SmallProduct {
  std::int64_t m, n, k;
  T alpha;
  const T* a;
  std::int64_t a_row, a_col;
  const T* b;
  std::int64_t b_row, b_col;
  bool accumulate;
  T* c;
  std::int64_t c_row;
};

template <class T>
struct Kernels {
  UnaryKernel<T> neg, abs, square, sqrt, relu, exp, log, sigmoid, tanh, erf, gelu, gelu_slope, sin,
      cos;
  BinaryKernel<T> add, sub, mul, div, chain, maximum, minimum;
  CompareKernel<T> less, less_equal, equal, not_equal;
  /// y[i] = x[i], at least low and at most high; y may be x.
  void (*clip)(const T* x, T low, T high, T* y, std::int64_t n);
  /// y[i] = mask[i] ? a[i] : b[i], at most two of them constant.
  void (*where)(Operand<bool> mask, Operand<T> a, Operand<T> b, T* y, std::int64_t n);
  /// y = exp(x - max) / sum; y may be x. Returns the sum, which is NaN if the softmax is.
  T (*softmax)(const T* x, T* y, std::int64_t n);
  /// dx[i] = y[i] (g[i] - sum_k g[k] y[k]), and exactly 0 where y[i] is 0.
  void (*softmax_backward)(const T* g, const T* y, T* dx, std::int64_t n);
  /// False, with nothing done, if b is too large for it.
  bool (*small_gemm)(const SmallProduct<T>& product);
};

template <class T>
const Kernels<T>& kernels() noexcept;

}  // namespace xg::detail

#endif
