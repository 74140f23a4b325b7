// Mistakes in the scale and in the softmax.

#include "first_parts.hpp"

namespace mutants::first {
namespace {

/// softmax by hand: what is hidden is 0, and so is a row that sees nothing.
template <class T>
Variable<T> normalised(const Variable<T>& positive, const Mask& mask, double epsilon = 0) {
  const Variable<T> shown = fill_hidden(mask, positive, 0);
  const Variable<T> total = sum(shown, -1, true);
  return shown / (where(total == 0, T(1), total) + epsilon);
}

/// The largest score of each row, as a constant: softmax does not depend on it.
template <class T>
Variable<T> row_max(const Variable<T>& scores) {
  return max(scores, -1, true).detach();
}

template <class T>
Attention<T> scale_sqrt_model_width(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                    In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const T root = std::sqrt(static_cast<T>(extent(query, 2)));
  const auto weights = masked_softmax(matmul(q, transposed(k)) / root, mask);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> scale_none(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                        In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(matmul(q, transposed(k)), mask);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> scale_by_d(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                        In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(matmul(q, transposed(k)) / extent(q, 3), mask);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> scale_multiplied(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(matmul(q, transposed(k)) * root_of_width(q), mask);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> scale_fixed_half(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(matmul(q, transposed(k)) * 0.5, mask);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> scale_sqrt_heads(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const T root = std::sqrt(static_cast<T>(H));
  const auto weights = masked_softmax(matmul(q, transposed(k)) / root, mask);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> scale_sqrt_keys(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const T root = std::sqrt(static_cast<T>(extent(key, 1)));
  const auto weights = masked_softmax(matmul(q, transposed(k)) / root, mask);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> scale_twice(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                         In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scaled_q = q / extent(q, 3);
  const auto scores = matmul(scaled_q, transposed(k)) / root_of_width(q);
  return finish(masked_softmax(scores, mask), v, w_o);
}

template <class T>
Attention<T> scale_after_softmax(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                 In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(matmul(q, transposed(k)), mask) / root_of_width(q);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> softmax_over_queries(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                  In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(scaled_scores(q, k), mask, -2);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> softmax_over_heads(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(scaled_scores(q, k), mask, 1);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> softmax_over_batch(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(scaled_scores(q, k), mask, 0);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> softmax_twice(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                           In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto once = masked_softmax(scaled_scores(q, k), mask);
  return finish(masked_softmax(once, mask), v, w_o);
}

template <class T>
Attention<T> softmax_missing(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = fill_hidden(mask, scaled_scores(q, k), 0);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> softmax_sigmoid(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = fill_hidden(mask, sigmoid(scaled_scores(q, k)), 0);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> softmax_no_max(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                            In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = normalised(exp(scaled_scores(q, k)), mask);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> softmax_epsilon(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = fill_hidden(mask, scaled_scores(q, k), -1e30);
  const auto weights = normalised(exp(scores - row_max(scores)), mask, 1e-6);
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> softmax_base_two(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = fill_hidden(mask, scaled_scores(q, k), -1e30);
  const auto weights = normalised(pow(2, scores - row_max(scores)), mask);
  return finish(weights, v, w_o);
}

}  // namespace

const std::vector<Mutant>& forward_scale_softmax() {
  static const std::vector<Mutant> all{
      {"scale-sqrt-model-width", scale_sqrt_model_width<double>, scale_sqrt_model_width<float>},
      {"scale-none", scale_none<double>, scale_none<float>},
      {"scale-by-d", scale_by_d<double>, scale_by_d<float>},
      {"scale-multiplied", scale_multiplied<double>, scale_multiplied<float>},
      {"scale-fixed-half", scale_fixed_half<double>, scale_fixed_half<float>},
      {"scale-sqrt-heads", scale_sqrt_heads<double>, scale_sqrt_heads<float>},
      {"scale-sqrt-keys", scale_sqrt_keys<double>, scale_sqrt_keys<float>},
      {"scale-twice", scale_twice<double>, scale_twice<float>},
      {"scale-after-softmax", scale_after_softmax<double>, scale_after_softmax<float>},
      {"softmax-over-queries", softmax_over_queries<double>, softmax_over_queries<float>},
      {"softmax-over-heads", softmax_over_heads<double>, softmax_over_heads<float>},
      {"softmax-over-batch", softmax_over_batch<double>, softmax_over_batch<float>},
      {"softmax-twice", softmax_twice<double>, softmax_twice<float>},
      {"softmax-missing", softmax_missing<double>, softmax_missing<float>},
      {"softmax-sigmoid", softmax_sigmoid<double>, softmax_sigmoid<float>},
      {"softmax-no-max", softmax_no_max<double>, softmax_no_max<float>},
      {"softmax-epsilon", softmax_epsilon<double>, softmax_epsilon<float>},
      {"softmax-base-two", softmax_base_two<double>, softmax_base_two<float>},
  };
  return all;
}

}  // namespace mutants::first
