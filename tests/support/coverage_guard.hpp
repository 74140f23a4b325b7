#ifndef XGRAD_TESTS_SUPPORT_COVERAGE_GUARD_HPP
#define XGRAD_TESTS_SUPPORT_COVERAGE_GUARD_HPP

#include <string>

namespace test {

/// The last test case of an executable: each operation that the headers in src/`folder` declare has
/// met every aspect in this run, and docs/operations.md says so, in the table of that name. If the
/// environment names a page in XGRAD_TABLE, the table is written there instead.
void guard_coverage(const std::string& folder);

}  // namespace test

#endif
