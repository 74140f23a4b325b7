#include <stdexcept>

#include <xgrad/xgrad.hpp>

namespace exercise {

using xg::attention_kernel;

template <class T>
xg::Attention<T> multi_head_attention(const xg::Variable<T>& query, const xg::Variable<T>& key,
                                      const xg::Variable<T>& value, const xg::Variable<T>& w_q,
                                      const xg::Variable<T>& w_k, const xg::Variable<T>& w_v,
                                      const xg::Variable<T>& w_o, std::int64_t num_heads,
                                      const xg::Mask& mask) {
  const auto D = static_cast<std::int64_t>(query.shape()[2]);
  if (num_heads <= 0 || D % num_heads != 0) {
    throw std::invalid_argument("num_heads must be positive and divide D");
  }
  // [B,N,D] x [D,D] -> [B,N,D] -> [B,N,H,D/H] -> [B,H,N,D/H]
  const auto heads = [&](const xg::Variable<T>& x, const xg::Variable<T>& w) {
    const xg::Shape shape = x.shape();
    return transpose(reshape(matmul(x, w), {shape[0], shape[1], num_heads, D / num_heads}),
                     {0, 2, 1, 3});
  };
  auto [output, weights] =
      attention_kernel(heads(query, w_q), heads(key, w_k), heads(value, w_v), mask);
  // [B,H,Q,D/H] -> [B,Q,H,D/H] -> [B,Q,D] x [D,D] -> [B,Q,D]
  const auto joined = reshape(transpose(output, {0, 2, 1, 3}), query.shape());
  return {matmul(joined, w_o), weights};
}

}  // namespace exercise
