// Mistakes in how the mask is applied.

#include <limits>

#include "first_parts.hpp"

namespace mutants::first {
namespace {

template <class T>
Attention<T> mask_inverted(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                           In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const Mask hidden = mask.defined() ? ~mask : mask;
  return finish(masked_softmax(scaled_scores(q, k), hidden), v, w_o);
}

template <class T>
Attention<T> mask_added_as_number(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                  In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const auto weights = softmax(scores + as_numbers<T>(mask, scores.shape()));
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> mask_after_softmax(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = fill_hidden(mask, softmax(scaled_scores(q, k)), 0);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> mask_multiplied_scores(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                    In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const auto weights = softmax(scores * as_numbers<T>(mask, scores.shape()));
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> mask_fill_finite(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = softmax(fill_hidden(mask, scaled_scores(q, k), -1e9));
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> mask_fill_inf(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                           In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const double infinity = std::numeric_limits<double>::infinity();
  const auto weights = softmax(fill_hidden(mask, scaled_scores(q, k), -infinity));
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> mask_fill_weak(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = softmax(fill_hidden(mask, scaled_scores(q, k), -20));
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> mask_transposed(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const Mask turned = transposed(as_numbers<T>(mask, scores.shape())) != 0;
  return finish(masked_softmax(scores, mask.defined() ? turned : mask), v, w_o);
}

template <class T>
Attention<T> mask_first_item_only(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                  In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const Mask first = slice(as_numbers<T>(mask, scores.shape()), 0, 0, 1) != 0;
  return finish(masked_softmax(scores, first), v, w_o);
}

template <class T>
Attention<T> mask_first_head_only(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                  In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const Mask first = slice(as_numbers<T>(mask, scores.shape()), 1, 0, 1) != 0;
  return finish(masked_softmax(scores, first), v, w_o);
}

template <class T>
Attention<T> mask_first_query_only(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                   In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const Mask first = slice(as_numbers<T>(mask, scores.shape()), 2, 0, 1) != 0;
  return finish(masked_softmax(scores, first), v, w_o);
}

template <class T>
Attention<T> mask_ignored(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask&) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> mask_ignored_in_weights(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                     In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const auto heads = matmul(masked_softmax(scores, mask), v);
  return {matmul(merge_heads(heads), w_o), softmax(scores)};
}

// Tells a mask for each head from one for each item by its first extent, which both may have.
template <class T>
Attention<T> mask_items_read_as_heads(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                      In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  Mask visible = mask;
  if (mask.defined() && mask.dim() == 4) {
    const xg::Shape shape = mask.shape();
    if (shape[0] == static_cast<std::size_t>(H) && shape[1] == 1) {
      visible = Mask({1, shape[0], shape[2], shape[3]}, mask.to_vector());
    }
  }
  return finish(masked_softmax(scores, visible), v, w_o);
}

template <class T>
Attention<T> mask_always_causal(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const Mask causal = xg::causal_mask(extent(query, 1), extent(key, 1));
  const auto weights = masked_softmax(scaled_scores(q, k), mask.defined() ? mask & causal : causal);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> mask_heads_merged(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                               In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const Mask anywhere = max(as_numbers<T>(mask, scores.shape()), 1, true) != 0;
  return finish(masked_softmax(scores, anywhere), v, w_o);
}

}  // namespace

const std::vector<Mutant>& forward_mask() {
  static const std::vector<Mutant> all{
      {"mask-inverted", mask_inverted<double>, mask_inverted<float>},
      {"mask-added-as-number", mask_added_as_number<double>, mask_added_as_number<float>},
      {"mask-after-softmax", mask_after_softmax<double>, mask_after_softmax<float>},
      {"mask-multiplied-scores", mask_multiplied_scores<double>, mask_multiplied_scores<float>},
      {"mask-fill-finite", mask_fill_finite<double>, mask_fill_finite<float>},
      {"mask-fill-inf", mask_fill_inf<double>, mask_fill_inf<float>},
      {"mask-fill-weak", mask_fill_weak<double>, mask_fill_weak<float>},
      {"mask-transposed", mask_transposed<double>, mask_transposed<float>},
      {"mask-first-item-only", mask_first_item_only<double>, mask_first_item_only<float>},
      {"mask-first-head-only", mask_first_head_only<double>, mask_first_head_only<float>},
      {"mask-first-query-only", mask_first_query_only<double>, mask_first_query_only<float>},
      {"mask-ignored", mask_ignored<double>, mask_ignored<float>},
      {"mask-ignored-in-weights", mask_ignored_in_weights<double>, mask_ignored_in_weights<float>},
      {"mask-items-read-as-heads", mask_items_read_as_heads<double>,
       mask_items_read_as_heads<float>},
      {"mask-always-causal", mask_always_causal<double>, mask_always_causal<float>},
      {"mask-heads-merged", mask_heads_merged<double>, mask_heads_merged<float>},
  };
  return all;
}

}  // namespace mutants::first
