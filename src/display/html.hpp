#ifndef XGRAD_DISPLAY_HTML_HPP
#define XGRAD_DISPLAY_HTML_HPP

// Private: pieces of HTML that look right on light and dark pages.

#include <string>

namespace xg::detail {

/// "passed" or "failed" after `what`, and the lines of a report below.
std::string verdict_html(bool passed, const std::string& what, const std::string& lines);

}  // namespace xg::detail

#endif
