#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>

#include <xgrad/autograd/escape.hpp>
#include <xgrad/autograd/message.hpp>
#include <xgrad/display/charts.hpp>
#include <xgrad/display/json_text.hpp>
#include <xgrad/display/svg.hpp>

namespace xg {
namespace detail {
namespace {

// Told apart on white and on black.
constexpr const char* kColors[] = {"#3b7ddd", "#e07b28", "#2f9e5f",
                                   "#9162d8", "#d84a4a", "#1a9aa8"};
constexpr std::size_t kColorCount = std::size(kColors);
constexpr std::size_t kBuckets = 250;  // of a long series, two points each
constexpr std::size_t kMostLetters = 30;

struct Point {
  std::size_t step;
  double value;
};

/// A line as it is drawn, with its name as it is written.
struct Line {
  std::string name;
  std::vector<Point> points;
  std::size_t gaps = 0;  // values that are not finite
  std::size_t steps = 0;
};

/// Of a long series the lowest and the highest value of each bucket, and one that is not finite.
std::vector<Point> thinned(const std::vector<double>& values) {
  std::vector<Point> out;
  const std::size_t bucket = values.size() > 2 * kBuckets ? values.size() / kBuckets : 1;
  for (std::size_t start = 0; start < values.size(); start += bucket) {
    const std::size_t end = std::min(start + bucket, values.size());
    if (bucket == 1) {
      out.push_back({start, values[start]});
      continue;
    }
    std::size_t low = end;
    std::size_t high = end;
    std::size_t gap = end;
    for (std::size_t i = start; i < end; ++i) {
      if (!std::isfinite(values[i])) {
        gap = i;
        continue;
      }
      if (low == end || values[i] < values[low]) low = i;
      if (high == end || values[i] > values[high]) high = i;
    }
    std::vector<std::size_t> steps = {low, high, gap};
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    for (std::size_t step : steps) {
      if (step < end) out.push_back({step, values[step]});
    }
  }
  return out;
}

Line line_of(const Series& series) {
  Line out;
  out.name = shortened(printable(series.name), kMostLetters);
  out.points = thinned(series.values);
  out.steps = series.values.size();
  out.gaps = static_cast<std::size_t>(std::count_if(series.values.begin(), series.values.end(),
                                                    [](double x) { return !std::isfinite(x); }));
  return out;
}

std::vector<std::string> names_of(const std::vector<Line>& lines) {
  std::vector<std::string> out;
  out.reserve(lines.size());
  for (const Line& line : lines) out.push_back(line.name);
  return out;
}

std::string number(double x, int digits) {
  if (std::isnan(x)) return "nan";  // not "-nan"
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, x, std::chars_format::general, digits).ptr;
  return {buffer, end};
}

/// Ticks at multiples of a round step. Places are made of halves, as the range may overflow.
struct Axis {
  double low;
  double high;
  double step;

  Axis(double lowest, double highest) : low(lowest), high(highest) {
    if (low > 0 && low < high / 5) low = 0;
    if (low == high) {
      const double margin = low == 0 ? 1 : std::abs(low) / 10;
      low = std::max(low - margin, std::numeric_limits<double>::lowest());
      high = std::min(high + margin, std::numeric_limits<double>::max());
    }
    step = std::isfinite(high - low) ? tick_step(high - low) : 2 * tick_step(high / 2 - low / 2);
  }

  /// 0 at the low end, 1 at the high one.
  double place(double x) const { return (x / 2 - low / 2) / (high / 2 - low / 2); }

  std::vector<double> ticks() const {
    std::vector<double> out;
    for (double n = std::ceil(low / step); n * step <= high; ++n) out.push_back(n * step);
    return out;
  }
  /// As many digits as tell one tick from the next.
  std::string label(double tick) const {
    if (std::abs(tick) < step / 2) return "0";
    const double digits = std::floor(std::log10(std::abs(tick) / step) + 1e-9) + 2;
    return number(tick, static_cast<int>(std::clamp(digits, 1.0, 15.0)));
  }
};

struct Bounds {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();
  std::size_t steps = 0;

  explicit Bounds(const std::vector<Line>& lines) {
    for (const Line& line : lines) {
      steps = std::max(steps, line.steps);
      for (const Point& point : line.points) {
        if (!std::isfinite(point.value)) continue;
        low = std::min(low, point.value);
        high = std::max(high, point.value);
      }
    }
  }
  bool empty() const { return low > high; }
};

std::string with_gaps(const std::string& before, const Line& line) {
  if (line.gaps == 0) return before;
  return before + (before.empty() ? "" : ", ") + text(line.gaps) + " not finite";
}

/// The curve in a row of blocks.
std::string sparkline(const Line& line, const Bounds& bounds) {
  constexpr std::size_t kWidth = 24;
  constexpr const char* kBlocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                     "\u2585", "\u2586", "\u2587", "\u2588"};
  std::string out;
  const std::size_t width = std::min(kWidth, line.points.size());
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t at = width == 1 ? 0 : i * (line.points.size() - 1) / (width - 1);
    const double value = line.points[at].value;
    if (!std::isfinite(value)) {
      out += " ";
      continue;
    }
    const double range = bounds.high / 2 - bounds.low / 2;
    const double place = range > 0 ? (value / 2 - bounds.low / 2) / range : 0;
    out += kBlocks[std::min<std::size_t>(7, static_cast<std::size_t>(place * 8))];
  }
  return out;
}

std::string text_of(const std::vector<Line>& lines, const Bounds& bounds,
                    const std::string& title) {
  std::string out = title.empty() ? "plot" : printable(title);
  out += ", " + text(bounds.steps) + (bounds.steps == 1 ? " step" : " steps");
  const std::vector<std::string> names = names_of(lines);
  for (const Line& line : lines) {
    out += "\n" + line.name + std::string(longest(names) - letters(line.name), ' ');
    if (!line.name.empty() || longest(names) > 0) out += "  ";
    if (line.points.empty()) {
      out += "no values";
      continue;
    }
    out += sparkline(line, bounds) + "  " +
           with_gaps(number(line.points.front().value, 3) + " \u2192 " +
                         number(line.points.back().value, 3),
                     line);
  }
  return out;
}

std::string stroke(std::size_t n) {
  return std::string(" stroke=\"") + kColors[n % kColorCount] + "\" stroke-width=\"2\"" +
         (n < kColorCount ? "" : " stroke-dasharray=\"5 3\"");
}

std::string ruler(double x1, double y1, double x2, double y2) {
  return "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
         attribute("y2", y2) + " stroke=\"currentColor\" stroke-opacity=\".2\"/>\n";
}

std::string svg_of(const std::vector<Line>& lines, const Bounds& bounds, const std::string& title) {
  constexpr double kWidth = 560;
  constexpr double kRight = kWidth - 16;
  constexpr double kLetter = 6.6;
  constexpr double kPlotHeight = 220;

  std::string out;
  double top = 8;
  if (!title.empty()) {
    out += svg_text({8, 18, shortened(printable(title), 70), "start", 14});
    top += 22;
  }
  double legend_x = 8;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::string label = with_gaps(lines[n].name, lines[n]);
    if (label.empty()) continue;
    const double width = 40 + kLetter * double(letters(label));
    if (legend_x > 8 && legend_x + width > kRight) {
      legend_x = 8;
      top += 18;
    }
    out += "<path d=\"M" + px(legend_x) + " " + px(top + 8) + "h18\"" + stroke(n) +
           " fill=\"none\"/>\n" + svg_text({legend_x + 24, top + 12, label, "start"});
    legend_x += width;
  }
  if (legend_x > 8) top += 24;

  if (bounds.empty()) {
    out += svg_text({8, top + 16, "no values", "start", 12, true});
    return svg_element(kWidth, top + 26, "Plot without values", out);
  }
  const Axis y_axis(bounds.low, bounds.high);
  const double last = std::max<double>(1, double(bounds.steps - 1));
  std::vector<std::string> y_labels;
  for (double tick : y_axis.ticks()) y_labels.push_back(y_axis.label(tick));
  const double left = 16 + kLetter * double(longest(y_labels));
  const double bottom = top + kPlotHeight;
  const auto x = [&](double step) { return left + (kRight - left) * step / last; };
  const auto y = [&](double value) { return bottom - kPlotHeight * y_axis.place(value); };

  for (double tick : y_axis.ticks()) {
    out += ruler(left, y(tick), kRight, y(tick)) +
           svg_text({left - 6, y(tick) + 4, y_axis.label(tick), "end", 11, true});
  }
  const double step = std::max(1.0, tick_step(last));
  for (double tick = 0; tick <= last; tick += step) {
    out += svg_text({x(tick), bottom + 18, number(tick, 15), "middle", 11, true});
  }
  out += svg_text({(left + kRight) / 2, bottom + 36, "step", "middle", 11, true});

  for (std::size_t n = 0; n < lines.size(); ++n) {
    std::string path;
    std::string dots;  // a value between two gaps
    const std::vector<Point>& points = lines[n].points;
    const auto finite = [&](std::size_t i) {
      return i < points.size() && std::isfinite(points[i].value);
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!finite(i)) continue;
      const double px_x = x(double(points[i].step));
      const double px_y = y(points[i].value);
      path += (finite(i - 1) ? "L" : "M") + px(px_x) + " " + px(px_y);
      if (!finite(i - 1) && !finite(i + 1)) {
        dots += "<circle" + attribute("cx", px_x) + attribute("cy", px_y) + " r=\"2.5\" fill=\"" +
                kColors[n % kColorCount] + "\"/>\n";
      }
    }
    out += "<path d=\"";
    out += path;
    out += "\" fill=\"none\" stroke-linejoin=\"round\"" + stroke(n) + "/>\n" + dots;
  }
  return svg_element(kWidth, bottom + 44, "Line chart of values over steps", out);
}

/// Names may repeat, so that lines go by number.
std::string vega_of(const std::vector<Line>& lines, const std::string& title) {
  std::string values;
  const std::vector<std::string> names = names_of(lines);
  std::string numbers;
  std::string colors;
  for (std::size_t n = 0; n < lines.size(); ++n) {
    numbers += (n == 0 ? "" : ",") + text(n);
    colors += (n == 0 ? "" : ",") + json_string(kColors[n % kColorCount]);
    for (const Point& point : lines[n].points) {
      if (!values.empty()) values += ",";
      values += R"({"series":)" + text(n) + R"(,"step":)" + text(point.step) + R"(,"value":)" +
                json_number(point.value) + "}";
    }
  }
  return R"({"$schema":"https://vega.github.io/schema/vega-lite/v5.json",)"
         R"("background":"transparent","width":480,"height":220,"title":)" +
         json_string(title) + R"(,"data":{"values":[)" + values +
         R"(]},"mark":{"type":"line","tooltip":true},"encoding":{)"
         R"("x":{"field":"step","type":"quantitative","axis":{"tickMinStep":1}},)"
         R"("y":{"field":"value","type":"quantitative","title":null,"scale":{"zero":false}},)"
         R"("color":{"field":"series","type":"nominal","scale":{"domain":[)" +
         numbers + R"(],"range":[)" + colors + R"(]},"legend":)" +
         (longest(names) > 0 ? R"({"title":null,"labelExpr":)" + label_expression(names) + "}"
                             : "null") +
         "}}}";
}

}  // namespace
}  // namespace detail

Picture plot(const std::vector<Series>& series, const std::string& title) {
  std::vector<detail::Line> lines;
  lines.reserve(series.size());
  for (const Series& one : series) lines.push_back(detail::line_of(one));
  const detail::Bounds bounds(lines);
  Picture out;
  out.text = detail::text_of(lines, bounds, title);
  out.svg = detail::svg_of(lines, bounds, title);
  out.vega_lite = detail::vega_of(lines, title);
  return out;
}
Picture plot(const std::vector<double>& values, const std::string& title) {
  return plot(std::vector<Series>{{"", values}}, title);
}

}  // namespace xg
