#include <xgrad/ops/reduce.hpp>

#include <functional>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/axes.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/reduce_loops.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace detail {
namespace {

/// Sums to `kept`, which is x's shape with 1 along the reduced axes, and gives the result `shape`.
template <class T>
class Sum final : public Primitive<T> {
 public:
  using value_type = T;
  Sum(Extents kept, Extents shape) : kept_(std::move(kept)), shape_(std::move(shape)) {}
  const char* name() const noexcept override { return "sum"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out{Extents(shape_)};
    reduce(out, in[0], kept_, T(0), std::plus<T>());
    return out;
  }
  void backward(Pullback<T>& p) const override {
    p.give(0, broadcast_to(reshape(p.take_grad(), Dims(kept_)), Dims(p.shape(0))));
  }

 private:
  Extents kept_;
  Extents shape_;
};

}  // namespace

template <class T>
Variable<T> sum_to(Variable<T> x, const Extents& shape) {
  const Extents& from = extents("sum", x);
  if (from == shape) return x;
  Extents kept(from.size(), 1);
  std::copy(shape.begin(), shape.end(), kept.end() - shape.size());
  return record(make<Sum<T>>(std::move(kept), shape), std::move(x));
}
template Variable<float> sum_to(Variable<float>, const Extents&);
template Variable<double> sum_to(Variable<double>, const Extents&);

}  // namespace detail

template <class T>
Variable<T> sum(Variable<T> x, const Axes& axes, bool keep_dims) {
  const Extents& from = detail::extents("sum", x);
  const Extents reduced = detail::checked_axes("sum", axes, from.size());
  Extents kept = detail::keep_axes(from, reduced);
  Extents shape = keep_dims ? kept : detail::drop_axes(from, reduced);
  return detail::record(detail::make<detail::Sum<T>>(std::move(kept), std::move(shape)),
                        std::move(x));
}

template <class T>
Variable<T> mean(Variable<T> x, const Axes& axes, bool keep_dims) {
  const Extents& from = detail::extents("mean", x);
  std::int64_t n = 1;
  for (std::int64_t axis : detail::checked_axes("mean", axes, from.size())) {
    n *= from[static_cast<std::size_t>(axis)];
  }
  return sum(std::move(x), axes, keep_dims) / n;
}

template Variable<float> sum(Variable<float>, const Axes&, bool);
template Variable<double> sum(Variable<double>, const Axes&, bool);
template Variable<float> mean(Variable<float>, const Axes&, bool);
template Variable<double> mean(Variable<double>, const Axes&, bool);

}  // namespace xg
