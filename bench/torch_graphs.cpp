#include "torch_graphs.hpp"

#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include <ATen/Parallel.h>
#include <torch/script.h>

extern "C" void openblas_set_num_threads(int);

namespace bench {
namespace {

struct Attention {
  torch::Tensor query, key, value, w_q, w_k, w_v, w_o, seed;
  Size s;

  explicit Attention(Size size) : s(size) {
    const auto leaf = [](std::vector<std::int64_t> shape) {
      return (torch::rand(shape) - 0.5).set_requires_grad(true);
    };
    query = leaf({s.B, s.Q, s.D});
    key = leaf({s.B, s.K, s.D});
    value = leaf({s.B, s.K, s.D});
    for (auto* w : {&w_q, &w_k, &w_v, &w_o}) *w = leaf({s.D, s.D});
    seed = torch::rand({s.B, s.Q, s.D}) * 2 - 1;
  }
  torch::Tensor heads(const torch::Tensor& x, const torch::Tensor& w) const {
    return torch::matmul(x, w).view({s.B, -1, s.H, s.D / s.H}).transpose(1, 2);
  }
  void run() {
    for (auto* x : {&query, &key, &value, &w_q, &w_k, &w_v, &w_o}) x->mutable_grad().reset();
    const torch::Tensor q = heads(query, w_q) / std::sqrt(static_cast<double>(s.D / s.H));
    const torch::Tensor weights = torch::matmul(q, heads(key, w_k).transpose(-2, -1)).softmax(-1);
    const torch::Tensor context =
        torch::matmul(weights, heads(value, w_v)).transpose(1, 2).reshape({s.B, s.Q, s.D});
    torch::matmul(context, w_o).backward(seed);
  }
};

using Step = torch::Tensor (*)(const torch::Tensor& y, const torch::Tensor& operand, int i);

}  // namespace

Contender libtorch_attention(Size size, int threads) {
  const auto attention = std::make_shared<Attention>(size);
  return {"libtorch", [attention] { attention->run(); },
          [threads] {
            at::set_num_threads(threads);
            openblas_set_num_threads(threads);
          }};
}

Contender libtorch_chain(const std::string& op, const std::string& shape, int n) {
  using torch::Tensor;
  static const std::map<std::string, Step> steps = {
      {"add", [](const Tensor& y, const Tensor& a, int) { return y + a; }},
      {"mul", [](const Tensor& y, const Tensor& a, int) { return y * a; }},
      {"neg", [](const Tensor& y, const Tensor&, int) { return -y; }},
      {"exp", [](const Tensor& y, const Tensor&, int i) { return i % 2 == 0 ? -y : y.exp(); }},
      {"matmul", [](const Tensor& y, const Tensor& a, int) { return torch::matmul(y, a); }},
      {"reshape",
       [](const Tensor& y, const Tensor&, int i) {
         if (y.numel() > 1) return i % 2 == 0 ? y.reshape({4, 2}) : y.reshape({2, 4});
         return i % 2 == 0 ? y.reshape({1}) : y.reshape({});
       }},
  };
  const Step step = steps.at(op);
  const std::vector<std::int64_t> dims =
      shape == "scalar" ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{2, 4};
  const Tensor x = torch::full(dims, 0.5).set_requires_grad(true);
  const Tensor operand = (op == "matmul" ? torch::full({4, 4}, 0.25) : torch::full(dims, 0.999))
                             .set_requires_grad(true);
  const Tensor seed = torch::ones(dims);
  return {"libtorch",
          [=] {
            x.mutable_grad().reset();
            operand.mutable_grad().reset();
            Tensor y = x;
            for (int i = 0; i < n; ++i) y = step(y, operand, i);
            y.backward(seed);
          },
          [] { at::set_num_threads(1); }};
}

std::shared_ptr<void> libtorch_graph(int n) {
  torch::Tensor y = torch::ones({}).set_requires_grad(true);
  const torch::Tensor operand = torch::ones({});
  for (int i = 0; i < n; ++i) y = y + operand;
  return std::make_shared<torch::Tensor>(y);
}

}  // namespace bench
