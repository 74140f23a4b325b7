#include <xgrad/ops/powers.hpp>

#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/compare.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/unary.hpp>

namespace xg {
namespace detail {
namespace {

template <class T>
class Square final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "square"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().square); }
  void backward(Pullback<T>& p) const override { p.give(0, chain(p.take_grad(), 2 * p.input(0))); }
};

template <class T>
class Pow final : public Primitive<T> {
 public:
  using value_type = T;
  explicit Pow(bool exponent_requires_grad) : exponent_requires_grad_(exponent_requires_grad) {}
  const char* name() const noexcept override { return "pow"; }
  Needs needs() const noexcept override {
    return exponent_requires_grad_ ? Needs::all() : Needs::inputs({0, 1});
  }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out(broadcast_shape(name(), in[0].shape(), in[1].shape()));
    map(out, kernels<T>().pow, in[0], in[1]);
    return out;
  }
  void backward(Pullback<T>& p) const override {
    const Variable<T> base = p.input(0);
    const Variable<T> exponent = p.input(1);
    // chain, since 0 * 0^-1 is 0 here.
    if (p.needs(0)) {
      const Variable<T> slope = chain(exponent, pow(base, exponent - 1));
      p.give(0, sum_to(chain(p.grad(), slope), p.shape(0)));
    }
    if (p.needs(1)) {
      const Variable<T> logarithm = where((base == 0) & (exponent >= 0), 0, log(base));
      p.give(1, sum_to(chain(p.take_grad(), chain(p.output(), logarithm)), p.shape(1)));
    }
  }

 private:
  bool exponent_requires_grad_;
};

}  // namespace
}  // namespace detail

template <class T>
Variable<T> square(Variable<T> x) {
  return detail::record(detail::the<detail::Square, T>(), std::move(x));
}
template <class T>
Variable<T> pow(Variable<T> a, Variable<T> p) {
  const bool exponent_requires_grad = p.defined() && p.requires_grad();
  return detail::record(detail::make<detail::Pow<T>>(exponent_requires_grad), std::move(a),
                        std::move(p));
}

#define XGRAD_INSTANTIATE(T)                \
  template Variable<T> square(Variable<T>); \
  template Variable<T> pow(Variable<T>, Variable<T>);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
