#include <xgrad/display/svg.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>

#include <xgrad/autograd/escape.hpp>

namespace xg::detail {

std::string px(double value) {
  char buffer[400];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 1).ptr;
  std::string text(buffer, end);
  if (text.compare(text.size() - 2, 2, ".0") == 0) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + px(value) + "\"";
}

namespace {
bool starts_letter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }
}  // namespace

std::size_t letters(std::string_view utf8) {
  return static_cast<std::size_t>(std::count_if(utf8.begin(), utf8.end(), starts_letter));
}

std::size_t longest(const std::vector<std::string>& labels) {
  std::size_t most = 0;
  for (const auto& label : labels) most = std::max(most, letters(label));
  return most;
}

std::string shortened(const std::string& utf8, std::size_t most) {
  if (letters(utf8) <= most) return utf8;
  std::size_t end = 0;
  for (std::size_t n = 0; end < utf8.size(); ++end) {
    if (starts_letter(utf8[end]) && ++n == most) break;
  }
  return utf8.substr(0, end) + "\u2026";
}

double tick_step(double range) {
  const double rough = range / 6;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

std::string svg_element(double width, double height, const std::string& label,
                        const std::string& content) {
  // `:root` is this element only where it is a document of its own, as in an <img>. What is around
  // it is unknown there, so it brings its own background.
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"xgrad\" role=\"img\" aria-label=\"" +
         escape_xml(label) + "\"" + attribute("width", width) + attribute("height", height) +
         " viewBox=\"0 0 " + px(width) + " " + px(height) +
         "\" style=\"max-width:100%;height:auto\" fill=\"currentColor\" "
         "font-family=\"system-ui,Helvetica,Arial,sans-serif\">\n"
         "<style>svg.xgrad:root{color:#1b2430;background:#fff}"
         "@media(prefers-color-scheme:dark)"
         "{svg.xgrad:root{color:#e6e9ef;background:#161b22}}</style>\n" +
         content + "</svg>\n";
}

std::string svg_text(const SvgText& text) {
  return "<text" + attribute("x", text.x) + attribute("y", text.y) +
         attribute("font-size", text.size) + " text-anchor=\"" + text.anchor + "\"" +
         (text.soft ? " fill-opacity=\".75\"" : "") +
         (text.turn == 0 ? ""
                         : " transform=\"rotate(" + px(text.turn) + " " + px(text.x) + " " +
                               px(text.y) + ")\"") +
         ">" + escape_xml(text.content) + "</text>\n";
}

}  // namespace xg::detail
