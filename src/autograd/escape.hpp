#ifndef XGRAD_AUTOGRAD_ESCAPE_HPP
#define XGRAD_AUTOGRAD_ESCAPE_HPP

// Private: names that users chose, made safe for text, HTML and SVG.

#include <string>
#include <string_view>

namespace xg::detail {

bool is_utf8(std::string_view text) noexcept;

/// One line of valid UTF-8: line breaks and tabs become spaces; other control characters and bytes
/// that are not UTF-8 become U+FFFD.
std::string printable(std::string_view text);

/// `printable`, with & < > " ' as entities.
std::string escape_xml(std::string_view text);

}  // namespace xg::detail

#endif
