#include <xgrad/ops/cumulative.hpp>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/axes.hpp>
#include <xgrad/ops/loops.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace detail {
namespace {

/// y_i = before + x_0 + ... + x_i. Gives x_0 + ... + x_(n-1).
template <class T>
T cumsum_line(const T* x, std::int64_t step, T* y, std::int64_t out_step, std::int64_t n,
              T before) {
  constexpr std::int64_t kLeaf = 64;
  if (n > kLeaf) {
    const std::int64_t half = n / 2;
    const T left = cumsum_line(x, step, y, out_step, half, before);
    return left + cumsum_line(x + half * step, step, y + half * out_step, out_step, n - half,
                              before + left);
  }
  T sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += x[i * step];
    y[i * out_step] = before + sum;
  }
  return sum;
}

template <class T>
class Cumsum final : public Primitive<T> {
 public:
  using value_type = T;
  explicit Cumsum(std::size_t axis) : axis_(axis) {}
  const char* name() const noexcept override { return "cumsum"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    const Array<T>& x = in[0];
    Array<T> out = in.reuse(0);
    if (x.extent(axis_) == 0) return out;
    for_each_line_in_parallel<2>(x.shape(), {out.strides(), x.strides()}, axis_, [&](auto at) {
      cumsum_line(x.data() + at[1], x.stride(axis_), out.data() + at[0], out.stride(axis_),
                  x.extent(axis_), T(0));
    });
    return out;
  }
  void backward(Pullback<T>& p) const override {
    const auto axis = static_cast<std::int64_t>(axis_);
    p.give(0, flip(cumsum(flip(p.take_grad(), axis), axis), axis));
  }

 private:
  std::size_t axis_;
};

}  // namespace
}  // namespace detail

template <class T>
Variable<T> cumsum(Variable<T> x, std::int64_t axis) {
  const std::size_t rank = detail::extents("cumsum", x).size();
  if (rank == 0) return reshape(cumsum(reshape(std::move(x), 1), axis), Dims());
  const std::size_t checked = detail::checked_axis("cumsum", axis, rank);
  return detail::record(detail::make<detail::Cumsum<T>>(checked), std::move(x));
}

template Variable<float> cumsum(Variable<float>, std::int64_t);
template Variable<double> cumsum(Variable<double>, std::int64_t);

}  // namespace xg
