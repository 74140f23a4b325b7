#ifndef XGRAD_TESTS_GRADING_FIRST_PARTS_HPP
#define XGRAD_TESTS_GRADING_FIRST_PARTS_HPP

// What the first set of submissions shares: each of these is right, so that a submission shows
// little but its mistake.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "mutants.hpp"

namespace mutants::first {

using xg::Attention;
using xg::Mask;
using xg::Variable;

/// An argument of a submission.
template <class T>
using In = const Variable<T>&;

inline void check_heads(std::int64_t D, std::int64_t H) {
  if (H <= 0 || D % H != 0) {
    throw xg::ArgumentError("[my_attention] wrong number of heads: got " + std::to_string(H) +
                            " for D = " + std::to_string(D) + ", expected a divisor of D");
  }
}

template <class T>
std::int64_t extent(const Variable<T>& x, std::int64_t axis) {
  const xg::Shape shape = x.shape();
  return static_cast<std::int64_t>(shape.at(static_cast<std::size_t>(axis)));
}

/// [B,N,D] -> [B,H,N,D/H]
template <class T>
Variable<T> split_heads(const Variable<T>& x, std::int64_t H) {
  const std::int64_t D = extent(x, 2);
  check_heads(D, H);
  return transpose(reshape(x, {extent(x, 0), extent(x, 1), H, D / H}), {0, 2, 1, 3});
}

/// [B,H,N,d] -> [B,N,H d]
template <class T>
Variable<T> merge_heads(const Variable<T>& x) {
  return reshape(transpose(x, {0, 2, 1, 3}),
                 {extent(x, 0), extent(x, 2), extent(x, 1) * extent(x, 3)});
}

template <class T>
Variable<T> transposed(const Variable<T>& x) {
  return swapaxes(x, -1, -2);
}

template <class T>
struct Heads {
  Variable<T> q, k, v;
};

/// The three projections, split: [B,H,Q,d], [B,H,K,d], [B,H,K,d].
template <class T>
Heads<T> project(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                 std::int64_t H) {
  return {split_heads(matmul(query, w_q), H), split_heads(matmul(key, w_k), H),
          split_heads(matmul(value, w_v), H)};
}

template <class T>
T root_of_width(const Variable<T>& q) {
  return std::sqrt(static_cast<T>(extent(q, 3)));
}

/// q k^T / sqrt(d), [B,H,Q,K]
template <class T>
Variable<T> scaled_scores(const Variable<T>& q, const Variable<T>& k) {
  return matmul(q, transposed(k)) / root_of_width(q);
}

/// Concat(weights v) w_o, and the weights.
template <class T>
Attention<T> finish(const Variable<T>& weights, const Variable<T>& v, In<T> w_o) {
  return {matmul(merge_heads(matmul(weights, v)), w_o), weights};
}

/// The mask in full, 1 where visible; all ones without a mask.
template <class T>
Variable<T> as_numbers(const Mask& mask, const xg::Shape& shape) {
  const Variable<T> ones = xg::ones<T>(shape);
  return mask.defined() ? where(mask, ones, 0) : ones;
}

/// x where visible, else `hidden`; x itself without a mask.
template <class T>
Variable<T> fill_hidden(const Mask& mask, const Variable<T>& x, double hidden) {
  return mask.defined() ? where(mask, x, hidden) : x;
}

const std::vector<Mutant>& forward_scale_softmax();
const std::vector<Mutant>& forward_mask();
const std::vector<Mutant>& forward_heads();
const std::vector<Mutant>& forward_projections();
const std::vector<Mutant>& forward_results();
const std::vector<Mutant>& gradient();
const std::vector<Mutant>& correct();

}  // namespace mutants::first

#endif
