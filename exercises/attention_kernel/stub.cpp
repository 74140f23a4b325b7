// Exercise: scaled dot-product attention. The page is README.md; grade this file with
//
//     ./scripts/grade exercises/attention_kernel/stub.cpp

#include <cmath>
#include <stdexcept>

#include <xgrad/xgrad.hpp>

namespace exercise {

// q [B,H,Q,d], k [B,H,K,d], v [B,H,K,Dv], mask broadcastable to [B,H,Q,K], perhaps undefined
// -> output [B,H,Q,Dv], weights [B,H,Q,K]
template <class T>
xg::Attention<T> attention_kernel(const xg::Variable<T>& q, const xg::Variable<T>& k,
                                  const xg::Variable<T>& v, const xg::Mask& mask) {
  throw std::logic_error(
      "attention_kernel is not written yet: scores, scale, softmax under the mask, weighted "
      "values");
}

}  // namespace exercise
