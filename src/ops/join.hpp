#ifndef XGRAD_OPS_JOIN_HPP
#define XGRAD_OPS_JOIN_HPP

#include <initializer_list>
#include <vector>

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// The parts one after another along an axis. Gradient: the matching slice of the cotangent.
/// Throws ArgumentError for no parts, ShapeError unless all other extents agree.
template <class T>
XGRAD_API Variable<T> concat(std::vector<Variable<T>> parts, std::int64_t axis = 0);
template <class T>
Variable<T> concat(std::initializer_list<Variable<T>> parts, std::int64_t axis = 0) {
  return concat(std::vector<Variable<T>>(parts), axis);
}

/// The parts, all of one shape, along a new axis.
template <class T>
XGRAD_API Variable<T> stack(std::vector<Variable<T>> parts, std::int64_t axis = 0);
template <class T>
Variable<T> stack(std::initializer_list<Variable<T>> parts, std::int64_t axis = 0) {
  return stack(std::vector<Variable<T>>(parts), axis);
}

}  // namespace xg

#endif
