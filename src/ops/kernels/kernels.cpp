#include <xgrad/ops/kernels/kernels.hpp>

#include <xgrad/ops/kernels/tables.hpp>

namespace xg::detail {

InstructionSet best_instruction_set() noexcept {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0) {
    return InstructionSet::avx512;
  }
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    return InstructionSet::avx2;
  }
#endif
  return InstructionSet::baseline;
}

namespace {

template <class T>
const Kernels<T>& choose() noexcept {
  switch (best_instruction_set()) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return avx512_kernels(T());
    case InstructionSet::avx2:
      return avx2_kernels(T());
#endif
    default:
      return baseline_kernels(T());
  }
}

template <class T>
const AttentionKernels<T>& choose_attention() noexcept {
  switch (best_instruction_set()) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return avx512_attention_kernels(T());
    case InstructionSet::avx2:
      return avx2_attention_kernels(T());
#endif
    default:
      return baseline_attention_kernels(T());
  }
}

}  // namespace

template <class T>
const Kernels<T>& kernels() noexcept {
  static const Kernels<T>& chosen = choose<T>();
  return chosen;
}

template <class T>
const AttentionKernels<T>& attention_kernels() noexcept {
  static const AttentionKernels<T>& chosen = choose_attention<T>();
  return chosen;
}

template const Kernels<float>& kernels() noexcept;
template const Kernels<double>& kernels() noexcept;
template const AttentionKernels<float>& attention_kernels() noexcept;
template const AttentionKernels<double>& attention_kernels() noexcept;

}  // namespace xg::detail
