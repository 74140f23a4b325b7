// Mistakes in splitting and merging the heads, and in the projections.

#include <cmath>

#include "second_submission.hpp"

namespace mutants {
namespace {

SUBMISSION(split_by_reshape) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], num_heads, x.shape()[1], d});
  };
  auto [heads, weights] = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                               split(matmul(value, w_v)), mask);
  return {matmul(reshape(swapaxes(heads, 1, 2), query.shape()), w_o), weights};
}

SUBMISSION(merge_by_reshape) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  const V<T> q = reshape(matmul(query, w_q), {B, Q, num_heads, d});
  const V<T> k = reshape(matmul(key, w_k), {B, K, num_heads, d});
  const V<T> v = reshape(matmul(value, w_v), {B, K, num_heads, d});
  const V<T> w = masked_softmax(xg::einsum("bqhd,bkhd->bhqk", {q, k}) / std::sqrt(double(d)), mask);
  const V<T> heads = xg::einsum("bhqk,bkhd->bhqd", {w, v});
  return {matmul(reshape(heads, {B, Q, num_heads * d}), w_o), w};
}

SUBMISSION(split_and_merge_by_reshape) {
  // [B*H, N, d] without a transpose on the way in or out.
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  const V<T> q = reshape(matmul(query, w_q), {-1, Q, d});
  const V<T> k = reshape(matmul(key, w_k), {-1, K, d});
  const V<T> v = reshape(matmul(value, w_v), {-1, K, d});
  V<T> s = matmul(q * (1 / std::sqrt(double(d))), swapaxes(k, 1, 2));
  V<T> w = masked_softmax(reshape(s, {B, num_heads, Q, K}), mask);
  V<T> o = matmul(reshape(w, {-1, Q, K}), v);
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(heads_interleaved) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1];
  const auto split = [&](const V<T>& x) {  // [B,N,d,H] -> [B,H,N,d]
    return transpose(reshape(x, {B, x.shape()[1], d, num_heads}), {0, 3, 1, 2});
  };
  auto [o, w] = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                     split(matmul(value, w_v)), mask);
  return {matmul(reshape(transpose(o, {0, 2, 3, 1}), {B, Q, d * num_heads}), w_o), w};
}

SUBMISSION(heads_interleaved_split) {
  const auto d = head_width(query, num_heads);
  std::vector<V<T>> qs, ks, vs;
  for (std::int64_t h = 0; h < num_heads; ++h) {
    qs.push_back(slice(matmul(query, w_q), 2, h, xg::end, num_heads));
    ks.push_back(slice(matmul(key, w_k), 2, h, xg::end, num_heads));
    vs.push_back(slice(matmul(value, w_v), 2, h, xg::end, num_heads));
  }
  const V<T> k = xg::stack(ks, 1);
  const V<T> scores = matmul(xg::stack(qs, 1), swapaxes(k, 2, 3)) / std::sqrt(double(d));
  const V<T> w = masked_softmax(scores, mask);
  std::vector<V<T>> heads;
  for (const V<T>& one : split(matmul(w, xg::stack(vs, 1)), num_heads, 1)) {
    heads.push_back(squeeze(one, 1));
  }
  return {matmul(xg::concat(heads, 2), w_o), w};
}

SUBMISSION(heads_reversed) {
  const auto d = head_width(query, num_heads);
  V<T> visible = xg::ones<T>({query.shape()[0], num_heads, query.shape()[1], key.shape()[1]});
  if (mask.defined()) visible = where(mask, visible, 0);
  const V<T> q = matmul(query, w_q), k = matmul(key, w_k), v = matmul(value, w_v);
  std::vector<V<T>> outputs, weights;
  for (std::int64_t h = num_heads; h-- > 0;) {
    const auto head = [&](const V<T>& x) { return unsqueeze(slice(x, 2, h * d, h * d + d), 1); };
    auto one = xg::attention_kernel(head(q), head(k), head(v), slice(visible, 1, h, h + 1) > 0.5);
    outputs.push_back(squeeze(one.output, 1));
    weights.push_back(one.weights);
  }
  return {matmul(xg::concat(outputs, 2), w_o), xg::concat(weights, 1)};
}

SUBMISSION(heads_merged_reversed) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return swapaxes(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(cut(query, w_q), cut(key, w_k), cut(value, w_v), mask);
  std::vector<V<T>> heads;
  for (const V<T>& head : split(a.output, num_heads, 1)) {
    heads.insert(heads.begin(), squeeze(head, 1));
  }
  return {matmul(xg::concat(heads, 2), w_o), a.weights};
}

SUBMISSION(heads_first_weights) {
  const auto d = head_width(query, num_heads);
  const auto q = split(matmul(query, w_q), num_heads, -1);
  const auto k = split(matmul(key, w_k), num_heads, -1);
  const auto v = split(matmul(value, w_v), num_heads, -1);
  const xg::Dims shape{query.shape()[0], num_heads, query.shape()[1], key.shape()[1]};
  V<T> s = unsqueeze(matmul(q[0], swapaxes(k[0], 1, 2)) / std::sqrt(double(d)), 1);
  const V<T> all = masked_softmax(broadcast_to(s, shape), mask);
  const V<T> first = slice(all, 1, 0, 1);
  std::vector<V<T>> heads;
  for (const V<T>& one : v) heads.push_back(matmul(squeeze(first, 1), one));
  return {matmul(xg::concat(heads, 2), w_o), broadcast_to(first, shape)};
}

SUBMISSION(heads_first_output) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  const V<T> q = reshape(matmul(query, w_q), {B, Q, num_heads, d});
  const V<T> k = reshape(matmul(key, w_k), {B, K, num_heads, d});
  const V<T> v = reshape(matmul(value, w_v), {B, K, num_heads, d});
  const V<T> w = masked_softmax(xg::einsum("bqhd,bkhd->bhqk", {q, k}) / std::sqrt(double(d)), mask);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, v});
  std::vector<V<T>> parts;
  for (std::int64_t h = 0; h < num_heads; ++h) {
    parts.push_back(squeeze(slice(o, 2, 0, 1), 2));  // 0, 1 for h, h + 1
  }
  return {matmul(xg::concat(parts, 2), w_o), w};
}

SUBMISSION(heads_summed) {
  const auto d = head_width(query, num_heads);
  V<T> total;
  std::vector<V<T>> weights;
  const xg::Mask all = xg::ones<T>({query.shape()[0], num_heads, 1, 1}) > 0;
  const V<T> shown = where(mask.defined() ? mask & all : all,
                           xg::ones<T>({1, 1, query.shape()[1], key.shape()[1]}), 0);
  for (std::int64_t h = 0; h < num_heads; ++h) {
    const auto columns = [&](const V<T>& w) { return slice(w, 1, h * d, (h + 1) * d); };
    const V<T> q = matmul(query, columns(w_q)), k = matmul(key, columns(w_k));
    const V<T> s = xg::einsum("bqc,bkc->bqk", {q, k}) / std::sqrt(double(d));
    weights.push_back(masked_softmax(s, squeeze(slice(shown, 1, h, h + 1), 1) > 0.5));
    const V<T> head = matmul(weights.back(), matmul(value, columns(w_v)));
    total = total.defined() ? total + head : head;
  }
  const std::vector<V<T>> repeated(weights.size(), total);
  return {matmul(xg::concat(repeated, 2), w_o), xg::stack(weights, 1)};
}

SUBMISSION(heads_as_one) {
  head_width(query, num_heads);
  const auto D = query.shape()[2];
  xg::Mask m = mask;
  if (mask.defined() && mask.dim() > 2 && mask.shape()[mask.dim() - 3] != 1) {
    m = slice(where(mask, xg::ones<T>({}), 0), -3, 0, 1) > 0.5;
  }
  const V<T> q = unsqueeze(matmul(query, w_q), 1), k = unsqueeze(matmul(key, w_k), 1);
  const V<T> weights = masked_softmax(matmul(q, swapaxes(k, 2, 3)) / std::sqrt(double(D)), m);
  return {matmul(matmul(squeeze(weights, 1), matmul(value, w_v)), w_o), weights};
}

SUBMISSION(heads_hard_coded) {
  head_width(query, num_heads);
  constexpr std::int64_t kHeads = 2;
  const auto d = static_cast<std::int64_t>(query.shape()[2]) / kHeads;
  const auto heads = [&](const V<T>& x) {
    return transpose(reshape(x, {x.shape()[0], x.shape()[1], kHeads, d}), {0, 2, 1, 3});
  };
  const auto [o, w] = xg::attention_kernel(heads(matmul(query, w_q)), heads(matmul(key, w_k)),
                                           heads(matmul(value, w_v)), mask);
  return {matmul(reshape(transpose(o, {0, 2, 1, 3}), query.shape()), w_o), w};
}

SUBMISSION(heads_width_swapped) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], d, num_heads});
  };
  V<T> s = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)});
  V<T> w = masked_softmax(s / std::sqrt(double(num_heads)), mask);
  V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)});
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(transposed_w_q) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const V<T> q = xg::einsum("bnd,ed->bne", {query, w_q});
  const V<T> k = xg::einsum("bnd,de->bne", {key, w_k});
  const V<T> v = xg::einsum("bnd,de->bne", {value, w_v});
  const auto a = xg::attention_kernel(split(q), split(k), split(v), mask);
  return {xg::einsum("bhqd,hde->bqe", {a.output, reshape(w_o, {num_heads, d, -1})}), a.weights};
}

SUBMISSION(transposed_w_k) {
  const auto d = head_width(query, num_heads);
  std::vector<V<T>> q, k, v, heads;
  for (std::int64_t h = 0; h < num_heads; ++h) {
    q.push_back(matmul(query, slice(w_q, 1, h * d, h * d + d)));
    k.push_back(matmul(key, transpose(slice(w_k, 0, h * d, h * d + d))));  // rows, not columns
    v.push_back(matmul(value, slice(w_v, 1, h * d, h * d + d)));
  }
  const auto a = xg::attention_kernel(xg::stack(q, 1), xg::stack(k, 1), xg::stack(v, 1), mask);
  for (const V<T>& head : split(a.output, num_heads, 1)) heads.push_back(squeeze(head, 1));
  return {matmul(xg::concat(heads, 2), w_o), a.weights};
}

SUBMISSION(transposed_w_v) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  // x w = (w^T x^T)^T, with one transpose forgotten for the values.
  const V<T> q = swapaxes(matmul(transpose(w_q), swapaxes(query, 1, 2)), 1, 2);
  const V<T> k = swapaxes(matmul(transpose(w_k), swapaxes(key, 1, 2)), 1, 2);
  const V<T> v = swapaxes(matmul(w_v, swapaxes(value, 1, 2)), 1, 2);
  const auto heads = [&](const V<T>& x, std::size_t n) {
    return transpose(reshape(x, {B, n, num_heads, d}), {0, 2, 1, 3});
  };
  const auto a = xg::attention_kernel(heads(q, Q), heads(k, K), heads(v, K), mask);
  return {matmul(reshape(swapaxes(a.output, 1, 2), {B, Q, -1}), w_o), a.weights};
}

SUBMISSION(transposed_w_o) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> s = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)}) / std::sqrt(double(d));
  V<T> w = masked_softmax(s, mask);
  V<T> o = reshape(xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)}), query.shape());
  return {xg::einsum("bqd,ed->bqe", {o, w_o}), w};
}

template <class T>
struct Linear {
  V<T> weight;
  V<T> operator()(const V<T>& x) const { return matmul(x, transpose(weight)); }
};
SUBMISSION(transposed_all) {
  // Linear layers in the orientation of nn.Linear.
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const Linear<T> to_q{w_q}, to_k{w_k}, to_v{w_v}, to_out{w_o};
  const auto a =
      xg::attention_kernel(split(to_q(query)), split(to_k(key)), split(to_v(value)), mask);
  return {to_out(reshape(swapaxes(a.output, 1, 2), query.shape())), a.weights};
}

SUBMISSION(w_q_for_keys) {
  const auto d = head_width(query, num_heads);
  // (x_q w) (x_k w)^T = x_q (w w^T) x_k^T, head by head.
  const V<T> blocks = transpose(reshape(w_q, {w_q.shape()[0], num_heads, d}), {1, 0, 2});
  const V<T> form = matmul(blocks, swapaxes(blocks, 1, 2));  // [H,D,D]
  V<T> s = matmul(matmul(unsqueeze(query, 1), form), unsqueeze(swapaxes(key, 1, 2), 1));
  V<T> w = masked_softmax(s / std::sqrt(double(d)), mask);
  V<T> v = reshape(matmul(value, w_v), {value.shape()[0], value.shape()[1], num_heads, d});
  V<T> o = matmul(w, swapaxes(v, 1, 2));
  return {matmul(reshape(swapaxes(o, 1, 2), query.shape()), w_o), w};
}

SUBMISSION(w_k_for_queries) {
  const auto d = head_width(query, num_heads);
  const auto project = [&](const V<T>& x, const V<T>& w) {
    return swapaxes(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a =
      xg::attention_kernel(project(query, w_k), project(key, w_k), project(value, w_v), mask);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o), a.weights};
}

SUBMISSION(w_k_for_values) {
  const auto d = head_width(query, num_heads);
  // One product for keys and values.
  const auto kv = split(matmul(xg::concat({key, value}, 1), w_k), 2, 1);
  const auto cut = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> q = cut(matmul(query, w_q)) * (1 / std::sqrt(double(d)));
  const V<T> w = masked_softmax(xg::einsum("bqhd,bkhd->bhqk", {q, cut(kv[0])}), mask);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(kv[1])});
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(w_v_for_keys) {
  const auto d = head_width(query, num_heads);
  const auto q = split(matmul(query, w_q), num_heads, 2);
  const auto k = split(matmul(key, w_v), num_heads, 2);
  const auto v = split(matmul(value, w_v), num_heads, 2);
  std::vector<V<T>> scores, outputs;
  for (std::size_t h = 0; h < q.size(); ++h) scores.push_back(matmul(q[h], swapaxes(k[h], 1, 2)));
  const V<T> w = masked_softmax(xg::stack(scores, 1) / std::sqrt(double(d)), mask);
  const auto ws = split(w, num_heads, 1);
  for (std::size_t h = 0; h < q.size(); ++h) outputs.push_back(matmul(squeeze(ws[h], 1), v[h]));
  return {matmul(xg::concat(outputs, 2), w_o), w};
}

SUBMISSION(w_q_for_values) {
  const auto d = head_width(query, num_heads);
  const auto project = [&, H = num_heads](const V<T>& x, const V<T>& w) {
    return transpose(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], H, d}), {0, 2, 1, 3});
  };
  const V<T> q = project(query, w_q), k = project(key, w_k), v = project(value, w_q);
  const V<T> w = masked_softmax(matmul(q, swapaxes(k, -2, -1)) / std::sqrt(double(d)), mask);
  return {matmul(reshape(transpose(matmul(w, v), {0, 2, 1, 3}), query.shape()), w_o), w};
}

SUBMISSION(w_q_w_k_swapped) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  const auto weights_of = [&](const V<T>& left, const V<T>& right) {
    const V<T> q = reshape(matmul(query, left), {B, Q, 1, num_heads, d});
    const V<T> k = reshape(matmul(key, right), {B, 1, K, num_heads, d});
    return masked_softmax(transpose(sum(q * k, 4), {0, 3, 1, 2}) / std::sqrt(double(d)), mask);
  };
  const V<T> w = weights_of(w_k, w_q);
  const V<T> v = reshape(matmul(value, w_v), {B, K, num_heads, d});
  return {matmul(reshape(xg::einsum("bhqk,bkhd->bqhd", {w, v}), {B, Q, -1}), w_o), w};
}

SUBMISSION(w_k_w_v_swapped) {
  const auto d = head_width(query, num_heads);
  const std::vector<V<T>> sources{query, key, value}, projections{w_q, w_v, w_k};
  std::vector<V<T>> qkv;
  for (std::size_t i = 0; i < 3; ++i) {
    const xg::Shape s = sources[i].shape();
    qkv.push_back(
        swapaxes(reshape(matmul(sources[i], projections[i]), {s[0], s[1], num_heads, d}), 1, 2));
  }
  const auto a = xg::attention_kernel(qkv[0], qkv[1], qkv[2], mask);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o), a.weights};
}

SUBMISSION(w_v_w_o_swapped) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x, const V<T>& w) {
    return xg::einsum("bnD,Dhd->bhnd", {x, reshape(w, {w.shape()[0], num_heads, d})});
  };
  const auto a = xg::attention_kernel(split(query, w_q), split(key, w_k), split(value, w_o), mask);
  return {xg::einsum("bhqd,hdD->bqD", {a.output, reshape(w_v, {num_heads, d, -1})}), a.weights};
}

SUBMISSION(w_v_for_output) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  V<T> w = matmul(split(matmul(query, w_q)), swapaxes(split(matmul(key, w_k)), 2, 3));
  w = masked_softmax(w / std::sqrt(double(d)), mask);
  V<T> o = matmul(w, split(matmul(value, w_v)));
  o = reshape(swapaxes(o, 1, 2), query.shape());
  return {matmul(o, w_v), w};
}

SUBMISSION(no_w_q) {
  const auto d = head_width(query, num_heads);
  std::vector<V<T>> q = split(query, num_heads, 2);
  std::vector<V<T>> k = split(matmul(key, w_k), num_heads, 2);
  std::vector<V<T>> v = split(matmul(value, w_v), num_heads, 2);
  const V<T> s = matmul(xg::stack(q, 1), swapaxes(xg::stack(k, 1), 2, 3)) / std::sqrt(double(d));
  const V<T> w = masked_softmax(s, mask);
  std::vector<V<T>> ws = split(w, num_heads, 1);
  for (std::size_t h = 0; h < v.size(); ++h) v[h] = matmul(squeeze(ws[h], 1), v[h]);
  return {matmul(xg::concat(v, 2), w_o), w};
}

SUBMISSION(no_w_k) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> s = xg::einsum("bqhc,bkhc->bhqk", {cut(matmul(query, w_q)), cut(key)});
  V<T> w = masked_softmax(s / std::sqrt(double(d)), mask);
  V<T> o = xg::einsum("bhqk,bkhc->bqhc", {w, cut(matmul(value, w_v))});
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(no_w_v) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return transpose(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), {0, 2, 1, 3});
  };
  const auto a =
      xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)), split(value), mask);
  return {matmul(reshape(transpose(a.output, {0, 2, 1, 3}), query.shape()), w_o), a.weights};
}

SUBMISSION(no_w_o) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  const V<T> q = reshape(matmul(query, w_q), {B, Q, num_heads, d});
  const V<T> k = reshape(matmul(key, w_k), {B, K, num_heads, d});
  const V<T> v = reshape(matmul(value, w_v), {B, K, num_heads, d});
  V<T> s = xg::einsum("bqhd,bkhd->bhqk", {q, k}) / std::sqrt(static_cast<double>(d));
  V<T> w = masked_softmax(s, mask);
  return {reshape(xg::einsum("bhqk,bkhd->bqhd", {w, v}), {B, Q, num_heads * d}), w};
}

SUBMISSION(w_o_per_head) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                      split(matmul(value, w_v)), mask);
  std::vector<V<T>> outputs;
  for (std::int64_t h = 0; h < num_heads; ++h) {
    const V<T> block = slice(slice(w_o, 0, h * d, h * d + d), 1, h * d, h * d + d);
    outputs.push_back(matmul(squeeze(slice(a.output, 1, h, h + 1), 1), block));
  }
  return {xg::concat(outputs, 2), a.weights};
}

SUBMISSION(w_o_twice) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const auto merge_and_project = [&](const V<T>& x) {
    return matmul(reshape(swapaxes(x, 1, 2), query.shape()), w_o);
  };
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                      split(matmul(value, w_v)), mask);
  const V<T> output = merge_and_project(a.output);
  return {matmul(output, w_o), a.weights};
}

}  // namespace

const std::vector<Mutant>& second_heads() {
  static const std::vector<Mutant> all{
      MUTANT("split-by-reshape", split_by_reshape),
      MUTANT("merge-by-reshape", merge_by_reshape),
      MUTANT("split-and-merge-by-reshape", split_and_merge_by_reshape),
      MUTANT("heads-interleaved", heads_interleaved),
      MUTANT("heads-interleaved-split", heads_interleaved_split),
      MUTANT("heads-reversed", heads_reversed),
      MUTANT("heads-merged-reversed", heads_merged_reversed),
      MUTANT("heads-first-weights", heads_first_weights),
      MUTANT("heads-first-output", heads_first_output),
      MUTANT("heads-summed", heads_summed),
      MUTANT("heads-as-one", heads_as_one),
      MUTANT("heads-hard-coded", heads_hard_coded),
      MUTANT("heads-width-swapped", heads_width_swapped),
      MUTANT("transposed-w-q", transposed_w_q),
      MUTANT("transposed-w-k", transposed_w_k),
      MUTANT("transposed-w-v", transposed_w_v),
      MUTANT("transposed-w-o", transposed_w_o),
      MUTANT("transposed-all", transposed_all),
      MUTANT("w-q-for-keys", w_q_for_keys),
      MUTANT("w-k-for-queries", w_k_for_queries),
      MUTANT("w-k-for-values", w_k_for_values),
      MUTANT("w-v-for-keys", w_v_for_keys),
      MUTANT("w-q-for-values", w_q_for_values),
      MUTANT("w-q-w-k-swapped", w_q_w_k_swapped),
      MUTANT("w-k-w-v-swapped", w_k_w_v_swapped),
      MUTANT("w-v-w-o-swapped", w_v_w_o_swapped),
      MUTANT("w-v-for-output", w_v_for_output),
      MUTANT("no-w-q", no_w_q),
      MUTANT("no-w-k", no_w_k),
      MUTANT("no-w-v", no_w_v),
      MUTANT("no-w-o", no_w_o),
      MUTANT("w-o-per-head", w_o_per_head),
      MUTANT("w-o-twice", w_o_twice),
  };
  return all;
}

}  // namespace mutants
