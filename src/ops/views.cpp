#include <xgrad/ops/views.hpp>

#include <algorithm>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/axes.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg {
namespace detail {
namespace {

/// Strides under which the memory of `x` reads as `shape`, if there are any.
template <class T>
bool view_strides(const Array<T>& x, const Extents& shape, Extents& strides) {
  strides = contiguous_strides(shape);
  if (x.size() == 0) return true;
  // Walk both shapes from the inside; every group of new axes must lie in a run of old axes that
  // step evenly.
  std::size_t old_axis = x.dim();
  std::size_t new_axis = shape.size();
  while (new_axis > 0) {
    while (old_axis > 0 && x.extent(old_axis - 1) == 1) --old_axis;
    if (old_axis == 0) {  // only extents of 1 are left
      while (new_axis > 0) strides[--new_axis] = 1;
      return true;
    }
    std::int64_t run = x.extent(--old_axis);
    const std::int64_t inner_stride = x.stride(old_axis);
    std::int64_t filled = 1;
    while (filled < run && new_axis > 0) {
      strides[--new_axis] = inner_stride * filled;
      filled *= shape[new_axis];
      while (filled > run && old_axis > 0) {
        --old_axis;
        if (x.extent(old_axis) == 1) continue;
        if (x.stride(old_axis) != inner_stride * run) return false;
        run *= x.extent(old_axis);
      }
    }
    if (filled != run) return false;
  }
  return true;
}

template <class T>
class Reshape final : public Primitive<T> {
 public:
  using value_type = T;
  explicit Reshape(Extents shape) : shape_(std::move(shape)) {}
  const char* name() const noexcept override { return "reshape"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> x = in[0];
    Extents strides;
    if (!view_strides(x, shape_, strides)) {
      x = x.copy();
      strides = contiguous_strides(shape_);
    }
    return Array<T>(x, x.data(), shape_, std::move(strides));
  }
  void backward(Pullback<T>& p) const override {
    p.give(0, reshape(p.take_grad(), Dims(p.shape(0))));
  }

 private:
  Extents shape_;
};

template <class T>
class Transpose final : public Primitive<T> {
 public:
  using value_type = T;
  explicit Transpose(Extents axes) : axes_(std::move(axes)) {}
  const char* name() const noexcept override { return "transpose"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> x = in[0];
    Extents shape;
    Extents strides;
    for (std::int64_t axis : axes_) {
      shape.push_back(x.extent(static_cast<std::size_t>(axis)));
      strides.push_back(x.stride(static_cast<std::size_t>(axis)));
    }
    return Array<T>(x, x.data(), std::move(shape), std::move(strides));
  }
  void backward(Pullback<T>& p) const override {
    Extents inverse(axes_.size());
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      inverse[static_cast<std::size_t>(axes_[i])] = static_cast<std::int64_t>(i);
    }
    p.give(0, record(make<Transpose>(std::move(inverse)), p.take_grad()));
  }

 private:
  Extents axes_;
};

/// `count` elements of one axis, from `start` by `step`.
struct Range {
  std::size_t axis;
  std::int64_t start;
  std::int64_t count;
  std::int64_t step;

  template <class T>
  Array<T> of(Array<T> x) const {
    Extents shape = x.shape();
    Extents strides = x.strides();
    T* origin = x.data() + (count > 0 ? start * strides[axis] : 0);
    shape[axis] = count;
    strides[axis] *= step;
    return Array<T>(x, origin, std::move(shape), std::move(strides));
  }
};

template <class T>
class Slice;

/// Zeros of `shape`, with x in the places of the range: the gradient of a slice.
template <class T>
class Unslice final : public Primitive<T> {
 public:
  using value_type = T;
  Unslice(Extents shape, Range range) : shape_(std::move(shape)), range_(range) {}
  const char* name() const noexcept override { return "unslice"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out{Extents(shape_)};
    std::fill_n(out.data(), out.size(), T(0));
    Array<T> place = range_.of(out);
    map(
        place, [](T x) { return x; }, in[0]);
    return out;
  }
  void backward(Pullback<T>& p) const override;

 private:
  Extents shape_;
  Range range_;
};

template <class T>
class Slice final : public Primitive<T> {
 public:
  using value_type = T;
  explicit Slice(Range range) : range_(range) {}
  const char* name() const noexcept override { return "slice"; }
  Needs needs() const noexcept override { return Needs::nothing(); }
  Array<T> forward(const Inputs<T>& in) const override { return range_.of(in[0]); }
  void backward(Pullback<T>& p) const override {
    if (p.records()) {
      p.give(0, record(make<Unslice<T>>(p.shape(0), range_), p.take_grad()));
      return;
    }
    Extents strides = contiguous_strides(p.shape(0));
    const std::int64_t offset = range_.count > 0 ? range_.start * strides[range_.axis] : 0;
    strides[range_.axis] *= range_.step;
    p.give_part(p.take_grad(), offset, std::move(strides));
  }

 private:
  Range range_;
};

template <class T>
void Unslice<T>::backward(Pullback<T>& p) const {
  p.give(0, record(make<Slice<T>>(range_), p.take_grad()));
}

/// As Python's slice.indices.
Range checked_range(std::size_t axis, std::int64_t extent, std::int64_t start, std::int64_t stop,
                    std::int64_t step) {
  if (step == 0) fail<ArgumentError>("slice", "step of zero", "0", "a step other than 0");
  const bool to_end = stop == end;
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? extent : extent - 1;
  const auto clamp = [&](std::int64_t i) {
    return i < 0 ? std::max(i + extent, low) : std::min(i, high);
  };
  start = clamp(start);
  stop = to_end ? (step > 0 ? extent : -1) : clamp(stop);
  std::int64_t count = 0;
  if (step > 0 && stop > start) count = (stop - start - 1) / step + 1;
  // Not -step: that overflows for the smallest number.
  if (step < 0 && stop < start) count = (stop - start + 1) / step + 1;
  return {axis, start, count, count > 1 ? step : 1};
}

}  // namespace
}  // namespace detail

template <class T>
Variable<T> reshape(Variable<T> x, const Dims& dims) {
  const Extents& from = detail::extents("reshape", x);
  const std::int64_t size = detail::size_of(from);
  Extents shape = dims.values();
  const auto wrong = [&](const std::string& expected) {
    detail::fail<ShapeError>("reshape", "shape does not fit",
                             detail::text(from) + " to " + detail::text(dims.values()), expected);
  };
  auto* unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown != shape.end()) {
    *unknown = 1;
    if (std::find(shape.begin(), shape.end(), -1) != shape.end()) wrong("at most one -1");
    const std::int64_t known = detail::checked_size("reshape", shape);
    if (known == 0 || size % known != 0) {
      wrong("extents whose product divides " + detail::text(size));
    }
    *unknown = size / known;
  }
  if (detail::checked_size("reshape", shape) != size) {
    wrong("a product of " + detail::text(size));
  }
  return detail::record(detail::make<detail::Reshape<T>>(std::move(shape)), std::move(x));
}

template <class T>
Variable<T> flatten(Variable<T> x) {
  const std::int64_t size = detail::size_of(detail::extents("flatten", x));
  return reshape(std::move(x), size);
}

template <class T>
Variable<T> transpose(Variable<T> x, const Axes& axes) {
  const std::size_t rank = detail::extents("transpose", x).size();
  Extents order = detail::checked_axes("transpose", axes, rank);
  if (axes.empty()) std::reverse(order.begin(), order.end());
  if (order.size() != rank) {
    detail::fail<ShapeError>("transpose", "not a permutation", detail::text(axes.values()),
                             "each of the " + detail::text(rank) + " axes once");
  }
  return detail::record(detail::make<detail::Transpose<T>>(std::move(order)), std::move(x));
}

template <class T>
Variable<T> swapaxes(Variable<T> x, std::int64_t i, std::int64_t j) {
  const std::size_t rank = detail::extents("swapaxes", x).size();
  Extents order = detail::checked_axes("swapaxes", {}, rank);
  std::swap(order[detail::checked_axis("swapaxes", i, rank)],
            order[detail::checked_axis("swapaxes", j, rank)]);
  return detail::record(detail::make<detail::Transpose<T>>(std::move(order)), std::move(x));
}

template <class T>
Variable<T> squeeze(Variable<T> x, const Axes& axes) {
  const Extents& from = detail::extents("squeeze", x);
  Extents dropped;
  for (std::int64_t axis : detail::checked_axes("squeeze", axes, from.size())) {
    const std::int64_t extent = from[static_cast<std::size_t>(axis)];
    if (extent == 1) {
      dropped.push_back(axis);
    } else if (!axes.empty()) {
      detail::fail<ShapeError>("squeeze", "axis is not of extent 1",
                               "axis " + detail::text(axis) + " of shape " + detail::text(from),
                               "an extent of 1");
    }
  }
  return reshape(std::move(x), Dims(detail::drop_axes(from, dropped)));
}

template <class T>
Variable<T> unsqueeze(Variable<T> x, std::int64_t axis) {
  Extents shape = detail::extents("unsqueeze", x);
  shape.insert(detail::checked_axis("unsqueeze", axis, shape.size() + 1), 1);
  return reshape(std::move(x), Dims(shape));
}

template <class T>
Variable<T> slice(Variable<T> x, std::int64_t axis, std::int64_t start, std::int64_t stop,
                  std::int64_t step) {
  const Extents& from = detail::extents("slice", x);
  const std::size_t i = detail::checked_axis("slice", axis, from.size());
  const detail::Range range = detail::checked_range(i, from[i], start, stop, step);
  return detail::record(detail::make<detail::Slice<T>>(range), std::move(x));
}

template <class T>
Variable<T> flip(Variable<T> x, const Axes& axes) {
  const Extents reversed = detail::checked_axes("flip", axes, detail::extents("flip", x).size());
  if (reversed.empty()) return reshape(std::move(x), Dims());
  for (std::int64_t axis : reversed) {
    x = slice(std::move(x), axis, -1, end, -1);
  }
  return x;
}

template <class T>
std::vector<Variable<T>> split(Variable<T> x, const Sections& sections, std::int64_t axis) {
  const Extents& shape = detail::extents("split", x);
  const std::int64_t extent = shape[detail::checked_axis("split", axis, shape.size())];
  std::vector<Variable<T>> parts;
  if (sections.single()) {
    const std::int64_t n = sections[0];
    // Any number divides an axis without elements; it must only be one that can be counted to.
    if (n <= 0 || extent % n != 0 || n > std::max<std::int64_t>(extent, 65535)) {
      detail::fail<ShapeError>(
          "split", "no such division",
          detail::text(extent) + " elements into " + detail::text(n) + " parts",
          "a positive number that divides the axis");
    }
    for (std::int64_t i = 0; i < n; ++i) {
      parts.push_back(slice(x, axis, i * (extent / n), (i + 1) * (extent / n)));
    }
    return parts;
  }
  std::int64_t start = 0;
  for (std::int64_t cut : sections.values()) {
    parts.push_back(slice(x, axis, start, cut));
    start = cut;
  }
  parts.push_back(slice(x, axis, start, end));
  return parts;
}

#define XGRAD_INSTANTIATE(T)                                                                       \
  template Variable<T> reshape(Variable<T>, const Dims&);                                          \
  template Variable<T> flatten(Variable<T>);                                                       \
  template Variable<T> transpose(Variable<T>, const Axes&);                                        \
  template Variable<T> swapaxes(Variable<T>, std::int64_t, std::int64_t);                          \
  template Variable<T> squeeze(Variable<T>, const Axes&);                                          \
  template Variable<T> unsqueeze(Variable<T>, std::int64_t);                                       \
  template Variable<T> slice(Variable<T>, std::int64_t, std::int64_t, std::int64_t, std::int64_t); \
  template Variable<T> flip(Variable<T>, const Axes&);                                             \
  template std::vector<Variable<T>> split(Variable<T>, const Sections&, std::int64_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
