#include <xgrad/ops/broadcast.hpp>

#include <algorithm>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/loops.hpp>
#include <xgrad/ops/reduce.hpp>

namespace xg {
namespace detail {

bool broadcasts_to(const Extents& from, const Extents& to) noexcept {
  if (from.size() > to.size()) return false;
  const std::size_t offset = to.size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] != 1 && from[i] != to[offset + i]) return false;
  }
  return true;
}

Extents broadcast_shape(const char* op, const Extents& a, const Extents& b) {
  if (a == b) return a;
  const Extents& longer = a.size() >= b.size() ? a : b;
  const Extents& shorter = a.size() >= b.size() ? b : a;
  Extents shape = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    std::int64_t& extent = shape[offset + i];
    if (extent == 1) {
      extent = shorter[i];
    } else if (shorter[i] != 1 && shorter[i] != extent) {
      fail<ShapeError>(op, "shapes do not broadcast", text(a) + " and " + text(b),
                       "extents that are equal or 1, aligned at the last axis");
    }
  }
  (void)checked_size(op, shape);
  return shape;
}

namespace {

template <class T>
class BroadcastTo final : public Primitive<T> {
 public:
  using value_type = T;
  explicit BroadcastTo(const Extents& shape) : shape_(shape) {}
  const char* name() const noexcept override { return "broadcast_to"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> x = in[0];
    return Array<T>(x, x.data(), shape_, broadcast_strides(x.shape(), x.strides(), shape_));
  }
  void backward(Pullback<T>& p) const override { p.give(0, sum_to(p.take_grad(), p.shape(0))); }

 private:
  Extents shape_;
};

}  // namespace
}  // namespace detail

template <class T>
Variable<T> broadcast_to(Variable<T> x, const Dims& shape) {
  const Extents& from = detail::extents("broadcast_to", x);
  (void)detail::checked_size("broadcast_to", shape.values());
  if (!detail::broadcasts_to(from, shape.values())) {
    detail::fail<ShapeError>("broadcast_to", "shape does not broadcast", detail::text(from),
                             "one that broadcasts to " + detail::text(shape.values()));
  }
  return detail::record(detail::make<detail::BroadcastTo<T>>(shape.values()), std::move(x));
}

template Variable<float> broadcast_to(Variable<float>, const Dims&);
template Variable<double> broadcast_to(Variable<double>, const Dims&);

}  // namespace xg
