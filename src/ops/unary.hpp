#ifndef XGRAD_OPS_UNARY_HPP
#define XGRAD_OPS_UNARY_HPP

// Private: the forward that elementwise operations of one argument share.

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg::detail {

/// y[i] = f(x[i]) in fresh memory; f is a function of elements or a kernel.
template <class T, class F>
Array<T> unary(const Inputs<T>& in, F f) {
  Array<T> out{Extents(in[0].shape())};
  map(out, f, in[0]);
  return out;
}

/// The same, over memory that was given away; for operations whose rule does not read x.
template <class T, class F>
Array<T> unary_reusing(const Inputs<T>& in, F f) {
  Array<T> out = in.reuse(0);
  map(out, f, in[0]);
  return out;
}

}  // namespace xg::detail

#endif
