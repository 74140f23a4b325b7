#include <xgrad/autograd/display.hpp>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <type_traits>
#include <vector>

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/escape.hpp>
#include <xgrad/autograd/message.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/autograd/number_text.hpp>

namespace xg {
namespace detail {
namespace {

template <class T>
std::string type_name(const Variable<T>&) {
  return std::is_same_v<T, float> ? "Variable<float>" : "Variable<double>";
}
std::string type_name(const Mask&) { return "Mask"; }

/// ", from matmul" and the like.
template <class T>
std::string origin(const Variable<T>& x) {
  std::string out;
  if (const Node<T>* node = Access::node(x)) {
    out = node->is_leaf() ? ", requires grad" : ", from " + printable(node->op->name());
  }
  const std::string name = x.name();
  return name.empty() ? out : out + ", named '" + printable(name) + "'";
}
std::string origin(const Mask&) { return {}; }

template <class T>
const Array<T>& values_of(const Variable<T>& x) {
  return Access::state(x)->values;
}
const Array<bool>& values_of(const Mask& mask) { return *Access::values(mask); }

template <class X>
std::string facts(const X& x) {
  return type_name(x) + " shape " + text(values_of(x).shape()) + origin(x);
}

template <class X>
std::string text_of(const X& x) {
  if (!x.defined()) return type_name(x) + " (undefined)";
  const auto& values = values_of(x);
  // A gradient rule may see a variable of which only the shape was kept.
  return (values.has_values() ? array_text(values) : "(values not kept)") + " " + facts(x);
}

constexpr std::int64_t kRows = 16;    // an axis up to so long is shown whole,
constexpr std::int64_t kEdge = 6;     // a longer one by so many at either end
constexpr std::int64_t kTables = 16;  // matrices of an array with more than two axes

/// The indices shown, with -1 for the gap.
std::vector<std::int64_t> shown(std::int64_t extent) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < extent; ++i) {
    if (extent > kRows && i == kEdge) {
      out.push_back(-1);
      i = extent - kEdge;
    }
    out.push_back(i);
  }
  return out;
}

double number(bool x) { return x ? 1 : 0; }
double number(double x) { return x; }
std::string cell_text(bool x) { return x ? "true" : "false"; }
std::string cell_text(double x) { return short_number(x); }

template <class T>
double largest(const Array<T>& values, std::size_t axis, const T* at) {
  if (axis == values.dim()) return std::isfinite(number(*at)) ? std::abs(number(*at)) : 0;
  double out = 0;
  for (std::int64_t i : shown(values.extent(axis))) {
    if (i >= 0) out = std::max(out, largest(values, axis + 1, at + i * values.stride(axis)));
  }
  return out;
}

/// Blue above zero, orange below; translucent, so that the page's own text colour stays readable.
std::string tint(double x, double scale) {
  if (!std::isfinite(x)) return "background:rgba(200,0,80,.35)";
  const double strength = scale > 0 ? 0.5 * std::abs(x) / scale : 0;
  return std::string("background:rgba(") + (x < 0 ? "230,110,20," : "40,120,230,") +
         short_number(std::round(100 * strength) / 100) + ")";
}

template <class T>
void add_table(std::string& out, const T* at, std::int64_t rows, std::int64_t row_stride,
               std::int64_t columns, std::int64_t column_stride, double scale) {
  out += "<table style=\"border-collapse:collapse;margin:.3em 0;font:12px monospace\">";
  for (std::int64_t i : shown(rows)) {
    out += "<tr>";
    for (std::int64_t j : shown(columns)) {
      if (i < 0 || j < 0) {
        out += "<td style=\"padding:1px 6px;text-align:center\">&hellip;</td>";
        continue;
      }
      const T x = at[i * row_stride + j * column_stride];
      out += "<td style=\"padding:1px 6px;text-align:right;" + tint(number(x), scale) + "\">" +
             cell_text(x) + "</td>";
    }
    out += "</tr>";
  }
  out += "</table>";
}

template <class T>
std::string tables(const Array<T>& values) {
  const std::size_t dim = values.dim();
  const std::int64_t rows = dim < 2 ? 1 : values.extent(dim - 2);
  const std::int64_t row_stride = dim < 2 ? 0 : values.stride(dim - 2);
  const std::int64_t columns = dim < 1 ? 1 : values.extent(dim - 1);
  const std::int64_t column_stride = dim < 1 ? 0 : values.stride(dim - 1);
  const double scale = largest(values, 0, values.data());
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
    add_table(out, at, rows, row_stride, columns, column_stride, scale);
    std::size_t axis = index.size();
    while (axis > 0 && ++index[axis - 1] == values.extent(axis - 1)) index[--axis] = 0;
    if (axis == 0) return out;
  }
}

template <class X>
std::string html_of(const X& x) {
  std::string out = "<div style=\"font:13px sans-serif\">";
  if (!x.defined()) return out + "<i>" + escape_xml(text_of(x)) + "</i></div>";
  const auto& values = values_of(x);
  out += "<div><b>" + escape_xml(type_name(x)) + "</b>" +
         escape_xml(facts(x).substr(type_name(x).size())) + "</div>";
  if (values.has_values() && values.size() > 0) out += tables(values);
  return out + "</div>";
}

/// The one place through which `show` goes: a notebook kernel's display belongs here.
template <class X>
void present(const X& x) {
  std::cout << text_of(x) << std::endl;
}

}  // namespace

template <class T>
std::string display_text(const Variable<T>& x) {
  return text_of(x);
}
std::string display_text(const Mask& mask) { return text_of(mask); }

template <class T>
std::string display_html(const Variable<T>& x) {
  return html_of(x);
}
std::string display_html(const Mask& mask) { return html_of(mask); }

}  // namespace detail

template <class T>
std::ostream& operator<<(std::ostream& out, const Variable<T>& x) {
  return out << detail::text_of(x);
}
std::ostream& operator<<(std::ostream& out, const Mask& mask) {
  return out << detail::text_of(mask);
}

template <class T>
void show(const Variable<T>& x) {
  detail::present(x);
}
void show(const Mask& mask) { detail::present(mask); }

#define XGRAD_INSTANTIATE(T)                                            \
  template std::ostream& operator<<(std::ostream&, const Variable<T>&); \
  template void show(const Variable<T>&);                               \
  template std::string detail::display_text(const Variable<T>&);        \
  template std::string detail::display_html(const Variable<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
