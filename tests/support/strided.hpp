#ifndef XGRAD_TESTS_SUPPORT_STRIDED_HPP
#define XGRAD_TESTS_SUPPORT_STRIDED_HPP

#include <array>
#include <string>

#include <xgrad/xgrad.hpp>

namespace test {

/// How a variable lies in memory.
enum class Layout {
  contiguous,  ///< row-major, in memory of its own
  transposed,  ///< axes in reverse order
  stepped,     ///< every second element of a bigger array, along every axis
  reversed,    ///< negative strides along every axis
  broadcast,   ///< stride 0 along one axis
  offset       ///< the inside of a bigger array: row-major with gaps
};

constexpr std::array<Layout, 6> kLayouts{Layout::contiguous, Layout::transposed, Layout::stepped,
                                         Layout::reversed,   Layout::broadcast,  Layout::offset};

std::string name(Layout layout);

/// A leaf with x's shape and values that lies so in memory, outside any graph. Memory between its
/// elements is NaN, so that a wrong stride shows. `broadcast` alone changes the values: along its
/// first axis of more than one element all are the first.
///
/// Shapes that have no such layout (0-D, transposed) come back contiguous; see `lies`.
template <class T>
xg::Variable<T> laid_out(const xg::Variable<T>& x, Layout layout);

/// Does a variable from `laid_out` really have that layout?
template <class T>
bool lies(const xg::Variable<T>& x, Layout layout);

}  // namespace test

#endif
