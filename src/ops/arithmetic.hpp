#ifndef XGRAD_OPS_ARITHMETIC_HPP
#define XGRAD_OPS_ARITHMETIC_HPP

#include <type_traits>

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// y = a + b, broadcasting. Gradients: da = g, db = g, each summed to its input's shape.
/// Throws ShapeError if the shapes do not broadcast.
template <class T>
XGRAD_API Variable<T> add(Variable<T> a, Variable<T> b);
/// y = a - b, broadcasting. Gradients: da = g, db = -g.
template <class T>
XGRAD_API Variable<T> sub(Variable<T> a, Variable<T> b);
/// y = a b, broadcasting. Gradients: da = g b, db = g a.
template <class T>
XGRAD_API Variable<T> mul(Variable<T> a, Variable<T> b);
/// y = a / b, broadcasting. Gradients: da = g / b, db = -g a / b^2.
template <class T>
XGRAD_API Variable<T> div(Variable<T> a, Variable<T> b);
/// y = -x. Gradient: -g.
template <class T>
XGRAD_API Variable<T> neg(Variable<T> x);

namespace detail {
template <class S>
using if_number = std::enable_if_t<is_number<S>, int>;
}

template <class T>
Variable<T> operator+(Variable<T> a, Variable<T> b) {
  return add(std::move(a), std::move(b));
}
template <class T>
Variable<T> operator-(Variable<T> a, Variable<T> b) {
  return sub(std::move(a), std::move(b));
}
template <class T>
Variable<T> operator*(Variable<T> a, Variable<T> b) {
  return mul(std::move(a), std::move(b));
}
template <class T>
Variable<T> operator/(Variable<T> a, Variable<T> b) {
  return div(std::move(a), std::move(b));
}
template <class T>
Variable<T> operator-(Variable<T> x) {
  return neg(std::move(x));
}

// A scalar of any arithmetic type becomes a T.
template <class T, class S, detail::if_number<S> = 0>
Variable<T> operator+(Variable<T> a, S b) {
  return add(std::move(a), Variable<T>(b));
}
template <class T, class S, detail::if_number<S> = 0>
Variable<T> operator+(S a, Variable<T> b) {
  return add(Variable<T>(a), std::move(b));
}
template <class T, class S, detail::if_number<S> = 0>
Variable<T> operator-(Variable<T> a, S b) {
  return sub(std::move(a), Variable<T>(b));
}
template <class T, class S, detail::if_number<S> = 0>
Variable<T> operator-(S a, Variable<T> b) {
  return sub(Variable<T>(a), std::move(b));
}
template <class T, class S, detail::if_number<S> = 0>
Variable<T> operator*(Variable<T> a, S b) {
  return mul(std::move(a), Variable<T>(b));
}
template <class T, class S, detail::if_number<S> = 0>
Variable<T> operator*(S a, Variable<T> b) {
  return mul(Variable<T>(a), std::move(b));
}
template <class T, class S, detail::if_number<S> = 0>
Variable<T> operator/(Variable<T> a, S b) {
  return div(std::move(a), Variable<T>(b));
}
template <class T, class S, detail::if_number<S> = 0>
Variable<T> operator/(S a, Variable<T> b) {
  return div(Variable<T>(a), std::move(b));
}

namespace detail {

/// The chain rule of elementwise operations: y = g d, but 0 wherever one of them is 0, even if
/// the other is NaN or inf, so that a branch not taken contributes nothing, in derivatives of any
/// order (S21). Its own derivatives are d and g.
template <class T>
Variable<T> chain(Variable<T> g, Variable<T> d);

}  // namespace detail
}  // namespace xg

#endif
