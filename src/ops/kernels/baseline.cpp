#include <xsimd/xsimd.hpp>

#include <xgrad/ops/kernels/tables.hpp>

namespace xg::detail {
namespace {

#include <xgrad/ops/kernels/implementation.hpp>

}  // namespace

const Kernels<float>& baseline_kernels(float) noexcept { return kTable<float>; }
const Kernels<double>& baseline_kernels(double) noexcept { return kTable<double>; }

}  // namespace xg::detail
