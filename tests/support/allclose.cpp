#include "allclose.hpp"

#include <cmath>
#include <sstream>

namespace test {
namespace {

bool is_close(double got, double want, Tolerance tolerance) {
  if (std::isnan(got) || std::isnan(want)) {
    return tolerance.nan == Nan::equals_nan && std::isnan(got) && std::isnan(want);
  }
  if (std::isinf(got) || std::isinf(want)) return got == want;
  return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

xg::Shape index_of(std::size_t flat, const xg::Shape& shape) {
  xg::Shape index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

}  // namespace

std::string text(const xg::Shape& shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    out += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return out + (shape.size() == 1 ? ",)" : ")");
}

std::string difference(const xg::Shape& got_shape, const std::vector<double>& got,
                       const xg::Shape& want_shape, const std::vector<double>& want,
                       Tolerance tolerance) {
  if (got_shape != want_shape) {
    return "shape: got " + text(got_shape) + ", want " + text(want_shape);
  }
  std::size_t first = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (is_close(got[i], want[i], tolerance)) continue;
    if (count++ == 0) first = i;
  }
  if (count == 0) return {};
  std::ostringstream out;
  out.precision(std::numeric_limits<double>::max_digits10);
  out << "at " << text(index_of(first, got_shape)) << ": got " << got[first] << ", want "
      << want[first] << ", tolerance "
      << tolerance.absolute + tolerance.relative * std::abs(want[first]) << " (" << count << " of "
      << got.size() << " elements differ)";
  return out.str();
}

}  // namespace test
