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

/// c [rows,cols] = alpha a [rows,depth] b [depth,cols] + (accumulate ? c : 0). The columns of b and
/// c are one element apart.
template <class T>
struct BlockProduct {
  std::int64_t rows, cols, depth;
  T alpha;
  const T* a;
  std::int64_t a_row, a_col;
  const T* b;
  std::int64_t b_row;
  bool accumulate;
  T* c;
  std::int64_t c_row;
};

/// A reduction of f(x, centre), by halves within a line.
template <class T>
struct Fold {
  /// Of n > 0 elements.
  T (*line)(const T* x, std::int64_t n, T centre);
  /// Of n > 0 rows of `width` elements into one row, one row after another.
  void (*rows)(const T* x, std::int64_t stride, std::int64_t n, const T* centres, T* result,
               std::int64_t width);
  BinaryKernel<T> combine;
};

template <class T>
struct Kernels {
  UnaryKernel<T> neg, abs, square, sqrt, relu, exp, log, sigmoid, tanh, erf, gelu, gelu_slope, sin,
      cos;
  BinaryKernel<T> add, sub, mul, div, pow, chain, maximum, minimum;
  /// x - centre, and 0 where they are equal, be they infinite; and e to that.
  BinaryKernel<T> shift, exp_shift;
  /// Of x; sum_centred of x - centre, sum_squares of its square, and sum_exp of exp_shift.
  Fold<T> sum, prod, max, min, sum_centred, sum_squares, sum_exp;
  CompareKernel<T> less, less_equal, equal, not_equal;
  /// y[i] = x[i], at least low and at most high; y may be x.
  void (*clip)(const T* x, T low, T high, T* y, std::int64_t n);
  /// y[i] = mask[i] ? a[i] : b[i], at most two of them constant; y may be a or b.
  void (*where)(Operand<bool> mask, Operand<T> a, Operand<T> b, T* y, std::int64_t n);
  /// y = e^(x - max) / sum; y may be x. Returns the sum, which is NaN if the softmax is.
  T (*softmax)(const T* x, T* y, std::int64_t n);
  /// y = x - max - log(sum of e^(x - max)); y may be x.
  void (*log_softmax)(const T* x, T* y, std::int64_t n);
  /// dx[i] = y[i] (g[i] - sum_k g[k] y[k]), and exactly 0 where y[i] is 0.
  void (*softmax_backward)(const T* g, const T* y, T* dx, std::int64_t n);
  void (*product)(const BlockProduct<T>& product);
  /// y[j,i] = x[i,j]; the columns of both are one element apart.
  void (*transpose)(const T* x, std::int64_t x_row, std::int64_t rows, std::int64_t cols, T* y,
                    std::int64_t y_row);
  /// y[i] = (x[i] - mean) / sqrt(var + eps) weight[i] + bias[i], n > 0; both may be null.
  void (*layer_norm)(const T* x, const T* weight, const T* bias, T* y, std::int64_t n, T eps);
  /// Its gradient by x for the cotangent g; the weight may be null.
  void (*layer_norm_backward)(const T* g, const T* x, const T* weight, T* dx, std::int64_t n,
                              T eps);
  /// sum[i] += what this row adds to its gradient by the weight.
  void (*layer_norm_weight_gradient)(const T* g, const T* x, T* sum, std::int64_t n, T eps);
};

template <class T>
const Kernels<T>& kernels() noexcept;

}  // namespace xg::detail

#endif
