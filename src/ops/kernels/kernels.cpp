#include <xgrad/ops/kernels/kernels.hpp>

#include <xgrad/ops/kernels/tables.hpp>

namespace xg::detail {
namespace {

template <class T>
const Kernels<T>& choose() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0) {
    return avx512_kernels(T());
  }
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    return avx2_kernels(T());
  }
#endif
  return baseline_kernels(T());
}

}  // namespace

template <class T>
const Kernels<T>& kernels() noexcept {
  static const Kernels<T>& chosen = choose<T>();
  return chosen;
}

template const Kernels<float>& kernels() noexcept;
template const Kernels<double>& kernels() noexcept;

}  // namespace xg::detail
