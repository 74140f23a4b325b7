#ifndef XGRAD_DISPLAY_JSON_TEXT_HPP
#define XGRAD_DISPLAY_JSON_TEXT_HPP

// Private: pieces of JSON.

#include <string>
#include <string_view>
#include <vector>

namespace xg::detail {

/// A quoted string; it holds no `<`, so that it may stand in a script of an HTML page.
std::string json_string(std::string_view text);
/// At most six digits; null for a number that is not finite.
std::string json_number(double x);

/// A Vega expression that gives a number of an axis or a legend its label.
std::string label_expression(const std::vector<std::string>& labels);

}  // namespace xg::detail

#endif
