// Mistakes in the scale, the softmax and the mask.

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "second_submission.hpp"

namespace mutants {
namespace {

SUBMISSION(scale_sqrt_model_width) {
  // The scale is folded into w_q, where the width at hand is D.
  const auto d = head_width(query, num_heads);
  const double scale = 1 / std::sqrt(static_cast<double>(query.shape()[2]));
  const auto split = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> q = split(matmul(query, w_q * scale));
  const V<T> k = split(matmul(key, w_k));
  const V<T> v = split(matmul(value, w_v));
  const V<T> weights = masked_softmax(xg::einsum("bqhd,bkhd->bhqk", {q, k}), mask);
  const V<T> heads = xg::einsum("bhqk,bkhd->bqhd", {weights, v});
  return {matmul(reshape(heads, query.shape()), w_o), weights};
}

SUBMISSION(scale_none) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  V<T> visible = xg::ones<T>({B, num_heads, Q, K});
  if (mask.defined()) visible = where(mask, visible, 0);
  const V<T> q = matmul(query, w_q), k = matmul(key, w_k), v = matmul(value, w_v);
  std::vector<V<T>> outputs, weights;
  for (std::int64_t h = 0; h < num_heads; ++h) {
    const auto columns = [&](const V<T>& x) { return slice(x, 2, h * d, (h + 1) * d); };
    const V<T> scores = matmul(columns(q), swapaxes(columns(k), 1, 2));
    weights.push_back(masked_softmax(scores, squeeze(slice(visible, 1, h, h + 1), 1) > 0.5));
    outputs.push_back(matmul(weights.back(), columns(v)));
  }
  return {matmul(xg::concat(outputs, 2), w_o), xg::stack(weights, 1)};
}

SUBMISSION(scale_by_d) {
  // Heads become batch items: [B*H, N, d].
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  auto fold = [&](const V<T>& x, const V<T>& w) {
    const auto n = x.shape()[1];
    V<T> y = reshape(matmul(x, w), {B, n, num_heads, d});
    return reshape(swapaxes(y, 1, 2), {-1, n, d});
  };
  V<T> s = matmul(fold(query, w_q), transpose(fold(key, w_k), {0, 2, 1}));
  s = s / d;
  V<T> w = masked_softmax(reshape(s, {B, num_heads, Q, K}), mask);
  V<T> o = matmul(reshape(w, {-1, Q, K}), fold(value, w_v));
  o = swapaxes(reshape(o, {B, num_heads, Q, d}), 1, 2);
  return {matmul(reshape(o, {B, Q, -1}), w_o), w};
}

SUBMISSION(scale_multiplied) {
  const auto d = head_width(query, num_heads);
  const auto heads_of = [H = num_heads, d](V<T> x) {
    const auto b = x.shape()[0], n = x.shape()[1];
    return transpose(reshape(std::move(x), {b, n, H, d}), {0, 2, 1, 3});
  };
  const auto attend = [&](const V<T>& q, const V<T>& k, const V<T>& v) -> xg::Attention<T> {
    const auto scores = [&] { return matmul(q, swapaxes(k, -1, -2)) * std::sqrt(double(d)); };
    V<T> p = masked_softmax(scores(), mask);
    return {matmul(p, v), p};
  };
  auto [o, p] = attend(heads_of(matmul(query, w_q)), heads_of(matmul(key, w_k)),
                       heads_of(matmul(value, w_v)));
  return {matmul(reshape(transpose(o, {0, 2, 1, 3}), query.shape()), w_o), p};
}

SUBMISSION(scale_fixed_half) {
  // [B,Q,1,H,d] * [B,1,K,H,d], summed over d.
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  const V<T> q = reshape(matmul(query, w_q), {B, Q, 1, num_heads, d});
  const V<T> k = reshape(matmul(key, w_k), {B, 1, K, num_heads, d});
  const V<T> v = reshape(matmul(value, w_v), {B, 1, K, num_heads, d});
  const V<T> scores = transpose(sum(q * k * 0.5, -1), {0, 3, 1, 2});
  const V<T> weights = masked_softmax(scores, mask);
  const V<T> mixed = sum(unsqueeze(transpose(weights, {0, 2, 3, 1}), -1) * v, 2);
  return {matmul(reshape(mixed, {B, Q, num_heads * d}), w_o), weights};
}

template <class T>
struct RootOfHeads {
  std::int64_t heads;
  std::int64_t width;
  V<T> split(const V<T>& x) const {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], heads, width}), 1, 2);
  }
  V<T> merge(const V<T>& x) const {
    return reshape(swapaxes(x, 1, 2), {x.shape()[0], x.shape()[2], heads * width});
  }
  V<T> scores(const V<T>& q, const V<T>& k) const {
    return matmul(q, swapaxes(k, 2, 3)) / std::sqrt(static_cast<double>(heads));
  }
};
SUBMISSION(scale_sqrt_heads) {
  const RootOfHeads<T> layer{num_heads, head_width(query, num_heads)};
  V<T> s = layer.scores(layer.split(matmul(query, w_q)), layer.split(matmul(key, w_k)));
  V<T> w = masked_softmax(s, mask);
  V<T> o = layer.merge(matmul(w, layer.split(matmul(value, w_v))));
  return {matmul(o, w_o), w};
}

SUBMISSION(scale_sqrt_keys) {
  const auto d = head_width(query, num_heads);
  const auto B = static_cast<std::int64_t>(query.shape()[0]);
  const auto Q = query.shape()[1], K = key.shape()[1];
  V<T> visible = xg::ones<T>({B, num_heads, Q, K});
  if (mask.defined()) visible = where(mask, visible, T(0));
  std::vector<V<T>> outs, ws;
  for (std::int64_t b = 0; b < B; ++b) {
    const auto item = [b](const V<T>& x) { return squeeze(slice(x, 0, b, b + 1), 0); };
    const auto heads = [&](const V<T>& x, const V<T>& w) {  // [H,N,d]
      return swapaxes(reshape(matmul(item(x), w), {x.shape()[1], num_heads, d}), 0, 1);
    };
    V<T> s = matmul(heads(query, w_q), swapaxes(heads(key, w_k), 1, 2));
    V<T> w = masked_softmax(s / std::sqrt(static_cast<double>(K)), item(visible) != 0);
    outs.push_back(reshape(swapaxes(matmul(w, heads(value, w_v)), 0, 1), {Q, num_heads * d}));
    ws.push_back(w);
  }
  return {matmul(xg::stack(outs), w_o), xg::stack(ws)};
}

SUBMISSION(scale_twice) {
  const auto d = head_width(query, num_heads);
  auto split = [&](V<T> x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  // attention_kernel scales as well.
  V<T> q = split(matmul(query, w_q)) / static_cast<double>(d);
  auto [heads, weights] =
      xg::attention_kernel(q, split(matmul(key, w_k)), split(matmul(value, w_v)), mask);
  return {matmul(reshape(swapaxes(heads, 1, 2), query.shape()), w_o), weights};
}

SUBMISSION(scale_after_softmax) {
  const auto d = head_width(query, num_heads);
  const auto parts = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> s = xg::einsum("bqhd,bkhd->bhqk", {parts(query, w_q), parts(key, w_k)});
  if (mask.defined()) s = where(mask, s, T(-1e30));
  V<T> e = exp(s - max(s, -1, true).detach());
  if (mask.defined()) e = where(mask, e, T(0));
  const V<T> z = sum(e, -1, true);
  const V<T> a = e / where(z == 0, T(1), z) / std::sqrt(double(d));
  return {
      matmul(reshape(xg::einsum("bhqk,bkhd->bqhd", {a, parts(value, w_v)}), query.shape()), w_o),
      a};
}

SUBMISSION(softmax_over_queries) {
  const auto d = head_width(query, num_heads);
  auto cut = [&](const V<T>& x, const V<T>& w) {
    return xg::stack(split(matmul(x, w), num_heads, 2), 1);  // [B,H,N,d]
  };
  const V<T> scores = matmul(cut(query, w_q), swapaxes(cut(key, w_k), 2, 3)) / std::sqrt(double(d));
  const V<T> weights = masked_softmax(scores, mask, 2);
  const V<T> heads = matmul(weights, cut(value, w_v));
  std::vector<V<T>> parts;
  for (const V<T>& head : split(heads, num_heads, 1)) parts.push_back(squeeze(head, 1));
  return {matmul(xg::concat(parts, -1), w_o), weights};
}

SUBMISSION(softmax_over_heads) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  const V<T> q = reshape(matmul(query, w_q), {B, Q, num_heads, d}) / std::sqrt(double(d));
  const V<T> k = reshape(matmul(key, w_k), {B, K, num_heads, d});
  const V<T> v = reshape(matmul(value, w_v), {B, K, num_heads, d});
  const V<T> weights = masked_softmax(xg::einsum("bihc,bjhc->bhij", {q, k}), mask, 1);
  return {matmul(reshape(xg::einsum("bhij,bjhc->bihc", {weights, v}), {B, Q, -1}), w_o), weights};
}

SUBMISSION(softmax_over_batch) {
  const double scale = std::pow(static_cast<double>(head_width(query, num_heads)), -0.5);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, -1}), 1, 2);
  };
  V<T> s = matmul(split(matmul(query, w_q)), transpose(split(matmul(key, w_k)), {0, 1, 3, 2}));
  V<T> p = xg::masked_softmax(scale * s, mask, 0);
  V<T> o = matmul(p, split(matmul(value, w_v)));
  return {matmul(reshape(swapaxes(o, 1, 2), query.shape()), w_o), p};
}

SUBMISSION(softmax_twice) {
  const auto d = head_width(query, num_heads);
  struct {
    std::int64_t H, d;
    V<T> operator()(const V<T>& x) const {
      return transpose(reshape(x, {x.shape()[0], x.shape()[1], H, d}), {0, 2, 1, 3});
    }
  } heads{num_heads, d};
  V<T> scores = matmul(heads(matmul(query, w_q)), swapaxes(heads(matmul(key, w_k)), -2, -1));
  V<T> weights = masked_softmax(scores / std::sqrt(double(d)), mask);
  weights = masked_softmax(weights, mask);
  V<T> out = swapaxes(matmul(weights, heads(matmul(value, w_v))), 1, 2);
  return {matmul(reshape(out, query.shape()), w_o), weights};
}

SUBMISSION(softmax_missing) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> weights = xg::einsum("bqhd,bkhd->bhqk", {cut(matmul(query, w_q)), cut(matmul(key, w_k))});
  weights = weights / std::sqrt(double(d));
  if (mask.defined()) weights = where(mask, weights, 0.0);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {weights, cut(matmul(value, w_v))});
  return {matmul(reshape(o, query.shape()), w_o), weights};
}

SUBMISSION(softmax_sigmoid) {
  const auto d = head_width(query, num_heads);
  std::vector<V<T>> weights, outputs;
  const auto q = split(matmul(query, w_q), num_heads, 2);
  const auto k = split(matmul(key, w_k), num_heads, 2);
  const auto v = split(matmul(value, w_v), num_heads, 2);
  for (std::size_t h = 0; h < q.size(); ++h) {
    weights.push_back(sigmoid(matmul(q[h], swapaxes(k[h], 1, 2)) / std::sqrt(double(d))));
  }
  V<T> w = xg::stack(weights, 1);
  if (mask.defined()) w = where(mask, w, 0);
  for (std::size_t h = 0; h < v.size(); ++h) {
    const auto at = static_cast<std::int64_t>(h);
    outputs.push_back(matmul(squeeze(slice(w, 1, at, at + 1), 1), v[h]));
  }
  return {matmul(xg::concat(outputs, 2), w_o), w};
}

SUBMISSION(softmax_no_max) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  const V<T> q = swapaxes(reshape(matmul(query, w_q), {B, Q, num_heads, d}), 1, 2);
  const V<T> k = swapaxes(reshape(matmul(key, w_k), {B, K, num_heads, d}), 1, 2);
  const V<T> v = swapaxes(reshape(matmul(value, w_v), {B, K, num_heads, d}), 1, 2);
  V<T> e = exp(matmul(q, swapaxes(k, 2, 3)) / std::sqrt(double(d)));
  if (mask.defined()) e = where(mask, e, 0);
  const V<T> total = sum(e, 3, true);
  const V<T> weights = e / where(total > 0, total, 1);
  return {matmul(reshape(swapaxes(matmul(weights, v), 1, 2), {B, Q, num_heads * d}), w_o), weights};
}

SUBMISSION(softmax_epsilon) {
  const auto d = head_width(query, num_heads);
  const auto project = [&](const V<T>& x, const V<T>& w) {
    // The head's columns of w, as a batch of matrices: [H,D,d].
    const V<T> per_head = transpose(reshape(w, {w.shape()[0], num_heads, d}), {1, 0, 2});
    return matmul(unsqueeze(x, 1), per_head);
  };
  V<T> s = matmul(project(query, w_q), swapaxes(project(key, w_k), -1, -2)) * (1 / std::sqrt(d));
  if (mask.defined()) s = where(mask, s, std::numeric_limits<T>::lowest());
  V<T> e = exp(s - max(s, -1, true));
  if (mask.defined()) e = where(mask, e, 0);
  const V<T> weights = e / (sum(e, -1, true) + 1e-5);  // never divides by zero
  const V<T> heads = transpose(matmul(weights, project(value, w_v)), {0, 2, 1, 3});
  return {matmul(reshape(heads, query.shape()), w_o), weights};
}

SUBMISSION(softmax_base_two) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> q = cut(matmul(query, w_q / std::sqrt(double(d))));
  V<T> s = xg::einsum("bqhd,bkhd->bhqk", {q, cut(matmul(key, w_k))});
  if (mask.defined()) s = where(mask, s, -1e30);
  V<T> power = pow(2, s - max(s, 3, true).detach());
  if (mask.defined()) power = where(mask, power, 0);
  const V<T> weights = power / maximum(sum(power, 3, true), 1e-30);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {weights, cut(matmul(value, w_v))});
  return {matmul(reshape(o, query.shape()), w_o), weights};
}

SUBMISSION(mask_inverted) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x, const V<T>& w) {
    return swapaxes(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  // "True means hidden", as in other libraries.
  const xg::Mask hidden = mask.defined() ? ~mask : mask;
  auto result = xg::attention_kernel(split(query, w_q), split(key, w_k), split(value, w_v), hidden);
  result.output = matmul(reshape(swapaxes(result.output, 1, 2), query.shape()), w_o);
  return result;
}

SUBMISSION(mask_added_as_number) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  V<T> s = xg::einsum("bqhd,bkhd->bhqk", {reshape(matmul(query, w_q), {B, Q, num_heads, d}),
                                          reshape(matmul(key, w_k), {B, K, num_heads, d})});
  s = s / std::sqrt(double(d));
  if (mask.defined()) s += where(mask, xg::ones<T>({}), 0);
  const V<T> w = softmax(s);
  const V<T> o =
      xg::einsum("bhqk,bkhd->bqhd", {w, reshape(matmul(value, w_v), {B, K, num_heads, d})});
  return {matmul(reshape(o, {B, Q, -1}), w_o), w};
}

SUBMISSION(mask_after_softmax) {
  const auto d = head_width(query, num_heads);
  const auto H = num_heads;
  const auto to_heads = [=](const V<T>& x) {
    return transpose(reshape(x, {x.shape()[0], x.shape()[1], H, d}), {0, 2, 1, 3});
  };
  const V<T> q = to_heads(matmul(query, w_q)), k = to_heads(matmul(key, w_k));
  V<T> weights = softmax(matmul(q, swapaxes(k, 2, 3)) / std::sqrt(static_cast<double>(d)), -1);
  if (mask.defined()) weights = weights * where(mask, xg::ones<T>(weights.shape()), 0);
  const V<T> context = matmul(weights, to_heads(matmul(value, w_v)));
  return {matmul(reshape(transpose(context, {0, 2, 1, 3}), query.shape()), w_o), weights};
}

SUBMISSION(mask_multiplied_scores) {
  const auto d = head_width(query, num_heads);
  std::vector<V<T>> scores, heads;
  for (std::int64_t h = 0; h < num_heads; ++h) {
    const V<T> q = matmul(query, slice(w_q, 1, h * d, h * d + d));
    const V<T> k = matmul(key, slice(w_k, 1, h * d, h * d + d));
    scores.push_back(xg::einsum("bqd,bkd->bqk", {q, k}) / std::sqrt(double(d)));
  }
  V<T> s = xg::stack(scores, 1);
  if (mask.defined()) s = where(mask, s, 0);
  const V<T> w = softmax(s);
  for (std::int64_t h = 0; h < num_heads; ++h) {
    const V<T> v = matmul(value, slice(w_v, 1, h * d, h * d + d));
    heads.push_back(matmul(squeeze(slice(w, 1, h, h + 1), 1), v));
  }
  return {matmul(xg::concat(heads, -1), w_o), w};
}

SUBMISSION(mask_fill_finite) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  V<T> s = matmul(split(matmul(query, w_q)), swapaxes(split(matmul(key, w_k)), 2, 3));
  s = s / std::sqrt(double(d));
  if (mask.defined()) s = where(mask, s, -1e30);
  const V<T> w = exp(log_softmax(s));
  return {matmul(reshape(swapaxes(matmul(w, split(matmul(value, w_v))), 1, 2), query.shape()), w_o),
          w};
}

SUBMISSION(mask_fill_inf) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  const V<T> q = reshape(matmul(query, w_q), {B, Q, num_heads, d});
  const V<T> k = reshape(matmul(key, w_k), {B, K, num_heads, d});
  V<T> s = xg::einsum("bqhd,bkhd->bhqk", {q, k}) * (1.0 / std::sqrt(d));
  if (mask.defined()) {
    const T minus_infinity = -std::numeric_limits<T>::infinity();
    s = s + where(mask, xg::zeros<T>(s.shape()), minus_infinity);
  }
  const V<T> a = softmax(s, 3);
  const V<T> o =
      xg::einsum("bhqk,bkhd->bqhd", {a, reshape(matmul(value, w_v), {B, K, num_heads, d})});
  return {matmul(reshape(o, {B, Q, num_heads * d}), w_o), a};
}

SUBMISSION(mask_fill_weak) {
  const auto d = head_width(query, num_heads);
  const auto heads = [&](const V<T>& x, const V<T>& w) {
    return xg::stack(split(matmul(x, w), num_heads, -1), 1);
  };
  V<T> s = matmul(heads(query, w_q), swapaxes(heads(key, w_k), -1, -2)) / std::sqrt(double(d));
  if (mask.defined()) s = where(mask, s, -20);
  const V<T> e = exp(s - max(s, -1, true));
  const V<T> w = e / sum(e, -1, true);
  const V<T> o = matmul(w, heads(value, w_v));
  return {matmul(reshape(transpose(o, {0, 2, 1, 3}), query.shape()), w_o), w};
}

SUBMISSION(mask_transposed) {
  // Scores lie as [B,H,K,Q] here, and the mask is used as it comes.
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x) {
    return reshape(x, {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> s = xg::einsum("bkhd,bqhd->bhkq", {cut(matmul(key, w_k)), cut(matmul(query, w_q))});
  const V<T> w = masked_softmax(s / std::sqrt(double(d)), mask, 2);
  const V<T> o = xg::einsum("bhkq,bkhd->bqhd", {w, cut(matmul(value, w_v))});
  return {matmul(reshape(o, query.shape()), w_o), swapaxes(w, 2, 3)};
}

SUBMISSION(mask_first_item_only) {
  const auto d = head_width(query, num_heads);
  const auto B = static_cast<std::int64_t>(query.shape()[0]);
  const auto Q = query.shape()[1], K = key.shape()[1];
  xg::Mask shared = mask;
  if (mask.defined()) {
    V<T> numbers = where(mask, xg::ones<T>({B, num_heads, Q, K}), 0);
    shared = slice(numbers, 0, 0, 1) > 0;
  }
  std::vector<V<T>> outs, weights;
  for (std::int64_t b = 0; b < B; ++b) {
    const auto heads = [&](const V<T>& x, const V<T>& w) {
      const V<T> y = matmul(slice(x, 0, b, b + 1), w);
      return swapaxes(reshape(y, {1, x.shape()[1], num_heads, d}), 1, 2);
    };
    auto one = xg::attention_kernel(heads(query, w_q), heads(key, w_k), heads(value, w_v), shared);
    outs.push_back(reshape(swapaxes(one.output, 1, 2), {1, Q, num_heads * d}));
    weights.push_back(one.weights);
  }
  return {matmul(xg::concat(outs, 0), w_o), xg::concat(weights, 0)};
}

SUBMISSION(mask_first_head_only) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  const auto q = split(matmul(query, w_q), num_heads, 2);
  const auto k = split(matmul(key, w_k), num_heads, 2);
  const auto v = split(matmul(value, w_v), num_heads, 2);
  xg::Mask m;  // [B,Q,K]
  if (mask.defined()) {
    const std::vector<bool> all =
        (mask | xg::Mask({B, num_heads, Q, K}, std::vector<bool>(B * q.size() * Q * K)))
            .to_vector();
    std::vector<bool> some;
    for (std::size_t b = 0; b < B; ++b) {
      const auto from = all.begin() + static_cast<std::ptrdiff_t>(b * q.size() * Q * K);
      some.insert(some.end(), from, from + static_cast<std::ptrdiff_t>(Q * K));
    }
    m = xg::Mask({B, Q, K}, some);
  }
  std::vector<V<T>> outputs, weights;
  for (std::size_t h = 0; h < q.size(); ++h) {
    weights.push_back(masked_softmax(matmul(q[h], swapaxes(k[h], 1, 2)) / std::sqrt(double(d)), m));
    outputs.push_back(matmul(weights[h], v[h]));
  }
  return {matmul(xg::concat(outputs, 2), w_o), xg::stack(weights, 1)};
}

SUBMISSION(mask_first_query_only) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const V<T> s = matmul(split(matmul(query, w_q)), swapaxes(split(matmul(key, w_k)), 2, 3));
  xg::Mask keys = mask;  // taken for a mask of keys alone: [..,1,K]
  if (mask.defined()) {
    keys = slice(where(mask, xg::ones<T>(s.shape()), 0), 2, 0, 1) == 1;
  }
  const V<T> w = masked_softmax(s / std::sqrt(double(d)), keys);
  const V<T> o = swapaxes(matmul(w, split(matmul(value, w_v))), 1, 2);
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(mask_ignored) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& x, const V<T>& w) {
    return transpose(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d}),
                     {0, 2, 1, 3});
  };
  auto [heads, weights] =
      xg::attention_kernel(split(query, w_q), split(key, w_k), split(value, w_v));
  return {matmul(reshape(transpose(heads, {0, 2, 1, 3}), query.shape()), w_o), weights};
}

SUBMISSION(mask_ignored_in_weights) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> scores =
      xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)}) / std::sqrt(double(d));
  const V<T> seen = masked_softmax(scores, mask);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {seen, cut(value, w_v)});
  return {matmul(reshape(o, query.shape()), w_o), softmax(scores)};
}

SUBMISSION(mask_items_read_as_heads) {
  const auto d = head_width(query, num_heads);
  xg::Mask m = mask;
  if (mask.defined() && mask.dim() == 4 && mask.shape()[1] == 1) {
    const xg::Shape s = mask.shape();
    // [B,1,..] -> [B,..], which broadcasts as [H,..] where it can.
    if (s[0] == static_cast<std::size_t>(num_heads)) {
      m = xg::Mask({s[0], s[2], s[3]}, mask.to_vector());
    }
  }
  const auto split = [&](V<T> x) {
    return swapaxes(reshape(x, {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const xg::Attention<T> a = xg::attention_kernel(
      split(matmul(query, w_q)), split(matmul(key, w_k)), split(matmul(value, w_v)), m);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o), a.weights};
}

SUBMISSION(mask_always_causal) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  xg::Mask causal = xg::arange<T>(0, T(K)) <= reshape(xg::arange<T>(0, T(Q)), {Q, 1});
  if (mask.defined()) causal = causal & mask;
  const V<T> q = reshape(matmul(query, w_q), {B, Q, num_heads, d});
  const V<T> k = reshape(matmul(key, w_k), {B, K, num_heads, d});
  const V<T> v = reshape(matmul(value, w_v), {B, K, num_heads, d});
  const V<T> w =
      masked_softmax(xg::einsum("bqhd,bkhd->bhqk", {q, k}) / std::sqrt(double(d)), causal);
  return {matmul(reshape(xg::einsum("bhqk,bkhd->bqhd", {w, v}), {B, Q, -1}), w_o), w};
}

SUBMISSION(mask_heads_merged) {
  const auto d = head_width(query, num_heads);
  const auto B = query.shape()[0], Q = query.shape()[1], K = key.shape()[1];
  xg::Mask any;
  if (mask.defined()) {
    any = sum(where(mask, xg::ones<T>({B, num_heads, Q, K}), 0), 1, true) > 0;
  }
  const auto fold = [&](const V<T>& x) {
    return swapaxes(reshape(x, {B, x.shape()[1], num_heads, d}), 1, 2);
  };
  V<T> w = matmul(fold(matmul(query, w_q)), swapaxes(fold(matmul(key, w_k)), 2, 3));
  w = masked_softmax(w / std::sqrt(double(d)), any);
  const V<T> o = matmul(w, fold(matmul(value, w_v)));
  return {matmul(reshape(swapaxes(o, 1, 2), {B, Q, num_heads * d}), w_o), w};
}

}  // namespace

const std::vector<Mutant>& second_scores() {
  static const std::vector<Mutant> all{
      MUTANT("scale-sqrt-model-width", scale_sqrt_model_width),
      MUTANT("scale-none", scale_none),
      MUTANT("scale-by-d", scale_by_d),
      MUTANT("scale-multiplied", scale_multiplied),
      MUTANT("scale-fixed-half", scale_fixed_half),
      MUTANT("scale-sqrt-heads", scale_sqrt_heads),
      MUTANT("scale-sqrt-keys", scale_sqrt_keys),
      MUTANT("scale-twice", scale_twice),
      MUTANT("scale-after-softmax", scale_after_softmax),
      MUTANT("softmax-over-queries", softmax_over_queries),
      MUTANT("softmax-over-heads", softmax_over_heads),
      MUTANT("softmax-over-batch", softmax_over_batch),
      MUTANT("softmax-twice", softmax_twice),
      MUTANT("softmax-missing", softmax_missing),
      MUTANT("softmax-sigmoid", softmax_sigmoid),
      MUTANT("softmax-no-max", softmax_no_max),
      MUTANT("softmax-epsilon", softmax_epsilon),
      MUTANT("softmax-base-two", softmax_base_two),
      MUTANT("mask-inverted", mask_inverted),
      MUTANT("mask-added-as-number", mask_added_as_number),
      MUTANT("mask-after-softmax", mask_after_softmax),
      MUTANT("mask-multiplied-scores", mask_multiplied_scores),
      MUTANT("mask-fill-finite", mask_fill_finite),
      MUTANT("mask-fill-inf", mask_fill_inf),
      MUTANT("mask-fill-weak", mask_fill_weak),
      MUTANT("mask-transposed", mask_transposed),
      MUTANT("mask-first-item-only", mask_first_item_only),
      MUTANT("mask-first-head-only", mask_first_head_only),
      MUTANT("mask-first-query-only", mask_first_query_only),
      MUTANT("mask-ignored", mask_ignored),
      MUTANT("mask-ignored-in-weights", mask_ignored_in_weights),
      MUTANT("mask-items-read-as-heads", mask_items_read_as_heads),
      MUTANT("mask-always-causal", mask_always_causal),
      MUTANT("mask-heads-merged", mask_heads_merged),
  };
  return all;
}

}  // namespace mutants
