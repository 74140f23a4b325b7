#include <xgrad/ops/reduce.hpp>

#include <algorithm>

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/join.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/reduce_loops.hpp>
#include <xgrad/ops/reduction.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace detail {
namespace {

template <class T>
class Sum final : public Reduction<T> {
 public:
  using Reduction<T>::Reduction;
  const char* name() const noexcept override { return "sum"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out{Extents(this->result())};
    reduce(out, in[0], this->kept(), T(0), kernels<T>().sum);
    return out;
  }
  void backward(Pullback<T>& p) const override {
    p.give(0, broadcast_to(this->keep(p.take_grad()), Dims(p.shape(0))));
  }
};

template <class T>
class Var final : public Reduction<T> {
 public:
  Var(ReducedShape shape, std::int64_t n, std::int64_t ddof)
      : Reduction<T>(std::move(shape)),
        n_(static_cast<T>(n)),
        divisor_(std::max(n_ - static_cast<T>(ddof), T(0))) {}
  const char* name() const noexcept override { return "var"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }

  Array<T> forward(const Inputs<T>& in) const override {
    const Array<T>& x = in[0];
    Array<T> mean{Extents(this->result())};
    reduce(mean, x, this->kept(), T(0), kernels<T>().sum);
    map(
        mean, [n = n_](T sum) { return sum / n; }, mean);

    Array<T> excess{Extents(this->result())};  // sum of x - mean: what rounding the mean left over
    reduce(excess, x, this->kept(), T(0), kernels<T>().sum_centred, mean.data());
    Array<T> out{Extents(this->result())};
    reduce(out, x, this->kept(), T(0), kernels<T>().sum_squares, mean.data());
    map(
        out,
        [n = n_, divisor = divisor_](T squares, T e) {
          return std::max(squares - e * e / n, T(0)) / divisor;
        },
        out, excess);
    return out;
  }

  void backward(Pullback<T>& p) const override {
    const Variable<T> x = p.input(0);
    const Variable<T> centred = x - sum_to(x, this->kept()) / n_;
    p.give(0, chain(this->keep(p.take_grad()), centred * (2 / divisor_)));
  }

 private:
  T n_;
  T divisor_;
};

/// [m, n] -> [m, n]: in each row, the product of all elements but the one in its place. By halves
/// and without a division, so that zeros and every higher derivative are right.
template <class T>
Variable<T> products_of_others(const Variable<T>& x) {
  const auto n = static_cast<std::int64_t>(x.shape()[1]);
  if (n <= 1) return ones<T>(x.shape());
  const std::int64_t half = n / 2;
  const Variable<T> a = slice(x, 1, 0, half);
  const Variable<T> b = slice(x, 1, half, 2 * half);
  const Variable<T> odd = slice(x, 1, 2 * half, n);
  const Variable<T> others = products_of_others(concat({a * b, odd}, 1));
  const Variable<T> of_pairs = slice(others, 1, 0, half);
  return concat({of_pairs * b, of_pairs * a, slice(others, 1, half, end)}, 1);
}

template <class T>
class Prod final : public Reduction<T> {
 public:
  using Reduction<T>::Reduction;
  const char* name() const noexcept override { return "prod"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out{Extents(this->result())};
    reduce(out, in[0], this->kept(), T(1), kernels<T>().prod);
    return out;
  }

  void backward(Pullback<T>& p) const override {
    // The reduced axes last, as the rows of a matrix.
    Extents order;
    for (const bool reduced : {false, true}) {
      for (std::size_t i = 0; i < this->kept().size(); ++i) {
        if ((this->kept()[i] == 1) == reduced) order.push_back(static_cast<std::int64_t>(i));
      }
    }
    Extents back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
    }
    const Variable<T> x = transpose(p.input(0), Axes(order));
    const std::int64_t n = reduced_count(p.shape(0), this->kept());
    const Variable<T> others = products_of_others(reshape(x, {size_of(this->kept()), n}));
    p.give(0, chain(this->keep(p.take_grad()), transpose(reshape(others, x.shape()), Axes(back))));
  }
};

}  // namespace

template <class T>
Variable<T> sum_to(Variable<T> x, const Extents& shape) {
  const Extents& from = extents("sum", x);
  if (from == shape) return x;
  Extents kept(from.size(), 1);
  std::copy(shape.begin(), shape.end(), kept.end() - shape.size());
  return record(make<Sum<T>>(ReducedShape{std::move(kept), shape}), std::move(x));
}
template Variable<float> sum_to(Variable<float>, const Extents&);
template Variable<double> sum_to(Variable<double>, const Extents&);

}  // namespace detail

template <class T>
Variable<T> sum(Variable<T> x, const Axes& axes, bool keep_dims) {
  auto shape = detail::reduced_shape("sum", detail::extents("sum", x), axes, keep_dims);
  return detail::record(detail::make<detail::Sum<T>>(std::move(shape)), std::move(x));
}

template <class T>
Variable<T> mean(Variable<T> x, const Axes& axes, bool keep_dims) {
  const Extents& from = detail::extents("mean", x);
  auto shape = detail::reduced_shape("mean", from, axes, keep_dims);
  const std::int64_t n = detail::reduced_count(from, shape.kept);
  return detail::record(detail::make<detail::Sum<T>>(std::move(shape)), std::move(x)) / n;
}

template <class T>
Variable<T> var(Variable<T> x, const Axes& axes, bool keep_dims, std::int64_t ddof) {
  const Extents& from = detail::extents("var", x);
  auto shape = detail::reduced_shape("var", from, axes, keep_dims);
  const std::int64_t n = detail::reduced_count(from, shape.kept);
  return detail::record(detail::make<detail::Var<T>>(std::move(shape), n, ddof), std::move(x));
}

template <class T>
Variable<T> prod(Variable<T> x, const Axes& axes, bool keep_dims) {
  auto shape = detail::reduced_shape("prod", detail::extents("prod", x), axes, keep_dims);
  return detail::record(detail::make<detail::Prod<T>>(std::move(shape)), std::move(x));
}

#define XGRAD_INSTANTIATE(T)                                              \
  template Variable<T> sum(Variable<T>, const Axes&, bool);               \
  template Variable<T> mean(Variable<T>, const Axes&, bool);              \
  template Variable<T> var(Variable<T>, const Axes&, bool, std::int64_t); \
  template Variable<T> prod(Variable<T>, const Axes&, bool);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
