#include <xgrad/report/charts.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/display/svg.hpp>
#include <xgrad/report/html.hpp>

namespace xg::report {

using detail::attribute;
using detail::longest;
using detail::px;
using detail::tick_step;

namespace {

const char* color_class(Color color) {
  switch (color) {
    case Color::head0:
      return "head0";
    case Color::head1:
      return "head1";
    default:
      return "mixed";
  }
}

std::string svg(double width, double height, const std::string& label, const std::string& content) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" aria-label=\"" +
         escape(label) + "\"" + attribute("width", width) + attribute("height", height) +
         " viewBox=\"0 0 " + px(width) + " " + px(height) + "\">\n" + content + "</svg>\n";
}

struct Text {
  double x;
  double y;
  std::string content;
  const char* anchor = "middle";
  double size = 13;
  std::string classes = {};
  std::string transform = {};
};

std::string text(const Text& t) {
  return "<text" + attribute("x", t.x) + attribute("y", t.y) + attribute("font-size", t.size) +
         " text-anchor=\"" + t.anchor + "\"" +
         (t.classes.empty() ? "" : " class=\"" + t.classes + "\"") +
         (t.transform.empty() ? "" : " transform=\"" + t.transform + "\"") + ">" +
         escape(t.content) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const char* classes) {
  return "<line" + attribute("x1", x1) + attribute("y1", y1) + attribute("x2", x2) +
         attribute("y2", y2) + " class=\"" + classes + "\"/>\n";
}

}  // namespace

std::string heat_map(const HeatMap& map) {
  const std::size_t columns = map.columns.size();
  const bool few = columns <= 6 && map.rows.size() <= 6;
  const double width = few ? 74 : 17;
  const double height = few ? 56 : 17;
  const double size = few ? 13 : 10.5;
  const double letter = size * 0.62;
  const double left = static_cast<double>(longest(map.rows)) * letter + 10;
  const double top = few ? 26 : static_cast<double>(longest(map.columns)) * letter + 8;
  const double right = left + width * static_cast<double>(columns);
  const double bottom = top + height * static_cast<double>(map.rows.size());

  std::string out;
  for (std::size_t c = 0; c < columns; ++c) {
    const double x = left + width * (static_cast<double>(c) + 0.5);
    if (few) {
      out += text({x, top - 10, map.columns[c], "middle", size, "soft"});
    } else {
      const double base = x + size * 0.35;
      out += text({base, top - 5, map.columns[c], "start", size, "soft",
                   "rotate(-90 " + px(base) + " " + px(top - 5) + ")"});
    }
  }
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    const double y = top + height * static_cast<double>(r);
    out += text({left - 8, y + height / 2 + size * 0.35, map.rows[r], "end", size, "soft"});
    for (std::size_t c = 0; c < columns; ++c) {
      const double x = left + width * static_cast<double>(c);
      const double weight = map.weights[r * columns + c];
      if (weight == 0) {
        out += "<circle" + attribute("cx", x + width / 2) + attribute("cy", y + height / 2) +
               " r=\"1.2\" class=\"soft\"/>";
        continue;
      }
      const double opacity = std::isfinite(weight) ? 0.05 + 0.95 * std::clamp(weight, 0.0, 1.0) : 0;
      const std::string tip = map.rows[r] + " \u2192 " + map.columns[c] + ": " + fixed(weight, 4);
      out += "<rect" + attribute("x", x + 1) + attribute("y", y + 1) +
             attribute("width", width - 2) + attribute("height", height - 2) +
             (few ? " rx=\"6\"" : " rx=\"2\"") + " class=\"" + color_class(map.color) +
             "\" fill-opacity=\"" + fixed(opacity, 3) + "\"><title>" + escape(tip) +
             "</title></rect>";
      if (few) {
        out += text({x + width / 2, y + height / 2 + 5, fixed(weight, 3), "middle", 14,
                     weight > 0.5 ? "on" : ""});
      }
    }
    out += "\n";
  }
  return svg(right + 2, bottom + 2, "Heat map of attention weights, queries by keys", out);
}

std::string weight_legend(const std::vector<Color>& colors) {
  std::string out = "<div class=\"legend\"><span>weight 0";
  for (Color color : colors) {
    out += std::string("<i class=\"ramp ") + color_class(color) + "\"></i>";
  }
  return out + "1</span></div>\n";
}

std::string routes(const std::vector<HeatMap>& heads) {
  const auto& queries = heads[0].rows;
  const auto& keys = heads[0].columns;
  const double gap = 58;
  const double height = gap * static_cast<double>(std::max(queries.size(), keys.size()));
  const double from = static_cast<double>(longest(queries)) * 8 + 18;
  const double to = from + 190;
  const auto at = [&](std::size_t i, std::size_t n) {
    return height * (static_cast<double>(i) + 0.5) / static_cast<double>(n);
  };

  std::string lines;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    // Each head's lines run a little apart.
    const double shift = 5 * (static_cast<double>(h) - static_cast<double>(heads.size() - 1) / 2);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      for (std::size_t k = 0; k < keys.size(); ++k) {
        const double weight = heads[h].weights[q * keys.size() + k];
        if (!std::isfinite(weight)) continue;
        const double y1 = at(q, queries.size()) + shift;
        const double y2 = at(k, keys.size()) + shift;
        const double middle = (from + to) / 2;
        lines += "<path d=\"M" + px(from) + " " + px(y1) + " C" + px(middle) + " " + px(y1) + " " +
                 px(middle) + " " + px(y2) + " " + px(to) + " " + px(y2) + "\" class=\"" +
                 color_class(heads[h].color) + "\" stroke-width=\"" + fixed(9 * weight, 2) +
                 "\" stroke-opacity=\"0.75\" stroke-linecap=\"round\"/>\n";
      }
    }
  }
  std::string out = lines;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const double y = at(q, queries.size());
    out += "<circle" + attribute("cx", from) + attribute("cy", y) + " r=\"9\" class=\"stop\"/>\n" +
           text({from - 18, y + 4.5, queries[q], "end"});
  }
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const double y = at(k, keys.size());
    out += "<circle" + attribute("cx", to) + attribute("cy", y) + " r=\"9\" class=\"stop\"/>\n" +
           text({to + 18, y + 4.5, keys[k], "start"});
  }
  return svg(to + static_cast<double>(longest(keys)) * 8 + 18, height,
             "Lines from queries to keys, as thick as the attention weight", out);
}

std::string bars(const Bars& chart) {
  const double left = 42, right = 500, top = 14, bottom = 210;
  double low = 0;
  double high = 0;
  for (const auto* values : {&chart.got, &chart.want}) {
    for (double value : *values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const double range = high > low ? high - low : 1;
  low -= low < 0 ? 0.1 * range : 0;
  high += 0.1 * range;
  const auto y = [&](double value) {
    return bottom - (value - low) / (high - low) * (bottom - top);
  };

  std::string out;
  const double step = tick_step(high - low);
  const int digits = step < 1 ? static_cast<int>(std::ceil(-std::log10(step))) : 0;
  for (double tick = std::ceil(low / step) * step; tick <= high; tick += step) {
    out += line(left, y(tick), right, y(tick), std::abs(tick) < step / 2 ? "axis" : "grid");
    out += text({left - 8, y(tick) + 4, fixed(tick, digits), "end", 12, "soft"});
  }
  const double pitch = (right - left) / static_cast<double>(chart.got.size());
  const double width = std::min(44.0, pitch * 0.6);
  for (std::size_t i = 0; i < chart.got.size(); ++i) {
    const double center = left + pitch * (static_cast<double>(i) + 0.5);
    const double got = chart.got[i];
    const double tip = std::isfinite(got) ? y(got) : y(0);
    if (std::isfinite(got)) {
      out +=
          "<rect" + attribute("x", center - width / 2) + attribute("y", y(std::max(got, 0.0))) +
          attribute("width", width) + attribute("height", std::abs(y(got) - y(0))) +
          " rx=\"2\" fill-opacity=\"0.8\" class=\"" + color_class(chart.colors[i]) + "\"><title>" +
          escape(chart.labels[i] + ": " + fixed(got, 6) + ", target " + fixed(chart.want[i], 6)) +
          "</title></rect>";
    }
    out += line(center - width / 2 - 6, y(chart.want[i]), center + width / 2 + 6, y(chart.want[i]),
                "target");
    // Beyond a mark that would strike it through.
    const double mark = y(chart.want[i]);
    const double beyond = got < 0 ? mark - tip : tip - mark;
    const double end = beyond > 0 && beyond < 22 ? mark : tip;
    out += text({center, got < 0 ? end + 17 : end - 7, fixed(got, 2), "middle", 12});
    out += text({center, bottom + 22, chart.labels[i], "middle", 12, "soft"});
  }
  return svg(right + 4, bottom + 30, "Bars of computed features with marks at their targets", out);
}

std::string figure(const std::string& caption, const std::string& chart) {
  return "<figure><figcaption>" + caption + "</figcaption>\n" + chart + "</figure>\n";
}

}  // namespace xg::report
