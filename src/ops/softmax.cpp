#include <xgrad/ops/softmax.hpp>

#include <algorithm>
#include <cmath>
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

/// The maxima along an axis and what e^(x - max) adds up to there, for rows that do not lie dense.
template <class T>
struct Totals {
  Array<T> max;
  Array<T> sum;  // NaN where all elements are -inf or several +inf: the softmax has no limit

  Totals(const Array<T>& x, std::size_t axis) : max(along(x, axis)), sum(along(x, axis)) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    reduce(max, x, max.shape(), -infinity, kernels<T>().max);
    reduce(sum, x, max.shape(), T(0), kernels<T>().sum_exp, max.data());
    map(
        sum,
        [](T total, T most) {
          const bool limit = most == infinity ? total == 1 : most != -infinity;
          return limit ? total : std::numeric_limits<T>::quiet_NaN();
        },
        sum, max);
  }

  static Extents along(const Array<T>& x, std::size_t axis) {
    Extents kept = x.shape();
    kept[axis] = 1;
    return kept;
  }
};

template <class T>
bool dense(const Array<T>& x, std::size_t axis) {
  return x.stride(axis) == 1 || x.extent(axis) == 1;
}

/// y = softmax(x) along an axis that does not lie dense; y may be x. Returns whether any is NaN.
template <class T>
bool softmax_across(const Array<T>& x, Array<T>& y, std::size_t axis) {
  const Totals<T> totals(x, axis);
  Array<T> scale(Extents(totals.sum.shape()));
  map(
      scale, [](T total) { return T(1) / total; }, totals.sum);
  map(y, kernels<T>().exp_shift, x, totals.max);
  map(y, kernels<T>().mul, y, scale);
  const T* first = scale.data();
  return std::any_of(first, first + scale.size(), [](T s) { return std::isnan(s); });
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
    const bool in_lines = dense(g, axis_) && dense(y, axis_);
    Array<T> out = in_lines ? in.reuse(0) : Array<T>(Extents(y.shape()));
    const std::int64_t n = y.extent(axis_);
    if (n == 0) return out;
    if (in_lines && dense(out, axis_)) {
      for_each_line_in_parallel<3>(y.shape(), {out.strides(), g.strides(), y.strides()}, axis_,
                                   [&](auto at) {
                                     kernels<T>().softmax_backward(
                                         g.data() + at[1], y.data() + at[2], out.data() + at[0], n);
                                   });
      return out;
    }
    Array<T> dot(Totals<T>::along(y, axis_));
    map(out, kernels<T>().chain, g, y);
    reduce(dot, out, dot.shape(), T(0), kernels<T>().sum);
    map(out, kernels<T>().sub, g, dot);
    map(out, kernels<T>().chain, out, y);
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
  if (!dense(x, axis) || !dense(out, axis)) {
    (void)softmax_across(x, out, axis);
    return out;
  }
  for_each_line_in_parallel<2>(x.shape(), {out.strides(), x.strides()}, axis, [&](auto at) {
    (void)kernels<T>().softmax(x.data() + at[1], out.data() + at[0], n);
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
    const std::int64_t n = x.extent(axis_);
    if (n == 0) return out;
    // Hidden scores become -inf, and so weights of exactly 0.
    const T lowest = -std::numeric_limits<T>::infinity();
    if (!dense(x, axis_) || !dense(out, axis_)) {
      hide(out, x, mask, lowest);
      if (softmax_across(out, out, axis_)) hide(out, out, mask, T(0));
      return out;
    }
    const Extents seen = broadcast_strides(mask.shape(), mask.strides(), x.shape());
    for_each_line_in_parallel<3>(
        x.shape(), {out.strides(), x.strides(), seen}, axis_, [&](auto at) {
          const Operand<bool> visible{mask.data() + at[2], n > 1 && seen[axis_] == 0};
          const T zero = 0;
          T* y = out.data() + at[0];
          kernels<T>().where(visible, {x.data() + at[1], false}, {&lowest, true}, y, n);
          // Nothing is visible; or the visible scores have no softmax, and still the hidden weights
          // are 0.
          if (std::isnan(kernels<T>().softmax(y, y, n))) {
            kernels<T>().where(visible, {y, false}, {&zero, true}, y, n);
          }
        });
    return out;
  }
  void backward(Pullback<T>& p) const override {
    p.give(0, record(make<SoftmaxBackward<T>>(axis_), p.take_grad(), p.output()));
  }

 private:
  /// out = mask ? x : value; out may be x.
  static void hide(Array<T>& out, const Array<T>& x, const Array<bool>& mask, T value) {
    Array<T> constant{Extents()};
    *constant.data() = value;
    const auto row = [](T* y, std::int64_t n, Operand<T> a, Operand<T> b, Operand<bool> visible) {
      kernels<T>().where(visible, a, b, y, n);
    };
    map_rows(out, Constants::taken, row, x, constant, mask);
  }

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
    if (n == 0) return out;
    if (!dense(x, axis_) || !dense(out, axis_)) {
      Totals<T> totals(x, axis_);
      map(totals.sum, kernels<T>().log, totals.sum);
      map(out, kernels<T>().shift, x, totals.max);
      map(out, kernels<T>().sub, out, totals.sum);
      return out;
    }
    for_each_line_in_parallel<2>(x.shape(), {out.strides(), x.strides()}, axis_, [&](auto at) {
      kernels<T>().log_softmax(x.data() + at[1], out.data() + at[0], n);
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
