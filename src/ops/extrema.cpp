#include <xgrad/ops/extrema.hpp>

#include <limits>
#include <string>

#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/compare.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/reduce.hpp>
#include <xgrad/ops/reduce_loops.hpp>
#include <xgrad/ops/reduction.hpp>
#include <xgrad/ops/unary.hpp>

namespace xg {
namespace detail {
namespace {

template <class T>
class Abs final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return "abs"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }
  Array<T> forward(const Inputs<T>& in) const override { return unary(in, kernels<T>().abs); }
  void backward(Pullback<T>& p) const override {
    const Variable<T> x = p.input(0);
    p.give(0, where(x < 0, -p.grad(), where(x == 0, 0, p.grad())));
  }
};

template <class T>
Mask is_nan(const Variable<T>& x) {
  return not_equal(x, x);
}

/// The two directions. `wins` says where a is taken before b; at ties both are.
struct Upwards {
  static constexpr const char* elementwise = "maximum";
  static constexpr const char* reduction = "max";
  static constexpr int start = -1;  // times infinity
  template <class T>
  static BinaryKernel<T> kernel() {
    return kernels<T>().maximum;
  }
  template <class T>
  static const Fold<T>& fold() {
    return kernels<T>().max;
  }
  template <class T>
  static Mask wins(const Variable<T>& a, const Variable<T>& b) {
    return (a >= b) | is_nan(a);
  }
};
struct Downwards {
  static constexpr const char* elementwise = "minimum";
  static constexpr const char* reduction = "min";
  static constexpr int start = 1;
  template <class T>
  static BinaryKernel<T> kernel() {
    return kernels<T>().minimum;
  }
  template <class T>
  static const Fold<T>& fold() {
    return kernels<T>().min;
  }
  template <class T>
  static Mask wins(const Variable<T>& a, const Variable<T>& b) {
    return (a <= b) | is_nan(a);
  }
};

template <class T, class Order>
class Extremum final : public Stateless<T> {
 public:
  const char* name() const noexcept override { return Order::elementwise; }
  Needs needs() const noexcept override { return Needs::inputs({0, 1}); }
  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out(broadcast_shape(name(), in[0].shape(), in[1].shape()));
    map(out, Order::template kernel<T>(), in[0], in[1]);
    return out;
  }
  void backward(Pullback<T>& p) const override {
    const Variable<T> a = p.input(0);
    const Variable<T> b = p.input(1);
    const Mask a_wins = Order::wins(a, b);
    const Mask b_wins = Order::wins(b, a);
    const Variable<T> share = where(a_wins & b_wins, p.grad() / 2, p.grad());
    if (p.needs(0)) p.give(0, sum_to(where(a_wins, share, 0), p.shape(0)));
    if (p.needs(1)) p.give(1, sum_to(where(b_wins, share, 0), p.shape(1)));
  }
};
template <class T>
using Maximum = Extremum<T, Upwards>;
template <class T>
using Minimum = Extremum<T, Downwards>;

template <class T>
class Clip final : public Primitive<T> {
 public:
  using value_type = T;
  Clip(T low, T high) : low_(low), high_(high) {}
  const char* name() const noexcept override { return "clip"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }
  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out{Extents(in[0].shape())};
    const auto row = [this](T* y, std::int64_t n, Operand<T> x) {
      kernels<T>().clip(x.data, low_, high_, y, n);
    };
    map_rows(out, Constants::spelled_out, row, in[0]);
    return out;
  }
  void backward(Pullback<T>& p) const override {
    const Variable<T> x = p.input(0);
    p.give(0, where((x < low_) | (x > high_), 0, p.take_grad()));
  }

 private:
  T low_;
  T high_;
};

template <class T, class Order>
class ExtremumOver final : public Reduction<T> {
 public:
  using Reduction<T>::Reduction;
  const char* name() const noexcept override { return Order::reduction; }
  Needs needs() const noexcept override { return Needs::inputs({0}) | Needs::output(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out{Extents(this->result())};
    reduce(out, in[0], this->kept(), Order::start * std::numeric_limits<T>::infinity(),
           Order::template fold<T>());
    return out;
  }
  void backward(Pullback<T>& p) const override {
    const Variable<T> x = p.input(0);
    const Mask taken = (x == this->keep(p.output().detach())) | is_nan(x);
    const Variable<T> count = sum_to(where(taken, Variable<T>(1), 0), this->kept());
    p.give(0, where(taken, this->keep(p.take_grad()) / count, 0));
  }
};

template <class T, class Order>
Variable<T> extremum_over(Variable<T> x, const Axes& axes, bool keep_dims) {
  const char* op = Order::reduction;
  const Extents& from = extents(op, x);
  ReducedShape shape = reduced_shape(op, from, axes, keep_dims);
  if (reduced_count(from, shape.kept) == 0 && size_of(shape.kept) > 0) {
    fail<ShapeError>(op, "no elements", text(from), "at least one along the reduced axes");
  }
  return record(make<ExtremumOver<T, Order>>(std::move(shape)), std::move(x));
}

}  // namespace
}  // namespace detail

template <class T>
Variable<T> abs(Variable<T> x) {
  return detail::record(detail::the<detail::Abs, T>(), std::move(x));
}
template <class T>
Variable<T> maximum(Variable<T> a, Variable<T> b) {
  return detail::record(detail::the<detail::Maximum, T>(), std::move(a), std::move(b));
}
template <class T>
Variable<T> minimum(Variable<T> a, Variable<T> b) {
  return detail::record(detail::the<detail::Minimum, T>(), std::move(a), std::move(b));
}
template <class T>
Variable<T> clip(Variable<T> x, detail::same_t<T> low, detail::same_t<T> high) {
  if (!(low <= high)) {
    detail::fail<ArgumentError>("clip", "no such interval",
                                std::to_string(low) + " to " + std::to_string(high),
                                "low <= high, neither of them NaN");
  }
  return detail::record(detail::make<detail::Clip<T>>(low, high), std::move(x));
}
template <class T>
Variable<T> max(Variable<T> x, const Axes& axes, bool keep_dims) {
  return detail::extremum_over<T, detail::Upwards>(std::move(x), axes, keep_dims);
}
template <class T>
Variable<T> min(Variable<T> x, const Axes& axes, bool keep_dims) {
  return detail::extremum_over<T, detail::Downwards>(std::move(x), axes, keep_dims);
}

#define XGRAD_INSTANTIATE(T)                                \
  template Variable<T> abs(Variable<T>);                    \
  template Variable<T> maximum(Variable<T>, Variable<T>);   \
  template Variable<T> minimum(Variable<T>, Variable<T>);   \
  template Variable<T> clip(Variable<T>, T, T);             \
  template Variable<T> max(Variable<T>, const Axes&, bool); \
  template Variable<T> min(Variable<T>, const Axes&, bool);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
