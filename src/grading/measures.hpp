#ifndef XGRAD_GRADING_MEASURES_HPP
#define XGRAD_GRADING_MEASURES_HPP

// Private: constant factors between wrong results and right ones. Some have a name, the others are
// said as what was measured.

#include <string>
#include <vector>

#include <xgrad/grading/naming.hpp>

namespace xg::grading {

/// Of the seven gradients.
struct Multiples {
  std::vector<std::string> ids;  // empty unless every gradient is explained
  std::string text;              // "the gradients of query and key are -1 times the right ones"
};

/// Each gradient may have its factor, and so may the two parts it gets from the two results: a
/// rule with a wrong factor changes all gradients behind it.
Multiples multiples_of_gradients(const std::vector<const Judged*>& plain, const Tolerances& t);

/// "the scores are divided by 1.3 times sqrt(d)", "the output is 0.9 times the right one", or
/// nothing.
std::string measured_values(const std::vector<const Judged*>& plain, const Tolerances& t);

}  // namespace xg::grading

#endif
