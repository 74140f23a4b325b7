#include <doctest/doctest.h>

#include "../support/coverage.hpp"

TEST_SUITE("last") {  // --order-by=suite puts it behind the cases without a suite
  TEST_CASE("every operation has a gradient test with every class of input") {
    REQUIRE_MESSAGE(doctest::getContextOptions()->order_by == "suite",
                    "run with --order-by=suite, so that all other tests come first");
    const auto ops = test::operations_declared_in(XGRAD_SOURCE "/ops");
    REQUIRE(ops.size() > 20);
    const auto& coverage = test::Coverage::instance();
    MESSAGE(coverage.table(ops));
    for (const std::string& flaw : coverage.flaws(ops)) FAIL_CHECK(flaw);
  }
}
