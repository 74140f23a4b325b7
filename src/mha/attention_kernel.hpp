#ifndef XGRAD_MHA_ATTENTION_KERNEL_HPP
#define XGRAD_MHA_ATTENTION_KERNEL_HPP

#include <xgrad/mha/mask.hpp>

namespace xg {

/// What attention returns: `auto [output, weights] = ...`.
template <class T>
struct Attention {
  Variable<T> output;
  Variable<T> weights;
};

/// Scaled dot-product attention (Vaswani et al. 2017, section 3.2.1, equation 1):
///
///     weights = softmax(q k^T / sqrt(d)),   output = weights v
///
/// Shapes: q [B,H,Q,d], k [B,H,K,d], v [B,H,K,Dv], mask broadcastable to [B,H,Q,K] (true =
/// visible) -> output [B,H,Q,Dv], weights [B,H,Q,K]. Weights sum to one over the visible keys; a
/// query that sees no key gets zero weights, output and gradients. A key that no query of its item
/// sees in any head may hold NaN or inf without effect.
/// Throws ShapeError if the arrays do not fit each other, MaskError if the mask does not fit.
template <class T>
XGRAD_API Attention<T> attention_kernel(const Variable<T>& q, const Variable<T>& k,
                                        const Variable<T>& v, const Mask& mask = {});

}  // namespace xg

#endif
