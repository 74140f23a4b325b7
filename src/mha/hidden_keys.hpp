#ifndef XGRAD_MHA_HIDDEN_KEYS_HPP
#define XGRAD_MHA_HIDDEN_KEYS_HPP

// Private: what every form of attention does with its mask before the products.

#include <xgrad/mha/attention_kernel.hpp>

namespace xg::detail {

/// Throws MaskError if a defined mask does not broadcast to the scores [B,H,Q,K].
void check_mask(const char* op, const Mask& mask, const Extents& scores);

/// x, [B,K,D] or [B,H,K,d], with zeros in the rows of keys that no query of their item sees in any
/// head; x itself if there are none. Padding may then hold NaN or inf: 0 weight times NaN would be
/// NaN.
template <class T>
Variable<T> zero_hidden_keys(const Variable<T>& x, const Mask& mask);

/// attention_kernel on operands that are already checked and cut.
template <class T>
Attention<T> attend(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                    const Mask& mask);

}  // namespace xg::detail

#endif
