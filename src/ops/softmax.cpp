#include <xgrad/ops/softmax.hpp>

#include <cmath>
#include <functional>
#include <limits>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/axes.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/reduce.hpp>
#include <xgrad/ops/reduce_loops.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace detail {
namespace {

/// x - max, which is 0 where both are +inf: the only infinite score takes all the weight.
template <class T>
T shifted(T x, T max, bool one_infinity) {
  return one_infinity && x == max ? T(0) : x - max;
}

template <class T>
bool is_only_infinity(const T* x, std::int64_t n, std::int64_t step, T max) {
  if (max != std::numeric_limits<T>::infinity()) return false;
  int count = 0;
  for (std::int64_t i = 0; i < n; ++i) count += x[i * step] == max ? 1 : 0;
  return count == 1;
}

/// Returns the sum, which is NaN if the softmax is.
template <class T>
T softmax_line(const T* x, std::int64_t step, T* y, std::int64_t out_step, std::int64_t n) {
  if (step == 1 && out_step == 1) return kernels<T>().softmax(x, y, n);
  const T max = fold_line(x, n, step, Larger());
  const bool one_infinity = is_only_infinity(x, n, step, max);
  for (std::int64_t i = 0; i < n; ++i) {
    y[i * out_step] = std::exp(shifted(x[i * step], max, one_infinity));
  }
  const T total = fold_line(y, n, out_step, std::plus<T>());
  for (std::int64_t i = 0; i < n; ++i) y[i * out_step] *= T(1) / total;
  return total;
}

template <class T>
void masked_softmax_line(const T* x, std::int64_t step, const bool* visible, std::int64_t mask_step,
                         T* y, std::int64_t out_step, std::int64_t n) {
  // Hidden scores become -inf, and so weights of exactly 0.
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  bool any = false;
  for (std::int64_t i = 0; i < n; ++i) {
    const bool shown = visible[i * mask_step];
    any |= shown;
    y[i * out_step] = shown ? x[i * step] : hidden;
  }
  if (any && !std::isnan(softmax_line(y, out_step, y, out_step, n))) return;
  // Nothing is visible; or the visible scores have no softmax, and still the hidden weights are 0.
  for (std::int64_t i = 0; i < n; ++i) {
    if (!visible[i * mask_step]) y[i * out_step] = 0;
  }
}

/// dx = y (g - sum_k g_k y_k); exactly 0 wherever y is 0, whatever g is there.
template <class T>
class SoftmaxBackward final : public Primitive<T> {
 public:
  using value_type = T;
  explicit SoftmaxBackward(std::size_t axis) : axis_(axis) {}
  const char* name() const noexcept override { return "softmax_backward"; }
  Needs needs() const noexcept override { return Needs::inputs({0, 1}); }

  Array<T> forward(const Inputs<T>& in) const override {
    const Array<T>& g = in[0];
    const Array<T>& y = in[1];
    Array<T> out{Extents(y.shape())};
    const std::int64_t n = y.extent(axis_);
    const std::int64_t step = y.stride(axis_);
    const std::int64_t g_step = g.stride(axis_);
    const std::int64_t out_step = out.stride(axis_);
    for_each_line<3>(y.shape(), {out.strides(), g.strides(), y.strides()}, axis_, [&](auto at) {
      T* o = out.data() + at[0];
      const T* gi = g.data() + at[1];
      const T* yi = y.data() + at[2];
      if (step == 1 && g_step == 1 && out_step == 1) {
        kernels<T>().softmax_backward(gi, yi, o, n);
        return;
      }
      for (std::int64_t i = 0; i < n; ++i) {
        o[i * out_step] = yi[i * step] == 0 ? T(0) : gi[i * g_step] * yi[i * step];
      }
      const T dot = n == 0 ? T(0) : fold_line(o, n, out_step, std::plus<T>());
      for (std::int64_t i = 0; i < n; ++i) {
        o[i * out_step] = yi[i * step] == 0 ? T(0) : yi[i * step] * (gi[i * g_step] - dot);
      }
    });
    return out;
  }

  void backward(Pullback<T>& p) const override {
    const Variable<T> h = p.take_grad();
    const Variable<T> g = p.input(0);
    const Variable<T> y = p.input(1);
    // The map is linear in g, and symmetric.
    if (p.needs(0)) p.give(0, record(make<SoftmaxBackward>(axis_), h, y));
    if (p.needs(1)) {
      const auto axis = static_cast<std::int64_t>(axis_);
      const Variable<T> gy = sum(chain(y, g), axis, true);
      const Variable<T> hy = sum(chain(y, h), axis, true);
      p.give(1, chain(h, g - gy) - chain(hy, g));
    }
  }

 private:
  std::size_t axis_;
};

template <class T>
Array<T> softmax_lines(const Inputs<T>& in, std::size_t axis) {
  const Array<T>& x = in[0];
  Array<T> out = in.reuse(0);
  const std::int64_t n = x.extent(axis);
  if (n == 0) return out;
  for_each_line<2>(x.shape(), {out.strides(), x.strides()}, axis, [&](auto at) {
    softmax_line(x.data() + at[1], x.stride(axis), out.data() + at[0], out.stride(axis), n);
  });
  return out;
}

template <class T>
class Softmax final : public Primitive<T> {
 public:
  using value_type = T;
  explicit Softmax(std::size_t axis) : axis_(axis) {}
  const char* name() const noexcept override { return "softmax"; }
  Needs needs() const noexcept override { return Needs::output(); }

  Array<T> forward(const Inputs<T>& in) const override { return softmax_lines(in, axis_); }
  void backward(Pullback<T>& p) const override {
    p.give(0, record(make<SoftmaxBackward<T>>(axis_), p.take_grad(), p.output()));
  }

 private:
  std::size_t axis_;
};

template <class T>
class MaskedSoftmax final : public Primitive<T> {
 public:
  using value_type = T;
  MaskedSoftmax(Mask mask, std::size_t axis) : mask_(std::move(mask)), axis_(axis) {}
  const char* name() const noexcept override { return "masked_softmax"; }
  Needs needs() const noexcept override { return Needs::output(); }

  Array<T> forward(const Inputs<T>& in) const override {
    if (!mask_.defined()) return softmax_lines(in, axis_);
    const Array<bool>& mask = array(name(), mask_);
    const Array<T>& x = in[0];
    Array<T> out = in.reuse(0);
    const Extents seen = broadcast_strides(mask.shape(), mask.strides(), x.shape());
    const std::int64_t n = x.extent(axis_);
    for_each_line<3>(x.shape(), {out.strides(), x.strides(), seen}, axis_, [&](auto at) {
      masked_softmax_line(x.data() + at[1], x.stride(axis_), mask.data() + at[2], seen[axis_],
                          out.data() + at[0], out.stride(axis_), n);
    });
    return out;
  }
  void backward(Pullback<T>& p) const override {
    p.give(0, record(make<SoftmaxBackward<T>>(axis_), p.take_grad(), p.output()));
  }

 private:
  Mask mask_;
  std::size_t axis_;
};

template <class T>
class LogSoftmax final : public Primitive<T> {
 public:
  using value_type = T;
  explicit LogSoftmax(std::size_t axis) : axis_(axis) {}
  const char* name() const noexcept override { return "log_softmax"; }
  Needs needs() const noexcept override { return Needs::output(); }

  Array<T> forward(const Inputs<T>& in) const override {
    const Array<T>& x = in[0];
    Array<T> out{Extents(x.shape())};
    const std::int64_t n = x.extent(axis_);
    const std::int64_t step = x.stride(axis_);
    const std::int64_t out_step = out.stride(axis_);
    if (n == 0) return out;
    for_each_line<2>(x.shape(), {out.strides(), x.strides()}, axis_, [&](auto at) {
      const T* line = x.data() + at[1];
      T* y = out.data() + at[0];
      const T max = fold_line(line, n, step, Larger());
      const bool one_infinity = is_only_infinity(line, n, step, max);
      for (std::int64_t i = 0; i < n; ++i) {
        y[i * out_step] = std::exp(shifted(line[i * step], max, one_infinity));
      }
      const T log_sum = std::log(fold_line(y, n, out_step, std::plus<T>()));
      for (std::int64_t i = 0; i < n; ++i) {
        y[i * out_step] = shifted(line[i * step], max, one_infinity) - log_sum;
      }
    });
    return out;
  }
  void backward(Pullback<T>& p) const override {
    const Variable<T> total = sum(p.grad(), static_cast<std::int64_t>(axis_), true);
    p.give(0, p.grad() - chain(total, exp(p.output())));
  }

 private:
  std::size_t axis_;
};

/// A 0-D array is seen as one line of one element.
template <class T, class F>
Variable<T> along_axis(const char* op, Variable<T> x, std::int64_t axis, F apply) {
  const std::size_t rank = extents(op, x).size();
  const std::size_t checked = checked_axis(op, axis, std::max<std::size_t>(rank, 1));
  if (rank > 0) return apply(std::move(x), checked);
  return reshape(apply(reshape(std::move(x), 1), checked), Dims());
}

}  // namespace
}  // namespace detail

template <class T>
Variable<T> softmax(Variable<T> x, std::int64_t axis) {
  return detail::along_axis("softmax", std::move(x), axis, [](Variable<T> line, std::size_t i) {
    return detail::record(detail::make<detail::Softmax<T>>(i), std::move(line));
  });
}

template <class T>
Variable<T> log_softmax(Variable<T> x, std::int64_t axis) {
  return detail::along_axis("log_softmax", std::move(x), axis, [](Variable<T> line, std::size_t i) {
    return detail::record(detail::make<detail::LogSoftmax<T>>(i), std::move(line));
  });
}

template <class T>
Variable<T> masked_softmax(Variable<T> x, const Mask& mask, std::int64_t axis) {
  const char* op = "masked_softmax";
  const Extents& scores = detail::extents(op, x);
  if (mask.defined() && !detail::broadcasts_to(detail::array(op, mask).shape(), scores)) {
    detail::fail<MaskError>(op, "mask does not broadcast to the scores",
                            detail::text(detail::array(op, mask).shape()),
                            "a shape that broadcasts to " + detail::text(scores));
  }
  return detail::along_axis(op, std::move(x), axis, [&](Variable<T> line, std::size_t i) {
    return detail::record(detail::make<detail::MaskedSoftmax<T>>(mask, i), std::move(line));
  });
}

#define XGRAD_INSTANTIATE(T)                                   \
  template Variable<T> softmax(Variable<T>, std::int64_t);     \
  template Variable<T> log_softmax(Variable<T>, std::int64_t); \
  template Variable<T> masked_softmax(Variable<T>, const Mask&, std::int64_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
