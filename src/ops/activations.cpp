#include <xgrad/ops/activations.hpp>

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/compare.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/powers.hpp>
#include <xgrad/ops/unary.hpp>

namespace xg {
namespace detail {
namespace {

constexpr double kTwoBySqrtPi = 1.12837916709551257390;
constexpr double kOneBySqrtTwoPi = 0.39894228040143267794;

template <class T>
class Sigmoid final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "sigmoid"; }
  Needs needs() const noexcept override { return Needs::inputs({0}) | Needs::output(); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().sigmoid); }
  void backward(Pullback<T>& p) const override {
    // Not y (1 - y), which is 0 as soon as y rounds to 1.
    p.give(0, chain(p.take_grad(), p.output() * sigmoid(-p.input(0))));
  }
};

template <class T>
class Relu final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "relu"; }
  Needs needs() const noexcept override { return Needs::output(); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().relu); }
  void backward(Pullback<T>& p) const override {
    p.give(0, where(p.output() <= 0, 0, p.take_grad()));
  }
};

template <class T>
class Erf final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "erf"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().erf); }
  void backward(Pullback<T>& p) const override {
    p.give(0, chain(p.take_grad(), kTwoBySqrtPi * exp(-square(p.input(0)))));
  }
};

/// The derivative of gelu: y = P(x) + x p(x). Gradient: g p(x) (2 - x^2).
template <class T>
class GeluSlope final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "gelu_slope"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }
  Array<T> forward(const Inputs<T>& in) const override {
    return unary(in, kernels<T>().gelu_slope);
  }
  void backward(Pullback<T>& p) const override {
    const Variable<T> x2 = square(p.input(0));
    const Variable<T> density = kOneBySqrtTwoPi * exp(-0.5 * x2);
    p.give(0, chain(p.take_grad(), chain(density, 2 - x2)));
  }
};

template <class T>
class Gelu final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "gelu"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().gelu); }
  void backward(Pullback<T>& p) const override {
    p.give(0, chain(p.take_grad(), record(the<GeluSlope, T>(), p.input(0))));
  }
};

}  // namespace
}  // namespace detail

template <class T>
Variable<T> sigmoid(Variable<T> x) {
  return detail::record(detail::the<detail::Sigmoid, T>(), std::move(x));
}
template <class T>
Variable<T> relu(Variable<T> x) {
  return detail::record(detail::the<detail::Relu, T>(), std::move(x));
}
template <class T>
Variable<T> erf(Variable<T> x) {
  return detail::record(detail::the<detail::Erf, T>(), std::move(x));
}
template <class T>
Variable<T> gelu(Variable<T> x) {
  return detail::record(detail::the<detail::Gelu, T>(), std::move(x));
}

#define XGRAD_INSTANTIATE(T)                 \
  template Variable<T> sigmoid(Variable<T>); \
  template Variable<T> relu(Variable<T>);    \
  template Variable<T> erf(Variable<T>);     \
  template Variable<T> gelu(Variable<T>);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
