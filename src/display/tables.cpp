#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/describe.hpp>
#include <xgrad/autograd/escape.hpp>
#include <xgrad/autograd/message.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/autograd/number_text.hpp>
#include <xgrad/display/picture.hpp>

namespace xg {
namespace detail {
namespace {

constexpr std::int64_t kTables = 16;  // matrices of an array with more than two axes

/// The indices shown of an axis: all, or so many at either end and -1 for the gap.
std::vector<std::int64_t> shown(std::int64_t extent, std::int64_t most, std::int64_t edge) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < extent; ++i) {
    if (extent > most && i == edge) {
      out.push_back(-1);
      i = extent - edge;
    }
    out.push_back(i);
  }
  return out;
}

/// Numbers in cells tinted blue above zero and orange below; translucent, so that the page's own
/// text colour stays readable.
template <class T>
struct NumberCells {
  static constexpr std::int64_t kMost = 16;
  static constexpr std::int64_t kEdge = 6;

  explicit NumberCells(const Array<T>& values) : scale(largest(values, 0, values.data())) {}

  static double largest(const Array<T>& values, std::size_t axis, const T* at) {
    if (axis == values.dim()) return std::isfinite(*at) ? std::abs(double(*at)) : 0;
    double out = 0;
    for (std::int64_t i : shown(values.extent(axis), kMost, kEdge)) {
      if (i >= 0) out = std::max(out, largest(values, axis + 1, at + i * values.stride(axis)));
    }
    return out;
  }

  std::string operator()(T x) const {
    return "<td style=\"padding:1px 6px;text-align:right;" + tint(double(x)) + "\">" +
           short_number(double(x)) + "</td>";
  }
  std::string tint(double x) const {
    if (!std::isfinite(x)) return "background:rgba(200,0,80,.35)";
    const double strength = scale > 0 ? 0.5 * (std::abs(x) / scale) : 0;
    return std::string("background:rgba(") + (x < 0 ? "230,110,20," : "40,120,230,") +
           short_number(std::round(100 * strength) / 100) + ")";
  }

  double scale;
};

struct MaskCells {
  static constexpr std::int64_t kMost = 40;
  static constexpr std::int64_t kEdge = 18;

  explicit MaskCells(const Array<bool>&) {}

  std::string operator()(bool visible) const {
    return std::string("<td title=\"") + (visible ? "visible" : "hidden") +
           "\" style=\"padding:0;width:15px;height:15px;border:1px solid rgba(128,128,128,.5);"
           "background:" +
           (visible ? "rgba(40,120,230,.65)" : "transparent") + "\"></td>";
  }
};

template <class Cells, class T>
void add_table(std::string& out, const Cells& cell, const T* at, std::int64_t rows,
               std::int64_t row_stride, std::int64_t columns, std::int64_t column_stride) {
  out += "<table style=\"border-collapse:collapse;margin:.3em 0;font:12px monospace\">";
  for (std::int64_t i : shown(rows, Cells::kMost, Cells::kEdge)) {
    out += "<tr style=\"background:transparent\">";
    for (std::int64_t j : shown(columns, Cells::kMost, Cells::kEdge)) {
      if (i < 0 || j < 0) {
        out += "<td style=\"padding:0 4px;text-align:center\">&hellip;</td>";
      } else {
        out += cell(at[i * row_stride + j * column_stride]);
      }
    }
    out += "</tr>";
  }
  out += "</table>";
}

template <class Cells, class T>
std::string tables(const Array<T>& values) {
  const std::size_t dim = values.dim();
  const std::int64_t rows = dim < 2 ? 1 : values.extent(dim - 2);
  const std::int64_t row_stride = dim < 2 ? 0 : values.stride(dim - 2);
  const std::int64_t columns = dim < 1 ? 1 : values.extent(dim - 1);
  const std::int64_t column_stride = dim < 1 ? 0 : values.stride(dim - 1);
  const Cells cell(values);
  std::string out;
  Extents index(dim < 2 ? 0 : dim - 2);
  for (std::int64_t shown_tables = 0;; ++shown_tables) {
    if (shown_tables == kTables) {
      out += "<div>&hellip;</div>";
      return out;
    }
    const T* at = values.data();
    std::string label;
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      at += index[axis] * values.stride(axis);
      label += text(index[axis]) + ", ";
    }
    if (!label.empty()) out += "<div>[" + label + ":, :]</div>";
    add_table(out, cell, at, rows, row_stride, columns, column_stride);
    std::size_t axis = index.size();
    while (axis > 0 && ++index[axis - 1] == values.extent(axis - 1)) index[--axis] = 0;
    if (axis == 0) return out;
  }
}

template <class Cells, class T>
std::string column(const std::string& title, const Array<T>& values) {
  return "<div>" + title + tables<Cells>(values) + "</div>";
}

/// Columns side by side under what is said of x.
template <class X>
std::string page(const X& x, const std::string& columns) {
  std::string out = "<div style=\"font:13px system-ui,sans-serif\">";
  if (!x.defined()) return out + "<i>" + escape_xml(display_text(x)) + "</i></div>";
  out += "<div><b>" + escape_xml(type_name(x)) + "</b>" + escape_xml(facts(x)) + "</div>";
  return out + "<div style=\"display:flex;flex-wrap:wrap;gap:0 2em\">" + columns + "</div></div>";
}

template <class T>
bool can_be_shown(const Array<T>& values) {
  return values.has_values() && values.size() > 0;
}

}  // namespace
}  // namespace detail

template <class T>
Picture picture(const Variable<T>& x) {
  using Cells = detail::NumberCells<T>;
  Picture out;
  out.text = detail::display_text(x);
  std::string columns;
  if (x.defined()) {
    const detail::Array<T>& values = detail::Access::state(x)->values;
    const Variable<T> gradient = x.grad();
    const bool both = gradient.defined();
    if (detail::can_be_shown(values)) columns = detail::column<Cells>(both ? "values" : "", values);
    if (both) {
      const detail::Array<T>& slopes = detail::Access::state(gradient)->values;
      out.text += "\ngradient\n" + detail::array_text(slopes);
      if (detail::can_be_shown(slopes)) columns += detail::column<Cells>("gradient", slopes);
    }
  }
  out.html = detail::page(x, columns);
  return out;
}
template Picture picture(const Variable<float>&);
template Picture picture(const Variable<double>&);

Picture picture(const Mask& mask) {
  Picture out;
  out.text = detail::display_text(mask);
  std::string columns;
  if (mask.defined()) {
    const detail::Array<bool>& values = *detail::Access::values(mask);
    if (detail::can_be_shown(values)) columns = detail::column<detail::MaskCells>("", values);
  }
  out.html = detail::page(mask, columns);
  return out;
}

}  // namespace xg
