#ifndef XGRAD_MHA_HIDDEN_KEYS_HPP
#define XGRAD_MHA_HIDDEN_KEYS_HPP

// Private: what every form of attention does with its mask before the products.

#include <xgrad/mha/attention_kernel.hpp>
#include <xgrad/mha/scaled_dot_product_attention.hpp>

namespace xg::detail {

/// Throws MaskError if a defined mask does not broadcast to the scores [B,H,Q,K].
void check_mask(const char* op, const Mask& mask, const Extents& scores);

/// The arguments of attention_kernel. Throws ShapeError or MaskError if they do not fit.
template <class T>
void check_attention(const char* op, const Variable<T>& q, const Variable<T>& k,
                     const Variable<T>& v, const Mask& mask);

/// Writes zeros over the rows of keys, [B,K,D] or [B,H,K,d], that no query of their item sees in
/// any head, and of their values. Padding may then hold NaN or inf: 0 weight times NaN would be
/// NaN. `causal` hides later keys besides.
template <class T>
void zero_hidden_keys(const Mask& mask, bool causal, Variable<T>& key, Variable<T>& value);

/// Writes zeros over the output [B,H,Q,Dv] of queries that see no key: a value that only others see
/// may be NaN or inf, and 0 weight times that would be NaN.
template <class T>
Variable<T> zero_blind_queries(const Mask& mask, Variable<T> output);

/// attention_kernel on operands that are already checked and cut.
template <class T>
Attention<T> attend(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                    const Mask& mask);

/// scaled_dot_product_attention likewise.
template <class T>
Variable<T> attend_in_blocks(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                             const Mask& mask, const AttentionOptions& options = {});

}  // namespace xg::detail

#endif
