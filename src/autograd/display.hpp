#ifndef XGRAD_AUTOGRAD_DISPLAY_HPP
#define XGRAD_AUTOGRAD_DISPLAY_HPP

#include <iosfwd>

#include <xgrad/autograd/variable.hpp>
#include <xgrad/mha/mask.hpp>

namespace xg {

/// Values as NumPy prints them, then shape, and the operation or what kind of leaf it is:
///
///     [[1. 2.]
///      [3. 4.]] Variable<double> shape (2, 2), from matmul
///
/// More than 1000 elements are shortened with `...`. The text does not depend on the locale or the
/// stream's number format. An undefined handle prints as such.
template <class T>
XGRAD_API std::ostream& operator<<(std::ostream& out, const Variable<T>& x);
XGRAD_API std::ostream& operator<<(std::ostream& out, const Mask& mask);

}  // namespace xg

#endif
