// Mistakes in splitting and merging the heads.

#include "first_parts.hpp"

namespace mutants::first {
namespace {

/// [B,N,D] -> [B,H,N,d] without moving the axis of the heads.
template <class T>
Variable<T> split_by_reshape_alone(const Variable<T>& x, std::int64_t H) {
  check_heads(extent(x, 2), H);
  return reshape(x, {extent(x, 0), H, extent(x, 1), extent(x, 2) / H});
}

/// [B,H,N,d] -> [B,N,D] without moving it back.
template <class T>
Variable<T> merge_by_reshape_alone(const Variable<T>& x) {
  return reshape(x, {extent(x, 0), extent(x, 2), extent(x, 1) * extent(x, 3)});
}

/// Head h gets the features h, h + H, h + 2 H, ...
template <class T>
Variable<T> split_with_stride(const Variable<T>& x, std::int64_t H) {
  check_heads(extent(x, 2), H);
  return transpose(reshape(x, {extent(x, 0), extent(x, 1), extent(x, 2) / H, H}), {0, 3, 1, 2});
}

template <class T>
Attention<T> split_by_reshape(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_by_reshape_alone(matmul(query, w_q), H);
  const auto k = split_by_reshape_alone(matmul(key, w_k), H);
  const auto v = split_by_reshape_alone(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> merge_by_reshape(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_by_reshape_alone(heads), w_o), weights};
}

template <class T>
Attention<T> split_and_merge_by_reshape(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                        In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_by_reshape_alone(matmul(query, w_q), H);
  const auto k = split_by_reshape_alone(matmul(key, w_k), H);
  const auto v = split_by_reshape_alone(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_by_reshape_alone(heads), w_o), weights};
}

template <class T>
Attention<T> heads_interleaved(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                               In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_with_stride(matmul(query, w_q), H);
  const auto k = split_with_stride(matmul(key, w_k), H);
  const auto v = split_with_stride(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  const auto merged = reshape(transpose(heads, {0, 2, 3, 1}), query.shape());
  return {matmul(merged, w_o), weights};
}

template <class T>
Attention<T> heads_interleaved_split(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                     In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_with_stride(matmul(query, w_q), H);
  const auto k = split_with_stride(matmul(key, w_k), H);
  const auto v = split_with_stride(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> heads_reversed(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(flip(heads, 1)), w_o), flip(weights, 1)};
}

template <class T>
Attention<T> heads_merged_reversed(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                   In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(flip(heads, 1)), w_o), weights};
}

template <class T>
Attention<T> heads_first_weights(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                 In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(scaled_scores(q, k), mask);
  const auto first = broadcast_to(slice(weights, 1, 0, 1), weights.shape());
  return finish(first, v, w_o);
}

template <class T>
Attention<T> heads_first_output(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  const auto first = broadcast_to(slice(heads, 1, 0, 1), heads.shape());
  return {matmul(merge_heads(first), w_o), weights};
}

template <class T>
Attention<T> heads_summed(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  const auto total = broadcast_to(sum(heads, 1, true), heads.shape());
  return {matmul(merge_heads(total), w_o), weights};
}

template <class T>
Attention<T> heads_as_one(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask& mask) {
  check_heads(extent(query, 2), H);
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, 1);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> heads_hard_coded(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  check_heads(extent(query, 2), H);
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, 2);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> heads_width_swapped(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                 In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  check_heads(extent(query, 2), H);
  const std::int64_t width = extent(query, 2) / H;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, width);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

}  // namespace

const std::vector<Mutant>& forward_heads() {
  static const std::vector<Mutant> all{
      {"split-by-reshape", split_by_reshape<double>, split_by_reshape<float>},
      {"merge-by-reshape", merge_by_reshape<double>, merge_by_reshape<float>},
      {"split-and-merge-by-reshape", split_and_merge_by_reshape<double>,
       split_and_merge_by_reshape<float>},
      {"heads-interleaved", heads_interleaved<double>, heads_interleaved<float>},
      {"heads-interleaved-split", heads_interleaved_split<double>, heads_interleaved_split<float>},
      {"heads-reversed", heads_reversed<double>, heads_reversed<float>},
      {"heads-merged-reversed", heads_merged_reversed<double>, heads_merged_reversed<float>},
      {"heads-first-weights", heads_first_weights<double>, heads_first_weights<float>},
      {"heads-first-output", heads_first_output<double>, heads_first_output<float>},
      {"heads-summed", heads_summed<double>, heads_summed<float>},
      {"heads-as-one", heads_as_one<double>, heads_as_one<float>},
      {"heads-hard-coded", heads_hard_coded<double>, heads_hard_coded<float>},
      {"heads-width-swapped", heads_width_swapped<double>, heads_width_swapped<float>},
  };
  return all;
}

}  // namespace mutants::first
