#include <xgrad/ops/take.hpp>

#include <algorithm>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/axes.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg {
namespace detail {
namespace {

Extents replace_axis(const Extents& list, std::size_t axis, const Extents& by) {
  Extents out(list.data(), axis);
  for (std::int64_t value : by) out.push_back(value);
  for (std::size_t i = axis + 1; i < list.size(); ++i) out.push_back(list[i]);
  return out;
}

/// Calls f(x, y, n, x_step, y_step) for pairs of lines of n elements, so that each element of
/// `taken`, at y, meets the element of `whole` that the indices name, at x.
template <class Whole, class Taken, class F>
void for_each_taken(Whole& whole, Taken& taken, const Array<std::int64_t>& indices,
                    std::size_t axis, F f) {
  const std::size_t after = axis + indices.dim();
  Extents shape = whole.shape();
  Extents whole_strides = whole.strides();
  Extents taken_strides(taken.strides().data(), axis);
  for (std::size_t i = after; i < taken.dim(); ++i) taken_strides.push_back(taken.stride(i));
  shape.erase(axis);
  whole_strides.erase(axis);
  const LoopNest<2> lines(shape, {whole_strides, taken_strides});
  const LoopNest<2> places(
      indices.shape(), {indices.strides(), Extents(taken.strides().data() + axis, indices.dim())});
  const std::size_t line = lines.axes - 1;
  const std::size_t inner = places.axes - 1;
  places.for_each_row([&](const std::array<std::int64_t, 2>& at) {
    for (std::int64_t k = 0; k < places.extent[inner]; ++k) {
      std::int64_t index = indices.data()[at[0] + k * places.stride[0][inner]];
      if (index < 0) index += whole.extent(axis);
      auto* x = whole.data() + index * whole.stride(axis);
      auto* y = taken.data() + at[1] + k * places.stride[1][inner];
      lines.for_each_row([&](const std::array<std::int64_t, 2>& offset) {
        f(x + offset[0], y + offset[1], lines.extent[line], lines.stride[0][line],
          lines.stride[1][line]);
      });
    }
  });
}

template <class T>
class Take;

/// Zeros of `shape`, to which the elements of y are added where they were taken from: the gradient
/// of take.
template <class T>
class Untake final : public Primitive<T> {
 public:
  using value_type = T;
  Untake(Indices indices, std::size_t axis, Extents shape)
      : indices_(std::move(indices)), axis_(axis), shape_(std::move(shape)) {}
  const char* name() const noexcept override { return "untake"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out{Extents(shape_)};
    std::fill_n(out.data(), out.size(), T(0));
    for_each_taken(out, in[0], array(indices_), axis_,
                   [](T* x, const T* y, std::int64_t n, std::int64_t x_step, std::int64_t y_step) {
                     for (std::int64_t i = 0; i < n; ++i) x[i * x_step] += y[i * y_step];
                   });
    return out;
  }
  void backward(Pullback<T>& p) const override {
    p.give(0, record(make<Take<T>>(indices_, axis_), p.take_grad()));
  }

 private:
  Indices indices_;
  std::size_t axis_;
  Extents shape_;
};

template <class T>
class Take final : public Primitive<T> {
 public:
  using value_type = T;
  Take(Indices indices, std::size_t axis) : indices_(std::move(indices)), axis_(axis) {}
  const char* name() const noexcept override { return "take"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out(replace_axis(in[0].shape(), axis_, array(indices_).shape()));
    for_each_taken(in[0], out, array(indices_), axis_,
                   [](const T* x, T* y, std::int64_t n, std::int64_t x_step, std::int64_t y_step) {
                     for (std::int64_t i = 0; i < n; ++i) y[i * y_step] = x[i * x_step];
                   });
    return out;
  }
  void backward(Pullback<T>& p) const override {
    p.give(0, record(make<Untake<T>>(indices_, axis_, p.shape(0)), p.take_grad()));
  }

 private:
  Indices indices_;
  std::size_t axis_;
};

template <class T>
Variable<T> checked_take(const char* op, Variable<T> x, const Indices& indices, std::size_t axis) {
  const Extents& shape = extents(op, x);
  const Array<std::int64_t>& values = array(indices);
  const std::int64_t n = shape[axis];
  for (std::int64_t i = 0; i < values.size(); ++i) {
    const std::int64_t index = values.data()[i];
    if (index < -n || index >= n) {
      fail<ShapeError>(op, "index out of range",
                       text(index) + " on axis " + text(axis) + " of shape " + text(shape),
                       n == 0 ? "no index into an empty axis" : text(-n) + " to " + text(n - 1));
    }
  }
  (void)checked_size(op, replace_axis(shape, axis, values.shape()));
  return record(make<Take<T>>(indices, axis), std::move(x));
}

}  // namespace
}  // namespace detail

template <class T>
Variable<T> take(Variable<T> x, const Indices& indices, std::int64_t axis) {
  const std::size_t i = detail::checked_axis("take", axis, detail::extents("take", x).size());
  return detail::checked_take("take", std::move(x), indices, i);
}

template <class T>
Variable<T> embedding(Variable<T> table, const Indices& indices) {
  const Extents& shape = detail::extents("embedding", table);
  if (shape.size() != 2) {
    detail::fail<ShapeError>("embedding", "table is not 2-D", "shape " + detail::text(shape),
                             "(N, D)");
  }
  return detail::checked_take("embedding", std::move(table), indices, 0);
}

#define XGRAD_INSTANTIATE(T)                                            \
  template Variable<T> take(Variable<T>, const Indices&, std::int64_t); \
  template Variable<T> embedding(Variable<T>, const Indices&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
