// Right attention, written as few would: none of these may be called wrong.

#include <limits>

#include "first_parts.hpp"

namespace mutants::first {
namespace {

/// x[:, h], [B,N,d]
template <class T>
Variable<T> head(const Variable<T>& x, std::int64_t h) {
  return squeeze(slice(x, 1, h, h + 1), 1);
}

/// exp(scores - max) where visible, else 0.
template <class T>
Variable<T> positive(const Variable<T>& scores, const Mask& mask) {
  const auto lowered = fill_hidden(mask, scores, std::numeric_limits<T>::lowest());
  return fill_hidden(mask, exp(lowered - max(lowered, -1, true).detach()), 0);
}

/// 1 where x is 0, so that it can be divided by.
template <class T>
Variable<T> never_zero(const Variable<T>& x) {
  return where(x == 0, T(1), x);
}

/// The mask in full, or one that shows everything.
template <class T>
Mask full_mask(const Mask& mask, const Variable<T>& scores) {
  return as_numbers<T>(mask, scores.shape()) != 0;
}

template <class T>
Attention<T> einsum_everywhere(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                               In<T> w_o, std::int64_t H, const Mask& mask) {
  check_heads(extent(query, 2), H);
  const std::int64_t D = extent(query, 2);
  const xg::Dims by_head{D, H, D / H};
  const auto q = xg::einsum("bqi,ihd->bhqd", {query, reshape(w_q, by_head)});
  const auto k = xg::einsum("bki,ihd->bhkd", {key, reshape(w_k, by_head)});
  const auto v = xg::einsum("bki,ihd->bhkd", {value, reshape(w_v, by_head)});
  const auto weights =
      masked_softmax(xg::einsum("bhqd,bhkd->bhqk", {q, k}) / root_of_width(q), mask);
  const auto output = xg::einsum("bhqk,bhkd,hdo->bqo", {weights, v, reshape(w_o, {H, D / H, D})});
  return {output, weights};
}

template <class T>
Attention<T> loop_over_heads(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  check_heads(extent(query, 2), H);
  const auto q = split(matmul(query, w_q), H, -1);
  const auto k = split(matmul(key, w_k), H, -1);
  const auto v = split(matmul(value, w_v), H, -1);
  const T scale = 1 / std::sqrt(static_cast<T>(extent(query, 2) / H));
  std::vector<Variable<T>> scores;
  for (std::size_t h = 0; h < q.size(); ++h) {
    scores.push_back(matmul(q[h], transposed(k[h])) * scale);
  }
  const auto weights = masked_softmax(stack(scores, 1), mask);
  std::vector<Variable<T>> outputs;
  for (std::size_t h = 0; h < v.size(); ++h) {
    outputs.push_back(matmul(head(weights, static_cast<std::int64_t>(h)), v[h]));
  }
  return {matmul(concat(outputs, -1), w_o), weights};
}

template <class T>
Attention<T> loop_over_items(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  std::vector<Variable<T>> outputs;
  std::vector<Variable<T>> weights;
  const xg::Shape scores{query.shape()[0], static_cast<std::size_t>(H), query.shape()[1],
                         key.shape()[1]};
  check_heads(extent(query, 2), H);
  const auto visible = as_numbers<T>(mask, scores);
  for (std::int64_t b = 0; b < extent(query, 0); ++b) {
    const auto item = [b](const Variable<T>& x) { return slice(x, 0, b, b + 1); };
    const auto [q, k, v] = project(item(query), item(key), item(value), w_q, w_k, w_v, H);
    const auto one = xg::attention_kernel(q, k, v, item(visible) != 0);
    outputs.push_back(squeeze(merge_heads(one.output), 0));
    weights.push_back(squeeze(one.weights, 0));
  }
  return {matmul(stack(outputs), w_o), stack(weights)};
}

// One product for all three inputs and matrices; the blocks off the diagonal are not used.
template <class T>
Attention<T> concatenated_projections(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                      In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const std::int64_t Q = extent(query, 1);
  const std::int64_t K = extent(key, 1);
  const std::int64_t D = extent(query, 2);
  const auto all = matmul(xg::concat({query, key, value}, 1), xg::concat({w_q, w_k, w_v}, 1));
  const auto q = split_heads(slice(slice(all, 1, 0, Q), 2, 0, D), H);
  const auto k = split_heads(slice(slice(all, 1, Q, Q + K), 2, D, 2 * D), H);
  const auto v = split_heads(slice(slice(all, 1, Q + K, xg::end), 2, 2 * D, xg::end), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> scale_on_the_weights_of_the_query(In<T> query, In<T> key, In<T> value, In<T> w_q,
                                               In<T> w_k, In<T> w_v, In<T> w_o, std::int64_t H,
                                               const Mask& mask) {
  check_heads(extent(query, 2), H);
  const T root = std::sqrt(static_cast<T>(extent(query, 2) / H));
  const auto [q, k, v] = project<T>(query, key, value, w_q / root, w_k, w_v, H);
  return finish(masked_softmax(matmul(q, transposed(k)), mask), v, w_o);
}

template <class T>
Attention<T> scale_on_the_key(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scaled = k * pow(Variable<T>(extent(k, 3)), -0.5);
  return finish(masked_softmax(matmul(q, transposed(scaled)), mask), v, w_o);
}

template <class T>
Attention<T> scale_on_both_by_the_fourth_root(In<T> query, In<T> key, In<T> value, In<T> w_q,
                                              In<T> w_k, In<T> w_v, In<T> w_o, std::int64_t H,
                                              const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const T root = std::sqrt(root_of_width(q));
  return finish(masked_softmax(matmul(q / root, transposed(k / root)), mask), v, w_o);
}

// Concat(heads) w_o is the sum over the heads of head_h times its rows of w_o.
template <class T>
Attention<T> output_summed_over_heads(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                      In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  const std::int64_t d = extent(q, 3);
  auto output = matmul(head(heads, 0), slice(w_o, 0, 0, d));
  for (std::int64_t h = 1; h < H; ++h) {
    output += matmul(head(heads, h), slice(w_o, 0, h * d, (h + 1) * d));
  }
  return {output, weights};
}

// weights (value w_v) w_o = weights (value (w_v w_o)), head by head.
template <class T>
Attention<T> value_and_output_matrices_multiplied_first(In<T> query, In<T> key, In<T> value,
                                                        In<T> w_q, In<T> w_k, In<T> w_v, In<T> w_o,
                                                        std::int64_t H, const Mask& mask) {
  const auto q = split_heads(matmul(query, w_q), H);
  const auto k = split_heads(matmul(key, w_k), H);
  const auto weights = masked_softmax(scaled_scores(q, k), mask);
  const std::int64_t d = extent(q, 3);
  Variable<T> output = xg::zeros<T>(query.shape());
  for (std::int64_t h = 0; h < H; ++h) {
    const auto both = matmul(slice(w_v, 1, h * d, (h + 1) * d), slice(w_o, 0, h * d, (h + 1) * d));
    output = output + matmul(head(weights, h), matmul(value, both));
  }
  return {output, weights};
}

// (query w_q) (key w_k)^T = query (w_q w_k^T) key^T, head by head.
template <class T>
Attention<T> query_and_key_matrices_multiplied_first(In<T> query, In<T> key, In<T> value, In<T> w_q,
                                                     In<T> w_k, In<T> w_v, In<T> w_o,
                                                     std::int64_t H, const Mask& mask) {
  check_heads(extent(query, 2), H);
  const std::int64_t d = extent(query, 2) / H;
  std::vector<Variable<T>> scores;
  for (std::int64_t h = 0; h < H; ++h) {
    const auto columns = [&](In<T> w) { return slice(w, 1, h * d, (h + 1) * d); };
    const auto both = matmul(columns(w_q), transposed(columns(w_k)));
    scores.push_back(matmul(matmul(query, both), transposed(key)));
  }
  const auto weights = masked_softmax(stack(scores, 1) / std::sqrt(static_cast<T>(d)), mask);
  return finish(weights, split_heads(matmul(value, w_v), H), w_o);
}

template <class T>
Attention<T> softmax_by_hand(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto shown = positive(scaled_scores(q, k), mask);
  return finish(shown / never_zero(sum(shown, -1, true)), v, w_o);
}

template <class T>
Attention<T> softmax_divided_after_the_values(In<T> query, In<T> key, In<T> value, In<T> w_q,
                                              In<T> w_k, In<T> w_v, In<T> w_o, std::int64_t H,
                                              const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto shown = positive(scaled_scores(q, k), mask);
  const auto total = never_zero(sum(shown, -1, true));
  return {matmul(merge_heads(matmul(shown, v) / total), w_o), shown / total};
}

template <class T>
Attention<T> exp_of_log_softmax(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto lowered = fill_hidden(mask, scaled_scores(q, k), -1e30);
  return finish(fill_hidden(mask, exp(log_softmax(lowered)), 0), v, w_o);
}

template <class T>
Attention<T> exp_of_score_minus_logsumexp(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                          In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto lowered = fill_hidden(mask, scaled_scores(q, k), -1e30);
  return finish(fill_hidden(mask, exp(lowered - logsumexp(lowered, -1, true)), 0), v, w_o);
}

template <class T>
Attention<T> keys_in_two_halves_merged_online(In<T> query, In<T> key, In<T> value, In<T> w_q,
                                              In<T> w_k, In<T> w_v, In<T> w_o, std::int64_t H,
                                              const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const std::int64_t half = (extent(key, 1) + 1) / 2;
  const auto scores = fill_hidden(mask, scaled_scores(q, k), -1e30);
  const auto visible = as_numbers<T>(mask, scores.shape());
  const auto largest = max(scores, -1, true).detach();
  const auto part = [](const Variable<T>& x, std::int64_t axis, std::int64_t from,
                       std::int64_t to) { return slice(x, axis, from, to); };
  const auto left = exp(part(scores, 3, 0, half) - largest) * part(visible, 3, 0, half);
  const auto right =
      exp(part(scores, 3, half, xg::end) - largest) * part(visible, 3, half, xg::end);
  const auto total = never_zero(sum(left, -1, true) + sum(right, -1, true));
  const auto heads = matmul(left, part(v, 2, 0, half)) + matmul(right, part(v, 2, half, xg::end));
  return {matmul(merge_heads(heads / total), w_o), xg::concat({left, right}, -1) / total};
}

// The online softmax: the largest score so far rescales what has been summed.
template <class T>
Attention<T> one_key_after_another(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                   In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = fill_hidden(mask, scaled_scores(q, k), -1e30);
  const auto visible = as_numbers<T>(mask, scores.shape());
  auto largest = xg::full<T>({q.shape()[0], q.shape()[1], q.shape()[2], 1}, -1e30F);
  auto total = xg::zeros<T>(largest.shape());
  auto heads = xg::zeros<T>(q.shape());
  for (std::int64_t j = 0; j < extent(k, 2); ++j) {
    const auto score = slice(scores, 3, j, j + 1);
    const auto larger = maximum(largest, score).detach();
    const auto shrink = exp(largest - larger);
    const auto weight = exp(score - larger) * slice(visible, 3, j, j + 1);
    total = total * shrink + weight;
    heads = heads * shrink + weight * slice(v, 2, j, j + 1);
    largest = larger;
  }
  total = never_zero(total);
  return {matmul(merge_heads(heads / total), w_o), exp(scores - largest) * visible / total};
}

template <class T>
Attention<T> minus_infinity_with_repaired_rows(In<T> query, In<T> key, In<T> value, In<T> w_q,
                                               In<T> w_k, In<T> w_v, In<T> w_o, std::int64_t H,
                                               const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const Mask visible = full_mask(mask, scores);
  const Mask any = max(as_numbers<T>(mask, scores.shape()), -1, true) != 0;
  // Rows that see nothing keep their scores, so that no NaN arises, and become 0 afterwards.
  const auto lowered = where(visible | ~any, scores, -std::numeric_limits<T>::infinity());
  return finish(where(any, softmax(lowered), 0), v, w_o);
}

template <class T>
Attention<T> additive_mask(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                           In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const auto visible = as_numbers<T>(mask, scores.shape());
  const auto weights = softmax(scores + (visible - 1) * 1e9) * max(visible, -1, true);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> products_by_broadcasting(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                      In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = sum(unsqueeze(q, 3) * unsqueeze(k, 2), -1) / root_of_width(q);
  const auto weights = masked_softmax(scores, mask);
  const auto heads = sum(unsqueeze(weights, -1) * unsqueeze(v, 2), 3);
  return {matmul(merge_heads(heads), w_o), weights};
}

// Keys before queries: k q^T, softmax over the axis of the keys, then v^T weights^T.
template <class T>
Attention<T> transposed_throughout(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                   In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = matmul(k, transposed(q)) / root_of_width(q);
  const Mask turned = transposed(as_numbers<T>(
                          mask, {q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2]})) != 0;
  const auto weights = masked_softmax(scores, turned, -2);
  const auto heads = transposed(matmul(transposed(v), weights));
  const auto output = transposed(matmul(transposed(w_o), transposed(merge_heads(heads))));
  return {output, transposed(weights)};
}

template <class T>
Attention<T> items_and_heads_in_one_axis(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                         In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto joined = [](const Variable<T>& x) {
    return reshape(x, {extent(x, 0) * extent(x, 1), extent(x, 2), extent(x, 3)});
  };
  const xg::Dims shape{extent(q, 0), H, extent(q, 2), extent(k, 2)};
  const auto scores = matmul(joined(q), transposed(joined(k))) / root_of_width(q);
  const auto weights = masked_softmax(reshape(scores, shape), mask);
  const auto heads = reshape(matmul(joined(weights), joined(v)), q.shape());
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> own_softmax_with_its_rule(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                       In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto own = xg::custom<T>(
      "own_softmax",
      [mask](const std::vector<V>& in) {
        const auto shown = positive(in[0], mask);
        return shown / never_zero(sum(shown, -1, true));
      },
      [](const std::vector<V>&, const V& y, V g) {
        return std::vector<V>{y * (g - sum(y * g, -1, true))};
      });
  return finish(own(scaled_scores(q, k)), v, w_o);
}

template <class T>
Attention<T> own_product_with_its_rule(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                       In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto product = xg::custom<T>(
      "product", [](const std::vector<V>& in) { return matmul(in[0], in[1]); },
      [](const std::vector<V>& in, const V&, V g) {
        const V all_x = reshape(in[0], {-1, extent(in[0], 2)});
        const V all_g = reshape(g, {-1, extent(g, 2)});
        return std::vector<V>{matmul(g, transposed(in[1])), matmul(transposed(all_x), all_g)};
      });
  const auto q = split_heads(product(query, w_q), H);
  const auto k = split_heads(product(key, w_k), H);
  const auto v = split_heads(product(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {product(merge_heads(heads), w_o), weights};
}

// A constant for each row does not change the softmax, nor its gradient.
template <class T>
Attention<T> shifted_by_a_detached_mean(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                        In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k).clone();
  return finish(masked_softmax(scores - mean(scores, -1, true).detach(), mask), v, w_o);
}

// Keys moved by one vector move a row of scores by one number.
template <class T>
Attention<T> shifted_by_the_mean_key(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                     In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto centred = k - mean(k, 2, true);
  return finish(masked_softmax(scaled_scores(q, centred), mask), v, w_o);
}

// Heads are cut from the transposed projections, [B,D,N].
template <class T>
Attention<T> features_first(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  check_heads(extent(query, 2), H);
  const std::int64_t d = extent(query, 2) / H;
  const auto heads_of = [&](In<T> x, In<T> w) {
    const auto features = matmul(transposed(w), transposed(x));
    return reshape(features, {extent(x, 0), H, d, extent(x, 1)});
  };
  const auto q = heads_of(query, w_q);
  const auto k = heads_of(key, w_k);
  const auto v = heads_of(value, w_v);
  const auto weights =
      masked_softmax(matmul(transposed(q), k) / std::sqrt(static_cast<T>(d)), mask);
  const auto heads = matmul(v, transposed(weights));
  return {matmul(transposed(reshape(heads, {extent(query, 0), H * d, extent(query, 1)})), w_o),
          weights};
}

template <class T>
Attention<T> queries_one_by_one(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto visible =
      as_numbers<T>(mask, {q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2]});
  std::vector<Variable<T>> outputs;
  std::vector<Variable<T>> weights;
  for (std::int64_t i = 0; i < extent(q, 2); ++i) {
    const auto row = [i](const Variable<T>& x) { return slice(x, 2, i, i + 1); };
    const auto one = xg::attention_kernel(row(q), k, v, row(visible) != 0);
    outputs.push_back(one.output);
    weights.push_back(one.weights);
  }
  return {matmul(merge_heads(concat(outputs, 2)), w_o), concat(weights, 2)};
}

// All heads in one product: the keys of each head hold zeros in the features of the others.
template <class T>
Attention<T> block_diagonal_heads(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                  In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  check_heads(extent(query, 2), H);
  const std::int64_t D = extent(query, 2);
  const auto feature = xg::arange<T>(0, static_cast<T>(D));
  std::vector<Variable<T>> own;
  for (std::int64_t h = 0; h < H; ++h) {
    const T first = static_cast<T>(h * (D / H));
    const Mask inside = (feature >= first) & (feature < first + static_cast<T>(D / H));
    own.push_back(where(inside, xg::ones<T>(D), 0));
  }
  const auto features = reshape(stack(own), {H, 1, D});
  const auto q = unsqueeze(matmul(query, w_q), 1);
  const auto k = unsqueeze(matmul(key, w_k), 1) * features;
  const auto v = unsqueeze(matmul(value, w_v), 1) * features;
  const auto scores = matmul(q, transposed(k)) / std::sqrt(static_cast<T>(D / H));
  const auto weights = masked_softmax(scores, mask);
  return {matmul(sum(matmul(weights, v), 1), w_o), weights};
}

}  // namespace

const std::vector<Mutant>& correct() {
  static const std::vector<Mutant> all{
      {"einsum everywhere", einsum_everywhere<double>, einsum_everywhere<float>},
      {"loop over heads", loop_over_heads<double>, loop_over_heads<float>},
      {"loop over items", loop_over_items<double>, loop_over_items<float>},
      {"concatenated projections", concatenated_projections<double>,
       concatenated_projections<float>},
      {"scale on the weights of the query", scale_on_the_weights_of_the_query<double>,
       scale_on_the_weights_of_the_query<float>},
      {"scale on the key", scale_on_the_key<double>, scale_on_the_key<float>},
      {"scale on both by the fourth root", scale_on_both_by_the_fourth_root<double>,
       scale_on_both_by_the_fourth_root<float>},
      {"output summed over heads", output_summed_over_heads<double>,
       output_summed_over_heads<float>},
      {"value and output matrices multiplied first",
       value_and_output_matrices_multiplied_first<double>,
       value_and_output_matrices_multiplied_first<float>},
      {"query and key matrices multiplied first", query_and_key_matrices_multiplied_first<double>,
       query_and_key_matrices_multiplied_first<float>},
      {"softmax by hand", softmax_by_hand<double>, softmax_by_hand<float>},
      {"softmax divided after the values", softmax_divided_after_the_values<double>,
       softmax_divided_after_the_values<float>},
      {"exp of log softmax", exp_of_log_softmax<double>, exp_of_log_softmax<float>},
      {"exp of score minus logsumexp", exp_of_score_minus_logsumexp<double>,
       exp_of_score_minus_logsumexp<float>},
      {"keys in two halves merged online", keys_in_two_halves_merged_online<double>,
       keys_in_two_halves_merged_online<float>},
      {"one key after another", one_key_after_another<double>, one_key_after_another<float>},
      {"minus infinity with repaired rows", minus_infinity_with_repaired_rows<double>,
       minus_infinity_with_repaired_rows<float>},
      {"additive mask", additive_mask<double>, additive_mask<float>},
      {"products by broadcasting", products_by_broadcasting<double>,
       products_by_broadcasting<float>},
      {"transposed throughout", transposed_throughout<double>, transposed_throughout<float>},
      {"items and heads in one axis", items_and_heads_in_one_axis<double>,
       items_and_heads_in_one_axis<float>},
      {"own softmax with its rule", own_softmax_with_its_rule<double>,
       own_softmax_with_its_rule<float>},
      {"own product with its rule", own_product_with_its_rule<double>,
       own_product_with_its_rule<float>},
      {"shifted by a detached mean", shifted_by_a_detached_mean<double>,
       shifted_by_a_detached_mean<float>},
      {"shifted by the mean key", shifted_by_the_mean_key<double>, shifted_by_the_mean_key<float>},
      {"features first", features_first<double>, features_first<float>},
      {"queries one by one", queries_one_by_one<double>, queries_one_by_one<float>},
      {"block diagonal heads", block_diagonal_heads<double>, block_diagonal_heads<float>},
  };
  return all;
}

}  // namespace mutants::first
