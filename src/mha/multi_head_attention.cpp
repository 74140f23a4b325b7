#include <xgrad/mha/multi_head_attention.hpp>

#include <xgrad/autograd/group.hpp>
#include <xgrad/autograd/primitive.hpp>
#include <xgrad/mha/calls.hpp>
#include <xgrad/mha/hidden_keys.hpp>
#include <xgrad/ops/matmul.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace {

template <class T>
void check_shapes(const char* op, const Variable<T>& query, const Variable<T>& key,
                  const Variable<T>& value, std::int64_t num_heads, const Mask& mask) {
  const Extents& q = detail::extents(op, query);
  const Extents& k = detail::extents(op, key);
  const Extents& v = detail::extents(op, value);
  if (q.size() != 3 || k.size() != 3 || v != k || q[0] != k[0] || q[2] != k[2]) {
    detail::fail<ShapeError>(
        op, "shapes do not fit",
        "query " + detail::text(q) + ", key " + detail::text(k) + ", value " + detail::text(v),
        "query [B,Q,D], key and value [B,K,D]");
  }
  if (num_heads <= 0 || q[2] % num_heads != 0) {
    detail::fail<ArgumentError>(op, "wrong number of heads",
                                detail::text(num_heads) + " heads for D = " + detail::text(q[2]),
                                "a positive number of heads that divides D");
  }
  detail::check_mask(op, mask, Dims{q[0], num_heads, q[1], k[1]}.values());
}

template <class T>
void check_weight(const char* op, const char* name, const Variable<T>& w, std::int64_t d) {
  const Extents& shape = detail::extents(op, w);
  if (shape != Dims{d, d}.values()) {
    detail::fail<ShapeError>(op, std::string(name) + " has the wrong shape", detail::text(shape),
                             detail::text(Dims{d, d}.values()));
  }
}

/// `attend` computes the heads [B,H,Q,D/H] from the projected queries, keys and values.
template <class T, class Attend>
Variable<T> between_projections(const char* op, const Variable<T>& query, const Variable<T>& key,
                                const Variable<T>& value, const Variable<T>& w_q,
                                const Variable<T>& w_k, const Variable<T>& w_v,
                                const Variable<T>& w_o, std::int64_t num_heads, const Mask& mask,
                                Attend attend) {
  check_shapes(op, query, key, value, num_heads, mask);
  const std::size_t B = query.shape()[0];
  const std::size_t Q = query.shape()[1];
  const std::size_t K = key.shape()[1];
  const auto D = static_cast<std::int64_t>(query.shape()[2]);
  const std::int64_t H = num_heads;
  check_weight(op, "w_q", w_q, D);
  check_weight(op, "w_k", w_k, D);
  check_weight(op, "w_v", w_v, D);
  check_weight(op, "w_o", w_o, D);
  const detail::Group group;

  // Keys that nobody may see are cut out first, so that what they hold cannot reach anything.
  Variable<T> seen_key = key;
  Variable<T> seen_value = value;
  detail::zero_hidden_keys(mask, false, seen_key, seen_value);

  // [B,N,D] x [D,D] -> [B,N,D] -> [B,N,H,D/H] -> [B,H,N,D/H]
  const auto project = [&](const Variable<T>& x, const Variable<T>& w, std::size_t n) {
    return transpose(reshape(matmul(x, w), {B, n, H, D / H}), {0, 2, 1, 3});
  };
  const Variable<T> heads =
      attend(project(query, w_q, Q), project(seen_key, w_k, K), project(seen_value, w_v, K));
  // [B,H,Q,D/H] -> [B,Q,H,D/H] -> [B,Q,D], then [B,Q,D] x [D,D]
  return matmul(reshape(transpose(heads, {0, 2, 1, 3}), {B, Q, D}), w_o);
}

}  // namespace

template <class T>
Attention<T> multi_head_attention(const Variable<T>& query, const Variable<T>& key,
                                  const Variable<T>& value, const Variable<T>& w_q,
                                  const Variable<T>& w_k, const Variable<T>& w_v,
                                  const Variable<T>& w_o, std::int64_t num_heads,
                                  const Mask& mask) {
  detail::count_call(detail::Called::multi_head_attention);
  Variable<T> weights;
  Variable<T> output = between_projections(
      "multi_head_attention", query, key, value, w_q, w_k, w_v, w_o, num_heads, mask,
      [&](const Variable<T>& q, const Variable<T>& k, const Variable<T>& v) {
        Attention<T> attention = detail::attend(q, k, v, mask);
        weights = std::move(attention.weights);
        return std::move(attention.output);
      });
  return {std::move(output), std::move(weights)};
}

template <class T>
Variable<T> multi_head_attention_output(const Variable<T>& query, const Variable<T>& key,
                                        const Variable<T>& value, const Variable<T>& w_q,
                                        const Variable<T>& w_k, const Variable<T>& w_v,
                                        const Variable<T>& w_o, std::int64_t num_heads,
                                        const Mask& mask) {
  detail::count_call(detail::Called::multi_head_attention);
  return between_projections("multi_head_attention_output", query, key, value, w_q, w_k, w_v, w_o,
                             num_heads, mask,
                             [&](const Variable<T>& q, const Variable<T>& k, const Variable<T>& v) {
                               return detail::attend_in_blocks(q, k, v, mask);
                             });
}

#define XGRAD_INSTANTIATE(T)                                                                  \
  template Attention<T> multi_head_attention(                                                 \
      const Variable<T>&, const Variable<T>&, const Variable<T>&, const Variable<T>&,         \
      const Variable<T>&, const Variable<T>&, const Variable<T>&, std::int64_t, const Mask&); \
  template Variable<T> multi_head_attention_output(                                           \
      const Variable<T>&, const Variable<T>&, const Variable<T>&, const Variable<T>&,         \
      const Variable<T>&, const Variable<T>&, const Variable<T>&, std::int64_t, const Mask&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
