#ifndef XGRAD_OPS_EXPONENTIAL_HPP
#define XGRAD_OPS_EXPONENTIAL_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// y = e^x, elementwise. Gradient: g y.
template <class T>
XGRAD_API Variable<T> exp(Variable<T> x);
/// y = ln x, elementwise; -inf at 0, NaN below. Gradient: g / x, inf at 0.
template <class T>
XGRAD_API Variable<T> log(Variable<T> x);
/// y = x^(1/2), elementwise; NaN below 0. Gradient: g / (2 y), inf at 0.
template <class T>
XGRAD_API Variable<T> sqrt(Variable<T> x);

}  // namespace xg

#endif
