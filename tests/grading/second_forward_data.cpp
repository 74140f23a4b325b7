// Mistakes in what is attended to, in the results, and in how a submission behaves.

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "second_submission.hpp"

namespace mutants {
namespace {

SUBMISSION(key_value_swapped) {
  const auto d = head_width(query, num_heads);
  const auto run = [&](const V<T>& q, const V<T>& v, const V<T>& k) {
    const auto split = [&](const V<T>& x, const V<T>& w) {
      return swapaxes(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
    };
    return xg::attention_kernel(split(q, w_q), split(k, w_k), split(v, w_v), mask);
  };
  const auto a = run(query, key, value);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o), a.weights};
}

SUBMISSION(query_as_key) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> q = cut(matmul(query, w_q)), k = cut(matmul(query, w_k)), v = cut(matmul(value, w_v));
  const V<T> w = masked_softmax(xg::einsum("bqhd,bkhd->bhqk", {q, k}) / std::sqrt(double(d)), mask);
  return {matmul(reshape(xg::einsum("bhqk,bkhd->bqhd", {w, v}), query.shape()), w_o), w};
}

SUBMISSION(key_as_value) {
  const auto d = head_width(query, num_heads);
  // Keys and values come from one product with [w_k w_v], of the same sequence.
  const auto kv = split(matmul(key, xg::concat({w_k, w_v}, 1)), 2, 2);
  const auto heads = [&](const V<T>& x) { return xg::stack(split(x, num_heads, 2), 1); };
  const V<T> s = matmul(heads(matmul(query, w_q)), swapaxes(heads(kv[0]), 2, 3));
  const V<T> w = masked_softmax(s / std::sqrt(double(d)), mask);
  const V<T> o = matmul(w, heads(kv[1]));
  return {matmul(reshape(swapaxes(o, 1, 2), query.shape()), w_o), w};
}

SUBMISSION(value_as_key) {
  const auto d = head_width(query, num_heads);
  const auto q = split(matmul(query, w_q), num_heads, 2);
  const auto k = split(matmul(value, w_k), num_heads, 2);
  const auto v = split(matmul(value, w_v), num_heads, 2);
  const auto a = xg::attention_kernel(xg::stack(q, 1), xg::stack(k, 1), xg::stack(v, 1), mask);
  return {matmul(reshape(transpose(a.output, {0, 2, 1, 3}), {query.shape()[0], -1, num_heads * d}),
                 w_o),
          a.weights};
}

SUBMISSION(query_key_swapped) {
  const auto d = head_width(query, num_heads);
  // Parameters taken in the order key, query, value.
  const auto attend = [&](const V<T>& to, const V<T>& from, const V<T>& values) {
    const auto split = [&](const V<T>& x) {
      return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
    };
    V<T> w = matmul(split(matmul(from, w_q)), swapaxes(split(matmul(to, w_k)), 2, 3));
    w = masked_softmax(w / std::sqrt(double(d)), mask);
    V<T> o = swapaxes(matmul(w, split(matmul(values, w_v))), 1, 2);
    return xg::Attention<T>{matmul(reshape(o, from.shape()), w_o), w};
  };
  return attend(query, key, value);
}

SUBMISSION(key_as_query) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const V<T> q = split(matmul(key, w_q));
  const V<T> k = split(matmul(key, w_k));
  const auto a = xg::attention_kernel(q, k, split(matmul(value, w_v)), mask);
  return {matmul(reshape(swapaxes(a.output, 1, 2), key.shape()), w_o), a.weights};
}

SUBMISSION(values_not_weighted) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> s = xg::einsum("bqhd,bkhd->bhqk", {cut(matmul(query, w_q)), cut(matmul(key, w_k))});
  const V<T> w = masked_softmax(s / std::sqrt(double(d)), mask);
  const V<T> pooled = mean(matmul(value, w_v), 1, true);  // [B,1,D]
  return {matmul(broadcast_to(pooled, query.shape()), w_o), w};
}

SUBMISSION(keys_cut_to_queries) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], N = query.shape()[1], K = key.shape()[1];
  const auto n = static_cast<std::int64_t>(N);
  xg::Mask m = mask;
  if (m.defined()) m = slice(where(m, xg::ones<T>({1, K}), 0), -1, 0, n) > 0.5;
  const V<T> q = reshape(matmul(query, w_q), {B, N, num_heads, d});
  const V<T> k = reshape(matmul(slice(key, 1, 0, n), w_k), {B, -1, num_heads, d});
  const V<T> v = reshape(matmul(slice(value, 1, 0, n), w_v), {B, -1, num_heads, d});
  const V<T> w = masked_softmax(xg::einsum("bihd,bjhd->bhij", {q, k}) / std::sqrt(double(d)), m);
  return {matmul(reshape(xg::einsum("bhij,bjhd->bihd", {w, v}), query.shape()), w_o), w};
}

SUBMISSION(keys_counted_as_queries) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = query.shape()[1];
  const V<T> q = reshape(matmul(query, w_q), {B, Q, num_heads, d});
  const V<T> k = reshape(matmul(key, w_k), {B, K, num_heads, d});
  const V<T> v = reshape(matmul(value, w_v), {B, K, num_heads, d});
  const V<T> s = xg::einsum("bihd,bjhd->bhij", {q, k}) / std::sqrt(double(d));
  const V<T> w = masked_softmax(s, mask);
  return {matmul(reshape(xg::einsum("bhij,bjhd->bihd", {w, v}), query.shape()), w_o), w};
}

SUBMISSION(keys_last_dropped) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1];
  const auto K = static_cast<std::int64_t>(key.shape()[1]);
  const auto split = [&](const V<T>& x, std::size_t n) {
    return swapaxes(reshape(x, {B, n, num_heads, d}), 1, 2);
  };
  std::vector<bool> in_range;
  for (std::int64_t j = 0; j < K; ++j) in_range.push_back(j < K - 1);
  xg::Mask m({K}, in_range);
  if (mask.defined()) m = m & mask;
  const auto a =
      xg::attention_kernel(split(matmul(query, w_q), Q), split(matmul(key, w_k), key.shape()[1]),
                           split(matmul(value, w_v), key.shape()[1]), m);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o), a.weights};
}

SUBMISSION(batch_first_only) {
  const auto d = head_width(query, num_heads);
  const auto K = key.shape()[1];
  const auto q = reshape(matmul(query, w_q), {query.shape()[0], query.shape()[1], num_heads, d});
  const auto k = reshape(matmul(squeeze(slice(key, 0, 0, 1), 0), w_k), {K, num_heads, d});
  const auto v = reshape(matmul(squeeze(slice(value, 0, 0, 1), 0), w_v), {K, num_heads, d});
  const V<T> w = masked_softmax(xg::einsum("bqhd,khd->bhqk", {q, k}) / std::sqrt(double(d)), mask);
  return {matmul(reshape(xg::einsum("bhqk,khd->bqhd", {w, v}), query.shape()), w_o), w};
}

SUBMISSION(batch_mixed) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0];
  // Sequences first, as recurrent layers have them: [N,B,H,d] -> [B,H,N,d].
  const auto split = [&](const V<T>& x) {
    return transpose(reshape(x, {x.shape()[1], B, num_heads, d}), {1, 2, 0, 3});
  };
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                      split(matmul(value, w_v)), mask);
  return {matmul(reshape(transpose(a.output, {0, 2, 1, 3}), query.shape()), w_o), a.weights};
}

SUBMISSION(weights_averaged) {
  const auto d = head_width(query, num_heads);
  V<T> visible = xg::ones<T>({query.shape()[0], num_heads, query.shape()[1], key.shape()[1]});
  if (mask.defined()) visible = where(mask, visible, 0);
  V<T> total;
  std::vector<V<T>> outputs;
  for (std::int64_t h = 0; h < num_heads; ++h) {
    const auto columns = [&](const V<T>& w) { return slice(w, 1, h * d, (h + 1) * d); };
    const V<T> k = swapaxes(matmul(key, columns(w_k)), 1, 2);
    const V<T> s = matmul(matmul(query, columns(w_q)), k) / std::sqrt(double(d));
    const V<T> w = masked_softmax(s, squeeze(slice(visible, 1, h, h + 1), 1) > 0);
    outputs.push_back(matmul(w, matmul(value, columns(w_v))));
    total = h == 0 ? w : total + w;
  }
  return {matmul(xg::concat(outputs, 2), w_o), total / num_heads};
}

SUBMISSION(weights_transposed) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> w = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)}) / std::sqrt(double(d));
  w = masked_softmax(w, mask);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)});
  return {matmul(reshape(o, query.shape()), w_o), xg::einsum("bhqk->bhkq", {w})};
}

SUBMISSION(weights_queries_first) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                      split(matmul(value, w_v)), mask);
  const auto back = [](const V<T>& x) { return swapaxes(x, 1, 2); };
  return {matmul(reshape(back(a.output), query.shape()), w_o), back(a.weights)};
}

SUBMISSION(weights_are_scores) {
  const auto d = head_width(query, num_heads);
  const auto project = [&](const V<T>& x, const V<T>& w) {
    return swapaxes(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const V<T> s =
      matmul(project(query, w_q), swapaxes(project(key, w_k), 2, 3)) / std::sqrt(double(d));
  const V<T> o = matmul(masked_softmax(s, mask), project(value, w_v));
  return {matmul(reshape(swapaxes(o, 1, 2), query.shape()), w_o), s};
}

SUBMISSION(weights_are_log) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) { return xg::stack(xg::split(x, num_heads, 2), 1); };
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                      split(matmul(value, w_v)), mask);
  const V<T> merged = reshape(swapaxes(a.output, 1, 2), {query.shape()[0], -1, d * num_heads});
  return {matmul(merged, w_o), log(a.weights)};
}

SUBMISSION(results_swapped) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> attention = xg::einsum("bqhd,bkhd->bhqk", {cut(matmul(query, w_q)), cut(matmul(key, w_k))});
  attention = masked_softmax(attention / std::sqrt(double(d)), mask);
  V<T> y = xg::einsum("bhqk,bkhd->bqhd", {attention, cut(matmul(value, w_v))});
  y = matmul(reshape(y, query.shape()), w_o);
  return {attention, y};
}

SUBMISSION(output_not_merged) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x, const V<T>& w) {
    return transpose(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d}),
                     {0, 2, 1, 3});
  };
  return xg::attention_kernel(split(query, w_q), split(key, w_k), split(value, w_v), mask);
}

SUBMISSION(residual_added) {
  const auto d = head_width(query, num_heads);
  V<T> out = query;
  std::vector<V<T>> weights;
  const V<T> ones = xg::ones<T>({query.shape()[0], num_heads, query.shape()[1], key.shape()[1]});
  const V<T> visible = mask.defined() ? where(mask, ones, 0) : ones;
  for (std::int64_t h = 0; h < num_heads; ++h) {  // the sum over heads of head_h w_o[rows of h]
    const auto head = [&](const V<T>& x, const V<T>& w) {
      return unsqueeze(matmul(x, slice(w, 1, h * d, h * d + d)), 1);
    };
    const auto a = xg::attention_kernel(head(query, w_q), head(key, w_k), head(value, w_v),
                                        slice(visible, 1, h, h + 1) > 0);
    out += matmul(squeeze(a.output, 1), slice(w_o, 0, h * d, h * d + d));
    weights.push_back(a.weights);
  }
  return {out, xg::concat(weights, 1)};
}

SUBMISSION(layer_norm_added) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                      split(matmul(value, w_v)), mask);
  const V<T> y = matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o);
  const V<T> centred = y - mean(y, -1, true);
  return {centred / sqrt(var(y, -1, true) + 1e-5), a.weights};
}

SUBMISSION(dropout_added) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> w = xg::einsum("bqhd,bkhd->bhqk", {cut(matmul(query, w_q)), cut(matmul(key, w_k))});
  w = dropout(masked_softmax(w / std::sqrt(double(d)), mask), 0.1, 42);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(matmul(value, w_v))});
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(output_activation) {
  const auto d = head_width(query, num_heads);
  const auto heads = [&](const V<T>& x, const V<T>& w) {
    return swapaxes(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(heads(query, w_q), heads(key, w_k), heads(value, w_v), mask);
  return {gelu(matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o)), a.weights};
}

template <class T>
class FloatProduct final : public xg::Op<T> {
 public:
  std::string name() const override { return "float_product"; }
  V<T> forward(const std::vector<V<T>>& in) const override {
    const V<float> y = matmul(as<float>(in[0]), as<float>(in[1]));
    return as<T>(y);
  }
  std::vector<V<T>> backward(const std::vector<V<T>>& in, const V<T>&, V<T> g,
                             const std::vector<bool>&) const override {
    V<T> db = matmul(swapaxes(in[0], -1, -2), g);
    if (in[1].dim() < db.dim()) db = sum(db, 0);
    return {matmul(g, swapaxes(in[1], -1, -2)), db};
  }

 private:
  template <class To, class From>
  static V<To> as(const V<From>& x) {
    const std::vector<From> from = x.to_vector();
    const std::vector<To> to(from.begin(), from.end());
    return xg::from_data(to.data(), x.shape());
  }
};
SUBMISSION(computed_in_float) {
  const auto d = head_width(query, num_heads);
  const auto dot = [](const V<T>& a, const V<T>& b) {
    return xg::apply(std::make_shared<FloatProduct<T>>(), {a, b});
  };
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  V<T> s = dot(split(dot(query, w_q)), swapaxes(split(dot(key, w_k)), 2, 3));
  V<T> w = masked_softmax(s / std::sqrt(double(d)), mask);
  V<T> o = reshape(swapaxes(dot(w, split(dot(value, w_v))), 1, 2), query.shape());
  return {dot(o, w_o), w};
}

SUBMISSION(inputs_changed) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const V<T> q = matmul(query, w_q), k = matmul(key, w_k), v = matmul(value, w_v);
  const auto a = xg::attention_kernel(split(q), split(k), split(v), mask);
  const V<T> output = matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o);
  V<T> buffer = value;  // "to save memory"
  if (buffer.is_leaf()) buffer.set_value(v);
  return {output, a.weights};
}

/// x's memory as if it lay row by row, within what its strides reach.
template <class T>
V<T> as_it_lies(const V<T>& x) {
  const auto forward = [](const std::vector<V<T>>& in) {
    const auto raw = xg::detail::raw_view(in[0]);
    std::ptrdiff_t low = 0, high = 0;
    for (std::size_t i = 0; i < raw.shape.size(); ++i) {
      const auto reach = raw.strides[i] * (static_cast<std::ptrdiff_t>(raw.shape[i]) - 1);
      (reach < 0 ? low : high) += reach;
    }
    std::vector<T> out(in[0].size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = raw.memory.get()[std::min(low + static_cast<std::ptrdiff_t>(i), high)];
    }
    return xg::from_data(out.data(), in[0].shape());
  };
  const auto backward = [](const std::vector<V<T>>&, const V<T>&, V<T> g) {
    return std::vector<V<T>>{g};
  };
  return xg::custom<T>("data", forward, backward)(x);
}
SUBMISSION(strides_ignored) {
  const auto d = head_width(query, num_heads);
  const auto project = [&](const V<T>& x, const V<T>& w) {
    const V<T> y = matmul(as_it_lies(x), as_it_lies(w));
    return swapaxes(reshape(y, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a =
      xg::attention_kernel(project(query, w_q), project(key, w_k), project(value, w_v), mask);
  const V<T> merged = reshape(swapaxes(a.output, 1, 2), query.shape());
  return {matmul(merged, as_it_lies(w_o)), a.weights};
}

SUBMISSION(heads_unchecked) {
  const auto D = static_cast<std::int64_t>(query.shape()[2]);
  const auto H = std::max<std::int64_t>(num_heads, 1);
  const auto d = D / H;
  V<T> visible = xg::ones<T>({query.shape()[0], H, query.shape()[1], key.shape()[1]});
  if (mask.defined()) visible = where(mask, visible, 0);
  const V<T> q = matmul(query, w_q), k = matmul(key, w_k), v = matmul(value, w_v);
  std::vector<V<T>> outputs, weights;
  for (std::int64_t h = 0; h < H; ++h) {
    // The last head takes what is left.
    const auto head = [&](const V<T>& x) {
      return slice(x, 2, h * d, h + 1 < H ? (h + 1) * d : D);
    };
    const V<T> part = head(q);
    const V<T> s = matmul(part, swapaxes(head(k), 1, 2)) / std::sqrt(double(part.shape()[2]));
    weights.push_back(masked_softmax(s, squeeze(slice(visible, 1, h, h + 1), 1) > 0));
    outputs.push_back(matmul(weights.back(), head(v)));
  }
  return {matmul(xg::concat(outputs, 2), w_o), xg::stack(weights, 1)};
}

SUBMISSION(undefined_result) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                      split(matmul(value, w_v)), mask);
  xg::Attention<T> result;
  result.output = matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o);
  return result;
}

SUBMISSION(not_repeatable) {
  // A cache of the last call's keys and values, which belongs into a decoder.
  static thread_local std::map<xg::Shape, std::pair<V<T>, V<T>>> cache;
  const auto d = head_width(query, num_heads);
  const auto K = static_cast<std::int64_t>(key.shape()[1]);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  V<T> k = split(matmul(key, w_k)), v = split(matmul(value, w_v));
  auto& [old_k, old_v] = cache[k.shape()];
  const V<T> now_k = k.detach(), now_v = v.detach();
  xg::Mask m = mask;
  if (old_k.defined()) {
    k = xg::concat({old_k, k}, 2);
    v = xg::concat({old_v, v}, 2);
    if (mask.defined()) {
      const V<T> shown = where(mask, xg::ones<T>({query.shape()[1], K}), 0);
      m = xg::concat({shown * 0 + 1, shown}, -1) > 0.5;
    }
  }
  old_k = now_k;
  old_v = now_v;
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), k, v, m);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o),
          slice(a.weights, 3, -K, xg::end)};
}

}  // namespace

const std::vector<Mutant>& second_data() {
  static const std::vector<Mutant> all{
      MUTANT("key-value-swapped", key_value_swapped),
      MUTANT("query-as-key", query_as_key),
      MUTANT("key-as-value", key_as_value),
      MUTANT("value-as-key", value_as_key),
      MUTANT("query-key-swapped", query_key_swapped),
      MUTANT("key-as-query", key_as_query),
      MUTANT("values-not-weighted", values_not_weighted),
      MUTANT("keys-cut-to-queries", keys_cut_to_queries),
      MUTANT("keys-counted-as-queries", keys_counted_as_queries),
      MUTANT("keys-last-dropped", keys_last_dropped),
      MUTANT("batch-first-only", batch_first_only),
      MUTANT("batch-mixed", batch_mixed),
      MUTANT("weights-averaged", weights_averaged),
      MUTANT("weights-transposed", weights_transposed),
      MUTANT("weights-queries-first", weights_queries_first),
      MUTANT("weights-are-scores", weights_are_scores),
      MUTANT("weights-are-log", weights_are_log),
      MUTANT("results-swapped", results_swapped),
      MUTANT("output-not-merged", output_not_merged),
      MUTANT("residual-added", residual_added),
      MUTANT("layer-norm-added", layer_norm_added),
      MUTANT("dropout-added", dropout_added),
      MUTANT("output-activation", output_activation),
      MUTANT("computed-in-float", computed_in_float),
      MUTANT("inputs-changed", inputs_changed),
      MUTANT("strides-ignored", strides_ignored),
      MUTANT("heads-unchecked", heads_unchecked),
      MUTANT("undefined-result", undefined_result),
      MUTANT("not-repeatable", not_repeatable),
  };
  return all;
}

}  // namespace mutants
