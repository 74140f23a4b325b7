#ifndef XGRAD_OPS_LOSSES_HPP
#define XGRAD_OPS_LOSSES_HPP

#include <xgrad/autograd/variable.hpp>
#include <xgrad/ops/indices.hpp>

namespace xg {

/// The mean over all rows of -log_softmax(row)[target], as stable as log_softmax.
///
/// Shapes: logits [..., C], targets [...] with values 0 to C - 1 -> 0-D. The mean over no rows is
/// NaN. Gradient: (softmax(row) - onehot(target)) g / rows. Throws ShapeError if the shapes do not
/// fit or a target is not a class.
template <class T>
XGRAD_API Variable<T> cross_entropy(Variable<T> logits, const Indices& targets);

/// The mean of (a - b)^2 over all elements; NaN for none. a and b have one shape: a loss that
/// broadcast would hide a forgotten axis.
///
/// Gradients: da = 2 g (a - b) / n, db = -da.
/// Throws ShapeError if the shapes differ.
template <class T>
XGRAD_API Variable<T> mse_loss(Variable<T> a, Variable<T> b);

}  // namespace xg

#endif
