// Mistakes in which matrix meets which input.

#include "first_parts.hpp"

namespace mutants::first {
namespace {

template <class T>
Attention<T> transposed_w_q(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, transposed(w_q)), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> transposed_w_k(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, transposed(w_k)), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> transposed_w_v(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, transposed(w_v)), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> transposed_w_o(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), transposed(w_o)), weights};
}

template <class T>
Attention<T> transposed_all(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, transposed(w_q)), H);
  const auto k = split_heads(matmul(key, transposed(w_k)), H);
  const auto v = split_heads(matmul(value, transposed(w_v)), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), transposed(w_o)), weights};
}

template <class T>
Attention<T> w_q_for_keys(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T>, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_q), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> w_k_for_queries(In<T> query, In<T> key, In<T> value, In<T>, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_k), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> w_k_for_values(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T>,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_k), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> w_v_for_keys(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T>, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_v), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> w_q_for_values(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T>,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_q), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> w_q_w_k_swapped(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_k), H);
  const auto k = split_heads(matmul(key, w_q), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> w_k_w_v_swapped(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_v), H);
  const auto v = split_heads(matmul(value, w_k), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> w_v_w_o_swapped(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_o), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_v), weights};
}

template <class T>
Attention<T> w_v_for_output(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T>, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_v), weights};
}

template <class T>
Attention<T> no_w_q(In<T> query, In<T> key, In<T> value, In<T>, In<T> w_k, In<T> w_v, In<T> w_o,
                    std::int64_t H, const Mask& mask) {
  const auto q = split_heads(query, H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> no_w_k(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T>, In<T> w_v, In<T> w_o,
                    std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(key, H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> no_w_v(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T>, In<T> w_o,
                    std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(value, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> no_w_o(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v, In<T>,
                    std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {merge_heads(heads), weights};
}

// Each head by its own diagonal block of w_o, then concatenated.
template <class T>
Attention<T> w_o_per_head(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  const std::int64_t d = extent(q, 3);
  std::vector<Variable<T>> outputs;
  for (std::int64_t h = 0; h < H; ++h) {
    const auto block = slice(slice(w_o, 0, h * d, (h + 1) * d), 1, h * d, (h + 1) * d);
    outputs.push_back(matmul(squeeze(slice(heads, 1, h, h + 1), 1), block));
  }
  return {concat(outputs, -1), weights};
}

template <class T>
Attention<T> w_o_twice(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                       In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(matmul(merge_heads(heads), w_o), w_o), weights};
}

template <class T>
Attention<T> key_value_swapped(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                               In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(value, w_k), H);
  const auto v = split_heads(matmul(key, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> query_as_key(In<T> query, In<T>, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(query, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> key_as_value(In<T> query, In<T> key, In<T>, In<T> w_q, In<T> w_k, In<T> w_v, In<T> w_o,
                          std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(key, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> value_as_key(In<T> query, In<T>, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(value, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> query_key_swapped(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                               In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(key, w_q), H);
  const auto k = split_heads(matmul(query, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> key_as_query(In<T>, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v, In<T> w_o,
                          std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(key, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto v = split_heads(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> values_not_weighted(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                 In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(scaled_scores(q, k), mask);
  const auto heads = broadcast_to(mean(v, 2, true), q.shape());
  return {matmul(merge_heads(heads), w_o), weights};
}

}  // namespace

const std::vector<Mutant>& forward_projections() {
  static const std::vector<Mutant> all{
      {"transposed-w-q", transposed_w_q<double>, transposed_w_q<float>},
      {"transposed-w-k", transposed_w_k<double>, transposed_w_k<float>},
      {"transposed-w-v", transposed_w_v<double>, transposed_w_v<float>},
      {"transposed-w-o", transposed_w_o<double>, transposed_w_o<float>},
      {"transposed-all", transposed_all<double>, transposed_all<float>},
      {"w-q-for-keys", w_q_for_keys<double>, w_q_for_keys<float>},
      {"w-k-for-queries", w_k_for_queries<double>, w_k_for_queries<float>},
      {"w-k-for-values", w_k_for_values<double>, w_k_for_values<float>},
      {"w-v-for-keys", w_v_for_keys<double>, w_v_for_keys<float>},
      {"w-q-for-values", w_q_for_values<double>, w_q_for_values<float>},
      {"w-q-w-k-swapped", w_q_w_k_swapped<double>, w_q_w_k_swapped<float>},
      {"w-k-w-v-swapped", w_k_w_v_swapped<double>, w_k_w_v_swapped<float>},
      {"w-v-w-o-swapped", w_v_w_o_swapped<double>, w_v_w_o_swapped<float>},
      {"w-v-for-output", w_v_for_output<double>, w_v_for_output<float>},
      {"no-w-q", no_w_q<double>, no_w_q<float>},
      {"no-w-k", no_w_k<double>, no_w_k<float>},
      {"no-w-v", no_w_v<double>, no_w_v<float>},
      {"no-w-o", no_w_o<double>, no_w_o<float>},
      {"w-o-per-head", w_o_per_head<double>, w_o_per_head<float>},
      {"w-o-twice", w_o_twice<double>, w_o_twice<float>},
      {"key-value-swapped", key_value_swapped<double>, key_value_swapped<float>},
      {"query-as-key", query_as_key<double>, query_as_key<float>},
      {"key-as-value", key_as_value<double>, key_as_value<float>},
      {"value-as-key", value_as_key<double>, value_as_key<float>},
      {"query-key-swapped", query_key_swapped<double>, query_key_swapped<float>},
      {"key-as-query", key_as_query<double>, key_as_query<float>},
      {"values-not-weighted", values_not_weighted<double>, values_not_weighted<float>},
  };
  return all;
}

}  // namespace mutants::first
