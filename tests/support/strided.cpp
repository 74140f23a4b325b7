#include "strided.hpp"

#include <limits>

namespace test {
namespace {

template <class T>
xg::Variable<T> gap(const xg::Shape& shape) {
  return xg::full<T>(shape, std::numeric_limits<T>::quiet_NaN());
}

template <class T>
xg::Variable<T> stepped(xg::Variable<T> x) {
  const auto rank = static_cast<std::int64_t>(x.dim());
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    xg::Shape doubled = x.shape();
    doubled[static_cast<std::size_t>(axis)] *= 2;
    x = reshape(xg::stack({x, gap<T>(x.shape())}, axis + 1), doubled);
  }
  for (std::int64_t axis = 0; axis < rank; ++axis) x = slice(x, axis, 0, xg::end, 2);
  return x;
}

template <class T>
xg::Variable<T> inside(xg::Variable<T> x) {
  if (x.dim() == 0) return reshape(inside(reshape(x, 1)), {});
  const auto rank = static_cast<std::int64_t>(x.dim());
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    xg::Shape border = x.shape();
    border[static_cast<std::size_t>(axis)] = 1;
    x = xg::concat({gap<T>(border), x, gap<T>(border)}, axis);
  }
  for (std::int64_t axis = 0; axis < rank; ++axis) x = slice(x, axis, 1, -1);
  return x;
}

template <class T>
xg::Variable<T> repeated(xg::Variable<T> x) {
  const xg::Shape shape = x.shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] > 1) {
      return broadcast_to(slice(x, static_cast<std::int64_t>(axis), 0, 1), shape);
    }
  }
  return x;
}

}  // namespace

std::string name(Layout layout) {
  switch (layout) {
    case Layout::contiguous:
      return "contiguous";
    case Layout::transposed:
      return "transposed";
    case Layout::stepped:
      return "stepped";
    case Layout::reversed:
      return "reversed";
    case Layout::broadcast:
      return "broadcast";
    case Layout::offset:
      return "offset";
  }
  return {};
}

template <class T>
xg::Variable<T> laid_out(const xg::Variable<T>& x, Layout layout) {
  const xg::NoGrad guard;
  const xg::Variable<T> values = x.detach();
  switch (layout) {
    case Layout::contiguous:
      return values.clone();
    case Layout::transposed:
      return transpose(transpose(values).clone()).detach();
    case Layout::stepped:
      return stepped(values).detach();
    case Layout::reversed:
      return flip(flip(values).clone()).detach();
    case Layout::broadcast:
      return repeated(values).detach();
    case Layout::offset:
      return inside(values).detach();
  }
  return {};
}

template <class T>
bool lies(const xg::Variable<T>& x, Layout layout) {
  switch (layout) {
    case Layout::contiguous:
      return x.is_contiguous();
    case Layout::offset:
      return x.size() > 0;
    default:
      return !x.is_contiguous();
  }
}

template xg::Variable<float> laid_out(const xg::Variable<float>&, Layout);
template xg::Variable<double> laid_out(const xg::Variable<double>&, Layout);
template bool lies(const xg::Variable<float>&, Layout);
template bool lies(const xg::Variable<double>&, Layout);

}  // namespace test
