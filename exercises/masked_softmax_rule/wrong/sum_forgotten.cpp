#include <utility>

#include <xgrad/xgrad.hpp>

namespace exercise {

template <class T>
class MaskedSoftmax final : public xg::Op<T> {
 public:
  using V = xg::Variable<T>;

  explicit MaskedSoftmax(xg::Mask mask) : mask_(std::move(mask)) {}
  std::string name() const override { return "masked_softmax"; }
  xg::Needs needs() const override { return xg::Needs::output(); }

  V forward(const std::vector<V>& inputs) const override {
    return xg::masked_softmax(inputs[0], mask_);
  }

  std::vector<V> backward(const std::vector<V>&, const V& output, V grad_output,
                          const std::vector<bool>&) const override {
    return {output * grad_output};
  }

 private:
  xg::Mask mask_;
};

}  // namespace exercise
