#ifndef XGRAD_AUTOGRAD_GRAPH_PICTURE_HPP
#define XGRAD_AUTOGRAD_GRAPH_PICTURE_HPP

#include <string>

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// How a picture of the graph draws each call of `multi_head_attention`.
enum class Fold {
  automatic,  ///< open in a graph of at most 40 nodes, else closed
  closed,     ///< as one box
  open        ///< with all of its operations, in a frame
};

/// The graph that made x, in Graphviz's language: inputs on top, x at the bottom.
///
/// A box per operation with the shape of its result; leaves in green with their names, shapes and,
/// after backward, the 2-norms of their gradients; in grey the inputs that need no gradient. A
/// closed `multi_head_attention` is one box with a double border, which tells the shapes of those
/// of its results that are used and the number of operations inside; each of its inputs has one
/// arrow to it, and if two results are used, each arrow from it has the shape of the one it
/// carries. To look inside, draw the picture with Fold::open. Any other operation that is composed
/// of others shows its parts: `mean` is a `sum` and a `div`. Beyond the 400 boxes next to x the
/// picture is cut, and says so. Throws GraphError if x is undefined.
template <class T>
XGRAD_API std::string graph_dot(const Variable<T>& x, Fold fold = Fold::automatic);

/// The same picture as an `<svg>` element, readable on light and dark pages: drawn by Graphviz's
/// `dot` if it is installed, else the text of `graph_text`.
template <class T>
XGRAD_API std::string graph_svg(const Variable<T>& x, Fold fold = Fold::automatic);

/// The same graph as a tree of text, x on top:
///
///     sum () <- mul (2,)
///     ├─ a (2,) leaf, |grad| 5
///     └─ exp (2,) <- b (2,) leaf
///
/// `#1` marks a result, or a leaf without a name, that is used more than once; it is written out
/// the first time. All used results of one closed `multi_head_attention` have the same mark.
template <class T>
XGRAD_API std::string graph_text(const Variable<T>& x, Fold fold = Fold::automatic);

}  // namespace xg

#endif
