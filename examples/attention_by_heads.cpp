// Multi-head attention as the paper writes it: one attention for each head on its own slice of the
// features, the heads joined by concat. It agrees with xg::multi_head_attention, gradients
// included.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

#include <xgrad/xgrad.hpp>

using Variable = xg::Variable<double>;

xg::Attention<double> attention_by_heads(const Variable& query, const Variable& key,
                                         const Variable& value, const Variable& w_q,
                                         const Variable& w_k, const Variable& w_v,
                                         const Variable& w_o, std::int64_t num_heads,
                                         const xg::Mask& mask) {
  // [B,N,D] -> H times [B,N,D/H]
  const auto q = xg::split(xg::matmul(query, w_q), num_heads, -1);
  const auto k = xg::split(xg::matmul(key, w_k), num_heads, -1);
  const auto v = xg::split(xg::matmul(value, w_v), num_heads, -1);
  const double scale = 1 / std::sqrt(static_cast<double>(q[0].shape()[2]));

  std::vector<Variable> heads;
  std::vector<Variable> weights;
  for (std::size_t h = 0; h < q.size(); ++h) {
    weights.push_back(
        xg::masked_softmax(xg::matmul(q[h], xg::swapaxes(k[h], -1, -2)) * scale, mask));
    heads.push_back(xg::matmul(weights[h], v[h]));
  }
  return {xg::matmul(xg::concat(heads, -1), w_o), xg::stack(weights, 1)};
}

double largest_difference(const Variable& a, const Variable& b) {
  return xg::max(xg::abs(a - b)).item();
}

int main() {
  const std::int64_t B = 2, Q = 4, K = 5, D = 15, H = 3;
  std::vector<Variable> x = {xg::randn<double>({B, Q, D}, 1), xg::randn<double>({B, K, D}, 2),
                             xg::randn<double>({B, K, D}, 3), xg::randn<double>({D, D}, 4),
                             xg::randn<double>({D, D}, 5),    xg::randn<double>({D, D}, 6),
                             xg::randn<double>({D, D}, 7)};
  for (auto& one : x) one.set_requires_grad();
  const xg::Mask mask = xg::causal_mask(Q, K);

  const auto by_heads = attention_by_heads(x[0], x[1], x[2], x[3], x[4], x[5], x[6], H, mask);
  const auto batched = xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], H, mask);
  std::cout << "largest difference of the output    "
            << largest_difference(by_heads.output, batched.output)
            << "\nlargest difference of the weights   "
            << largest_difference(by_heads.weights, batched.weights) << "\n";
  bool agree = largest_difference(by_heads.output, batched.output) < 1e-12 &&
               largest_difference(by_heads.weights, batched.weights) < 1e-12;

  const auto by_heads_gradients = xg::grad(xg::sum(by_heads.output * by_heads.output), x);
  const auto batched_gradients = xg::grad(xg::sum(batched.output * batched.output), x);
  const char* names[] = {"query", "key", "value", "w_q", "w_k", "w_v", "w_o"};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = largest_difference(by_heads_gradients[i], batched_gradients[i]);
    std::cout << "largest difference of d/d " << names[i] << "  " << difference << "\n";
    agree = agree && difference < 1e-9;
  }
  std::cout << (agree ? "the two forms agree\n" : "the two forms DISAGREE\n");
  return agree ? 0 : 1;
}
