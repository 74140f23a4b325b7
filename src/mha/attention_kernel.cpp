#include <xgrad/mha/attention_kernel.hpp>

#include <cmath>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/mha/calls.hpp>
#include <xgrad/mha/hidden_keys.hpp>
#include <xgrad/ops/matmul.hpp>
#include <xgrad/ops/softmax.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace detail {

template <class T>
void check_attention(const char* op, const Variable<T>& q, const Variable<T>& k,
                     const Variable<T>& v, const Mask& mask) {
  const Extents& qs = extents(op, q);
  const Extents& ks = extents(op, k);
  const Extents& vs = extents(op, v);
  const auto got = "q " + text(qs) + ", k " + text(ks) + ", v " + text(vs);
  if (qs.size() != 4 || ks.size() != 4 || vs.size() != 4 || qs[0] != ks[0] || qs[1] != ks[1] ||
      qs[3] != ks[3] || vs[0] != ks[0] || vs[1] != ks[1] || vs[2] != ks[2]) {
    fail<ShapeError>(op, "shapes do not fit", got, "q [B,H,Q,d], k [B,H,K,d], v [B,H,K,Dv]");
  }
  Extents scores = qs;
  scores[3] = ks[2];
  check_mask(op, mask, scores);
}

template void check_attention(const char*, const Variable<float>&, const Variable<float>&,
                              const Variable<float>&, const Mask&);
template void check_attention(const char*, const Variable<double>&, const Variable<double>&,
                              const Variable<double>&, const Mask&);

template <class T>
Attention<T> attend(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                    const Mask& mask) {
  const auto d = static_cast<double>(q.shape()[3]);
  // [B,H,Q,d] x [B,H,d,K] -> [B,H,Q,K]; the scale is the product's alpha.
  Variable<T> scores = scaled_matmul(q, swapaxes(k, -1, -2), d == 0 ? 1.0 : 1.0 / std::sqrt(d));
  Variable<T> weights = masked_softmax(std::move(scores), mask);
  // [B,H,Q,K] x [B,H,K,Dv] -> [B,H,Q,Dv], laid out as [B,Q,H,Dv], so that merging the heads is
  // free.
  Variable<T> output = scaled_matmul(weights, v, 1.0, Dims{0, 2, 1, 3}.values());
  return {zero_blind_queries(mask, std::move(output)), std::move(weights)};
}

template Attention<float> attend(const Variable<float>&, const Variable<float>&,
                                 const Variable<float>&, const Mask&);
template Attention<double> attend(const Variable<double>&, const Variable<double>&,
                                  const Variable<double>&, const Mask&);

}  // namespace detail

template <class T>
Attention<T> attention_kernel(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                              const Mask& mask) {
  detail::count_call(detail::Called::attention_kernel);
  detail::check_attention("attention_kernel", q, k, v, mask);
  Variable<T> seen_k = k;
  Variable<T> seen_v = v;
  detail::zero_hidden_keys(mask, false, seen_k, seen_v);
  return detail::attend(q, seen_k, seen_v, mask);
}

template Attention<float> attention_kernel(const Variable<float>&, const Variable<float>&,
                                           const Variable<float>&, const Mask&);
template Attention<double> attention_kernel(const Variable<double>&, const Variable<double>&,
                                            const Variable<double>&, const Mask&);

}  // namespace xg
