#ifndef XGRAD_TESTS_GRADING_EXPECT_NAMED_HPP
#define XGRAD_TESTS_GRADING_EXPECT_NAMED_HPP

#include <string>
#include <vector>

#include "mutants.hpp"

namespace test {

/// "softmax-twice", several ids in order, or "" if there is none.
std::string joined(const std::vector<std::string>& ids);

/// Grades each mutant, prints what it was named as a table, and checks that it did not pass and
/// that the name is its own. What float cannot show may pass in float.
void expect_named(const std::string& set, const std::vector<mutants::Mutant>& mutants);

}  // namespace test

#endif
