#include <xgrad/mha/scaled_dot_product_attention.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/autograd/thread_pool.hpp>
#include <xgrad/mha/calls.hpp>
#include <xgrad/mha/hidden_keys.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/gemm.hpp>
#include <xgrad/ops/kernels/attention.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
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
// The queries of one work item of forward: each block of keys is transposed once for all of them.
constexpr std::int64_t kItemBlocks = 4;
constexpr std::int64_t kItemQueries = kItemBlocks * kBlockQueries;
// In multiply-adds: less costs more to hand to a thread than it saves.
constexpr double kLeastRange = 1 << 18;

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

/// Memory of one work item, handed out in pieces.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t size) : memory_(Extents(1, size)), next_(memory_.data()) {}

  T* take(std::int64_t size) { return std::exchange(next_, next_ + size); }

 private:
  Array<T> memory_;
  T* next_;
};

template <class T>
bool has_unit_columns(const MatrixView<T>& m) {
  return m.col_stride == 1 || m.cols <= 1;
}

/// The matrix as it lies if its columns do, else a copy.
template <class T>
MatrixView<const T> readable(const MatrixView<const T>& m, T* memory) {
  return has_unit_columns(m) ? m : row_major_copy(m, memory);
}

/// Nothing if there is no matrix.
template <class T>
void clear(const MatrixView<T>& m) {
  if (m.data == nullptr) return;
  for (std::int64_t i = 0; i < m.rows; ++i) std::fill_n(m.data + i * m.row_stride, m.cols, T(0));
}

/// c = alpha a b + (accumulate ? c : 0)
template <class T>
void multiply(double alpha, const MatrixView<const T>& a, const MatrixView<const T>& b,
              bool accumulate, const MatrixView<T>& c) {
  kernels<T>().product({c.rows, c.cols, a.cols, static_cast<T>(alpha), a.data, a.row_stride,
                        a.col_stride, b.data, b.row_stride, accumulate, c.data, c.row_stride});
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
    const std::int64_t B = q.extent(0);
    const std::int64_t H = q.extent(1);
    const std::int64_t Q = q.extent(2);
    const std::int64_t K = in[1].extent(2);
    const std::int64_t Dv = in[2].extent(3);
    // In [B,Q,H,Dv] memory, so that merging the heads is free.
    Array<T> memory(Extents(1, B * H * Q * (Dv + 2)));
    Array<T> output(memory, memory.data(), Dims{B, H, Q, Dv}.values(),
                    Dims{Q * H * Dv, Dv, H * Dv, 1}.values());
    const std::int64_t items = (Q + kItemQueries - 1) / kItemQueries;
    const double work = products(std::min(Q, kItemQueries), K, q.extent(3) + Dv);
    in_parallel(B * H * items, work, [&](std::int64_t i) {
      const std::int64_t query = i % items * kItemQueries;
      forward_item(in, i / items / H, i / items % H, query, std::min(kItemQueries, Q - query),
                   output);
    });
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
      const Extents shape = p.shape(i);
      const bool usable = !order.empty() && (order.back() == 3 || shape[3] == 1);
      gradients[i] = usable ? Array<T>(shape, order) : Array<T>(shape);
    }
    const Array<T>& q = array(name(), held[0]);
    const std::int64_t H = q.extent(1);
    const double work = 2 * products(q.extent(2), p.shape(1)[2], q.extent(3) + p.shape(2)[3]);
    // Of arrays without elements there can be more heads than could ever be walked through.
    const bool empty = std::all_of(std::begin(gradients), std::end(gradients),
                                   [](const auto& g) { return !g.has_values() || g.size() == 0; });
    in_parallel(empty ? 0 : q.extent(0) * H, work,
                [&](std::int64_t i) { backward_head(held, i / H, i % H, gradients); });
    for (std::size_t i = 0; i < 3; ++i) {
      if (p.needs(i)) p.give(i, from_array(std::move(gradients[i])));
    }
  }

 private:
  /// Of arrays without elements or of broadcast ones, more than an integer can count.
  static double products(std::int64_t queries, std::int64_t keys, std::int64_t features) {
    return static_cast<double>(queries) * static_cast<double>(keys) * static_cast<double>(features);
  }

  /// f(i) for each item, each of so many multiply-adds.
  template <class F>
  static void in_parallel(std::int64_t items, double work, F f) {
    const auto least = static_cast<std::int64_t>(kLeastRange / std::max(work, 1.0));
    parallel_ranges(items, least + 1, 1, [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) f(i);
    });
  }

  Sight sight(const Array<T>& q, const Array<T>& k, std::int64_t item, std::int64_t head) const {
    return {mask_, causal_, Dims{q.extent(0), q.extent(1), q.extent(2), k.extent(2)}.values(), item,
            head};
  }

  void forward_item(const Inputs<T>& in, std::int64_t item, std::int64_t h, std::int64_t first,
                    std::int64_t count, Array<T>& output) const {
    const AttentionKernels<T>& kernels = attention_kernels<T>();
    const Sight sight = this->sight(in[0], in[1], item, h);
    const auto q = rows(head<const T>(in[0], item, h), first, count);
    const auto k = head<const T>(in[1], item, h);
    const auto v = head<const T>(in[2], item, h);
    const auto out = rows(head<T>(output, item, h), first, count);
    const Rows<T> row = rows_of_head<T>(output, item, h);
    T* const most = row.most + first;
    T* const sum = row.inverse_sum + first;
    const std::int64_t block_queries = std::min(kBlockQueries, count);
    const std::int64_t block_keys = std::min(kBlockKeys, k.rows);
    const std::int64_t v_copy = has_unit_columns(v) ? 0 : block_keys * v.cols;
    Scratch<T> scratch(block_keys * (block_queries + k.cols) + v_copy);
    T* const scores = scratch.take(block_queries * block_keys);
    T* const k_memory = scratch.take(block_keys * k.cols);
    T* const v_memory = scratch.take(v_copy);
    T correction[kBlockQueries];
    bool started[kItemBlocks] = {};

    std::fill_n(most, count, -std::numeric_limits<T>::infinity());
    std::fill_n(sum, count, T(0));
    const std::int64_t end = sight.reach(first + count - 1);
    for (std::int64_t key = 0; key < end; key += kBlockKeys) {
      const std::int64_t keys = std::min(kBlockKeys, end - key);
      const auto k_columns = row_major_copy(rows(k, key, keys).transposed(), k_memory);
      const auto v_rows = readable(rows(v, key, keys), v_memory);
      for (std::int64_t i = 0; i < count; i += kBlockQueries) {
        const std::int64_t queries = std::min(kBlockQueries, count - i);
        const Block block{first + i, queries, key, keys};
        if (!sight.sees_any(block)) continue;
        const MatrixView<T> s{scores, queries, keys, keys, 1};
        const auto out_rows = rows(out, i, queries);
        // [queries,d] x [d,keys] -> [queries,keys]
        multiply(scale_, rows(q, i, queries), k_columns, false, s);
        sight.hide(block, scores, -std::numeric_limits<T>::infinity());
        kernels.softmax_step(scores, queries, keys, most + i, sum + i, correction);
        bool& accumulate = started[i / kBlockQueries];
        if (accumulate) {
          kernels.scale_rows(out_rows.data, out.row_stride, queries, out.cols, correction);
        }
        // [queries,keys] x [keys,Dv] -> [queries,Dv]
        multiply(1, read(s), v_rows, accumulate, out_rows);
        accumulate = true;
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (sum[i] != 0) {
        sum[i] = 1 / sum[i];
      } else if (sight.sees_any(first + i)) {  // all of it -inf: there is no softmax
        sum[i] = std::numeric_limits<T>::quiet_NaN();
      } else {
        most[i] = 0;
        clear(rows(out, i, 1));
      }
    }
    kernels.scale_rows(out.data, out.row_stride, count, out.cols, sum);
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
    const bool needs_scores = needs_q || needs_k;
    const auto gradient = [&](std::size_t i) {
      return gradients[i].has_values() ? head<T>(gradients[i], item, h) : MatrixView<T>();
    };
    const MatrixView<T> dq = gradient(0);
    const MatrixView<T> dk = gradient(1);
    const MatrixView<T> dv = gradient(2);
    const std::int64_t block_queries = std::min(kBlockQueries, q.rows);
    const std::int64_t block_keys = std::min(kBlockKeys, k.rows);
    Scratch<T> scratch(q.rows + 2 * block_keys * (block_queries + k.cols + v.cols) +
                       block_queries * (q.cols + v.cols));
    T* const dot = scratch.take(q.rows);
    T* const weights = scratch.take(block_queries * block_keys);
    T* const dweights = scratch.take(block_queries * block_keys);
    T* const k_columns_memory = scratch.take(block_keys * k.cols);
    T* const v_columns_memory = scratch.take(block_keys * v.cols);
    T* const k_memory = scratch.take(block_keys * k.cols);
    T* const q_memory = scratch.take(block_queries * q.cols);
    T* const g_memory = scratch.take(block_queries * v.cols);

    const bool whole = k.rows <= kBlockKeys;  // a block holds all of a row
    if (!whole) dot_rows(g, out, dot);
    const std::int64_t end = q.rows == 0 ? 0 : sight.reach(q.rows - 1);
    if (!whole || end == 0) clear(dq);
    clear(rows(dk, end, dk.rows - end));
    clear(rows(dv, end, dv.rows - end));
    for (std::int64_t key = 0; key < end; key += kBlockKeys) {
      const std::int64_t keys = std::min(kBlockKeys, end - key);
      const auto k_columns = row_major_copy(rows(k, key, keys).transposed(), k_columns_memory);
      const auto v_columns = row_major_copy(rows(v, key, keys).transposed(), v_columns_memory);
      const auto k_rows = readable(rows(k, key, keys), k_memory);
      const auto dk_rows = rows(dk, key, keys);
      const auto dv_rows = rows(dv, key, keys);
      bool accumulate = false;
      for (std::int64_t query = 0; query < q.rows; query += kBlockQueries) {
        const std::int64_t queries = std::min(kBlockQueries, q.rows - query);
        const Block block{query, queries, key, keys};
        const auto dq_rows = rows(dq, query, queries);
        if (!sight.sees_any(block)) {
          if (whole) clear(dq_rows);
          continue;
        }
        const auto q_rows = readable(rows(q, query, queries), q_memory);
        const auto g_rows = readable(rows(g, query, queries), g_memory);
        const MatrixView<T> w{weights, queries, keys, keys, 1};
        // [queries,d] x [d,keys] -> [queries,keys]
        multiply(scale_, q_rows, k_columns, false, w);
        kernels.weights(weights, queries, keys, row.most + query, row.inverse_sum + query);
        sight.hide(block, weights, T(0));
        // [keys,queries] x [queries,Dv] -> [keys,Dv]
        if (needs_v) multiply(1, read(w).transposed(), g_rows, accumulate, dv_rows);
        if (needs_scores) {
          const MatrixView<T> s{dweights, queries, keys, keys, 1};
          // [queries,Dv] x [Dv,keys] -> [queries,keys]
          multiply(1, g_rows, v_columns, false, s);
          kernels.score_gradient(weights, dweights, queries, keys, row.most + query,
                                 whole ? nullptr : dot + query);
          // [queries,keys] x [keys,d] -> [queries,d]
          if (needs_q) multiply(scale_, read(s), k_rows, !whole, dq_rows);
          // [keys,queries] x [queries,d] -> [keys,d]
          if (needs_k) multiply(scale_, read(s).transposed(), q_rows, accumulate, dk_rows);
        }
        accumulate = true;
      }
      if (!accumulate) {
        clear(dk_rows);
        clear(dv_rows);
      }
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
  detail::count_call(detail::Called::attention_kernel);
  detail::check_attention(detail::kOp, q, k, v, mask);
  if (options.scale.has_value() && !std::isfinite(static_cast<T>(*options.scale))) {
    detail::fail<ArgumentError>(detail::kOp, "scale is not finite", std::to_string(*options.scale),
                                "a finite number");
  }
  Variable<T> seen_k = k;
  Variable<T> seen_v = v;
  detail::zero_hidden_keys(mask, options.causal, seen_k, seen_v);
  return detail::attend_in_blocks(q, seen_k, seen_v, mask, options);
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
