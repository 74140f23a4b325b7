#include "../support/coverage_guard.hpp"

#include <doctest/doctest.h>

TEST_SUITE("last") {  // --order-by=suite puts it behind the cases without a suite
  TEST_CASE("every operation is tested in every way, as docs/operations.md says") {
    test::guard_coverage("ops");
  }
}
