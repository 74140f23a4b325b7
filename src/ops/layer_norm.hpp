#ifndef XGRAD_OPS_LAYER_NORM_HPP
#define XGRAD_OPS_LAYER_NORM_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// Layer normalisation (Ba, Kiros and Hinton 2016) over the last axis:
///
///     y = n weight + bias,  n = (x - mean) r,  r = 1 / sqrt(var + eps)
///
/// with the population variance, computed in two passes. A constant row gives n = 0, exactly.
///
/// Shapes: x [..., D], weight and bias [D] -> [..., D].
/// Gradients, with h = g weight and means over the row:
/// dx = r (h - mean(h) - n mean(h n)), dweight = sum over the rows of g n, dbias = the same of g.
/// Throws ShapeError if the shapes do not fit, ArgumentError unless eps is positive and finite.
template <class T>
XGRAD_API Variable<T> layer_norm(Variable<T> x, Variable<T> weight, Variable<T> bias,
                                 double eps = 1e-5);

}  // namespace xg

#endif
