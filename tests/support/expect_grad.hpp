#ifndef XGRAD_TESTS_SUPPORT_EXPECT_GRAD_HPP
#define XGRAD_TESTS_SUPPORT_EXPECT_GRAD_HPP

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "allclose.hpp"
#include "coverage.hpp"

namespace test {

/// A function to differentiate.
template <class T>
using Function = std::function<xg::Variable<T>(const std::vector<xg::Variable<T>>&)>;

enum class Smoothness {
  smooth,
  kinked  ///< equal elements meet a kink: no differences where broadcasting makes them equal
};

struct GradReport {
  std::string op;
  std::vector<std::string> failures;  // the first of them
  std::vector<Aspect> met;

  bool passed() const { return failures.empty(); }
  std::string to_string() const;
};

/// Differentiates f in every way it can be called, and compares.
///
/// Inputs: each layout of strided.hpp, all inputs at once and mixed; double and float; all of them
/// or only one requiring grad. Checked in each: values equal those of contiguous copies; nothing
/// changes the inputs or the seed; gradients have their inputs' shapes, equal the product of a
/// random seed and a Jacobian by four-point differences, and double in a second backward; float
/// agrees with double; derivatives of the gradients, by input and by seed, agree with differences
/// of the gradients; no graph node outlives the check.
GradReport check_grad(const std::string& op, const Function<double>& f, const Function<float>& g,
                      const std::vector<xg::Variable<double>>& inputs,
                      Smoothness smoothness = Smoothness::smooth);

/// Asserts that check_grad finds nothing, and records what `op` has met. f takes a vector of
/// variables of either type.
template <class F>
void expect_grad(const std::string& op, F f, const std::vector<xg::Variable<double>>& inputs,
                 Smoothness smoothness = Smoothness::smooth) {
  const GradReport report =
      check_grad(op, Function<double>(f), Function<float>(f), inputs, smoothness);
  for (const Aspect& aspect : report.met) Coverage::instance().record(op, aspect);
  CHECK_MESSAGE(report.passed(), report.to_string());
}

/// Distinct numbers from [low, high), in an order that the seed decides, at least (high - low) / 2n
/// apart; float holds them exactly.
xg::Variable<double> numbers(const xg::Dims& shape, std::uint64_t seed = 1, double low = -2,
                             double high = 2);

/// The shapes that every elementwise operation meets: some axes, one, none, one element, nothing.
const std::vector<xg::Shape>& shapes();

}  // namespace test

#endif
