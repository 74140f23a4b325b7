#include <xgrad/display/json_text.hpp>

#include <charconv>
#include <cmath>

#include <xgrad/autograd/escape.hpp>

namespace xg::detail {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (char c : printable(text)) {
    if (c == '<') {
      out += "\\u003c";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string json_number(double x) {
  if (!std::isfinite(x)) return "null";
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::general, 6).ptr;
  return {buffer, end};
}

std::string label_expression(const std::vector<std::string>& labels) {
  std::string list;
  for (const std::string& label : labels) list += (list.empty() ? "" : ",") + json_string(label);
  return json_string("[" + list + "][datum.value]");
}

}  // namespace xg::detail
