#ifndef XGRAD_AUTOGRAD_NUMBER_TEXT_HPP
#define XGRAD_AUTOGRAD_NUMBER_TEXT_HPP

// Private: numbers and arrays as text, in NumPy's form, the same in every locale.

#include <string>

#include <xgrad/autograd/array.hpp>

namespace xg::detail {

/// As NumPy's str() of the array, but that a 0-D float has 8 decimals at most.
template <class T>
std::string array_text(const Array<T>& values);

/// At most four significant digits: "0.1235", "1.2e-07", "nan".
std::string short_number(double x);

}  // namespace xg::detail

#endif
