#ifndef XGRAD_TESTS_COUNTS_WORKLOADS_HPP
#define XGRAD_TESTS_COUNTS_WORKLOADS_HPP

#include <vector>

#include <xgrad/xgrad.hpp>

namespace counts {

/// A chain of 1000 scalar additions: built, differentiated, freed.
class Chain {
 public:
  Chain() { x_.set_requires_grad(); }
  void run() {
    x_.set_grad({});
    xg::Variable<double> y = x_;
    for (int i = 0; i < 1000; ++i) y = y + operand_;
    y.backward();
  }

 private:
  xg::Variable<double> x_{1};
  xg::Variable<double> operand_{2};
};

/// The exercise's attention: forward + backward with all seven gradients.
class Attention {
 public:
  Attention() {
    const auto leaf = [&](xg::Dims dims) {
      inputs_.push_back(xg::uniform<float>(dims, -1, 1, 1));
      inputs_.back().set_requires_grad();
    };
    leaf({1, 2, 4});
    leaf({1, 3, 4});
    leaf({1, 3, 4});
    for (int i = 0; i < 4; ++i) leaf({4, 4});
  }
  void run() {
    auto& x = inputs_;
    for (auto& input : x) input.set_grad({});
    const auto attention = xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], 2);
    attention.output.backward(seed_);
  }

 private:
  std::vector<xg::Variable<float>> inputs_;
  xg::Variable<float> seed_ = xg::ones<float>({1, 2, 4}).clone();
};

}  // namespace counts

#endif
