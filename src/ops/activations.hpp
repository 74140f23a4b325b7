#ifndef XGRAD_OPS_ACTIVATIONS_HPP
#define XGRAD_OPS_ACTIVATIONS_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// y = 1 / (1 + e^-x), elementwise; between 0 and 1, and accurate in both tails.
/// Gradient: g sigmoid(x) sigmoid(-x).
template <class T>
XGRAD_API Variable<T> sigmoid(Variable<T> x);
/// y = max(x, 0), elementwise. Gradient: g where x > 0, exactly 0 elsewhere, at 0 too.
template <class T>
XGRAD_API Variable<T> relu(Variable<T> x);
/// y = 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x. Gradient: 2 g e^(-x^2) / sqrt(pi).
template <class T>
XGRAD_API Variable<T> erf(Variable<T> x);
/// y = x P(x), elementwise, where P(x) = erfc(-x / sqrt 2) / 2 is the normal distribution function;
/// accurate in the far left tail, where 1 + erf would cancel.
/// Gradient: g (P(x) + x p(x)), p(x) = e^(-x^2 / 2) / sqrt(2 pi).
/// Hendrycks and Gimpel, Gaussian Error Linear Units (2016).
template <class T>
XGRAD_API Variable<T> gelu(Variable<T> x);

}  // namespace xg

#endif
