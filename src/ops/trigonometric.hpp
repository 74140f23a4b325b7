#ifndef XGRAD_OPS_TRIGONOMETRIC_HPP
#define XGRAD_OPS_TRIGONOMETRIC_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// y = sin x, elementwise, x in radians. Gradient: g cos x.
template <class T>
XGRAD_API Variable<T> sin(Variable<T> x);
/// y = cos x, elementwise, x in radians. Gradient: -g sin x.
template <class T>
XGRAD_API Variable<T> cos(Variable<T> x);
/// y = tanh x, elementwise; between -1 and 1. Gradient: g (1 - y^2).
template <class T>
XGRAD_API Variable<T> tanh(Variable<T> x);

}  // namespace xg

#endif
