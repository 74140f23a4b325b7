// Each mistaken submission of the first set is named, and no right one is blamed.

#include <doctest/doctest.h>

#include <iostream>

#include <xgrad/grading.hpp>

#include "expect_named.hpp"

TEST_CASE("each mistake of the values is named: first set") {
  test::expect_named("first set, values", mutants::first_forward());
}

TEST_CASE("each mistake of the gradients is named: first set") {
  test::expect_named("first set, gradients", mutants::first_gradient());
}

namespace {

void expect_all_pass(std::uint64_t seeds) {
  for (const mutants::Mutant& one : mutants::correct_but_unusual()) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto in_double = xg::detail::grade<double>(one.in_double, seed);
      INFO(one.id << ", seed " << seed << "\n" << in_double.to_string());
      CHECK(in_double.passed());
      const auto in_float = xg::detail::grade<float>(one.in_float, seed);
      INFO(in_float.to_string());
      CHECK(in_float.passed());
    }
  }
}

}  // namespace

TEST_CASE("correct but unusual submissions pass") { expect_all_pass(3); }

// A test of its own in meson.build: it takes long where nothing is optimised.
TEST_CASE("correct but unusual submissions pass, over 200 seeds" * doctest::skip()) {
  expect_all_pass(200);
}
