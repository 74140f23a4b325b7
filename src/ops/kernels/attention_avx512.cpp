#include <xsimd/xsimd.hpp>

#include <xgrad/ops/kernels/tables.hpp>

namespace xg::detail {
namespace {

#include <xgrad/ops/kernels/attention_implementation.hpp>

}  // namespace

const AttentionKernels<float>& avx512_attention_kernels(float) noexcept {
  return kAttentionTable<float>;
}
const AttentionKernels<double>& avx512_attention_kernels(double) noexcept {
  return kAttentionTable<double>;
}

}  // namespace xg::detail
