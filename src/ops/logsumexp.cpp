#include <xgrad/ops/logsumexp.hpp>

#include <cmath>
#include <limits>

#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/compare.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/reduce_loops.hpp>
#include <xgrad/ops/reduction.hpp>

namespace xg {
namespace detail {
namespace {

/// What is subtracted before exp: the maximum, or 0 if that is -inf, since exp(-inf - 0) is 0.
template <class T>
Array<T> centre(const Array<T>& x, const Extents& kept, const Extents& shape) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  Array<T> out{Extents(shape)};
  reduce(out, x, kept, lowest, kernels<T>().max);
  map(
      out, [=](T max) { return max == lowest ? T(0) : max; }, out);
  return out;
}

template <class T>
class LogSumExp final : public Reduction<T> {
 public:
  using Reduction<T>::Reduction;
  const char* name() const noexcept override { return "logsumexp"; }
  Needs needs() const noexcept override { return Needs::inputs({0}); }

  Array<T> forward(const Inputs<T>& in) const override {
    const Array<T> centres = centre(in[0], this->kept(), this->result());
    Array<T> out{Extents(this->result())};
    reduce(out, in[0], this->kept(), T(0), kernels<T>().sum_exp, centres.data());
    map(
        out, [](T sum, T c) { return c + std::log(sum); }, out, centres);
    return out;
  }

  void backward(Pullback<T>& p) const override {
    const Variable<T> x = p.input(0);
    // The centre cancels, so that it counts as a constant.
    const Extents& kept = this->kept();
    const Variable<T> shift = x - from_array(centre(array(name(), x), kept, kept));
    const Variable<T> e = exp(where(x == std::numeric_limits<T>::infinity(), 0, shift));
    const Variable<T> sum = sum_to(e, kept);
    p.give(0, chain(this->keep(p.take_grad()), e / where(sum == 0, 1, sum)));
  }
};

}  // namespace
}  // namespace detail

template <class T>
Variable<T> logsumexp(Variable<T> x, const Axes& axes, bool keep_dims) {
  auto shape = detail::reduced_shape("logsumexp", detail::extents("logsumexp", x), axes, keep_dims);
  return detail::record(detail::make<detail::LogSumExp<T>>(std::move(shape)), std::move(x));
}

template Variable<float> logsumexp(Variable<float>, const Axes&, bool);
template Variable<double> logsumexp(Variable<double>, const Axes&, bool);

}  // namespace xg
