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
constexpr std::int64_t kMost = 16;    // an axis of a table up to so long is shown whole,
constexpr std::int64_t kEdge = 6;     // a longer one by so many at either end
constexpr std::int64_t kMostGrid = 64;
constexpr std::int64_t kEdgeGrid = 24;

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

template <class T>
void add_table(const NumberCells<T>& cell, std::string& out, const T* at, std::int64_t rows,
               std::int64_t row_stride, std::int64_t columns, std::int64_t column_stride) {
  out += "<table style=\"border-collapse:collapse;margin:.3em 0;font:12px monospace\">";
  for (std::int64_t i : shown(rows, kMost, kEdge)) {
    out += "<tr style=\"background:transparent\">";
    for (std::int64_t j : shown(columns, kMost, kEdge)) {
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

/// Filled squares for what is visible, and empty ones.
void add_grid(std::string& out, const bool* at, std::int64_t rows, std::int64_t row_stride,
              std::int64_t columns, std::int64_t column_stride) {
  const std::vector<std::int64_t> down = shown(rows, kMostGrid, kEdgeGrid);
  const std::vector<std::int64_t> across = shown(columns, kMostGrid, kEdgeGrid);
  const std::int64_t size = down.size() > 24 || across.size() > 24 ? 7 : 13;
  const std::int64_t width = size * static_cast<std::int64_t>(across.size());
  const std::int64_t height = size * static_cast<std::int64_t>(down.size());
  const std::string square = "h" + text(size) + "v" + text(size) + "h-" + text(size) + "z";
  std::string filled;
  std::string gaps;
  std::string lines;
  for (std::size_t r = 0; r <= down.size(); ++r) {
    const std::string y = text(std::int64_t(r) * size);
    lines += "M0 " + y + "h" + text(width);
    for (std::size_t c = 0; r < down.size() && c < across.size(); ++c) {
      const std::string at_cell = "M" + text(std::int64_t(c) * size) + " " + y;
      if (down[r] < 0 || across[c] < 0) {
        gaps += at_cell + "m3 3h1v1h-1z";
      } else if (at[down[r] * row_stride + across[c] * column_stride]) {
        filled += at_cell + square;
      }
    }
  }
  for (std::size_t c = 0; c <= across.size(); ++c) {
    lines += "M" + text(std::int64_t(c) * size) + " 0v" + text(height);
  }
  out += "<svg width=\"" + text(width + 1) + "\" height=\"" + text(height + 1) +
         "\" viewBox=\"-.5 -.5 " + text(width + 1) + " " + text(height + 1) +
         "\" style=\"display:block;margin:.3em 0\">"
         "<path fill=\"rgb(40,120,230)\" fill-opacity=\".7\" d=\"" +
         filled + "\"/><path stroke=\"currentColor\" stroke-opacity=\".25\" d=\"" + lines +
         "\"/><path fill=\"currentColor\" d=\"" + gaps + "\"/></svg>";
}

/// Calls add(out, first, rows, row_stride, columns, column_stride) for each matrix.
template <class T, class F>
std::string matrices(const Array<T>& values, F add) {
  const std::size_t dim = values.dim();
  const std::int64_t rows = dim < 2 ? 1 : values.extent(dim - 2);
  const std::int64_t row_stride = dim < 2 ? 0 : values.stride(dim - 2);
  const std::int64_t columns = dim < 1 ? 1 : values.extent(dim - 1);
  const std::int64_t column_stride = dim < 1 ? 0 : values.stride(dim - 1);
  std::string out;
  Extents index(dim < 2 ? 0 : dim - 2);
  for (std::int64_t n = 0;; ++n) {
    if (n == kTables) {
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
    add(out, at, rows, row_stride, columns, column_stride);
    std::size_t axis = index.size();
    while (axis > 0 && ++index[axis - 1] == values.extent(axis - 1)) index[--axis] = 0;
    if (axis == 0) return out;
  }
}

template <class T>
std::string tables(const std::string& title, const Array<T>& values) {
  if (!values.has_values() || values.size() == 0) return {};
  const NumberCells<T> cell(values);
  return "<div>" + title + matrices(values, [&](auto&... matrix) { add_table(cell, matrix...); }) +
         "</div>";
}

/// Columns side by side under what is said of x.
template <class X>
std::string page(const X& x, const std::string& columns) {
  std::string out = "<div style=\"font:13px system-ui,sans-serif\">";
  if (!x.defined()) return out + "<i>" + escape_xml(display_text(x)) + "</i></div>";
  out += "<div><b>" + escape_xml(type_name(x)) + "</b>" + escape_xml(facts(x)) + "</div>";
  return out + "<div style=\"display:flex;flex-wrap:wrap;gap:0 2em\">" + columns + "</div></div>";
}

}  // namespace
}  // namespace detail

template <class T>
Picture picture(const Variable<T>& x) {
  Picture out;
  out.text = detail::display_text(x);
  std::string columns;
  if (x.defined()) {
    const Variable<T> gradient = x.grad();
    columns = detail::tables(gradient.defined() ? "values" : "", detail::Access::state(x)->values);
    if (gradient.defined()) {
      const detail::Array<T>& values = detail::Access::state(gradient)->values;
      out.text += "\ngradient\n" + detail::array_text(values);
      columns += detail::tables("gradient", values);
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
  std::string grids;
  if (mask.defined() && detail::Access::values(mask)->size() > 0) {
    grids = "<div>" + detail::matrices(*detail::Access::values(mask), detail::add_grid) + "</div>";
  }
  out.html = detail::page(mask, grids);
  return out;
}

}  // namespace xg
