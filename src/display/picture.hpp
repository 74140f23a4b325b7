#ifndef XGRAD_DISPLAY_PICTURE_HPP
#define XGRAD_DISPLAY_PICTURE_HPP

#include <iosfwd>
#include <string>
#include <utility>

#include <xgrad/autograd/gradcheck.hpp>
#include <xgrad/autograd/graph_picture.hpp>
#include <xgrad/autograd/variable.hpp>
#include <xgrad/mha/mask.hpp>

namespace xg {

/// Something to look at, in every form there is; a reader takes the richest it can draw. Each form
/// but `text` may be empty.
struct Picture {
  std::string text;       ///< text/plain
  std::string html;       ///< text/html
  std::string svg;        ///< image/svg+xml
  std::string vega_lite;  ///< application/vnd.vegalite.v5+json
};

/// The text form.
XGRAD_API std::ostream& operator<<(std::ostream& out, const Picture& picture);

/// A table for each matrix, its cells tinted by sign and size, with shape and operation above and
/// the gradient, if there is one, beside it; big arrays are shortened.
template <class T>
XGRAD_API Picture picture(const Variable<T>& x);
/// A grid for each matrix: filled cells are visible.
XGRAD_API Picture picture(const Mask& mask);
/// The verdict, and a line for each wrong derivative.
XGRAD_API Picture picture(const GradcheckReport& report);
/// The graph that made x, as `graph_svg` and `graph_text` draw it. Throws GraphError if x is
/// undefined.
template <class T>
XGRAD_API Picture graph(const Variable<T>& x, Fold fold = Fold::automatic);

/// Shows a picture in a C++ notebook; elsewhere prints its text form as a line of its own.
XGRAD_API void show(const Picture& picture);
/// The same for everything that has a `picture(x)`, found by argument-dependent lookup.
///
///     xg::show(x);
///     xg::show(xg::graph(loss));
template <class X, class = decltype(picture(std::declval<const X&>()))>
void show(const X& x) {
  show(picture(x));
}

}  // namespace xg

#endif
