// Exercise: multi-head attention. The page is README.md; grade this file with
//
//     ./scripts/grade exercises/multi_head_attention/stub.cpp

#include <cmath>
#include <stdexcept>

#include <xgrad/xgrad.hpp>

namespace exercise {

// Given: scaled dot-product attention of all heads at once.
// q [B,H,Q,d], k [B,H,K,d], v [B,H,K,d], mask -> output [B,H,Q,d], weights [B,H,Q,K]
using xg::attention_kernel;

// query [B,Q,D], key and value [B,K,D], the four projections [D,D], mask broadcastable to [B,H,Q,K]
// -> output [B,Q,D], weights [B,H,Q,K]
template <class T>
xg::Attention<T> multi_head_attention(const xg::Variable<T>& query, const xg::Variable<T>& key,
                                      const xg::Variable<T>& value, const xg::Variable<T>& w_q,
                                      const xg::Variable<T>& w_k, const xg::Variable<T>& w_v,
                                      const xg::Variable<T>& w_o, std::int64_t num_heads,
                                      const xg::Mask& mask) {
  throw std::logic_error(
      "multi_head_attention is not written yet: project the inputs, split the heads, call "
      "attention_kernel with the mask, join the heads, apply w_o");
}

}  // namespace exercise
