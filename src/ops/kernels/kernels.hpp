#ifndef XGRAD_OPS_KERNELS_KERNELS_HPP
#define XGRAD_OPS_KERNELS_KERNELS_HPP

// Private: the vectorised loops on contiguous memory. They are compiled once for each instruction
// set, and the best one that the processor has is chosen at run time.

#include <cstdint>

namespace xg::detail {

template <class T>
struct Kernels {
  /// y[i] = exp(x[i]); y may be x.
  void (*exp)(const T* x, T* y, std::int64_t n);
  /// y = exp(x - max) / sum; y may be x. Returns the sum, which is NaN if the softmax is.
  T (*softmax)(const T* x, T* y, std::int64_t n);
  /// dx[i] = y[i] (g[i] - sum_k g[k] y[k]), and exactly 0 where y[i] is 0.
  void (*softmax_backward)(const T* g, const T* y, T* dx, std::int64_t n);
};

template <class T>
const Kernels<T>& kernels() noexcept;

}  // namespace xg::detail

#endif
