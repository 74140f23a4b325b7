#ifndef XGRAD_GRADING_COMPARE_HPP
#define XGRAD_GRADING_COMPARE_HPP

// Private: comparing arrays, and saying where they differ.

#include <string>
#include <vector>

#include <xgrad/grading/oracle.hpp>

namespace xg::grading {

struct Difference {
  bool differs = false;
  std::string text;  // "shape (2, 3), want (3, 2)", or the first place with got and want
  std::size_t at = 0;
};

/// The tolerance is relative to the largest wanted element, or 1. NaN is close to NaN only, an
/// infinity to itself.
Difference compare(const Values& got, const Values& want, double tolerance);
/// A weight that has to be 0 must be exactly that.
Difference compare_weights(const Values& got, const Values& want, double tolerance);
/// One gradient; absent counts as zero.
bool same_gradient(const std::vector<double>& got, const std::vector<double>& want,
                   double tolerance);

std::string index_text(const Shape& shape, std::size_t at);
std::string number_text(double x);

}  // namespace xg::grading

#endif
