#ifndef XGRAD_BENCH_ATTENTION_STEP_HPP
#define XGRAD_BENCH_ATTENTION_STEP_HPP

#include <vector>

#include <xgrad/xgrad.hpp>

#include "gemm_bound.hpp"

namespace bench {

enum class Form { composed, fused };

/// Multi-head attention, forward + backward with all seven gradients.
template <class T>
class AttentionStep {
 public:
  AttentionStep(Size s, bool masked, Form form) : heads_(s.H), form_(form) {
    const auto leaf = [&](xg::Dims dims, int seed) {
      inputs_.push_back(xg::uniform<T>(dims, -0.5, 0.5, seed));
      inputs_.back().set_requires_grad();
    };
    leaf({s.B, s.Q, s.D}, 1);
    leaf({s.B, s.K, s.D}, 2);
    leaf({s.B, s.K, s.D}, 3);
    for (int i = 4; i < 8; ++i) leaf({s.D, s.D}, i);
    seed_ = xg::uniform<T>({s.B, s.Q, s.D}, -1, 1, 9);
    if (masked) mask_ = xg::causal_mask(s.Q, s.K);
  }
  /// The composed form returns the weights too.
  xg::Attention<T> forward() const {
    const auto& x = inputs_;
    if (form_ == Form::fused) {
      return {
          xg::multi_head_attention_output(x[0], x[1], x[2], x[3], x[4], x[5], x[6], heads_, mask_),
          {}};
    }
    return xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], heads_, mask_);
  }
  void run() {
    for (auto& input : inputs_) input.set_grad({});
    const auto attention = forward();
    attention.output.backward(seed_);
  }

 private:
  int heads_;
  Form form_;
  std::vector<xg::Variable<T>> inputs_;
  xg::Variable<T> seed_;
  xg::Mask mask_;
};

}  // namespace bench

#endif
