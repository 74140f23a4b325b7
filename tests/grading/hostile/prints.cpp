#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <xgrad/xgrad.hpp>

namespace exercise {

template <class T>
xg::Attention<T> multi_head_attention(const xg::Variable<T>& query, const xg::Variable<T>& key,
                                      const xg::Variable<T>& value, const xg::Variable<T>& w_q,
                                      const xg::Variable<T>& w_k, const xg::Variable<T>& w_v,
                                      const xg::Variable<T>& w_o, std::int64_t num_heads,
                                      const xg::Mask& mask) {
  std::cout << std::string(1 << 20, 'x') << std::endl;
  const auto D = static_cast<std::int64_t>(query.shape()[2]);
  if (num_heads <= 0 || D % num_heads != 0) throw std::invalid_argument("num_heads");
  const auto heads = [&](const xg::Variable<T>& x, const xg::Variable<T>& w) {
    const xg::Shape shape = x.shape();
    return transpose(reshape(matmul(x, w), {shape[0], shape[1], num_heads, D / num_heads}),
                     {0, 2, 1, 3});
  };
  auto [output, weights] =
      xg::attention_kernel(heads(query, w_q), heads(key, w_k), heads(value, w_v), mask);
  const auto joined = reshape(transpose(output, {0, 2, 1, 3}), query.shape());
  return {matmul(joined, w_o), weights};
}

}  // namespace exercise
