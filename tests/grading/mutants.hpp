#ifndef XGRAD_TESTS_GRADING_MUTANTS_HPP
#define XGRAD_TESTS_GRADING_MUTANTS_HPP

// Submissions of multi-head attention for the grader: with one mistake each, written twice by
// different hands and in differing style, and correct but unusual ones. Nothing in src/ is built or
// tuned on the second set.

#include <cstdint>
#include <vector>

#include <xgrad/xgrad.hpp>

namespace mutants {

template <class T>
using Function = xg::Attention<T> (*)(const xg::Variable<T>& query, const xg::Variable<T>& key,
                                      const xg::Variable<T>& value, const xg::Variable<T>& w_q,
                                      const xg::Variable<T>& w_k, const xg::Variable<T>& w_v,
                                      const xg::Variable<T>& w_o, std::int64_t num_heads,
                                      const xg::Mask& mask);

/// `id` is the mistake's in the grader's catalogue; of a correct submission, its description.
struct Mutant {
  const char* id;
  Function<double> in_double;
  Function<float> in_float;
};

const std::vector<Mutant>& first_forward();
const std::vector<Mutant>& first_gradient();
const std::vector<Mutant>& second_forward();
const std::vector<Mutant>& second_gradient();
const std::vector<Mutant>& correct_but_unusual();

}  // namespace mutants

#endif
