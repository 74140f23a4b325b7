#ifndef XGRAD_MHA_MULTI_HEAD_ATTENTION_HPP
#define XGRAD_MHA_MULTI_HEAD_ATTENTION_HPP

#include <xgrad/mha/attention_kernel.hpp>

namespace xg {

/// Multi-head attention (Vaswani et al. 2017, section 3.2.2 and figure 2):
///
///     head_i = Attention(query W_i^q, key W_i^k, value W_i^v)
///     output = Concat(head_1, ..., head_H) w_o
///
/// Shapes: query [B,Q,D], key and value [B,K,D], the four projections [D,D], used as x @ w; mask
/// broadcastable to [B,H,Q,K] (true = visible) -> output [B,Q,D], weights [B,H,Q,K]. Head i has the
/// i-th slice of D/H projected features. Both results are differentiable; a query that sees no key
/// gets zero weights, output and gradients.
/// Throws ShapeError if the arrays do not fit each other, ArgumentError unless num_heads is
/// positive and divides D, MaskError if the mask does not broadcast.
template <class T>
XGRAD_API Attention<T> multi_head_attention(const Variable<T>& query, const Variable<T>& key,
                                            const Variable<T>& value, const Variable<T>& w_q,
                                            const Variable<T>& w_k, const Variable<T>& w_v,
                                            const Variable<T>& w_o, std::int64_t num_heads,
                                            const Mask& mask = {});

/// The output of multi_head_attention without its weights, through scaled_dot_product_attention: in
/// memory that grows with Q + K instead of Q K. Arguments and errors are the same.
template <class T>
XGRAD_API Variable<T> multi_head_attention_output(const Variable<T>& query, const Variable<T>& key,
                                                  const Variable<T>& value, const Variable<T>& w_q,
                                                  const Variable<T>& w_k, const Variable<T>& w_v,
                                                  const Variable<T>& w_o, std::int64_t num_heads,
                                                  const Mask& mask = {});

}  // namespace xg

#endif
