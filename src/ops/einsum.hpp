#ifndef XGRAD_OPS_EINSUM_HPP
#define XGRAD_OPS_EINSUM_HPP

#include <initializer_list>
#include <string>
#include <vector>

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// Einstein's summation, NumPy's einsum: `einsum("bqhd,bkhd->bhqk", {q, k})`.
///
/// Each operand's axes are named by letters. An axis whose letter the output lacks is summed over;
/// a letter that an operand repeats takes its diagonal; `...` stands for any number of axes, which
/// broadcast. Without `->` the output has the `...` axes, then, in alphabetical order, the letters
/// that occur once. Spaces are ignored. Axes of one letter have one extent, or 1, which broadcasts.
///
/// Operands are joined from left to right. A sum over a shared axis is a matrix product on the
/// operands as they lie, so no array larger than an operand, a partial result or the output is
/// made. The gradients are those of the operations that this is made of. Throws ArgumentError for
/// an equation that is wrong, with the position in it, counted from 0, or does not fit the number
/// of operands; ShapeError if the operands do not fit the equation.
template <class T>
XGRAD_API Variable<T> einsum(const std::string& equation, std::vector<Variable<T>> operands);
template <class T>
Variable<T> einsum(const std::string& equation, std::initializer_list<Variable<T>> operands) {
  return einsum(equation, std::vector<Variable<T>>(operands));
}

}  // namespace xg

#endif
