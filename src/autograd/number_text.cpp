#include <xgrad/autograd/number_text.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace xg::detail {
namespace {

// The print options of NumPy 2.4.
constexpr std::int64_t kThreshold = 1000;
constexpr std::int64_t kEdge = 3;
constexpr std::size_t kLineWidth = 75;
constexpr int kPrecision = 8;
template <class T>
constexpr T kScientificFrom = sizeof(T) == sizeof(float) ? T(1e6) : T(1e8);

template <class T, class... P>
std::string digits(T x, P... format) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x, format...);
  return std::string(buffer, end.ptr);
}

/// A number in three parts: "-12", "5", "e+10".
struct Parts {
  std::string whole;
  std::string fraction;
  std::string exponent;
};

Parts parse(const std::string& s) {
  const std::size_t e = std::min(s.find('e'), s.size());
  const std::size_t point = std::min(s.find('.'), e);
  const std::size_t after = std::min(point + 1, e);
  return {s.substr(0, point), s.substr(after, e - after), s.substr(e)};
}

/// The shortest digits that read back as x, but at most kPrecision behind the point.
template <class T>
Parts split(T x, std::chars_format format) {
  Parts parts = parse(digits(x, format));
  if (parts.fraction.size() > kPrecision) {
    parts = parse(digits(x, format, kPrecision));
    parts.fraction.erase(parts.fraction.find_last_not_of('0') + 1);
  }
  return parts;
}

/// One form for all elements, so that columns line up.
template <class T>
class FloatFormat {
 public:
  explicit FloatFormat(const std::vector<T>& shown) {
    T largest = 0;
    T smallest = std::numeric_limits<T>::infinity();
    for (T x : shown) {
      const T size = std::abs(x);
      if (!std::isfinite(x) || size == 0) continue;
      largest = std::max(largest, size);
      smallest = std::min(smallest, size);
    }
    const bool wide = largest >= kScientificFrom<T> ||
                      (largest > 0 && (smallest < T(1e-4) || largest / smallest > T(1000)));
    format_ = wide ? std::chars_format::scientific : std::chars_format::fixed;
    for (T x : shown) {
      if (!std::isfinite(x)) continue;
      const Parts parts = split(x, format_);
      whole_ = std::max(whole_, parts.whole.size());
      fraction_ = std::max(fraction_, parts.fraction.size());
      exponent_ = std::max(exponent_, parts.exponent.size());
    }
    for (T x : shown) {
      if (std::isfinite(x)) continue;
      const std::size_t wanted = word(x).size();
      const std::size_t tail = fraction_ + 1 + exponent_;
      if (wanted > whole_ + tail) whole_ = wanted - tail;
    }
  }

  std::string operator()(T x) const {
    if (!std::isfinite(x)) return pad_left(word(x), whole_ + 1 + fraction_ + exponent_);
    Parts parts;
    if (format_ == std::chars_format::scientific) {
      parts = parse(digits(x, format_, static_cast<int>(fraction_)));
      parts.exponent.insert(2, exponent_ - parts.exponent.size(), '0');
    } else {
      parts = split(x, format_);
      parts.fraction.resize(fraction_, ' ');
    }
    return pad_left(parts.whole, whole_) + "." + parts.fraction + parts.exponent;
  }

 private:
  static std::string word(T x) { return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf"; }
  static std::string pad_left(const std::string& s, std::size_t width) {
    return std::string(width - std::min(width, s.size()), ' ') + s;
  }

  std::chars_format format_;
  std::size_t whole_ = 0;
  std::size_t fraction_ = 0;
  std::size_t exponent_ = 0;
};

class BoolFormat {
 public:
  explicit BoolFormat(const std::vector<bool>&) {}
  std::string operator()(bool x) const { return x ? " True" : "False"; }
};

template <class T>
using Format = std::conditional_t<std::is_same_v<T, bool>, BoolFormat, FloatFormat<T>>;

/// Recursion is at most as deep as an array has axes: 32.
template <class T>
class Printer {
 public:
  explicit Printer(const Array<T>& values)
      : values_(values), shortened_(values.size() > kThreshold), format_(shown_elements()) {}

  std::string print() const { return print(0, values_.data(), " ", kLineWidth); }

 private:
  /// Calls f with every index of the axis that is shown, and with -1 for the gap.
  template <class F>
  void each(std::size_t axis, F f) const {
    const std::int64_t extent = values_.extent(axis);
    const bool gap = shortened_ && extent > 2 * kEdge;
    for (std::int64_t i = 0; i < (gap ? kEdge : extent); ++i) f(i);
    if (!gap) return;
    f(std::int64_t{-1});
    for (std::int64_t i = extent - kEdge; i < extent; ++i) f(i);
  }

  std::vector<T> shown_elements() const {
    std::vector<T> shown;
    collect(0, values_.data(), shown);
    return shown;
  }
  void collect(std::size_t axis, const T* at, std::vector<T>& shown) const {
    if (axis == values_.dim()) {
      shown.push_back(*at);
      return;
    }
    each(axis, [&](std::int64_t i) {
      if (i >= 0) collect(axis + 1, at + i * values_.stride(axis), shown);
    });
  }

  std::string print(std::size_t axis, const T* at, const std::string& indent,
                    std::size_t width) const {
    const bool innermost = axis + 1 == values_.dim();
    std::string out;
    std::string line = indent;
    bool first = true;
    each(axis, [&](std::int64_t i) {
      const T* element = at + i * values_.stride(axis);
      if (innermost) {
        const std::string word = i < 0 ? "..." : format_(*element);
        if (!first) line += ' ';
        if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
          line.erase(line.find_last_not_of(' ') + 1);
          out += line + '\n';
          line = indent;
        }
        line += word;
      } else {
        if (!first) out += std::string(values_.dim() - axis - 1, '\n');
        out += indent + (i < 0 ? "..." : print(axis + 1, element, indent + ' ', width - 1));
      }
      first = false;
    });
    if (innermost) out += line;
    return '[' + out.substr(indent.size()) + ']';
  }

  const Array<T>& values_;
  bool shortened_;
  Format<T> format_;
};

}  // namespace

template <class T>
std::string array_text(const Array<T>& values) {
  if (values.size() == 0) return "[]";
  if (values.dim() > 0) return Printer<T>(values).print();
  std::string one = Format<T>({*values.data()})(*values.data());
  one.erase(0, one.find_first_not_of(' '));
  return one.back() == '.' ? one + '0' : one;
}

template std::string array_text(const Array<float>&);
template std::string array_text(const Array<double>&);
template std::string array_text(const Array<bool>&);

std::string short_number(double x) {
  if (std::isnan(x)) return "nan";
  return digits(x, std::chars_format::general, 4);
}

}  // namespace xg::detail
