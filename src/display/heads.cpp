#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <sstream>
#include <utility>

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/describe.hpp>
#include <xgrad/autograd/escape.hpp>
#include <xgrad/autograd/finished.hpp>
#include <xgrad/autograd/message.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/autograd/number_text.hpp>
#include <xgrad/display/charts.hpp>
#include <xgrad/display/json_text.hpp>
#include <xgrad/display/svg.hpp>

namespace xg {
namespace detail {
namespace {

constexpr const char* kOp = "heads";
constexpr std::int64_t kMaps = 16;
constexpr std::int64_t kMostWeights = std::int64_t{1} << 26;  // of a head
constexpr std::int64_t kCells = 2500;                         // of all maps together
constexpr std::size_t kMostText = 12;                         // queries and keys of a table of text
constexpr std::size_t kMostLetters = 14;                      // of a label
constexpr const char* kColor = "#2f74e0";

struct Map {
  std::string title;
  std::vector<double> weights;  // row-major
};

/// What is drawn: cells of blocks of weights, and the labels of their rows and columns.
struct Maps {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<Map> maps;
  std::string note;

  double at(const Map& map, std::size_t row, std::size_t column) const {
    return map.weights[row * columns.size() + column];
  }
};

void check_labels(const std::vector<std::string>& labels, std::int64_t extent, const char* what) {
  if (labels.empty() || labels.size() == static_cast<std::size_t>(extent)) return;
  fail<ArgumentError>(kOp, std::string("wrong number of ") + what + " labels", text(labels.size()),
                      text(extent) + ", or none");
}

/// A label for each block: that of its first.
std::vector<std::string> block_labels(const std::vector<std::string>& labels, std::int64_t extent,
                                      std::int64_t block) {
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < extent; i += block) {
    std::string label = text(i);
    if (!labels.empty()) {
      label = shortened(printable(labels[static_cast<std::size_t>(i)]), kMostLetters);
    }
    out.push_back(block == 1 ? label : label + "\u2026");
  }
  return out;
}

/// NaN wins.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

template <class T>
Maps gather(const Array<T>& weights, const std::vector<std::string>& queries,
            const std::vector<std::string>& keys) {
  const std::size_t dim = weights.dim();
  const std::int64_t q = weights.extent(dim - 2);
  const std::int64_t k = weights.extent(dim - 1);
  const std::int64_t heads = dim > 2 ? weights.extent(dim - 3) : 1;
  const std::int64_t items = dim > 3 ? weights.extent(0) : 1;
  check_labels(queries, q, "query");
  check_labels(keys, k, "key");

  Maps out;
  if (weights.size() == 0) return out;
  if (q > kMostWeights / k) {
    fail<ArgumentError>(kOp, "too many weights to draw", text(weights.shape()),
                        "at most " + text(kMostWeights) + " in a head");
  }
  const std::int64_t maps = heads > kMaps / items ? std::min(kMaps, heads * items) : heads * items;
  const auto side = static_cast<std::int64_t>(std::sqrt(double(kCells) / double(maps)));
  const std::int64_t row_block = (q + side - 1) / side;
  const std::int64_t column_block = (k + side - 1) / side;
  out.rows = block_labels(queries, q, row_block);
  out.columns = block_labels(keys, k, column_block);
  if (row_block > 1 || column_block > 1) {
    out.note = "each cell is the largest of " + text(row_block) + " \u00d7 " + text(column_block) +
               " weights";
  }
  if (maps < heads * items) {
    out.note += (out.note.empty() ? "" : "; ") + ("the first " + text(maps)) + " of " +
                text(heads * items) + " heads are shown";
  }
  for (std::int64_t m = 0; m < maps; ++m) {
    Map map;
    if (maps > 1) map.title = "head " + text(m % heads);
    if (items > 1) map.title = "item " + text(m / heads) + ", " + map.title;
    map.weights.assign(out.rows.size() * out.columns.size(),
                       -std::numeric_limits<double>::infinity());
    const T* at = weights.data() + (dim > 3 ? m / heads * weights.stride(0) : 0) +
                  (dim > 2 ? m % heads * weights.stride(dim - 3) : 0);
    for (std::int64_t i = 0; i < q; ++i) {
      for (std::int64_t j = 0; j < k; ++j) {
        const auto cell = static_cast<std::size_t>(i / row_block) * out.columns.size() +
                          static_cast<std::size_t>(j / column_block);
        const auto weight = double(at[i * weights.stride(dim - 2) + j * weights.stride(dim - 1)]);
        map.weights[cell] = larger(weight, map.weights[cell]);
      }
    }
    out.maps.push_back(std::move(map));
  }
  return out;
}

std::string two_digits(double weight) {
  if (std::isnan(weight)) return "nan";
  if (std::abs(weight) >= 1000) return short_number(weight);
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out.setf(std::ios::fixed);
  out.precision(2);
  out << weight;
  return out.str();
}

std::string padded(const std::string& word, std::size_t width, bool right) {
  const std::string space(width - std::min(width, letters(word)), ' ');
  return right ? space + word : word + space;
}

/// A table for each head, with a point for a weight of exactly 0.
std::string text_tables(const Maps& maps) {
  std::vector<std::string> titles;
  for (const Map& map : maps.maps) titles.push_back(map.title);
  const std::size_t left = std::max(longest(maps.rows), longest(titles));
  std::string out;
  for (const Map& map : maps.maps) {
    std::vector<std::vector<std::string>> cells(maps.rows.size());
    std::size_t width = longest(maps.columns);
    for (std::size_t r = 0; r < maps.rows.size(); ++r) {
      for (std::size_t c = 0; c < maps.columns.size(); ++c) {
        const double weight = maps.at(map, r, c);
        cells[r].push_back(weight == 0 ? "." : two_digits(weight));
      }
      width = std::max(width, longest(cells[r]));
    }
    out += (out.empty() ? "" : "\n\n") + padded(map.title, left, false);
    for (const std::string& column : maps.columns) out += "  " + padded(column, width, true);
    for (std::size_t r = 0; r < maps.rows.size(); ++r) {
      out += "\n" + padded(maps.rows[r], left, false);
      for (const std::string& cell : cells[r]) out += "  " + padded(cell, width, true);
    }
  }
  return out;
}

/// A chart on its own at the origin.
class MapDrawing {
 public:
  explicit MapDrawing(const Maps& maps)
      : maps_(maps),
        few_(maps.rows.size() <= 8 && maps.columns.size() <= 8),
        cell_width_(few_ ? 46 : 16),
        cell_height_(few_ ? 32 : 16),
        size_(few_ ? 12 : 10),
        turned_(double(longest(maps.columns)) * letter() > cell_width_ - 2),
        left_(double(longest(maps.rows)) * letter() + 10),
        top_((maps.maps.size() > 1 ? 22 : 0) +
             (turned_ ? double(longest(maps.columns)) * letter() + 6 : 20)) {}

  double width() const { return left_ + cell_width_ * double(maps_.columns.size()) + 2; }
  double height() const { return top_ + cell_height_ * double(maps_.rows.size()) + 2; }

  std::string draw(const Map& map) const {
    std::string out;
    if (!map.title.empty()) out += svg_text({left_, 14, map.title, "start", 13});
    for (std::size_t c = 0; c < maps_.columns.size(); ++c) {
      const double x = left_ + cell_width_ * (double(c) + 0.5);
      const std::string& label = maps_.columns[c];
      if (turned_) {
        out += svg_text({x + size_ * 0.35, top_ - 5, label, "start", size_, true, -90});
      } else {
        out += svg_text({x, top_ - 7, label, "middle", size_, true});
      }
    }
    for (std::size_t r = 0; r < maps_.rows.size(); ++r) {
      const double y = top_ + cell_height_ * (double(r) + 0.5);
      out += svg_text({left_ - 7, y + size_ * 0.35, maps_.rows[r], "end", size_, true});
      for (std::size_t c = 0; c < maps_.columns.size(); ++c) out += cell(map, r, c);
    }
    return out;
  }

 private:
  double letter() const { return size_ * 0.62; }

  std::string cell(const Map& map, std::size_t r, std::size_t c) const {
    const double weight = maps_.at(map, r, c);
    const double x = left_ + cell_width_ * double(c);
    const double y = top_ + cell_height_ * double(r);
    if (weight == 0) {
      return "<circle" + attribute("cx", x + cell_width_ / 2) +
             attribute("cy", y + cell_height_ / 2) + " r=\"1\" fill-opacity=\".6\"/>\n";
    }
    // Never opaque, so that the text's own colour stays readable on it.
    const double strength =
        std::isfinite(weight) ? 0.04 + 0.76 * std::clamp(weight, 0.0, 1.0) : 0.35;
    std::string out = "<rect" + attribute("x", x + 0.5) + attribute("y", y + 0.5) +
                      attribute("width", cell_width_ - 1) + attribute("height", cell_height_ - 1) +
                      (few_ ? " rx=\"4\"" : " rx=\"1\"") + " fill=\"" +
                      (std::isfinite(weight) ? kColor : "#c80050") + "\" fill-opacity=\"" +
                      json_number(std::round(strength * 1000) / 1000) + "\"";
    if (!few_) return out + "/>\n";
    out += "><title>" +
           escape_xml(maps_.rows[r] + " \u2192 " + maps_.columns[c] + ": " + short_number(weight)) +
           "</title></rect>\n";
    return out + svg_text({x + cell_width_ / 2, y + cell_height_ / 2 + 4, two_digits(weight)});
  }

  const Maps& maps_;
  bool few_;
  double cell_width_;
  double cell_height_;
  double size_;
  bool turned_;
  double left_;
  double top_;
};

std::string svg_of(const Maps& maps) {
  constexpr double kMostWidth = 860;
  constexpr double kGap = 24;
  const MapDrawing drawing(maps);
  const double pitch_x = drawing.width() + kGap;
  const double pitch_y = drawing.height() + kGap;
  const auto fitting = static_cast<std::size_t>(std::max(1.0, (kMostWidth + kGap) / pitch_x));
  const std::size_t across = std::min(maps.maps.size(), fitting);
  const std::size_t down = (maps.maps.size() + across - 1) / across;
  std::string out;
  for (std::size_t m = 0; m < maps.maps.size(); ++m) {
    const std::size_t row = m / across;
    out += "<g transform=\"translate(" + px(pitch_x * double(m % across)) + " " +
           px(pitch_y * double(row)) + ")\">\n" + drawing.draw(maps.maps[m]) + "</g>\n";
  }
  double width = pitch_x * double(across) - kGap;
  double height = pitch_y * double(down) - kGap;
  if (!maps.note.empty()) {
    height += 20;
    width = std::max(width, double(letters(maps.note)) * 7);
    out += svg_text({0, height - 5, maps.note, "start", 12, true});
  }
  return svg_element(width, height, "Attention weights, queries by keys, for each head", out);
}

/// Labels may repeat, so that rows and columns go by number.
std::string vega_axis(const std::string& field, const std::vector<std::string>& labels) {
  return R"({"field":")" + field + R"(","type":"ordinal","title":")" + field +
         R"(","axis":{"labelExpr":)" + label_expression(labels) + "}}";
}

std::string vega_of(const Maps& maps) {
  std::string values;
  std::vector<std::string> titles;
  for (std::size_t m = 0; m < maps.maps.size(); ++m) {
    titles.push_back(maps.maps[m].title);
    for (std::size_t r = 0; r < maps.rows.size(); ++r) {
      for (std::size_t c = 0; c < maps.columns.size(); ++c) {
        if (!values.empty()) values += ",";
        values += R"({"head":)" + text(m) + R"(,"query":)" + text(r) + R"(,"key":)" + text(c) +
                  R"(,"weight":)" + json_number(maps.at(maps.maps[m], r, c)) + "}";
      }
    }
  }
  const std::string step = maps.columns.size() <= 8 ? "36" : "14";
  return R"({"$schema":"https://vega.github.io/schema/vega-lite/v5.json",)"
         R"("background":"transparent","title":)" +
         json_string(maps.note) + R"(,"data":{"values":[)" + values +
         R"(]},"columns":4,"facet":{"field":"head","type":"ordinal","title":null,)"
         R"("header":{"labelExpr":)" +
         label_expression(titles) + R"(}},"spec":{"width":{"step":)" + step +
         R"(},"height":{"step":)" + step + R"(},"mark":{"type":"rect","invalid":null,"color":")" +
         kColor + R"("},"encoding":{"x":)" + vega_axis("key", maps.columns) + R"(,"y":)" +
         vega_axis("query", maps.rows) +
         R"(,"opacity":{"field":"weight","type":"quantitative",)"
         R"("scale":{"domain":[0,1],"clamp":true,"range":[0.03,1]}},)"
         R"("tooltip":{"field":"weight","type":"quantitative"}}}})";
}

}  // namespace
}  // namespace detail

template <class T>
Picture heads(const Variable<T>& weights, const std::vector<std::string>& queries,
              const std::vector<std::string>& keys) {
  const detail::Array<T>& values = detail::state(detail::kOp, weights).values;
  if (values.dim() < 2 || values.dim() > 4) {
    detail::fail<ShapeError>(detail::kOp, "wrong number of axes", detail::text(values.shape()),
                             "(Q, K), (H, Q, K) or (B, H, Q, K)");
  }
  Picture out;
  out.text = "attention weights" + detail::facts(weights);
  if (!values.has_values()) return detail::finished(std::move(out));
  const detail::Maps maps = detail::gather(values, queries, keys);
  if (maps.maps.empty()) return detail::finished(std::move(out));
  const std::size_t most = detail::kMostText;
  if (maps.note.empty() && maps.rows.size() <= most && maps.columns.size() <= most) {
    out.text = detail::text_tables(maps);
  }
  out.svg = detail::svg_of(maps);
  out.vega_lite = detail::vega_of(maps);
  return detail::finished(std::move(out));
}
template Picture heads(const Variable<float>&, const std::vector<std::string>&,
                       const std::vector<std::string>&);
template Picture heads(const Variable<double>&, const std::vector<std::string>&,
                       const std::vector<std::string>&);

}  // namespace xg
