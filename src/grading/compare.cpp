#include <xgrad/grading/compare.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <locale>
#include <sstream>

#include <xgrad/autograd/message.hpp>

namespace xg::grading {
namespace {

bool close(double got, double want, double tolerance) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return got == want;
  return std::abs(got - want) <= tolerance;
}

Difference compare(const Values& got, const Values& want, double tolerance, bool exact_zeros) {
  if (got.shape != want.shape) {
    return {true,
            "shape " + detail::text(Dims(got.shape).values()) + ", want " +
                detail::text(Dims(want.shape).values()),
            0};
  }
  double scale = 1;
  for (double x : want.data) {
    if (std::isfinite(x)) scale = std::max(scale, std::abs(x));
  }
  Difference result;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < want.data.size(); ++i) {
    const bool zeros = !exact_zeros || (got.data[i] == 0) == (want.data[i] == 0);
    if (zeros && close(got.data[i], want.data[i], tolerance * scale)) continue;
    if (wrong++ == 0) result.at = i;
  }
  if (wrong == 0) return result;
  result.differs = true;
  result.text = "at " + index_text(want.shape, result.at) + ": got " +
                number_text(got.data[result.at]) + ", want " + number_text(want.data[result.at]) +
                " (" + std::to_string(wrong) + " of " + std::to_string(want.data.size()) +
                " elements differ)";
  return result;
}

}  // namespace

Difference compare(const Values& got, const Values& want, double tolerance) {
  return compare(got, want, tolerance, false);
}

Difference compare_weights(const Values& got, const Values& want, double tolerance) {
  return compare(got, want, tolerance, true);
}

bool same_gradient(const std::vector<double>& got, const std::vector<double>& want,
                   double tolerance) {
  const Values zeros{{want.size()}, std::vector<double>(want.size())};
  const Values seen = got.empty() ? zeros : Values{{got.size()}, got};
  return !compare(seen, {{want.size()}, want}, tolerance).differs;
}

std::string index_text(const Shape& shape, std::size_t at) {
  std::vector<std::size_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = at % shape[i];
    at /= shape[i];
  }
  return detail::text(Dims(index).values());
}

std::string number_text(double x) {
  if (std::isnan(x)) return "nan";  // a stream would tell its sign
  std::ostringstream out;
  out.imbue(std::locale::classic());
  out << std::setprecision(6) << x;
  return out.str();
}

}  // namespace xg::grading
