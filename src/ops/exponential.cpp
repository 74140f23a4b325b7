#include <xgrad/ops/exponential.hpp>

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/unary.hpp>

namespace xg {
namespace detail {
namespace {

template <class T>
class Exp final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "exp"; }
  Needs needs() const noexcept override { return Needs::output(); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().exp); }
  void backward(Pullback<T>& p) const override { p.give(0, chain(p.take_grad(), p.output())); }
};

template <class T>
class Log final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "log"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().log); }
  void backward(Pullback<T>& p) const override { p.give(0, chain(p.take_grad(), 1 / p.input(0))); }
};

template <class T>
class Sqrt final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "sqrt"; }
  Needs needs() const noexcept override { return Needs::output(); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().sqrt); }
  void backward(Pullback<T>& p) const override {
    p.give(0, chain(p.take_grad(), 0.5 / p.output()));
  }
};

}  // namespace
}  // namespace detail

template <class T>
Variable<T> exp(Variable<T> x) {
  return detail::record(detail::the<detail::Exp, T>(), std::move(x));
}
template <class T>
Variable<T> log(Variable<T> x) {
  return detail::record(detail::the<detail::Log, T>(), std::move(x));
}
template <class T>
Variable<T> sqrt(Variable<T> x) {
  return detail::record(detail::the<detail::Sqrt, T>(), std::move(x));
}

#define XGRAD_INSTANTIATE(T)             \
  template Variable<T> exp(Variable<T>); \
  template Variable<T> log(Variable<T>); \
  template Variable<T> sqrt(Variable<T>);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
