#include <xgrad/display/html.hpp>

#include <algorithm>
#include <cstddef>

#include <xgrad/autograd/escape.hpp>

namespace xg::detail {

std::string verdict_html(bool passed, const std::string& what, const std::string& lines) {
  std::string out = "<div style=\"font:13px system-ui,sans-serif;border-left:4px solid ";
  out += passed ? "#2f9e5f" : "#d84a4a";
  out += ";padding:.2em .8em\"><b>" + escape_xml(what) + "</b> <b style=\"color:";
  out += passed ? "#2f9e5f\">\u2713 passed" : "#d84a4a\">\u2717 failed";
  out += "</b><div style=\"font:12px monospace;white-space:pre-wrap;margin-top:.3em\">";
  for (std::size_t start = 0; start <= lines.size();) {
    const std::size_t end = std::min(lines.find('\n', start), lines.size());
    if (start > 0) out += "\n";
    out += escape_xml(lines.substr(start, end - start));
    start = end + 1;
  }
  return out + "</div></div>";
}

}  // namespace xg::detail
