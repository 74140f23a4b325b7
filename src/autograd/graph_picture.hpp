#ifndef XGRAD_AUTOGRAD_GRAPH_PICTURE_HPP
#define XGRAD_AUTOGRAD_GRAPH_PICTURE_HPP

#include <string>

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// The graph that made x, in Graphviz's language: inputs on top, x at the bottom.
///
/// A box per operation with the shape of its result; leaves in green with their names, shapes and,
/// after backward, the 2-norms of their gradients; in grey the inputs that need no gradient. The
/// operations of one `multi_head_attention` share a frame. Beyond the 400 nodes next to x the
/// picture is cut, and says so. Throws GraphError if x is undefined.
template <class T>
XGRAD_API std::string graph_dot(const Variable<T>& x);

/// The same picture as an `<svg>` element, readable on light and dark pages: drawn by Graphviz's
/// `dot` if it is installed, else the text of `graph_text`.
template <class T>
XGRAD_API std::string graph_svg(const Variable<T>& x);

/// The same graph as a tree of text, x on top:
///
///     sum () <- mul (2,)
///     ├─ a (2,) leaf, |grad| 5
///     └─ exp (2,) <- b (2,) leaf
///
/// `#1` marks a result that is used more than once; it is written out the first time.
template <class T>
XGRAD_API std::string graph_text(const Variable<T>& x);

}  // namespace xg

#endif
