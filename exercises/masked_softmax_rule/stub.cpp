// Exercise: the gradient rule of masked softmax. The page is README.md; grade this file with
//
//     ./scripts/grade exercises/masked_softmax_rule/stub.cpp

#include <stdexcept>
#include <utility>

#include <xgrad/xgrad.hpp>

namespace exercise {

template <class T>
class MaskedSoftmax final : public xg::Op<T> {
 public:
  using V = xg::Variable<T>;

  explicit MaskedSoftmax(xg::Mask mask) : mask_(std::move(mask)) {}
  std::string name() const override { return "masked_softmax"; }

  // Given: the softmax over the last axis; hidden scores get weight 0.
  V forward(const std::vector<V>& inputs) const override {
    return xg::masked_softmax(inputs[0], mask_);
  }

  // output is what forward gave, grad_output the gradient of the loss in it
  // -> the gradient of the loss in inputs[0], as a list of one
  std::vector<V> backward(const std::vector<V>& inputs, const V& output, V grad_output,
                          const std::vector<bool>& needed) const override {
    throw std::logic_error(
        "the rule is not written yet: d loss / d scores from output and grad_output");
  }

 private:
  xg::Mask mask_;
};

}  // namespace exercise
