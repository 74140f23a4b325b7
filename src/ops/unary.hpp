#ifndef XGRAD_OPS_UNARY_HPP
#define XGRAD_OPS_UNARY_HPP

// Private: the forward that elementwise operations of one argument share.

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg::detail {

/// y[i] = f(x[i]), over the memory of x if that may be; f is a function of elements or a kernel.
template <class T, class F>
Array<T> unary(const Inputs<T>& in, F f) {
  Array<T> out = in.reuse(0);
  map(out, f, in[0]);
  return out;
}

}  // namespace xg::detail

#endif
