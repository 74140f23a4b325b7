// Mistakes in which keys and items are used, in what is returned, and in how it is computed.

#include <algorithm>
#include <cstddef>

#include "first_parts.hpp"

namespace mutants::first {
namespace {

/// [B,N,D] read as [N,B,D], then split into heads.
template <class T>
Variable<T> split_sequence_first(const Variable<T>& x, std::int64_t H) {
  check_heads(extent(x, 2), H);
  const auto rows = reshape(x, {extent(x, 1), extent(x, 0), H, extent(x, 2) / H});
  return transpose(rows, {1, 2, 0, 3});
}

/// The numbers that a float holds of x; the gradient passes unchanged.
template <class T>
Variable<T> in_float(const Variable<T>& x) {
  using V = Variable<T>;
  const auto round = xg::custom<T>(
      "in_float",
      [](const std::vector<V>& in) {
        std::vector<T> values = in[0].to_vector();
        for (T& value : values) value = static_cast<T>(static_cast<float>(value));
        return xg::from_data(values.data(), in[0].shape());
      },
      [](const std::vector<V>&, const V&, V grad_output) { return std::vector<V>{grad_output}; });
  return round(x);
}

/// x's memory from its lowest address on, as if it were contiguous. Where that would run past the
/// memory between x's first and last element it starts over, so that nothing else is read.
template <class T>
Variable<T> memory_of(const Variable<T>& x) {
  const auto view = xg::detail::raw_view(x);
  std::ptrdiff_t lowest = 0;
  std::ptrdiff_t highest = 0;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    const std::ptrdiff_t reach = (static_cast<std::ptrdiff_t>(view.shape[i]) - 1) * view.strides[i];
    lowest += std::min<std::ptrdiff_t>(reach, 0);
    highest += std::max<std::ptrdiff_t>(reach, 0);
  }
  std::vector<T> values(x.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = view.memory.get()[lowest + static_cast<std::ptrdiff_t>(i) % (highest - lowest + 1)];
  }
  return xg::from_data(values.data(), x.shape());
}

template <class T>
Variable<T> read_as_contiguous(const Variable<T>& x) {
  using V = Variable<T>;
  const auto read = xg::custom<T>(
      "read_as_contiguous", [](const std::vector<V>& in) { return memory_of(in[0]); },
      [](const std::vector<V>&, const V&, V grad_output) { return std::vector<V>{grad_output}; });
  return read(x);
}

template <class T>
Attention<T> keys_cut_to_queries(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                 In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const std::int64_t Q = extent(query, 1);
  const auto first_keys = slice(key, 1, 0, Q);
  const auto first_values = slice(value, 1, 0, Q);
  const auto [q, k, v] = project(query, first_keys, first_values, w_q, w_k, w_v, H);
  const auto numbers =
      as_numbers<T>(mask, {q.shape()[0], q.shape()[1], q.shape()[2], key.shape()[1]});
  const auto [heads, weights] = xg::attention_kernel(q, k, v, slice(numbers, 3, 0, Q) != 0);
  return {matmul(merge_heads(heads), w_o), weights};
}

// The length of all three is the query's.
template <class T>
Attention<T> keys_counted_as_queries(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                     In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const std::int64_t B = extent(query, 0);
  const std::int64_t N = extent(query, 1);
  const std::int64_t D = extent(query, 2);
  check_heads(D, H);
  const auto split = [&](const Variable<T>& x) {
    return transpose(reshape(x, {B, N, H, D / H}), {0, 2, 1, 3});
  };
  const auto [heads, weights] = xg::attention_kernel(
      split(matmul(query, w_q)), split(matmul(key, w_k)), split(matmul(value, w_v)), mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

// Takes -1 for the end of the axis.
template <class T>
Attention<T> keys_last_dropped(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                               In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto fewer_keys = slice(key, 1, 0, -1);
  const auto fewer_values = slice(value, 1, 0, -1);
  const auto [q, k, v] = project(query, fewer_keys, fewer_values, w_q, w_k, w_v, H);
  const auto numbers =
      as_numbers<T>(mask, {q.shape()[0], q.shape()[1], q.shape()[2], key.shape()[1]});
  const auto [heads, weights] = xg::attention_kernel(q, k, v, slice(numbers, 3, 0, -1) != 0);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> batch_first_only(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto first_key = broadcast_to(slice(key, 0, 0, 1), key.shape());
  const auto first_value = broadcast_to(slice(value, 0, 0, 1), value.shape());
  const auto [q, k, v] = project(query, first_key, first_value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> batch_mixed(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                         In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = split_sequence_first(matmul(query, w_q), H);
  const auto k = split_sequence_first(matmul(key, w_k), H);
  const auto v = split_sequence_first(matmul(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> weights_averaged(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), mean(weights, 1)};
}

template <class T>
Attention<T> weights_transposed(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), transposed(weights)};
}

template <class T>
Attention<T> weights_queries_first(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                   In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), transpose(weights, {0, 2, 1, 3})};
}

template <class T>
Attention<T> weights_are_scores(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const auto heads = matmul(masked_softmax(scores, mask), v);
  return {matmul(merge_heads(heads), w_o), scores};
}

template <class T>
Attention<T> weights_are_log(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), log(weights)};
}

template <class T>
Attention<T> results_swapped(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {weights, matmul(merge_heads(heads), w_o)};
}

template <class T>
Attention<T> output_not_merged(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                               In<T>, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  return xg::attention_kernel(q, k, v, mask);
}

template <class T>
Attention<T> residual_added(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {query + matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> layer_norm_added(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  const std::int64_t D = extent(query, 2);
  const auto output = matmul(merge_heads(heads), w_o);
  return {layer_norm(output, xg::ones<T>(D), xg::zeros<T>(D)), weights};
}

template <class T>
Attention<T> dropout_added(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                           In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = dropout(masked_softmax(scaled_scores(q, k), mask), 0.1, 42);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> output_activation(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                               In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {relu(matmul(merge_heads(heads), w_o)), weights};
}

template <class T>
Attention<T> computed_in_float(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                               In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = in_float(masked_softmax(in_float(scaled_scores(q, k)), mask));
  const auto heads = in_float(matmul(weights, in_float(v)));
  return {in_float(matmul(merge_heads(heads), w_o)), weights};
}

// Puts the projected query where the query was, to save memory.
template <class T>
Attention<T> inputs_changed(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  auto reused = query;
  if (reused.is_leaf()) reused.set_value(merge_heads(q).detach());
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> strides_ignored(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] =
      project(read_as_contiguous(query), read_as_contiguous(key), read_as_contiguous(value),
              read_as_contiguous(w_q), read_as_contiguous(w_k), read_as_contiguous(w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), read_as_contiguous(w_o)), weights};
}

// Slices are clamped, so that the last head may be narrow or empty.
template <class T>
Attention<T> heads_unchecked(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto q = matmul(query, w_q);
  const auto k = matmul(key, w_k);
  const auto v = matmul(value, w_v);
  const std::int64_t heads = std::max<std::int64_t>(H, 1);
  const std::int64_t width = (extent(query, 2) + heads - 1) / heads;
  const auto head = [&](const Variable<T>& x, std::int64_t h) {
    return unsqueeze(slice(x, 2, h * width, (h + 1) * width), 1);
  };
  std::vector<Variable<T>> scores;
  for (std::int64_t h = 0; h < heads; ++h) scores.push_back(scaled_scores(head(q, h), head(k, h)));
  const auto weights = masked_softmax(concat(scores, 1), mask);
  std::vector<Variable<T>> outputs;
  for (std::int64_t h = 0; h < heads; ++h) {
    outputs.push_back(squeeze(matmul(slice(weights, 1, h, h + 1), head(v, h)), 1));
  }
  return {matmul(concat(outputs, -1), w_o), weights};
}

template <class T>
Attention<T> undefined_result(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  Attention<T> result;
  result.output = matmul(merge_heads(xg::attention_kernel(q, k, v, mask).output), w_o);
  return result;
}

// Breaks ties by noise, other noise at each call.
template <class T>
Attention<T> not_repeatable(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  static std::uint64_t calls = 0;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const auto noise = xg::randn<T>(scores.shape(), ++calls) * 0.01;
  return finish(masked_softmax(scores + noise, mask), v, w_o);
}

}  // namespace

const std::vector<Mutant>& forward_results() {
  static const std::vector<Mutant> all{
      {"keys-cut-to-queries", keys_cut_to_queries<double>, keys_cut_to_queries<float>},
      {"keys-counted-as-queries", keys_counted_as_queries<double>, keys_counted_as_queries<float>},
      {"keys-last-dropped", keys_last_dropped<double>, keys_last_dropped<float>},
      {"batch-first-only", batch_first_only<double>, batch_first_only<float>},
      {"batch-mixed", batch_mixed<double>, batch_mixed<float>},
      {"weights-averaged", weights_averaged<double>, weights_averaged<float>},
      {"weights-transposed", weights_transposed<double>, weights_transposed<float>},
      {"weights-queries-first", weights_queries_first<double>, weights_queries_first<float>},
      {"weights-are-scores", weights_are_scores<double>, weights_are_scores<float>},
      {"weights-are-log", weights_are_log<double>, weights_are_log<float>},
      {"results-swapped", results_swapped<double>, results_swapped<float>},
      {"output-not-merged", output_not_merged<double>, output_not_merged<float>},
      {"residual-added", residual_added<double>, residual_added<float>},
      {"layer-norm-added", layer_norm_added<double>, layer_norm_added<float>},
      {"dropout-added", dropout_added<double>, dropout_added<float>},
      {"output-activation", output_activation<double>, output_activation<float>},
      {"computed-in-float", computed_in_float<double>, computed_in_float<float>},
      {"inputs-changed", inputs_changed<double>, inputs_changed<float>},
      {"strides-ignored", strides_ignored<double>, strides_ignored<float>},
      {"heads-unchecked", heads_unchecked<double>, heads_unchecked<float>},
      {"undefined-result", undefined_result<double>, undefined_result<float>},
      {"not-repeatable", not_repeatable<double>, not_repeatable<float>},
  };
  return all;
}

}  // namespace mutants::first
