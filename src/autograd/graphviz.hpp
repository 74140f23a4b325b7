#ifndef XGRAD_AUTOGRAD_GRAPHVIZ_HPP
#define XGRAD_AUTOGRAD_GRAPHVIZ_HPP

// Private: runs Graphviz.

#include <string>

namespace xg::detail {

/// The `<svg>` element that `dot -Tsvg` draws; empty if Graphviz is not installed, fails or takes
/// longer than ten seconds.
std::string run_dot(const std::string& dot);

}  // namespace xg::detail

#endif
