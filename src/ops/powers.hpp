#ifndef XGRAD_OPS_POWERS_HPP
#define XGRAD_OPS_POWERS_HPP

#include <xgrad/ops/arithmetic.hpp>

namespace xg {

/// y = x^2, elementwise. Gradient: 2 g x.
template <class T>
XGRAD_API Variable<T> square(Variable<T> x);

/// y = a^p, broadcasting; a^0 = 1 even at a = 0; NaN where a < 0 and p is not an integer.
/// Gradients: da = g p a^(p-1), exactly 0 where p = 0; dp = g y ln a, 0 where a = 0 and p >= 0, and
/// NaN where a < 0.
/// Throws ShapeError if the shapes do not broadcast.
template <class T>
XGRAD_API Variable<T> pow(Variable<T> a, Variable<T> p);
template <class T, class S, detail::if_number<S> = 0>
Variable<T> pow(Variable<T> a, S p) {
  return pow(std::move(a), Variable<T>(p));
}
template <class T, class S, detail::if_number<S> = 0>
Variable<T> pow(S a, Variable<T> p) {
  return pow(Variable<T>(a), std::move(p));
}

}  // namespace xg

#endif
