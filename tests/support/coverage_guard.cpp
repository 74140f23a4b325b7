#include "coverage_guard.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "coverage.hpp"

namespace test {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

/// The page with this table between `<!-- table: NAME -->` and `<!-- end -->`.
std::string with_table(std::string page, const std::string& name, const std::string& table) {
  const std::string mark = "<!-- table: " + name + " -->\n";
  const std::size_t start = page.find(mark);
  const std::size_t end = page.find("<!-- end -->", start);
  REQUIRE_MESSAGE(end != std::string::npos, "no table of src/", name, " in docs/operations.md");
  return page.replace(start + mark.size(), end - start - mark.size(), table);
}

}  // namespace

void guard_coverage(const std::string& folder) {
  REQUIRE_MESSAGE(doctest::getContextOptions()->order_by == "suite",
                  "run with --order-by=suite, so that all other tests come first");
  const auto ops = operations_declared_in(XGRAD_SOURCE "/" + folder);
  REQUIRE_FALSE(ops.empty());
  const Coverage& coverage = Coverage::instance();
  MESSAGE(coverage.table(ops));
  for (const std::string& flaw : coverage.flaws(ops)) FAIL_CHECK(flaw);

  const char* target = std::getenv("XGRAD_TABLE");
  const std::string path = target != nullptr ? target : XGRAD_SOURCE "/../docs/operations.md";
  const std::string page = content(path);
  const std::string wanted = with_table(page, folder, coverage.markdown(ops));
  if (target != nullptr) {
    std::ofstream(path) << wanted;
  } else {
    const bool same = page == wanted;  // not in CHECK, which would print both
    CHECK_MESSAGE(same,
                  "docs/operations.md is not what this run has met: run "
                  "tests/docs/update_operations_table");
  }
}

}  // namespace test
