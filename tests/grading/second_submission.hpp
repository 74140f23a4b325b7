#ifndef XGRAD_TESTS_GRADING_SECOND_SUBMISSION_HPP
#define XGRAD_TESTS_GRADING_SECOND_SUBMISSION_HPP

// What the second set of mutants shares: the signature, and the check of the head count.

#include <cstdint>
#include <stdexcept>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "mutants.hpp"

namespace mutants {

template <class T>
using V = xg::Variable<T>;

/// D / H, or an error.
template <class T>
std::int64_t head_width(const V<T>& x, std::int64_t heads) {
  const auto width = static_cast<std::int64_t>(x.shape().at(2));
  if (heads < 1 || width % heads != 0) {
    throw std::invalid_argument("num_heads has to be positive and to divide the width");
  }
  return width / heads;
}

const std::vector<Mutant>& second_scores();
const std::vector<Mutant>& second_heads();
const std::vector<Mutant>& second_data();

}  // namespace mutants

#define SUBMISSION(NAME)                                                                           \
  template <class T>                                                                               \
  xg::Attention<T> NAME([[maybe_unused]] const V<T>& query, [[maybe_unused]] const V<T>& key,      \
                        [[maybe_unused]] const V<T>& value, [[maybe_unused]] const V<T>& w_q,      \
                        [[maybe_unused]] const V<T>& w_k, [[maybe_unused]] const V<T>& w_v,        \
                        [[maybe_unused]] const V<T>& w_o, [[maybe_unused]] std::int64_t num_heads, \
                        [[maybe_unused]] const xg::Mask& mask)

#define MUTANT(ID, NAME) \
  { ID, NAME<double>, NAME<float> }

#endif
