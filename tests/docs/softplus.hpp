#ifndef XGRAD_OPS_SOFTPLUS_HPP
#define XGRAD_OPS_SOFTPLUS_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// y = ln(1 + e^x), elementwise: a smooth relu. Gradient: g / (1 + e^-x).
template <class T>
XGRAD_API Variable<T> softplus(Variable<T> x);

}  // namespace xg

#endif
