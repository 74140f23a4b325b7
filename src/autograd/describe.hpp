#ifndef XGRAD_AUTOGRAD_DESCRIBE_HPP
#define XGRAD_AUTOGRAD_DESCRIBE_HPP

// Private: what a display says of a value.

#include <string>

#include <xgrad/autograd/variable.hpp>
#include <xgrad/mha/mask.hpp>

namespace xg::detail {

/// "Variable<double>" or "Mask".
template <class T>
std::string type_name(const Variable<T>& x);
std::string type_name(const Mask& mask);

/// " shape (2, 2), from matmul" of a defined one.
template <class T>
std::string facts(const Variable<T>& x);
std::string facts(const Mask& mask);

/// What `<<` prints.
template <class T>
std::string display_text(const Variable<T>& x);
std::string display_text(const Mask& mask);

}  // namespace xg::detail

#endif
