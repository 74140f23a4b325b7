#ifndef XGRAD_REPORT_HTML_HPP
#define XGRAD_REPORT_HTML_HPP

// Private: one self-contained HTML page, in the reader's light or dark theme.

#include <string>
#include <vector>

namespace xg::report {

/// Text with &, <, > and quotes written as entities.
std::string escape(const std::string& text);
/// "0.84" for (0.8438, 2); a minus zero is written as zero.
std::string fixed(double value, int digits);
/// "4.4e-16", and "0" for zero.
std::string scientific(double value);

/// A figure at the head of the page.
struct Tile {
  std::string label;
  std::string value;
  std::string note;
  enum class Tone { plain, good, bad } tone = Tone::plain;
};

/// `text` and `body` are HTML.
struct Section {
  std::string title;
  std::string text;
  std::string body;
};

struct Page {
  std::string title;
  std::string lead;
  std::vector<Tile> tiles;
  std::vector<Section> sections;

  std::string html() const;
};

/// Cells are HTML; the columns that hold numbers are set to the right.
std::string table(const std::vector<std::string>& header, const std::vector<bool>& numeric,
                  const std::vector<std::vector<std::string>>& rows);
/// "passed" or "failed" with its sign.
std::string verdict(bool passed);

}  // namespace xg::report

#endif
