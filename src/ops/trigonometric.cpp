#include <xgrad/ops/trigonometric.hpp>

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/powers.hpp>
#include <xgrad/ops/unary.hpp>

namespace xg {
namespace detail {
namespace {

template <class T>
class Sin final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "sin"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().sin); }
  void backward(Pullback<T>& p) const override { p.give(0, chain(p.take_grad(), cos(p.input(0)))); }
};

template <class T>
class Cos final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "cos"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().cos); }
  void backward(Pullback<T>& p) const override {
    p.give(0, chain(p.take_grad(), -sin(p.input(0))));
  }
};

template <class T>
class Tanh final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "tanh"; }
  Needs needs() const noexcept override { return Needs::output(); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().tanh); }
  void backward(Pullback<T>& p) const override {
    p.give(0, chain(p.take_grad(), 1 - square(p.output())));
  }
};

}  // namespace
}  // namespace detail

template <class T>
Variable<T> sin(Variable<T> x) {
  return detail::record(detail::the<detail::Sin, T>(), std::move(x));
}
template <class T>
Variable<T> cos(Variable<T> x) {
  return detail::record(detail::the<detail::Cos, T>(), std::move(x));
}
template <class T>
Variable<T> tanh(Variable<T> x) {
  return detail::record(detail::the<detail::Tanh, T>(), std::move(x));
}

#define XGRAD_INSTANTIATE(T)             \
  template Variable<T> sin(Variable<T>); \
  template Variable<T> cos(Variable<T>); \
  template Variable<T> tanh(Variable<T>);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
