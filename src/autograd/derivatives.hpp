#ifndef XGRAD_AUTOGRAD_DERIVATIVES_HPP
#define XGRAD_AUTOGRAD_DERIVATIVES_HPP

#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include <xgrad/autograd/variable.hpp>

namespace xg {

namespace detail {
template <class T>
using FunctionOfOne = std::function<Variable<T>(const Variable<T>&)>;
template <class T>
using FunctionOfMany = std::function<Variable<T>(const std::vector<Variable<T>>&)>;
}  // namespace detail

// Each calls f on leaves of its own that hold the given values: no `.grad()` changes, and the
// results stand outside the graph. An input on which f does not depend has derivative zero. Each
// throws ArgumentError for an empty function, and what f throws comes through.

/// J[i..., j...] = d f(x)[i...] / d x[j...]: one backward for each element of f(x).
///
/// Shapes: f maps [J...] to [I...] -> [I..., J...].
template <class T>
XGRAD_API Variable<T> jacobian(detail::same_t<detail::FunctionOfOne<T>> f, const Variable<T>& x);

/// H[i..., j...] = d^2 f(x) / (d x[i...] d x[j...]), by a backward through the backward.
///
/// Shapes: f maps [I...] to one element -> [I..., I...].
/// Throws ShapeError if f(x) has not exactly one element.
template <class T>
XGRAD_API Variable<T> hessian(detail::same_t<detail::FunctionOfOne<T>> f, const Variable<T>& x);

/// The product of a cotangent and the Jacobian, cotangent^T J, for each input: one backward.
///
/// Throws ShapeError unless the cotangent has the shape of f's result.
template <class T>
XGRAD_API std::vector<Variable<T>> vjp(detail::same_t<detail::FunctionOfMany<T>> f,
                                       const std::vector<Variable<T>>& inputs,
                                       const Variable<T>& cotangent);
template <class T>
std::vector<Variable<T>> vjp(detail::same_t<detail::FunctionOfMany<T>> f,
                             std::initializer_list<Variable<T>> inputs,
                             const Variable<T>& cotangent) {
  return vjp(std::move(f), std::vector<Variable<T>>(inputs), cotangent);
}

/// The product of the Jacobian and a tangent for each input, J t: how f(x) moves when x moves along
/// t. By double backward: cotangent^T J is linear in the cotangent, with derivative J t.
///
/// With a gradient as f, this is a Hessian-vector product.
/// Throws ArgumentError for the wrong number of tangents, ShapeError for one of the wrong shape.
template <class T>
XGRAD_API Variable<T> jvp(detail::same_t<detail::FunctionOfMany<T>> f,
                          const std::vector<Variable<T>>& inputs,
                          const std::vector<Variable<T>>& tangents);
template <class T>
Variable<T> jvp(detail::same_t<detail::FunctionOfMany<T>> f,
                std::initializer_list<Variable<T>> inputs,
                std::initializer_list<Variable<T>> tangents) {
  return jvp(std::move(f), std::vector<Variable<T>>(inputs), std::vector<Variable<T>>(tangents));
}

}  // namespace xg

#endif
