#ifndef XGRAD_OPS_KERNELS_TABLES_HPP
#define XGRAD_OPS_KERNELS_TABLES_HPP

#include <xgrad/ops/kernels/attention.hpp>
#include <xgrad/ops/kernels/kernels.hpp>

namespace xg::detail {

enum class InstructionSet { baseline, avx2, avx512 };

/// The best that both the processor and the library have.
InstructionSet best_instruction_set() noexcept;

// One table for each instruction set; the argument only chooses the type.
const Kernels<float>& baseline_kernels(float) noexcept;
const Kernels<double>& baseline_kernels(double) noexcept;
const Kernels<float>& avx2_kernels(float) noexcept;
const Kernels<double>& avx2_kernels(double) noexcept;
const Kernels<float>& avx512_kernels(float) noexcept;
const Kernels<double>& avx512_kernels(double) noexcept;

const AttentionKernels<float>& baseline_attention_kernels(float) noexcept;
const AttentionKernels<double>& baseline_attention_kernels(double) noexcept;
const AttentionKernels<float>& avx2_attention_kernels(float) noexcept;
const AttentionKernels<double>& avx2_attention_kernels(double) noexcept;
const AttentionKernels<float>& avx512_attention_kernels(float) noexcept;
const AttentionKernels<double>& avx512_attention_kernels(double) noexcept;

}  // namespace xg::detail

#endif
