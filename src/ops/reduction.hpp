#ifndef XGRAD_OPS_REDUCTION_HPP
#define XGRAD_OPS_REDUCTION_HPP

// Private: what the operations that reduce axes share.

#include <utility>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/axes.hpp>
#include <xgrad/ops/views.hpp>

namespace xg::detail {

/// What a reduction makes of a shape.
struct ReducedShape {
  Extents kept;    // 1 along the reduced axes
  Extents result;  // the same, or without these axes
};

inline ReducedShape reduced_shape(const char* op, const Extents& from, const Axes& axes,
                                  bool keep_dims) {
  const Extents reduced = checked_axes(op, axes, from.size());
  Extents kept = keep_axes(from, reduced);
  Extents result = keep_dims ? kept : drop_axes(from, reduced);
  return {std::move(kept), std::move(result)};
}

/// How many elements of an array of shape `from` go into one of `kept`.
inline std::int64_t reduced_count(const Extents& from, const Extents& kept) {
  std::int64_t n = 1;
  for (std::size_t i = 0; i < from.size(); ++i) n *= kept[i] == 1 ? from[i] : 1;
  return n;
}

template <class T>
class Reduction : public Primitive<T> {
 public:
  using value_type = T;
  explicit Reduction(ReducedShape shape) : shape_(std::move(shape)) {}

 protected:
  const Extents& kept() const noexcept { return shape_.kept; }
  const Extents& result() const noexcept { return shape_.result; }
  /// A result or its cotangent in the shape that broadcasts against the input.
  Variable<T> keep(Variable<T> y) const { return reshape(std::move(y), Dims(kept())); }

 private:
  ReducedShape shape_;
};

}  // namespace xg::detail

#endif
