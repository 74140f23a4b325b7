#include <xgrad/ops/arithmetic.hpp>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/loops.hpp>
#include <xgrad/ops/unary.hpp>

namespace xg {
namespace detail {
namespace {

/// A kernel's result in the memory of an operand that was given away and has the result's shape.
template <class T>
Array<T> binary(const char* name, const Inputs<T>& in, BinaryKernel<T> kernel) {
  const Extents shape = broadcast_shape(name, in[0].shape(), in[1].shape());
  Array<T> out = in[0].shape() == shape   ? in.reuse(0)
                 : in[1].shape() == shape ? in.reuse(1)
                                          : Array<T>(Extents(shape));
  map(out, kernel, in[0], in[1]);
  return out;
}

template <class T>
class Add final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "add"; }
  Needs needs() const noexcept override { return Needs::nothing(); }
  Array<T> forward(const Inputs<T>& in) const override {
    return binary(name(), in, kernels<T>().add);
  }
  void backward(Pullback<T>& p) const override {
    if (p.needs(0)) p.give(0, sum_to(p.grad(), p.shape(0)));
    if (p.needs(1)) p.give(1, sum_to(p.take_grad(), p.shape(1)));
  }
};

template <class T>
class Sub final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "sub"; }
  Needs needs() const noexcept override { return Needs::nothing(); }
  Array<T> forward(const Inputs<T>& in) const override {
    return binary(name(), in, kernels<T>().sub);
  }
  void backward(Pullback<T>& p) const override {
    if (p.needs(0)) p.give(0, sum_to(p.grad(), p.shape(0)));
    if (p.needs(1)) p.give(1, neg(sum_to(p.take_grad(), p.shape(1))));
  }
};

template <class T>
class Neg final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "neg"; }
  Needs needs() const noexcept override { return Needs::nothing(); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().neg); }
  void backward(Pullback<T>& p) const override { p.give(0, neg(p.take_grad())); }
};

template <class T>
class Mul final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "mul"; }
  Needs needs() const noexcept override { return Needs::inputs({0, 1}); }
  Array<T> forward(const Inputs<T>& in) const override {
    return binary(name(), in, kernels<T>().mul);
  }
  void backward(Pullback<T>& p) const override {
    if (p.needs(0)) p.give(0, sum_to(chain(p.grad(), p.input(1)), p.shape(0)));
    if (p.needs(1)) p.give(1, sum_to(chain(p.take_grad(), p.input(0)), p.shape(1)));
  }
};

template <class T>
class Chain final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "chain"; }
  Needs needs() const noexcept override { return Needs::inputs({0, 1}); }
  Array<T> forward(const Inputs<T>& in) const override {
    return binary(name(), in, kernels<T>().chain);
  }
  void backward(Pullback<T>& p) const override {
    if (p.needs(0)) p.give(0, sum_to(chain(p.grad(), p.input(1)), p.shape(0)));
    if (p.needs(1)) p.give(1, sum_to(chain(p.take_grad(), p.input(0)), p.shape(1)));
  }
};

template <class T>
class Div final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "div"; }
  Needs needs() const noexcept override { return Needs::inputs({0, 1}); }
  Array<T> forward(const Inputs<T>& in) const override {
    return binary(name(), in, kernels<T>().div);
  }
  void backward(Pullback<T>& p) const override {
    const Variable<T> inverse = T(1) / p.input(1);
    if (p.needs(0)) p.give(0, sum_to(chain(p.grad(), inverse), p.shape(0)));
    if (p.needs(1)) {
      p.give(1, sum_to(chain(p.take_grad(), -(p.input(0) * inverse * inverse)), p.shape(1)));
    }
  }
};

}  // namespace

template <class T>
Variable<T> chain(Variable<T> g, Variable<T> d) {
  return record(the<Chain, T>(), std::move(g), std::move(d));
}

}  // namespace detail

template <class T>
Variable<T> add(Variable<T> a, Variable<T> b) {
  return detail::record(detail::the<detail::Add, T>(), std::move(a), std::move(b));
}
template <class T>
Variable<T> sub(Variable<T> a, Variable<T> b) {
  return detail::record(detail::the<detail::Sub, T>(), std::move(a), std::move(b));
}
template <class T>
Variable<T> mul(Variable<T> a, Variable<T> b) {
  return detail::record(detail::the<detail::Mul, T>(), std::move(a), std::move(b));
}
template <class T>
Variable<T> div(Variable<T> a, Variable<T> b) {
  return detail::record(detail::the<detail::Div, T>(), std::move(a), std::move(b));
}
template <class T>
Variable<T> neg(Variable<T> x) {
  return detail::record(detail::the<detail::Neg, T>(), std::move(x));
}

#define XGRAD_INSTANTIATE(T)                          \
  template Variable<T> add(Variable<T>, Variable<T>); \
  template Variable<T> sub(Variable<T>, Variable<T>); \
  template Variable<T> mul(Variable<T>, Variable<T>); \
  template Variable<T> div(Variable<T>, Variable<T>); \
  template Variable<T> neg(Variable<T>);              \
  template Variable<T> detail::chain(Variable<T>, Variable<T>);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
