// Each mistaken submission of the second set is named. Nothing in src/ was built or tuned on it.

#include <doctest/doctest.h>

#include "expect_named.hpp"

TEST_CASE("each mistake of the values is named: second set") {
  test::expect_named("second set, values", mutants::second_forward());
}

TEST_CASE("each mistake of the gradients is named: second set") {
  test::expect_named("second set, gradients", mutants::second_gradient());
}
