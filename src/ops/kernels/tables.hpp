#ifndef XGRAD_OPS_KERNELS_TABLES_HPP
#define XGRAD_OPS_KERNELS_TABLES_HPP

#include <xgrad/ops/kernels/kernels.hpp>

namespace xg::detail {

// One table for each instruction set; the argument only chooses the type.
const Kernels<float>& baseline_kernels(float) noexcept;
const Kernels<double>& baseline_kernels(double) noexcept;
const Kernels<float>& avx2_kernels(float) noexcept;
const Kernels<double>& avx2_kernels(double) noexcept;
const Kernels<float>& avx512_kernels(float) noexcept;
const Kernels<double>& avx512_kernels(double) noexcept;

}  // namespace xg::detail

#endif
