#ifndef XGRAD_REPORT_CHARTS_HPP
#define XGRAD_REPORT_CHARTS_HPP

// Private: charts as inline SVG, coloured by the page's style sheet.

#include <string>
#include <vector>

namespace xg::report {

enum class Color { head0, head1, mixed };

/// One head's weights on keys (columns) for each query (rows), between 0 and 1.
struct HeatMap {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<double> weights;  // row-major
  Color color = Color::head0;
};

/// Numbers stand in the cells if there are few; a weight of exactly 0 is a dot.
std::string heat_map(const HeatMap& map);

/// A legend for heat maps of these colours.
std::string weight_legend(const std::vector<Color>& colors);

/// A line from each query to each key for each head, as thick as its weight.
std::string routes(const std::vector<HeatMap>& heads);

/// Bars for what was computed, each with a mark at its target.
struct Bars {
  std::vector<std::string> labels;
  std::vector<double> got;
  std::vector<double> want;
  std::vector<Color> colors;
};
std::string bars(const Bars& chart);

/// A chart under its caption (HTML).
std::string figure(const std::string& caption, const std::string& chart);

}  // namespace xg::report

#endif
