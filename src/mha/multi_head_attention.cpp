#include <xgrad/mha/multi_head_attention.hpp>

#include <xgrad/autograd/group.hpp>
#include <xgrad/autograd/primitive.hpp>
#include <xgrad/mha/calls.hpp>
#include <xgrad/mha/hidden_keys.hpp>
#include <xgrad/ops/matmul.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace {

constexpr const char* kOp = "multi_head_attention";

template <class T>
void check_shapes(const Variable<T>& query, const Variable<T>& key, const Variable<T>& value,
                  std::int64_t num_heads, const Mask& mask) {
  const Extents& q = detail::extents(kOp, query);
  const Extents& k = detail::extents(kOp, key);
  const Extents& v = detail::extents(kOp, value);
  if (q.size() != 3 || k.size() != 3 || v != k || q[0] != k[0] || q[2] != k[2]) {
    detail::fail<ShapeError>(
        kOp, "shapes do not fit",
        "query " + detail::text(q) + ", key " + detail::text(k) + ", value " + detail::text(v),
        "query [B,Q,D], key and value [B,K,D]");
  }
  if (num_heads <= 0 || q[2] % num_heads != 0) {
    detail::fail<ArgumentError>(kOp, "wrong number of heads",
                                detail::text(num_heads) + " heads for D = " + detail::text(q[2]),
                                "a positive number of heads that divides D");
  }
  detail::check_mask(kOp, mask, Dims{q[0], num_heads, q[1], k[1]}.values());
}

template <class T>
void check_weight(const char* name, const Variable<T>& w, std::int64_t d) {
  const Extents& shape = detail::extents(kOp, w);
  if (shape != Dims{d, d}.values()) {
    detail::fail<ShapeError>(kOp, std::string(name) + " has the wrong shape", detail::text(shape),
                             detail::text(Dims{d, d}.values()));
  }
}

}  // namespace

template <class T>
Attention<T> multi_head_attention(const Variable<T>& query, const Variable<T>& key,
                                  const Variable<T>& value, const Variable<T>& w_q,
                                  const Variable<T>& w_k, const Variable<T>& w_v,
                                  const Variable<T>& w_o, std::int64_t num_heads,
                                  const Mask& mask) {
  detail::count_call(detail::Called::multi_head_attention);
  check_shapes(query, key, value, num_heads, mask);
  const std::size_t B = query.shape()[0];
  const std::size_t Q = query.shape()[1];
  const std::size_t K = key.shape()[1];
  const auto D = static_cast<std::int64_t>(query.shape()[2]);
  const std::int64_t H = num_heads;
  check_weight("w_q", w_q, D);
  check_weight("w_k", w_k, D);
  check_weight("w_v", w_v, D);
  check_weight("w_o", w_o, D);
  const detail::Group group;

  // Keys that nobody may see are cut out first, so that what they hold cannot reach anything.
  const Variable<T> seen_key = detail::zero_hidden_keys(key, mask);
  const Variable<T> seen_value = detail::zero_hidden_keys(value, mask);

  // [B,N,D] x [D,D] -> [B,N,D] -> [B,N,H,D/H] -> [B,H,N,D/H]
  const auto project = [&](const Variable<T>& x, const Variable<T>& w, std::size_t n) {
    return transpose(reshape(matmul(x, w), {B, n, H, D / H}), {0, 2, 1, 3});
  };
  auto [heads, weights] = detail::attend(project(query, w_q, Q), project(seen_key, w_k, K),
                                         project(seen_value, w_v, K), mask);
  // [B,H,Q,D/H] -> [B,Q,H,D/H] -> [B,Q,D], then [B,Q,D] x [D,D]
  const Variable<T> concatenated = reshape(transpose(heads, {0, 2, 1, 3}), {B, Q, D});
  return {matmul(concatenated, w_o), std::move(weights)};
}

template Attention<float> multi_head_attention(const Variable<float>&, const Variable<float>&,
                                               const Variable<float>&, const Variable<float>&,
                                               const Variable<float>&, const Variable<float>&,
                                               const Variable<float>&, std::int64_t, const Mask&);
template Attention<double> multi_head_attention(const Variable<double>&, const Variable<double>&,
                                                const Variable<double>&, const Variable<double>&,
                                                const Variable<double>&, const Variable<double>&,
                                                const Variable<double>&, std::int64_t, const Mask&);

}  // namespace xg
