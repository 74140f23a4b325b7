#ifndef XGRAD_GRADING_CATALOGUE_HPP
#define XGRAD_GRADING_CATALOGUE_HPP

// Private: the mistakes that people make, each as changed choices of the oracle.

#include <string>
#include <vector>

#include <xgrad/grading/oracle.hpp>

namespace xg::grading {

using Change = void (*)(Choices&);

struct Mistake {
  const char* id;
  const char* name;   // what the submission does
  const char* place;  // where in the formula
  const char* hint;
  /// The ways to make it, which differ in what they give. None: found by a law alone.
  std::vector<Change> variants;
};

/// Mistakes of the values.
const std::vector<Mistake>& forward_mistakes();
/// Mistakes of the gradients, where the values are right.
const std::vector<Mistake>& gradient_mistakes();
/// Mistakes of the interface, and those that only a law shows.
const std::vector<Mistake>& law_mistakes();
const Mistake& mistake(const std::string& id);

}  // namespace xg::grading

#endif
