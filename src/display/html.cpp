#include <xgrad/display/html.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

#include <xgrad/autograd/escape.hpp>

namespace xg::detail {

namespace {

/// Where a page is too narrow for a line, it goes on below its own beginning.
std::string line_html(const std::string& line) {
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size()) + 2;
  const std::string width = std::to_string(indent) + "ch";
  const bool narrow = line.size() <= 80;
  return (narrow ? "<div>"
                 : "<div style=\"padding-left:" + width + ";text-indent:-" + width + "\">") +
         escape_xml(line) + "\n</div>";
}

}  // namespace

std::string verdict_html(bool passed, const std::string& what, const std::string& lines) {
  std::string out = "<div style=\"font:13px system-ui,sans-serif;border-left:4px solid ";
  out += passed ? "#2f9e5f" : "#d84a4a";
  out += ";padding:.2em .8em\"><b>" + escape_xml(what) + "</b> <b style=\"color:";
  out += passed ? "#2f9e5f\">\u2713 passed" : "#d84a4a\">\u2717 failed";
  out += "</b><div style=\"font:12px monospace;white-space:pre-wrap;margin-top:.3em\">";
  for (std::size_t start = 0; start <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', start), lines.size());
    out += line_html(lines.substr(start, end - start));
    start = end + 1;
  }
  return out + "</div></div>";
}

}  // namespace xg::detail
