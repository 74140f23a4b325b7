#ifndef XGRAD_MHA_SCALED_DOT_PRODUCT_ATTENTION_HPP
#define XGRAD_MHA_SCALED_DOT_PRODUCT_ATTENTION_HPP

#include <optional>

#include <xgrad/mha/mask.hpp>

namespace xg {

struct AttentionOptions {
  bool causal = false;                         ///< also hides later keys, as causal_mask(Q, K) does
  std::optional<double> scale = std::nullopt;  ///< of q k^T; 1 / sqrt(d) if not given
};

/// The output of attention_kernel without its weights, in memory that grows with Q + K instead of
/// Q K, and in less time (Dao et al. 2022, "FlashAttention", algorithms 1 and 4):
///
///     output = softmax(scale q k^T) v
///
/// Shapes: q [B,H,Q,d], k [B,H,K,d], v [B,H,K,Dv], mask broadcastable to [B,H,Q,K] (true =
/// visible) -> output [B,H,Q,Dv]. Mask and causal combine by AND; a query that sees no key gets
/// zero output and gradients. A key that no query of its item sees in any head may hold NaN or inf
/// without effect.
/// Gradients, from weights w that are computed again block by block: dv = w^T g, and with
/// ds = w (g v^T - sum of g output over Dv), dq = scale ds k, dk = scale ds^T q. Their own
/// derivatives (create_graph) take the memory of the composed form.
/// Throws ShapeError if the arrays do not fit each other, MaskError if the mask does not fit,
/// ArgumentError if the scale is not finite.
template <class T>
XGRAD_API Variable<T> scaled_dot_product_attention(const Variable<T>& q, const Variable<T>& k,
                                                   const Variable<T>& v, const Mask& mask = {},
                                                   const AttentionOptions& options = {});

}  // namespace xg

#endif
