#include <xgrad/autograd/op.hpp>

#include <xgrad/autograd/grad_mode.hpp>
#include <xgrad/autograd/node.hpp>

namespace xg {

template <class T>
Op<T>::~Op() = default;

template <class T>
Needs Op<T>::needs() const {
  return Needs::all();
}

template class Op<float>;
template class Op<double>;

namespace detail {
namespace {

/// Runs a user's Op<T> as a primitive.
template <class T>
class Adapter final : public Primitive<T> {
 public:
  using value_type = T;
  explicit Adapter(std::shared_ptr<const Op<T>> op) : op_(std::move(op)), name_(op_->name()) {}
  const char* name() const noexcept override { return name_.c_str(); }
  Needs needs() const noexcept override { return needs_; }

  Array<T> forward(const Inputs<T>& in) const override {
    const NoGrad guard;
    std::vector<Variable<T>> inputs;
    // Detached: a write inside the operation cannot reach the caller's variables.
    for (std::size_t i = 0; i < in.size(); ++i) inputs.push_back(in.variable(i).detach());
    return array(name(), op_->forward(inputs));
  }

  void backward(Pullback<T>& p) const override {
    std::vector<Variable<T>> inputs;
    std::vector<bool> needed;
    for (std::size_t i = 0; i < p.inputs(); ++i) {
      inputs.push_back(p.input(i));
      needed.push_back(p.needs(i));
    }
    auto gradients =
        op_->backward(inputs, p.output(), alias(p.take_grad(), grad_enabled()), needed);
    if (gradients.size() != p.inputs()) {
      fail<GraphError>(name(), "wrong number of gradients", text(gradients.size()),
                       text(p.inputs()) + ", one for each input");
    }
    for (std::size_t i = 0; i < p.inputs(); ++i) {
      if (gradients[i].defined()) p.give(i, alias(gradients[i], grad_enabled()));
    }
  }

 private:
  std::shared_ptr<const Op<T>> op_;
  std::string name_;
  Needs needs_ = op_->needs();
};

}  // namespace

template <class T>
Variable<T> apply_op(std::shared_ptr<const Op<T>> op, std::vector<Variable<T>> inputs) {
  if (op == nullptr) fail<ArgumentError>("apply", "no operation", "a null pointer", "an Op");
  return record(make<Adapter<T>>(std::move(op)), inputs.data(), inputs.size());
}

template Variable<float> apply_op(std::shared_ptr<const Op<float>>, std::vector<Variable<float>>);
template Variable<double> apply_op(std::shared_ptr<const Op<double>>,
                                   std::vector<Variable<double>>);

}  // namespace detail
}  // namespace xg
