#include <xgrad/ops/join.hpp>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/axes.hpp>
#include <xgrad/ops/loops.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace detail {
namespace {

template <class T>
class Concat final : public Primitive<T> {
 public:
  using value_type = T;
  explicit Concat(std::size_t axis) : axis_(axis) {}
  const char* name() const noexcept override { return "concat"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Extents shape = in[0].shape();
    for (std::size_t i = 1; i < in.size(); ++i) shape[axis_] += in[i].extent(axis_);
    (void)checked_size(name(), shape);
    Array<T> out(std::move(shape));
    T* origin = out.data();
    for (std::size_t i = 0; i < in.size(); ++i) {
      Array<T> place(out, origin, in[i].shape(), out.strides());
      map(
          place, [](T x) { return x; }, in[i]);
      origin += in[i].extent(axis_) * out.stride(axis_);
    }
    return out;
  }

  void backward(Pullback<T>& p) const override {
    std::int64_t start = 0;
    for (std::size_t i = 0; i < p.inputs(); ++i) {
      const std::int64_t stop = start + p.shape(i)[axis_];
      if (p.needs(i)) {
        p.give(i, slice(p.grad(), static_cast<std::int64_t>(axis_), start, stop));
      }
      start = stop;
    }
  }

 private:
  std::size_t axis_;
};

template <class T>
Extents first_shape(const char* op, const std::vector<Variable<T>>& parts) {
  if (parts.empty()) fail<ArgumentError>(op, "nothing to join", "no parts", "at least one");
  return extents(op, parts[0]);
}

}  // namespace
}  // namespace detail

template <class T>
Variable<T> concat(std::vector<Variable<T>> parts, std::int64_t axis) {
  const Extents first = detail::first_shape("concat", parts);
  const std::size_t i = detail::checked_axis("concat", axis, first.size());
  for (const auto& part : parts) {
    Extents shape = detail::extents("concat", part);
    if (shape.size() == first.size()) shape[i] = first[i];
    if (shape != first) {
      detail::fail<ShapeError>("concat", "shapes differ beside axis " + detail::text(i),
                               detail::text(detail::extents("concat", part)),
                               detail::text(first) + " up to that axis");
    }
  }
  return detail::record(detail::make<detail::Concat<T>>(i), parts.data(), parts.size());
}

template <class T>
Variable<T> stack(std::vector<Variable<T>> parts, std::int64_t axis) {
  const Extents first = detail::first_shape("stack", parts);
  const auto i = static_cast<std::int64_t>(detail::checked_axis("stack", axis, first.size() + 1));
  for (auto& part : parts) {
    if (detail::extents("stack", part) != first) {
      detail::fail<ShapeError>("stack", "shapes differ",
                               detail::text(detail::extents("stack", part)), detail::text(first));
    }
    part = unsqueeze(std::move(part), i);
  }
  return concat(std::move(parts), i);
}

#define XGRAD_INSTANTIATE(T)                                           \
  template Variable<T> concat(std::vector<Variable<T>>, std::int64_t); \
  template Variable<T> stack(std::vector<Variable<T>>, std::int64_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
