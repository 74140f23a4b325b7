#ifndef XGRAD_OPS_DROPOUT_HPP
#define XGRAD_OPS_DROPOUT_HPP

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// Inverted dropout (Srivastava et al. 2014): y = x / (1 - p) where an element is kept, else
/// exactly 0, whatever x is there; each is dropped with probability p. The expected value of y is
/// x.
///
/// The same shape, p and seed drop the same elements on every machine.
/// Gradient: g / (1 - p) where the element was kept, else 0.
/// Throws ArgumentError unless 0 <= p < 1.
template <class T>
XGRAD_API Variable<T> dropout(Variable<T> x, double p, std::uint64_t seed);

}  // namespace xg

#endif
