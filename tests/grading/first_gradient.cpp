// Right values, wrong gradients: rules written by hand, and values taken out of the graph.

#include <functional>
#include <limits>

#include "first_parts.hpp"

namespace mutants::first {
namespace {

/// x, with rule(g) for its gradient.
template <class T>
Variable<T> with_gradient(const Variable<T>& x, Variable<T> (*rule)(const Variable<T>&)) {
  using V = Variable<T>;
  const auto op = xg::custom<T>(
      "same", [](const std::vector<V>& in) { return in[0]; },
      [rule](const std::vector<V>&, const V&, V g) { return std::vector<V>{rule(g)}; });
  return op(x);
}

/// Right attention whose seven inputs have rule(g) for a gradient.
template <class T>
Attention<T> with_input_gradients(Variable<T> (*rule)(const Variable<T>&), In<T> query, In<T> key,
                                  In<T> value, In<T> w_q, In<T> w_k, In<T> w_v, In<T> w_o,
                                  std::int64_t H, const Mask& mask) {
  const auto [q, k, v] =
      project(with_gradient(query, rule), with_gradient(key, rule), with_gradient(value, rule),
              with_gradient(w_q, rule), with_gradient(w_k, rule), with_gradient(w_v, rule), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), with_gradient(w_o, rule)), weights};
}

/// Right attention, each of whose heads' q, k and v has rule(g) for a gradient.
template <class T>
Attention<T> with_head_gradients(Variable<T> (*rule)(const Variable<T>&), In<T> query, In<T> key,
                                 In<T> value, In<T> w_q, In<T> w_k, In<T> w_v, In<T> w_o,
                                 std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(with_gradient(q, rule), with_gradient(k, rule),
                                                     with_gradient(v, rule), mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

/// x [B,N,D], w [D,D] and the cotangent of x w -> the gradients of x and w.
template <class T>
using LinearRule = std::vector<Variable<T>> (*)(const Variable<T>& x, const Variable<T>& w,
                                                const Variable<T>& g);

/// Right attention with a rule of its own for x w.
template <class T>
Attention<T> with_linear_rule(LinearRule<T> rule, In<T> query, In<T> key, In<T> value, In<T> w_q,
                              In<T> w_k, In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto linear = xg::custom<T>(
      "linear", [](const std::vector<V>& in) { return matmul(in[0], in[1]); },
      [rule](const std::vector<V>& in, const V&, V g) { return rule(in[0], in[1], g); });
  const auto q = split_heads(linear(query, w_q), H);
  const auto k = split_heads(linear(key, w_k), H);
  const auto v = split_heads(linear(value, w_v), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {linear(merge_heads(heads), w_o), weights};
}

/// masked_softmax with a rule of its own: scores, weights and the weights' cotangent -> the
/// scores'.
template <class T>
Variable<T> softmax_with_rule(
    const Variable<T>& scores, const Mask& mask,
    const std::function<Variable<T>(const Variable<T>&, const Variable<T>&, const Variable<T>&)>&
        rule) {
  using V = Variable<T>;
  const auto op = xg::custom<T>(
      "own_softmax", [mask](const std::vector<V>& in) { return masked_softmax(in[0], mask); },
      [rule](const std::vector<V>& in, const V& y, V g) {
        return std::vector<V>{rule(in[0], y, g)};
      });
  return op(scores);
}

/// Whether both are the same array.
template <class T>
bool same(const Variable<T>& a, const Variable<T>& b) {
  return xg::detail::raw_view(a).memory == xg::detail::raw_view(b).memory &&
         a.shape() == b.shape() && a.strides() == b.strides();
}

/// 0 for hidden scores, else `hidden`: what is added to the scores instead of a mask.
template <class T>
Variable<T> added_mask(const Mask& mask, const xg::Shape& shape, double hidden) {
  return fill_hidden(mask, xg::zeros<T>(shape), hidden);
}

/// 1 for each query that sees a key, [B,H,Q,1].
template <class T>
Variable<T> sees_any(const Mask& mask, const xg::Shape& scores) {
  return max(as_numbers<T>(mask, scores), -1, true);
}

template <class T>
Attention<T> grad_missing_query(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query.detach(), key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> grad_missing_key(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key.detach(), value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> grad_missing_value(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value.detach(), w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> grad_missing_w_q(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q.detach(), w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> grad_missing_w_k(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k.detach(), w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> grad_missing_w_v(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v.detach(), H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> grad_missing_w_o(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o.detach()), weights};
}

template <class T>
Attention<T> grad_weights_detached(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                   In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(scaled_scores(q, k), mask).detach();
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> grad_softmax_no_row_sum(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                     In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = softmax_with_rule<T>(scaled_scores(q, k), mask,
                                            [](const V&, const V& y, const V& g) { return y * g; });
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> grad_softmax_wrong_axis(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                     In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = softmax_with_rule<T>(
      scaled_scores(q, k), mask,
      [](const V&, const V& y, const V& g) { return y * (g - sum(y * g, -2, true)); });
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> grad_softmax_diagonal(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                   In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = softmax_with_rule<T>(
      scaled_scores(q, k), mask, [](const V&, const V& y, const V& g) { return g * y * (1 - y); });
  return finish(weights, v, w_o);
}

template <class T>
Attention<T> grad_scale_missing(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto divide = xg::custom<T>(
      "divide", [root = root_of_width(q)](const std::vector<V>& in) { return in[0] / root; },
      [](const std::vector<V>&, const V&, V g) { return std::vector<V>{g}; });
  const auto scores = divide(matmul(q, transposed(k)));
  return finish(masked_softmax(scores, mask), v, w_o);
}

template <class T>
Attention<T> grad_scale_twice(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const T root = root_of_width(q);
  const auto divide = xg::custom<T>(
      "divide", [root](const std::vector<V>& in) { return in[0] / root; },
      [root](const std::vector<V>&, const V&, V g) { return std::vector<V>{g / root / root}; });
  const auto scores = divide(matmul(q, transposed(k)));
  return finish(masked_softmax(scores, mask), v, w_o);
}

template <class T>
Attention<T> grad_w_averaged(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                             In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  return with_linear_rule<T>(
      [](const V& x, const V& w, const V& g) {
        return std::vector<V>{matmul(g, transposed(w)), mean(matmul(transposed(x), g), 0)};
      },
      query, key, value, w_q, w_k, w_v, w_o, H, mask);
}

template <class T>
Attention<T> grad_w_last_item(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  return with_linear_rule<T>(
      [](const V& x, const V& w, const V& g) {
        V grad_w;
        for (std::int64_t b = 0; b < extent(x, 0); ++b) {
          const auto item = squeeze(slice(x, 0, b, b + 1), 0);
          grad_w = matmul(transposed(item), squeeze(slice(g, 0, b, b + 1), 0));
        }
        return std::vector<V>{matmul(g, transposed(w)), grad_w};
      },
      query, key, value, w_q, w_k, w_v, w_o, H, mask);
}

template <class T>
Attention<T> grad_w_transposed(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                               In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  return with_linear_rule<T>(
      [](const V& x, const V& w, const V& g) {
        return std::vector<V>{matmul(g, transposed(w)), sum(matmul(transposed(g), x), 0)};
      },
      query, key, value, w_q, w_k, w_v, w_o, H, mask);
}

template <class T>
Attention<T> grad_input_w_not_transposed(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                         In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  return with_linear_rule<T>(
      [](const V& x, const V& w, const V& g) {
        return std::vector<V>{matmul(g, w), sum(matmul(transposed(x), g), 0)};
      },
      query, key, value, w_q, w_k, w_v, w_o, H, mask);
}

// The rule computes the weights anew and forgets the mask, but for queries that see nothing.
template <class T>
Attention<T> grad_reaches_masked(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                 In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const auto any = sees_any<T>(mask, scores.shape());
  const auto weights = softmax_with_rule<T>(scores, mask, [any](const V& x, const V&, const V& g) {
    const V y = softmax(x) * any;
    return y * (g - sum(y * g, -1, true));
  });
  return finish(weights, v, w_o);
}

// Adds -inf, so that such a row is NaN, and repairs the values afterwards.
template <class T>
Attention<T> grad_fully_masked_nan(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                   In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const double infinity = std::numeric_limits<double>::infinity();
  const auto weights = softmax(scores + added_mask<T>(mask, scores.shape(), -infinity));
  return finish(where(sees_any<T>(mask, scores.shape()) != 0, weights, 0), v, w_o);
}

// Adds -1e9, so that such a row is uniform, and repairs the values outside the graph.
template <class T>
Attention<T> grad_fully_masked_uniform(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                       In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto scores = scaled_scores(q, k);
  const auto weights = softmax(scores + added_mask<T>(mask, scores.shape(), -1e9));
  const auto heads = matmul(weights, v);
  const auto any = sees_any<T>(mask, scores.shape());
  const auto repaired_weights = weights + (weights * any - weights).detach();
  const auto repaired_heads = heads + (heads * any - heads).detach();
  return {matmul(merge_heads(repaired_heads), w_o), repaired_weights};
}

template <class T>
Attention<T> grad_weights_cotangent_ignored(In<T> query, In<T> key, In<T> value, In<T> w_q,
                                            In<T> w_k, In<T> w_v, In<T> w_o, std::int64_t H,
                                            const Mask& mask) {
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights.detach()};
}

template <class T>
Attention<T> grad_output_cotangent_ones(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                        In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  const auto output = matmul(merge_heads(heads), w_o);
  return {with_gradient<T>(output, [](const V& g) { return xg::ones<T>(g.shape()); }), weights};
}

// The gradients of query, key and value are assigned in this order; the last one stays.
template <class T>
Attention<T> grad_overwritten(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                              In<T> w_o, std::int64_t H, const Mask& mask) {
  const bool later_than_query = same(query, key) || same(query, value);
  const auto kept_query = later_than_query ? query.detach() : query;
  const auto kept_key = same(key, value) ? key.detach() : key;
  const auto [q, k, v] = project(kept_query, kept_key, value, w_q, w_k, w_v, H);
  const auto [heads, weights] = xg::attention_kernel(q, k, v, mask);
  return {matmul(merge_heads(heads), w_o), weights};
}

template <class T>
Attention<T> grad_negated(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  return with_input_gradients<T>([](const V& g) { return -g; }, query, key, value, w_q, w_k, w_v,
                                 w_o, H, mask);
}

template <class T>
Attention<T> grad_doubled(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  return with_input_gradients<T>([](const V& g) { return g + g; }, query, key, value, w_q, w_k, w_v,
                                 w_o, H, mask);
}

template <class T>
Attention<T> grad_value_not_transposed(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                       In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const auto weights = masked_softmax(scaled_scores(q, k), mask);
  const auto weighted = xg::custom<T>(
      "weighted", [](const std::vector<V>& in) { return matmul(in[0], in[1]); },
      [](const std::vector<V>& in, const V&, V g) {
        return std::vector<V>{matmul(g, transposed(in[1])), matmul(in[0], g)};
      });
  return {matmul(merge_heads(weighted(weights, v)), w_o), weights};
}

template <class T>
Attention<T> grad_first_head_only(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                  In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  return with_head_gradients<T>(
      [](const V& g) {
        const V first = slice(g, 1, 0, 1);
        return extent(g, 1) == 1 ? first : xg::concat({first, slice(g, 1, 1, xg::end) * 0}, 1);
      },
      query, key, value, w_q, w_k, w_v, w_o, H, mask);
}

template <class T>
Attention<T> grad_query_from_query(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                   In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  const auto [q, k, v] = project(query, key, value, w_q, w_k, w_v, H);
  const T root = root_of_width(q);
  const auto product = xg::custom<T>(
      "scores",
      [root](const std::vector<V>& in) { return matmul(in[0], transposed(in[1])) / root; },
      [root](const std::vector<V>& in, const V&, V g) {
        return std::vector<V>{matmul(g, in[0]) / root, matmul(transposed(g), in[0]) / root};
      });
  return finish(masked_softmax(product(q, k), mask), v, w_o);
}

template <class T>
Attention<T> grad_clipped(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                          In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  return with_input_gradients<T>([](const V& g) { return clip(g, -1, 1); }, query, key, value, w_q,
                                 w_k, w_v, w_o, H, mask);
}

template <class T>
Attention<T> grad_in_float(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k, In<T> w_v,
                           In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  return with_input_gradients<T>(
      [](const V& g) {
        std::vector<T> values = g.to_vector();
        for (T& value : values) value = static_cast<T>(static_cast<float>(value));
        return xg::from_data(values.data(), g.shape());
      },
      query, key, value, w_q, w_k, w_v, w_o, H, mask);
}

template <class T>
Attention<T> grad_heads_averaged(In<T> query, In<T> key, In<T> value, In<T> w_q, In<T> w_k,
                                 In<T> w_v, In<T> w_o, std::int64_t H, const Mask& mask) {
  using V = Variable<T>;
  return with_head_gradients<T>(
      [](const V& g) { return broadcast_to(mean(g, 1, true), g.shape()); }, query, key, value, w_q,
      w_k, w_v, w_o, H, mask);
}

}  // namespace

const std::vector<Mutant>& gradient() {
  static const std::vector<Mutant> all{
      {"grad-missing-query", grad_missing_query<double>, grad_missing_query<float>},
      {"grad-missing-key", grad_missing_key<double>, grad_missing_key<float>},
      {"grad-missing-value", grad_missing_value<double>, grad_missing_value<float>},
      {"grad-missing-w-q", grad_missing_w_q<double>, grad_missing_w_q<float>},
      {"grad-missing-w-k", grad_missing_w_k<double>, grad_missing_w_k<float>},
      {"grad-missing-w-v", grad_missing_w_v<double>, grad_missing_w_v<float>},
      {"grad-missing-w-o", grad_missing_w_o<double>, grad_missing_w_o<float>},
      {"grad-weights-detached", grad_weights_detached<double>, grad_weights_detached<float>},
      {"grad-softmax-no-row-sum", grad_softmax_no_row_sum<double>, grad_softmax_no_row_sum<float>},
      {"grad-softmax-wrong-axis", grad_softmax_wrong_axis<double>, grad_softmax_wrong_axis<float>},
      {"grad-softmax-diagonal", grad_softmax_diagonal<double>, grad_softmax_diagonal<float>},
      {"grad-scale-missing", grad_scale_missing<double>, grad_scale_missing<float>},
      {"grad-scale-twice", grad_scale_twice<double>, grad_scale_twice<float>},
      {"grad-w-averaged", grad_w_averaged<double>, grad_w_averaged<float>},
      {"grad-w-last-item", grad_w_last_item<double>, grad_w_last_item<float>},
      {"grad-w-transposed", grad_w_transposed<double>, grad_w_transposed<float>},
      {"grad-input-w-not-transposed", grad_input_w_not_transposed<double>,
       grad_input_w_not_transposed<float>},
      {"grad-reaches-masked", grad_reaches_masked<double>, grad_reaches_masked<float>},
      {"grad-fully-masked-nan", grad_fully_masked_nan<double>, grad_fully_masked_nan<float>},
      {"grad-fully-masked-uniform", grad_fully_masked_uniform<double>,
       grad_fully_masked_uniform<float>},
      {"grad-weights-cotangent-ignored", grad_weights_cotangent_ignored<double>,
       grad_weights_cotangent_ignored<float>},
      {"grad-output-cotangent-ones", grad_output_cotangent_ones<double>,
       grad_output_cotangent_ones<float>},
      {"grad-overwritten", grad_overwritten<double>, grad_overwritten<float>},
      {"grad-negated", grad_negated<double>, grad_negated<float>},
      {"grad-doubled", grad_doubled<double>, grad_doubled<float>},
      {"grad-value-not-transposed", grad_value_not_transposed<double>,
       grad_value_not_transposed<float>},
      {"grad-first-head-only", grad_first_head_only<double>, grad_first_head_only<float>},
      {"grad-query-from-query", grad_query_from_query<double>, grad_query_from_query<float>},
      {"grad-clipped", grad_clipped<double>, grad_clipped<float>},
      {"grad-in-float", grad_in_float<double>, grad_in_float<float>},
      {"grad-heads-averaged", grad_heads_averaged<double>, grad_heads_averaged<float>},
  };
  return all;
}

}  // namespace mutants::first
