#ifndef XGRAD_AUTOGRAD_ELEMENT_HPP
#define XGRAD_AUTOGRAD_ELEMENT_HPP

// Private: single elements and nested lists, for Variable, Mask and Indices alike.

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/nested.hpp>

namespace xg::detail {

/// Throws ShapeError for a ragged list.
template <class T>
Array<T> array_from_list(const char* op, const Nested<T>& values);

/// Where the element lies; negative indices count from the end. Throws ShapeError.
std::int64_t element_offset(const char* op, const Extents& shape, const Extents& strides,
                            const Dims& index);

}  // namespace xg::detail

#endif
