#ifndef XGRAD_DISPLAY_SVG_HPP
#define XGRAD_DISPLAY_SVG_HPP

// Private: pieces of SVG.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace xg::detail {

/// One decimal at most: "12.5", "3".
std::string px(double value);
/// ` name="12.5"`
std::string attribute(const char* name, double value);

/// The number of code points.
std::size_t letters(std::string_view utf8);
std::size_t longest(const std::vector<std::string>& labels);
/// At most `most` code points, the last of them an ellipsis if there were more.
std::string shortened(const std::string& utf8, std::size_t most);

/// A step of 1, 2 or 5 times a power of ten that gives at most six of them.
double tick_step(double range);

/// A picture without a background, whose text has the colour of the text around it. As an image of
/// its own it has a background, in the reader's theme.
std::string svg_element(double width, double height, const std::string& label,
                        const std::string& content);

struct SvgText {
  double x;
  double y;
  std::string content;
  const char* anchor = "middle";  ///< or "start", "end"
  double size = 12;
  bool soft = false;
  double turn = 0;  ///< in degrees
};
std::string svg_text(const SvgText& text);

}  // namespace xg::detail

#endif
