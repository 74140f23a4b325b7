#ifndef XGRAD_GRADING_CASES_HPP
#define XGRAD_GRADING_CASES_HPP

// Private: the inputs that a submission is graded on. They are chosen so that every two mistakes
// of the catalogue differ on one of them, which a test checks.

#include <cstdint>
#include <vector>

#include <xgrad/grading/oracle.hpp>

namespace xg::grading {

/// How an input lies in memory.
enum class Layout { contiguous, transposed, stepped, reversed, offset, repeated };

enum class Kind {
  plain,   // no mask
  masked,  // every query sees a key
  hidden,  // some queries see no key
  large,   // scores of thousands
  strided  // inputs that are not contiguous
};

struct Graded {
  Kind kind;
  Case c;
  Layout layout = Layout::contiguous;
};

/// Generic numbers: multiples of 1/64, so that float and double get the same.
Case generic_case(std::string name, const Sizes& n, std::uint64_t seed);
/// Each element visible or not, every query sees a key.
void set_random_mask(Case& c, const Shape& shape, std::uint64_t seed);
void set_mask(Case& c, Shape shape, std::vector<bool> mask);
void set_cotangents(Case& c, std::uint64_t seed);

/// Of the values.
std::vector<Graded> value_cases(std::uint64_t seed);
/// Of the gradients; each has cotangents.
std::vector<Graded> gradient_cases(std::uint64_t seed);
/// From one number on, for the smallest input that shows a mistake.
std::vector<Case> ladder(bool gradients);

}  // namespace xg::grading

#endif
