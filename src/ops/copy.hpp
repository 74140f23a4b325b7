#ifndef XGRAD_OPS_COPY_HPP
#define XGRAD_OPS_COPY_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg::detail {

/// A contiguous copy in memory of its own; the gradient is the cotangent. `Variable::clone`.
template <class T>
Variable<T> copy(Variable<T> x);

}  // namespace xg::detail

#endif
