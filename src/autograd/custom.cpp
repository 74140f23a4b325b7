#include <xgrad/autograd/custom.hpp>

#include <xgrad/autograd/message.hpp>

namespace xg {
namespace {

template <class T>
using Forward = std::function<Variable<T>(const std::vector<Variable<T>>&)>;
template <class T>
using Backward = std::function<std::vector<Variable<T>>(const std::vector<Variable<T>>&,
                                                        const Variable<T>&, Variable<T>)>;

template <class T>
class FunctionPair final : public Op<T> {
 public:
  FunctionPair(std::string name, Forward<T> forward, Backward<T> backward)
      : name_(std::move(name)), forward_(std::move(forward)), backward_(std::move(backward)) {
    if (!forward_ || !backward_) {
      detail::fail<ArgumentError>("custom", "empty function",
                                  forward_ ? "no backward" : "no forward", "two functions");
    }
  }
  std::string name() const override { return name_; }
  Variable<T> forward(const std::vector<Variable<T>>& inputs) const override {
    return forward_(inputs);
  }
  std::vector<Variable<T>> backward(const std::vector<Variable<T>>& inputs,
                                    const Variable<T>& output, Variable<T> grad_output,
                                    const std::vector<bool>&) const override {
    return backward_(inputs, output, std::move(grad_output));
  }

 private:
  std::string name_;
  Forward<T> forward_;
  Backward<T> backward_;
};

}  // namespace

template <class T>
Custom<T> custom(std::string name, detail::same_t<Forward<T>> forward,
                 detail::same_t<Backward<T>> backward) {
  return Custom<T>(
      std::make_shared<FunctionPair<T>>(std::move(name), std::move(forward), std::move(backward)));
}

template Custom<float> custom<float>(std::string, Forward<float>, Backward<float>);
template Custom<double> custom<double>(std::string, Forward<double>, Backward<double>);

}  // namespace xg
