#include "softplus.hpp"

#include <cmath>

#include <xgrad/ops/activations.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/unary.hpp>

namespace xg {
namespace detail {
namespace {

template <class T>
class Softplus final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "softplus"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }
  Array<T> forward(const Inputs<T>& in) const override {
    // e^x would overflow for large x; e^-|x| never does.
    return unary(in, [](T x) { return std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x))); });
  }
  void backward(Pullback<T>& p) const override {
    p.give(0, chain(p.take_grad(), sigmoid(p.input(0))));
  }
};

}  // namespace
}  // namespace detail

template <class T>
Variable<T> softplus(Variable<T> x) {
  return detail::record(detail::the<detail::Softplus, T>(), std::move(x));
}

template Variable<float> softplus(Variable<float>);
template Variable<double> softplus(Variable<double>);

}  // namespace xg
