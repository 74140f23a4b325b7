#include <cmath>

#include <xgrad/xgrad.hpp>

namespace exercise {

template <class T>
xg::Attention<T> attention_kernel(const xg::Variable<T>& q, const xg::Variable<T>& k,
                                  const xg::Variable<T>& v, const xg::Mask& mask) {
  const T scale = 1 / std::sqrt(static_cast<T>(q.shape()[3]));
  // [B,H,Q,d] x [B,H,d,K] -> [B,H,Q,K]
  const auto scores = matmul(q, swapaxes(k, -1, -2)) * scale;
  // Below every visible score of a row but finite, so that exp stays in range everywhere.
  const auto seen = mask.defined() ? where(mask, scores, T{-1e30}) : scores;
  auto e = exp(scores - max(seen.detach(), -1, true));
  if (mask.defined()) e = where(mask, e, T{0});
  // A row without visible keys sums to 0: divide it by 1.
  const auto total = sum(e, -1, true);
  const auto weights = e / where(total == T{0}, T{1}, total);
  // [B,H,Q,K] x [B,H,K,Dv] -> [B,H,Q,Dv]
  return {matmul(weights, v), weights};
}

}  // namespace exercise
