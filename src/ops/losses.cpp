#include <xgrad/ops/losses.hpp>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/reduce.hpp>
#include <xgrad/ops/softmax.hpp>
#include <xgrad/ops/take.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {

using detail::Array;
using detail::extents;
using detail::fail;
using detail::text;

template <class T>
Variable<T> cross_entropy(Variable<T> logits, const Indices& targets) {
  const char* op = "cross_entropy";
  const Extents& shape = extents(op, logits);
  const Array<std::int64_t>& classes = detail::array(targets);
  Extents rows = shape;
  if (!rows.empty()) rows.erase(rows.size() - 1);
  if (shape.empty() || classes.shape() != rows) {
    fail<ShapeError>(op, "shapes do not fit",
                     "logits " + text(shape) + " and targets " + text(classes.shape()),
                     "(..., C) and (...)");
  }
  // Where each row's target lies among all elements.
  std::vector<std::int64_t> places;
  places.reserve(static_cast<std::size_t>(classes.size()));
  for (std::int64_t i = 0; i < classes.size(); ++i) {
    const std::int64_t target = classes.data()[i];
    if (target < 0 || target >= shape.back()) {
      fail<ShapeError>(op, "target is not a class", text(target) + " for row " + text(i),
                       "0 to C - 1 with C = " + text(shape.back()));
    }
    places.push_back(i * shape.back() + target);
  }
  return -mean(take(flatten(log_softmax(std::move(logits))), places, 0));
}

template <class T>
Variable<T> mse_loss(Variable<T> a, Variable<T> b) {
  if (extents("mse_loss", a) != extents("mse_loss", b)) {
    fail<ShapeError>("mse_loss", "shapes differ",
                     text(extents("mse_loss", a)) + " and " + text(extents("mse_loss", b)),
                     "one shape");
  }
  const Variable<T> difference = std::move(a) - std::move(b);
  return mean(difference * difference);
}

#define XGRAD_INSTANTIATE(T)                                       \
  template Variable<T> cross_entropy(Variable<T>, const Indices&); \
  template Variable<T> mse_loss(Variable<T>, Variable<T>);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
