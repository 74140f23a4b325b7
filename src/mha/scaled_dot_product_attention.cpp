#include <xgrad/mha/scaled_dot_product_attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/mha/hidden_keys.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/gemm.hpp>
#include <xgrad/ops/kernels/attention.hpp>
#include <xgrad/ops/loops.hpp>
#include <xgrad/ops/matmul.hpp>
#include <xgrad/ops/reduce.hpp>
#include <xgrad/ops/softmax.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace detail {
namespace {

constexpr const char* kOp = "scaled_dot_product_attention";

// A block of scores stays in the second-level cache between the products and the softmax.
constexpr std::int64_t kBlockQueries = 128;
constexpr std::int64_t kBlockKeys = 256;

/// The matrix of one head: [Q,d], [K,d] or [K,Dv].
template <class T, class A>
MatrixView<T> head(A& x, std::int64_t item, std::int64_t head) {
  return {x.data() + item * x.stride(0) + head * x.stride(1), x.extent(2), x.extent(3), x.stride(2),
          x.stride(3)};
}

template <class T>
MatrixView<T> rows(MatrixView<T> m, std::int64_t first, std::int64_t count) {
  m.data += first * m.row_stride;
  m.rows = count;
  return m;
}

template <class T>
MatrixView<const T> read(const MatrixView<T>& m) {
  return {m.data, m.rows, m.cols, m.row_stride, m.col_stride};
}

/// Queries and keys whose scores are computed together.
struct Block {
  std::int64_t query, queries;
  std::int64_t key, keys;
};

/// Which scores of one head are visible.
class Sight {
 public:
  Sight(const Mask& mask, bool causal, const Extents& scores, std::int64_t item, std::int64_t head)
      : later_(causal ? scores[3] - scores[2] + 1 : scores[3]), causal_(causal), keys_(scores[3]) {
    if (!mask.defined()) return;
    const Array<bool>& values = array(kOp, mask);
    const Extents strides = broadcast_strides(values.shape(), values.strides(), scores);
    mask_ = values.data() + item * strides[0] + head * strides[1];
    query_stride_ = strides[2];
    key_stride_ = strides[3];
  }

  /// The first key that is later than this query.
  std::int64_t reach(std::int64_t query) const {
    return causal_ ? std::clamp<std::int64_t>(query + later_, 0, keys_) : keys_;
  }

  bool sees_any(std::int64_t query) const { return sees_any(query, 0, reach(query)); }
  bool sees_any(const Block& block) const {
    const std::int64_t last = block.query + block.queries - 1;
    if (mask_ == nullptr) return block.key < reach(last);
    const std::int64_t first = query_stride_ == 0 ? last : block.query;  // rows that are all alike
    for (std::int64_t query = first; query <= last; ++query) {
      if (sees_any(query, block.key, std::min(block.key + block.keys, reach(query)))) return true;
    }
    return false;
  }

  /// Writes over the hidden ones among the scores of a block.
  template <class T>
  void hide(const Block& block, T* scores, T filler) const {
    for (std::int64_t i = 0; i < block.queries; ++i, scores += block.keys) {
      const std::int64_t reached =
          std::clamp<std::int64_t>(reach(block.query + i) - block.key, 0, block.keys);
      std::fill(scores + reached, scores + block.keys, filler);
      if (mask_ == nullptr) continue;
      const bool* visible = row(block.query + i, block.key);
      if (key_stride_ == 1) {
        attention_kernels<T>().hide(scores, visible, reached, filler);
      } else if (!*visible) {
        std::fill_n(scores, reached, filler);
      }
    }
  }

 private:
  const bool* row(std::int64_t query, std::int64_t key) const {
    return mask_ + query * query_stride_ + key * key_stride_;
  }
  bool sees_any(std::int64_t query, std::int64_t key, std::int64_t end) const {
    if (key >= end) return false;
    if (mask_ == nullptr) return true;
    const auto count = static_cast<std::size_t>(key_stride_ == 0 ? 1 : end - key);
    return std::memchr(row(query, key), 1, count) != nullptr;
  }

  const bool* mask_ = nullptr;
  std::int64_t query_stride_ = 0;
  std::int64_t key_stride_ = 0;
  std::int64_t later_;
  bool causal_;
  std::int64_t keys_;
};

/// Calls f for each block of keys that some of these queries see.
template <class F>
void for_each_seen_block(const Sight& sight, std::int64_t query, std::int64_t queries, F f) {
  const std::int64_t end = sight.reach(query + queries - 1);
  for (std::int64_t key = 0; key < end; key += kBlockKeys) {
    const Block block{query, queries, key, std::min(kBlockKeys, end - key)};
    if (sight.sees_any(block)) f(block);
  }
}

/// What forward leaves for backward, behind the elements of the output: a row's weights are
/// exp(score - most) inverse_sum.
template <class T>
struct Rows {
  T* most;
  T* inverse_sum;
};

template <class T, class A>
Rows<T> rows_of_head(A& output, std::int64_t item, std::int64_t head) {
  T* first = output.data() + output.size();
  const std::int64_t heads = output.extent(0) * output.extent(1);
  const std::int64_t queries = output.extent(2);
  first += (item * output.extent(1) + head) * queries;
  return {first, first + heads * queries};
}

/// Memory for one block of scores.
template <class T>
Array<T> block_memory(std::int64_t queries, std::int64_t keys) {
  return Array<T>(Extents(1, std::min(queries, kBlockQueries) * std::min(keys, kBlockKeys)));
}

template <class T>
class ScaledDotProductAttention final : public Primitive<T> {
 public:
  using value_type = T;
  ScaledDotProductAttention(Mask mask, bool causal, double scale)
      : mask_(std::move(mask)), causal_(causal), scale_(scale) {}
  const char* name() const noexcept override { return kOp; }
  Needs needs() const noexcept override { return Needs::inputs({0, 1, 2}) | Needs::output(); }

  Array<T> forward(const Inputs<T>& in) const override {
    const Array<T>& q = in[0];
    const Array<T>& v = in[2];
    const std::int64_t B = q.extent(0);
    const std::int64_t H = q.extent(1);
    const std::int64_t Q = q.extent(2);
    const std::int64_t Dv = v.extent(3);
    // In [B,Q,H,Dv] memory, so that merging the heads is free.
    Array<T> memory(Extents(1, B * H * Q * (Dv + 2)));
    Array<T> output(memory, memory.data(), Dims{B, H, Q, Dv}.values(),
                    Dims{Q * H * Dv, Dv, H * Dv, 1}.values());
    const std::int64_t blocks = (Q + kBlockQueries - 1) / kBlockQueries;
    for (std::int64_t i = 0; i < B * H * blocks; ++i) {
      const std::int64_t at = i / blocks;
      const std::int64_t query = i % blocks * kBlockQueries;
      forward_block(in, at / H, at % H, query, std::min(kBlockQueries, Q - query), output);
    }
    return output;
  }

  void backward(Pullback<T>& p) const override {
    if (p.records()) {
      backward_composed(p);
      return;
    }
    const Variable<T> held[] = {p.input(0), p.input(1), p.input(2), p.output(), p.take_grad()};
    Array<T> gradients[3];
    for (std::size_t i = 0; i < 3; ++i) {
      if (!p.needs(i)) continue;
      // Laid out as the input lies, so that undoing a head split copies nothing.
      const Extents order = memory_order(array(name(), held[i]));
      gradients[i] = order.empty() ? Array<T>(p.shape(i)) : Array<T>(p.shape(i), order);
      std::fill_n(gradients[i].data(), gradients[i].size(), T(0));
    }
    const Array<T>& q = array(name(), held[0]);
    const std::int64_t H = q.extent(1);
    for (std::int64_t i = 0; i < q.extent(0) * H; ++i) backward_head(held, i / H, i % H, gradients);
    for (std::size_t i = 0; i < 3; ++i) {
      if (p.needs(i)) p.give(i, from_array(std::move(gradients[i])));
    }
  }

 private:
  Sight sight(const Array<T>& q, const Array<T>& k, std::int64_t item, std::int64_t head) const {
    return {mask_, causal_, Dims{q.extent(0), q.extent(1), q.extent(2), k.extent(2)}.values(), item,
            head};
  }

  void forward_block(const Inputs<T>& in, std::int64_t item, std::int64_t h, std::int64_t query,
                     std::int64_t queries, Array<T>& output) const {
    const AttentionKernels<T>& kernels = attention_kernels<T>();
    const Sight sight = this->sight(in[0], in[1], item, h);
    const auto q = rows(head<const T>(in[0], item, h), query, queries);
    const auto k = head<const T>(in[1], item, h);
    const auto v = head<const T>(in[2], item, h);
    const auto out = rows(head<T>(output, item, h), query, queries);
    const Rows<T> row = rows_of_head<T>(output, item, h);
    T* const most = row.most + query;
    T* const sum = row.inverse_sum + query;
    Array<T> scores = block_memory<T>(queries, k.rows);
    T correction[kBlockQueries];

    std::fill_n(most, queries, -std::numeric_limits<T>::infinity());
    std::fill_n(sum, queries, T(0));
    bool first = true;
    for_each_seen_block(sight, query, queries, [&](const Block& block) {
      const MatrixView<T> s{scores.data(), queries, block.keys, block.keys, 1};
      gemm(static_cast<T>(scale_), q, rows(k, block.key, block.keys).transposed(), false, s);
      sight.hide(block, s.data, -std::numeric_limits<T>::infinity());
      kernels.softmax_step(s.data, queries, block.keys, most, sum, correction);
      if (!first) kernels.scale_rows(out.data, out.row_stride, queries, out.cols, correction);
      gemm(T(1), read(s), rows(v, block.key, block.keys), !first, out);
      first = false;
    });
    for (std::int64_t i = 0; i < queries; ++i) {
      if (sum[i] != 0) {
        sum[i] = 1 / sum[i];
      } else if (sight.sees_any(query + i)) {  // all of it -inf: there is no softmax
        sum[i] = std::numeric_limits<T>::quiet_NaN();
      } else {
        most[i] = 0;
        std::fill_n(out.data + i * out.row_stride, out.cols, T(0));
      }
    }
    kernels.scale_rows(out.data, out.row_stride, queries, out.cols, sum);
  }

  /// `held`: q, k, v, output and its cotangent.
  void backward_head(const Variable<T>* held, std::int64_t item, std::int64_t h,
                     Array<T>* gradients) const {
    const AttentionKernels<T>& kernels = attention_kernels<T>();
    const Array<T>& output = array(name(), held[3]);
    const Sight sight = this->sight(array(name(), held[0]), array(name(), held[1]), item, h);
    const auto q = head<const T>(array(name(), held[0]), item, h);
    const auto k = head<const T>(array(name(), held[1]), item, h);
    const auto v = head<const T>(array(name(), held[2]), item, h);
    const auto out = head<const T>(output, item, h);
    const auto g = head<const T>(array(name(), held[4]), item, h);
    const Rows<const T> row = rows_of_head<const T>(output, item, h);
    const bool needs_q = gradients[0].has_values();
    const bool needs_k = gradients[1].has_values();
    const bool needs_v = gradients[2].has_values();
    Array<T> weights = block_memory<T>(q.rows, k.rows);
    Array<T> dweights = block_memory<T>(q.rows, k.rows);
    T dot[kBlockQueries];

    for (std::int64_t query = 0; query < q.rows; query += kBlockQueries) {
      const std::int64_t queries = std::min(kBlockQueries, q.rows - query);
      const auto q_rows = rows(q, query, queries);
      const auto g_rows = rows(g, query, queries);
      const bool whole = sight.reach(query + queries - 1) <= kBlockKeys;  // rows in one block
      if (!whole) dot_rows(g_rows, rows(out, query, queries), dot);
      for_each_seen_block(sight, query, queries, [&](const Block& block) {
        const MatrixView<T> w{weights.data(), queries, block.keys, block.keys, 1};
        const auto k_rows = rows(k, block.key, block.keys);
        // [queries,d] x [d,keys] -> [queries,keys]
        gemm(static_cast<T>(scale_), q_rows, k_rows.transposed(), false, w);
        kernels.weights(w.data, queries, block.keys, row.most + query, row.inverse_sum + query);
        sight.hide(block, w.data, T(0));
        if (needs_v) {  // [keys,queries] x [queries,Dv] -> [keys,Dv]
          gemm(T(1), read(w).transposed(), g_rows, true,
               rows(head<T>(gradients[2], item, h), block.key, block.keys));
        }
        if (!needs_q && !needs_k) return;
        const MatrixView<T> s{dweights.data(), queries, block.keys, block.keys, 1};
        // [queries,Dv] x [Dv,keys] -> [queries,keys]
        gemm(T(1), g_rows, rows(v, block.key, block.keys).transposed(), false, s);
        kernels.score_gradient(w.data, s.data, queries, block.keys, row.most + query,
                               whole ? nullptr : dot);
        if (needs_q) {  // [queries,keys] x [keys,d] -> [queries,d]
          gemm(static_cast<T>(scale_), read(s), k_rows, true,
               rows(head<T>(gradients[0], item, h), query, queries));
        }
        if (needs_k) {  // [keys,queries] x [queries,d] -> [keys,d]
          gemm(static_cast<T>(scale_), read(s).transposed(), q_rows, true,
               rows(head<T>(gradients[1], item, h), block.key, block.keys));
        }
      });
    }
  }

  static void dot_rows(const MatrixView<const T>& a, const MatrixView<const T>& b, T* dot) {
    if (a.col_stride == 1 && b.col_stride == 1) {
      attention_kernels<T>().dot_rows(a.data, a.row_stride, b.data, b.row_stride, a.rows, a.cols,
                                      dot);
      return;
    }
    for (std::int64_t i = 0; i < a.rows; ++i) {
      dot[i] = 0;
      for (std::int64_t k = 0; k < a.cols; ++k) {
        dot[i] += a.data[i * a.row_stride + k * a.col_stride] *
                  b.data[i * b.row_stride + k * b.col_stride];
      }
    }
  }

  /// The same gradients, written with operations that can themselves be differentiated.
  void backward_composed(Pullback<T>& p) const {
    const Variable<T> g = p.take_grad();
    const Variable<T> q = p.input(0);
    const Variable<T> k = p.input(1);
    const Variable<T> v = p.input(2);
    Mask mask = mask_;
    if (causal_) {
      const Mask causal = causal_mask(p.shape(0)[2], p.shape(1)[2]);
      mask = mask.defined() ? mask & causal : causal;
    }
    const Variable<T> w = masked_softmax(scaled_matmul(q, swapaxes(k, -1, -2), scale_), mask);
    if (p.needs(2)) p.give(2, matmul(swapaxes(w, -1, -2), g));
    const Variable<T> dw = matmul(g, swapaxes(v, -1, -2));
    const Variable<T> ds = chain(dw - sum(chain(dw, w), -1, true), w);
    if (p.needs(0)) p.give(0, scaled_matmul(ds, k, scale_));
    if (p.needs(1)) p.give(1, scaled_matmul(swapaxes(ds, -1, -2), q, scale_));
  }

  Mask mask_;
  bool causal_;
  double scale_;
};

}  // namespace

template <class T>
Variable<T> attend_in_blocks(const Variable<T>& q, const Variable<T>& k, const Variable<T>& v,
                             const Mask& mask, const AttentionOptions& options) {
  const Extents& shape = extents(kOp, q);
  // The output, and two numbers for each of its rows.
  (void)checked_size(kOp, Dims{shape[0], shape[1], shape[2], extents(kOp, v)[3] + 2}.values());
  const auto d = static_cast<double>(shape[3]);
  const double scale = options.scale.value_or(d == 0 ? 1.0 : 1.0 / std::sqrt(d));
  return record(make<ScaledDotProductAttention<T>>(mask, options.causal, scale), q, k, v);
}

template Variable<float> attend_in_blocks(const Variable<float>&, const Variable<float>&,
                                          const Variable<float>&, const Mask&,
                                          const AttentionOptions&);
template Variable<double> attend_in_blocks(const Variable<double>&, const Variable<double>&,
                                           const Variable<double>&, const Mask&,
                                           const AttentionOptions&);

}  // namespace detail

template <class T>
Variable<T> scaled_dot_product_attention(const Variable<T>& q, const Variable<T>& k,
                                         const Variable<T>& v, const Mask& mask,
                                         const AttentionOptions& options) {
  detail::check_attention(detail::kOp, q, k, v, mask);
  if (options.scale.has_value() && !std::isfinite(*options.scale)) {
    detail::fail<ArgumentError>(detail::kOp, "scale is not finite", std::to_string(*options.scale),
                                "a finite number");
  }
  return detail::attend_in_blocks(q, detail::zero_hidden_keys(k, mask, options.causal),
                                  detail::zero_hidden_keys(v, mask, options.causal), mask, options);
}

template Variable<float> scaled_dot_product_attention(const Variable<float>&,
                                                      const Variable<float>&,
                                                      const Variable<float>&, const Mask&,
                                                      const AttentionOptions&);
template Variable<double> scaled_dot_product_attention(const Variable<double>&,
                                                       const Variable<double>&,
                                                       const Variable<double>&, const Mask&,
                                                       const AttentionOptions&);

}  // namespace xg
