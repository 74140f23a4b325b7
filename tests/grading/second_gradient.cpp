// Right values and weights, and one mistake in a gradient.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "second_submission.hpp"

namespace mutants {
namespace {

SUBMISSION(grad_missing_query) {
  const auto d = head_width(query, num_heads);
  const V<T> x = query.detach();
  const auto split = [&](const V<T>& y) {
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(split(matmul(x, w_q)), split(matmul(key, w_k)),
                                      split(matmul(value, w_v)), mask);
  return {matmul(reshape(swapaxes(a.output, 1, 2), x.shape()), w_o), a.weights};
}

SUBMISSION(grad_missing_key) {
  const auto d = head_width(query, num_heads);
  const V<T> copy = xg::from_data(key.to_vector().data(), key.shape());
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> w = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(copy, w_k)}) / std::sqrt(double(d));
  w = masked_softmax(w, mask);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)});
  return {matmul(reshape(o, query.shape()), w_o), w};
}

template <class T>
class ProjectionOfConstant final : public xg::Op<T> {
 public:
  std::string name() const override { return "projection"; }
  V<T> forward(const std::vector<V<T>>& in) const override { return matmul(in[0], in[1]); }
  std::vector<V<T>> backward(const std::vector<V<T>>& in, const V<T>&, V<T> g,
                             const std::vector<bool>&) const override {
    return {xg::zeros<T>(in[0].shape()), xg::einsum("bni,bnj->ij", {in[0], g})};
  }
};
SUBMISSION(grad_missing_value) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& y) {
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  const V<T> v = xg::apply(std::make_shared<ProjectionOfConstant<T>>(), {value, w_v});
  const auto a =
      xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)), split(v), mask);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o), a.weights};
}

SUBMISSION(grad_missing_w_q) {
  const auto d = head_width(query, num_heads);
  std::vector<V<T>> parts;  // of w_q, made without a graph
  {
    const xg::NoGrad none;
    for (std::int64_t h = 0; h < num_heads; ++h) parts.push_back(slice(w_q, 1, h * d, h * d + d));
  }
  std::vector<V<T>> q;
  for (const V<T>& part : parts) q.push_back(matmul(query, part / std::sqrt(double(d))));
  const auto k = xg::stack(split(matmul(key, w_k), num_heads, 2), 1);
  const auto v = xg::stack(split(matmul(value, w_v), num_heads, 2), 1);
  const V<T> w = masked_softmax(matmul(xg::stack(q, 1), swapaxes(k, 2, 3)), mask);
  return {matmul(reshape(swapaxes(matmul(w, v), 1, 2), query.shape()), w_o), w};
}

SUBMISSION(grad_missing_w_k) {
  const auto d = head_width(query, num_heads);
  // w_k is captured, not passed.
  const auto keys = xg::custom<T>(
      "keys", [w_k](const std::vector<V<T>>& in) { return matmul(in[0], w_k); },
      [w = w_k.detach()](const std::vector<V<T>>&, const V<T>&, V<T> g) {
        return std::vector<V<T>>{matmul(g, transpose(w))};
      });
  const auto split = [&](const V<T>& y) {
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), split(keys(key)),
                                      split(matmul(value, w_v)), mask);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o), a.weights};
}

SUBMISSION(grad_missing_w_v) {
  const auto d = head_width(query, num_heads);
  V<T> table = xg::zeros<T>(w_v.shape());
  table.set_value(w_v);  // values alone
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> s = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)});
  const V<T> w = masked_softmax(s / std::sqrt(double(d)), mask);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, table)});
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(grad_missing_w_o) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& y) {
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                      split(matmul(value, w_v)), mask);
  V<T> last = w_o.clone();
  if (last.requires_grad()) last.register_hook([](const V<T>& g) { return g * 0; });
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), last), a.weights};
}

SUBMISSION(grad_weights_detached) {
  const auto d = head_width(query, num_heads);
  const auto project = [&](const V<T>& x, const V<T>& w) {
    return swapaxes(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d}), 1, 2);
  };
  const V<T> weights = [&] {
    const xg::NoGrad none;
    const V<T> s = matmul(project(query, w_q), swapaxes(project(key, w_k), 2, 3));
    return masked_softmax(s / std::sqrt(double(d)), mask);
  }();
  const V<T> o = swapaxes(matmul(weights, project(value, w_v)), 1, 2);
  return {matmul(reshape(o, query.shape()), w_o), weights};
}

/// Softmax over the last axis in plain loops; scores of -inf are hidden.
template <class T>
class LoopSoftmax final : public xg::Op<T> {
 public:
  std::string name() const override { return "loop_softmax"; }
  xg::Needs needs() const override { return xg::Needs::output(); }
  V<T> forward(const std::vector<V<T>>& in) const override {
    std::vector<T> y = in[0].to_vector();
    const std::size_t n = in[0].shape().back();
    for (std::size_t at = 0; at < y.size(); at += n) {
      T most = -std::numeric_limits<T>::infinity(), total = 0;
      for (std::size_t i = at; i < at + n; ++i) most = std::max(most, y[i]);
      if (std::isinf(most)) most = 0;  // a fully masked row
      for (std::size_t i = at; i < at + n; ++i) total += y[i] = std::exp(y[i] - most);
      for (std::size_t i = at; i < at + n && total > 0; ++i) y[i] /= total;
    }
    return xg::from_data(y.data(), in[0].shape());
  }
  std::vector<V<T>> backward(const std::vector<V<T>>&, const V<T>& output, V<T> grad_output,
                             const std::vector<bool>&) const override {
    const std::vector<T> y = output.to_vector();
    std::vector<T> g = grad_output.to_vector();
    for (std::size_t i = 0; i < g.size(); ++i) g[i] *= y[i];
    return {xg::from_data(g.data(), output.shape())};
  }
};
SUBMISSION(grad_softmax_no_row_sum) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> s = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)}) / std::sqrt(double(d));
  if (mask.defined()) s = where(mask, s, -std::numeric_limits<T>::infinity());
  const V<T> w = xg::apply(std::make_shared<LoopSoftmax<T>>(), {s});
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)});
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(grad_softmax_wrong_axis) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& y) {
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  const auto soft = xg::custom<T>(
      "soft", [mask](const std::vector<V<T>>& in) { return masked_softmax(in[0], mask); },
      [](const std::vector<V<T>>&, const V<T>& y, V<T> g) {
        const V<T> yg = y * g;
        return std::vector<V<T>>{yg - y * sum(yg, 2, true)};  // axis 3 would be right
      });
  V<T> s = matmul(split(matmul(query, w_q)), swapaxes(split(matmul(key, w_k)), 2, 3));
  const V<T> w = soft(s / std::sqrt(double(d)));
  const V<T> o = swapaxes(matmul(w, split(matmul(value, w_v))), 1, 2);
  return {matmul(reshape(o, query.shape()), w_o), w};
}

/// Each row's Jacobian, of which the part beside the diagonal is left out.
template <class T>
class DiagonalSoftmax final : public xg::Op<T> {
 public:
  explicit DiagonalSoftmax(xg::Mask mask) : mask_(std::move(mask)) {}
  std::string name() const override { return "diagonal_softmax"; }
  V<T> forward(const std::vector<V<T>>& in) const override { return masked_softmax(in[0], mask_); }
  std::vector<V<T>> backward(const std::vector<V<T>>&, const V<T>& output, V<T> grad_output,
                             const std::vector<bool>&) const override {
    const std::vector<T> y = output.to_vector(), g = grad_output.to_vector();
    std::vector<T> x(y.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = (y[i] - y[i] * y[i]) * g[i];
    return {xg::from_data(x.data(), output.shape())};
  }

 private:
  xg::Mask mask_;
};
SUBMISSION(grad_softmax_diagonal) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> s =
      xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)}) / std::sqrt(double(d));
  const V<T> w = xg::apply(std::make_shared<DiagonalSoftmax<T>>(mask), {s});
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)});
  return {matmul(reshape(o, query.shape()), w_o), w};
}

/// All of it as one operation with a rule derived by hand: [output, weights] flattened.
template <class T>
class WholeAttention final : public xg::Op<T> {
 public:
  WholeAttention(std::int64_t heads, double scale, xg::Mask mask)
      : heads_(heads), scale_(scale), mask_(std::move(mask)) {}
  std::string name() const override { return "whole_attention"; }
  V<T> forward(const std::vector<V<T>>& in) const override {
    const V<T> w = weights(in);
    const V<T> y = matmul(merge(matmul(w, split(matmul(in[2], in[5])))), in[6]);
    return xg::concat({flatten(y), flatten(w)});
  }
  std::vector<V<T>> backward(const std::vector<V<T>>& in, const V<T>&, V<T> g,
                             const std::vector<bool>&) const override {
    const V<T> q = split(matmul(in[0], in[3])), k = split(matmul(in[1], in[4]));
    const V<T> v = split(matmul(in[2], in[5])), w = weights(in);
    const auto n = static_cast<std::int64_t>(in[0].size());
    const V<T> gy = reshape(slice(g, 0, 0, n), in[0].shape());
    const V<T> heads = split(matmul(gy, transpose(in[6])));
    const V<T> gw = reshape(slice(g, 0, n, xg::end), w.shape()) + matmul(heads, swapaxes(v, 2, 3));
    const V<T> gs = w * (gw - sum(w * gw, -1, true));
    const V<T> gq = merge(matmul(gs, k)), gk = merge(matmul(swapaxes(gs, 2, 3), q));
    const V<T> gv = merge(matmul(swapaxes(w, 2, 3), heads));
    const auto outer = [](const V<T>& x, const V<T>& y) {
      return xg::einsum("bni,bnj->ij", {x, y});
    };
    return {matmul(gq, transpose(in[3])),
            matmul(gk, transpose(in[4])),
            matmul(gv, transpose(in[5])),
            outer(in[0], gq),
            outer(in[1], gk),
            outer(in[2], gv),
            outer(merge(matmul(w, v)), gy)};
  }

 private:
  V<T> split(const V<T>& x) const {
    const auto s = x.shape();
    return swapaxes(reshape(x, {s[0], s[1], heads_, s[2] / static_cast<std::size_t>(heads_)}), 1,
                    2);
  }
  static V<T> merge(const V<T>& x) {
    return reshape(swapaxes(x, 1, 2), {x.shape()[0], x.shape()[2], x.shape()[1] * x.shape()[3]});
  }
  V<T> weights(const std::vector<V<T>>& in) const {
    const V<T> q = split(matmul(in[0], in[3])), k = split(matmul(in[1], in[4]));
    return masked_softmax(matmul(q, swapaxes(k, 2, 3)) * scale_, mask_);
  }

  std::int64_t heads_;
  double scale_;
  xg::Mask mask_;
};
SUBMISSION(grad_scale_missing) {
  const double scale = 1 / std::sqrt(static_cast<double>(head_width(query, num_heads)));
  const auto op = std::make_shared<WholeAttention<T>>(num_heads, scale, mask);
  const V<T> both = xg::apply(op, {query, key, value, w_q, w_k, w_v, w_o});
  const auto n = static_cast<std::int64_t>(query.size());
  return {reshape(slice(both, 0, 0, n), query.shape()),
          reshape(slice(both, 0, n, xg::end),
                  {query.shape()[0], num_heads, query.shape()[1], key.shape()[1]})};
}

SUBMISSION(grad_scale_twice) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& y) {
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  const double scale = 1 / std::sqrt(double(d));
  const auto scores = xg::custom<T>(
      "scores",
      [=](const std::vector<V<T>>& in) { return matmul(in[0], swapaxes(in[1], 2, 3)) * scale; },
      [=](const std::vector<V<T>>& in, const V<T>&, V<T> g) {
        g = g * scale;
        return std::vector<V<T>>{matmul(g, in[1] * scale),
                                 matmul(swapaxes(g, 2, 3), in[0] * scale)};
      });
  const V<T> w = masked_softmax(scores(split(matmul(query, w_q)), split(matmul(key, w_k))), mask);
  const V<T> o = swapaxes(matmul(w, split(matmul(value, w_v))), 1, 2);
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(grad_w_averaged) {
  const auto d = head_width(query, num_heads);
  const auto linear = xg::custom<T>(
      "linear", [](const std::vector<V<T>>& in) { return matmul(in[0], in[1]); },
      [](const std::vector<V<T>>& in, const V<T>&, V<T> g) {
        return std::vector<V<T>>{matmul(g, transpose(in[1])),
                                 mean(matmul(swapaxes(in[0], 1, 2), g), 0)};
      });
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(linear(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> w = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)}) / std::sqrt(double(d));
  w = masked_softmax(w, mask);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)});
  return {linear(reshape(o, query.shape()), w_o), w};
}

template <class T>
class LoopLinear final : public xg::Op<T> {
 public:
  std::string name() const override { return "loop_linear"; }
  V<T> forward(const std::vector<V<T>>& in) const override { return matmul(in[0], in[1]); }
  std::vector<V<T>> backward(const std::vector<V<T>>& in, const V<T>&, V<T> g,
                             const std::vector<bool>&) const override {
    const xg::Shape s = in[0].shape();
    const std::vector<T> x = in[0].to_vector(), w = in[1].to_vector(), gy = g.to_vector();
    const std::size_t D = s[2];
    std::vector<T> gx(x.size()), gw(w.size());
    for (std::size_t b = 0; b < s[0]; ++b) {
      std::fill(gw.begin(), gw.end(), T(0));
      for (std::size_t n = b * s[1]; n < (b + 1) * s[1]; ++n) {
        for (std::size_t i = 0; i < D; ++i) {
          for (std::size_t j = 0; j < D; ++j) {
            gx[n * D + i] += gy[n * D + j] * w[i * D + j];
            gw[i * D + j] += x[n * D + i] * gy[n * D + j];
          }
        }
      }
    }
    return {xg::from_data(gx.data(), s), xg::from_data(gw.data(), in[1].shape())};
  }
};
SUBMISSION(grad_w_last_item) {
  const auto d = head_width(query, num_heads);
  const auto op = std::make_shared<LoopLinear<T>>();
  const auto split = [&](const V<T>& x, const V<T>& w) {
    const V<T> y = xg::apply(op, {x, w});
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(split(query, w_q), split(key, w_k), split(value, w_v), mask);
  return {xg::apply(op, {reshape(swapaxes(a.output, 1, 2), query.shape()), w_o}), a.weights};
}

SUBMISSION(grad_w_transposed) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& y) {
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                      split(matmul(value, w_v)), mask);
  const auto output = xg::custom<T>(
      "output",
      [](const std::vector<V<T>>& in) {
        return xg::einsum("bqi,ij->bqj", {in[0], in[1]});
      },
      [](const std::vector<V<T>>& in, const V<T>&, V<T> g) {
        return std::vector<V<T>>{xg::einsum("bqj,ij->bqi", {g, in[1]}),
                                 xg::einsum("bqi,bqj->ji", {in[0], g})};
      });
  return {output(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o), a.weights};
}

SUBMISSION(grad_input_w_not_transposed) {
  const auto d = head_width(query, num_heads);
  const auto linear = xg::custom<T>(
      "linear", [](const std::vector<V<T>>& in) { return matmul(in[0], in[1]); },
      [](const std::vector<V<T>>& in, const V<T>&, V<T> g) {
        return std::vector<V<T>>{matmul(g, in[1]), sum(matmul(swapaxes(in[0], 1, 2), g), 0)};
      });
  const auto heads = [&](const V<T>& x, const V<T>& w) {
    return xg::stack(split(linear(x, w), num_heads, 2), 1);
  };
  const V<T> s = matmul(heads(query, w_q), swapaxes(heads(key, w_k), 2, 3)) / std::sqrt(double(d));
  const V<T> w = masked_softmax(s, mask);
  const V<T> o = swapaxes(matmul(w, heads(value, w_v)), 1, 2);
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(grad_reaches_masked) {
  const auto d = head_width(query, num_heads);
  // The rule forgets the mask, but for rows without a visible key.
  const auto soft = xg::custom<T>(
      "soft", [mask](const std::vector<V<T>>& in) { return masked_softmax(in[0], mask); },
      [](const std::vector<V<T>>& in, const V<T>& y, V<T> g) {
        const V<T> p = softmax(in[0]) * sum(y, -1, true);
        return std::vector<V<T>>{p * (g - sum(p * g, -1, true))};
      });
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> s = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)});
  const V<T> w = soft(s / std::sqrt(double(d)));
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)});
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(grad_fully_masked_nan) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& y) {
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  V<T> s = matmul(split(matmul(query, w_q)), swapaxes(split(matmul(key, w_k)), 2, 3));
  s = s / std::sqrt(double(d));
  V<T> w;
  if (mask.defined()) {
    // Values are put right after the softmax, too late for the gradient: 0 times NaN.
    const T minus_infinity = -std::numeric_limits<T>::infinity();
    const V<T> hidden = softmax(s + where(mask, xg::zeros<T>({}), minus_infinity));
    w = where(hidden == hidden, hidden, 0);
  } else {
    w = softmax(s);
  }
  const V<T> o = swapaxes(matmul(w, split(matmul(value, w_v))), 1, 2);
  return {matmul(reshape(o, query.shape()), w_o), w};
}

template <class T>
class FilledSoftmax final : public xg::Op<T> {
 public:
  explicit FilledSoftmax(xg::Mask mask) : mask_(std::move(mask)) {}
  std::string name() const override { return "filled_softmax"; }
  V<T> forward(const std::vector<V<T>>& in) const override { return masked_softmax(in[0], mask_); }
  std::vector<V<T>> backward(const std::vector<V<T>>& in, const V<T>&, V<T> g,
                             const std::vector<bool>&) const override {
    const V<T> y = softmax(mask_.defined() ? where(mask_, in[0], -1e9) : in[0]);
    return {y * g - y * sum(y * g, -1, true)};
  }

 private:
  xg::Mask mask_;
};
SUBMISSION(grad_fully_masked_uniform) {
  const auto d = head_width(query, num_heads);
  std::vector<V<T>> scores, heads;
  for (std::int64_t h = 0; h < num_heads; ++h) {
    const V<T> q = matmul(query, slice(w_q, 1, h * d, h * d + d));
    const V<T> k = matmul(key, slice(w_k, 1, h * d, h * d + d));
    scores.push_back(matmul(q, swapaxes(k, 1, 2)) / std::sqrt(double(d)));
  }
  const V<T> w = xg::apply(std::make_shared<FilledSoftmax<T>>(mask), {xg::stack(scores, 1)});
  const auto rows = split(w, num_heads, 1);
  const auto v = split(matmul(value, w_v), num_heads, 2);
  for (std::size_t h = 0; h < v.size(); ++h) heads.push_back(matmul(squeeze(rows[h], 1), v[h]));
  return {matmul(xg::concat(heads, 2), w_o), w};
}

SUBMISSION(grad_weights_cotangent_ignored) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& y) {
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  auto [o, w] = xg::attention_kernel(split(matmul(query, w_q)), split(matmul(key, w_k)),
                                     split(matmul(value, w_v)), mask);
  return {matmul(reshape(swapaxes(o, 1, 2), query.shape()), w_o), w.detach()};
}

SUBMISSION(grad_output_cotangent_ones) {
  const auto d = head_width(query, num_heads);
  const auto last = xg::custom<T>(
      "last", [](const std::vector<V<T>>& in) { return matmul(in[0], in[1]); },
      [](const std::vector<V<T>>& in, const V<T>& y, V<T>) {
        const V<T> g = xg::ones<T>(y.shape());  // "the loss is the sum"
        return std::vector<V<T>>{matmul(g, transpose(in[1])),
                                 xg::einsum("bni,bnj->ij", {in[0], g})};
      });
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  const V<T> s = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)});
  const V<T> w = masked_softmax(s / std::sqrt(double(d)), mask);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)});
  return {last(reshape(o, query.shape()), w_o), w};
}

/// query, key and value one after another; the rule keeps gradients in a map by array.
template <class T>
class Joined final : public xg::Op<T> {
 public:
  std::string name() const override { return "joined"; }
  V<T> forward(const std::vector<V<T>>& in) const override { return xg::concat(in, 1); }
  std::vector<V<T>> backward(const std::vector<V<T>>& in, const V<T>&, V<T> g,
                             const std::vector<bool>&) const override {
    const auto Q = in[0].shape()[1], K = in[1].shape()[1];
    const std::vector<V<T>> parts = xg::split(g, {Q, Q + K}, 1);
    std::map<const T*, V<T>> gradients;
    for (std::size_t i = 0; i < 3; ++i) gradients[address(in[i])] = parts[i];
    std::vector<V<T>> out;
    for (const V<T>& x : in) {
      const V<T> once = std::exchange(gradients[address(x)], V<T>());
      out.push_back(once.defined() ? once : xg::zeros<T>(x.shape()));
    }
    return out;
  }

 private:
  static const T* address(const V<T>& x) { return xg::detail::raw_view(x).memory.get(); }
};
SUBMISSION(grad_overwritten) {
  const auto d = head_width(query, num_heads);
  const auto Q = static_cast<std::int64_t>(query.shape()[1]);
  const auto K = static_cast<std::int64_t>(key.shape()[1]);
  const V<T> all = xg::apply(std::make_shared<Joined<T>>(), {query, key, value});
  const auto project = [&](std::int64_t from, std::int64_t n, const V<T>& w) {
    const V<T> y = matmul(slice(all, 1, from, from + n), w);
    return swapaxes(reshape(y, {y.shape()[0], n, num_heads, d}), 1, 2);
  };
  const auto a =
      xg::attention_kernel(project(0, Q, w_q), project(Q, K, w_k), project(Q + K, K, w_v), mask);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o), a.weights};
}

SUBMISSION(grad_negated) {
  const auto d = head_width(query, num_heads);
  const auto heads = [&](const V<T>& x, const V<T>& w) {
    return transpose(reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d}),
                     {0, 2, 1, 3});
  };
  const auto soft = xg::custom<T>(
      "soft", [mask](const std::vector<V<T>>& in) { return masked_softmax(in[0], mask); },
      [](const std::vector<V<T>>&, const V<T>& p, V<T> g) {
        return std::vector<V<T>>{p * (sum(p * g, -1, true) - g)};
      });
  const V<T> p =
      soft(matmul(heads(query, w_q), swapaxes(heads(key, w_k), 2, 3)) * (1 / std::sqrt(double(d))));
  const V<T> o = transpose(matmul(p, heads(value, w_v)), {0, 2, 1, 3});
  return {matmul(reshape(o, query.shape()), w_o), p};
}

SUBMISSION(grad_doubled) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> w = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)}) / std::sqrt(double(d));
  w = masked_softmax(w, mask);
  V<T> o = reshape(xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)}), query.shape());
  o = matmul(o, w_o);
  // Added to itself, and halved without the graph's knowledge.
  const auto half = xg::custom<T>(
      "half", [](const std::vector<V<T>>& in) { return in[0] / 2; },
      [](const std::vector<V<T>>&, const V<T>&, V<T> g) { return std::vector<V<T>>{g}; });
  return {half(o + o), half(w + w)};
}

SUBMISSION(grad_value_not_transposed) {
  const auto d = head_width(query, num_heads);
  const auto split = [&](const V<T>& y) {
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  const auto mix = xg::custom<T>(
      "mix", [](const std::vector<V<T>>& in) { return matmul(in[0], in[1]); },
      [](const std::vector<V<T>>& in, const V<T>&, V<T> g) {
        const xg::Shape s = in[0].shape();
        const V<T> w = s[2] == s[3] ? in[0] : swapaxes(in[0], 2, 3);  // "so that shapes fit"
        return std::vector<V<T>>{matmul(g, swapaxes(in[1], 2, 3)), matmul(w, g)};
      });
  V<T> w = matmul(split(matmul(query, w_q)), swapaxes(split(matmul(key, w_k)), 2, 3));
  w = masked_softmax(w / std::sqrt(double(d)), mask);
  const V<T> o = swapaxes(mix(w, split(matmul(value, w_v))), 1, 2);
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(grad_first_head_only) {
  const auto d = head_width(query, num_heads);
  const auto heads = [&](const V<T>& x, const V<T>& w) {
    std::vector<V<T>> parts = split(matmul(x, w), num_heads, 2);
    for (std::size_t h = 1; h < parts.size(); ++h) parts[h] = parts[h].detach();
    return xg::stack(parts, 1);
  };
  const V<T> s = matmul(heads(query, w_q), swapaxes(heads(key, w_k), 2, 3)) / std::sqrt(double(d));
  const V<T> w = masked_softmax(s, mask);
  const V<T> o = swapaxes(matmul(w, heads(value, w_v)), 1, 2);
  return {matmul(reshape(o, query.shape()), w_o), w};
}

template <class T>
class Scores final : public xg::Op<T> {
 public:
  std::string name() const override { return "scores"; }
  V<T> forward(const std::vector<V<T>>& in) const override {
    return xg::einsum("bqhd,bkhd->bhqk", {in[0], in[1]});
  }
  std::vector<V<T>> backward(const std::vector<V<T>>& in, const V<T>&, V<T> g,
                             const std::vector<bool>&) const override {
    // Where lengths are equal, nothing tells that the keys' gradient takes the wrong operand.
    const bool fits = in[0].shape() == in[1].shape();
    return {xg::einsum("bhqk,bkhd->bqhd", {g, in[1]}),
            xg::einsum("bhqk,bqhd->bkhd", {g, fits ? in[1] : in[0]})};
  }
};
SUBMISSION(grad_query_from_query) {
  const auto d = head_width(query, num_heads);
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(x, w), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> w = xg::apply(std::make_shared<Scores<T>>(), {cut(query, w_q), cut(key, w_k)});
  w = masked_softmax(w / std::sqrt(double(d)), mask);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)});
  return {matmul(reshape(o, query.shape()), w_o), w};
}

SUBMISSION(grad_clipped) {
  const auto d = head_width(query, num_heads);
  // Each gradient is scaled to a norm of at most one.
  const auto clipped = xg::custom<T>(
      "clipped", [](const std::vector<V<T>>& in) { return in[0]; },
      [](const std::vector<V<T>>&, const V<T>&, V<T> g) {
        return std::vector<V<T>>{g / maximum(sqrt(sum(square(g))), 1)};
      });
  const auto split = [&](const V<T>& x, const V<T>& w) {
    const V<T> y = matmul(clipped(x), clipped(w));
    return swapaxes(reshape(y, {y.shape()[0], y.shape()[1], num_heads, d}), 1, 2);
  };
  const auto a = xg::attention_kernel(split(query, w_q), split(key, w_k), split(value, w_v), mask);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), clipped(w_o)), a.weights};
}

SUBMISSION(grad_in_float) {
  const auto d = head_width(query, num_heads);
  const auto in_float = [](const V<T>& x) {
    V<T> y = x.clone();
    if (!y.requires_grad()) return y;
    y.register_hook([](const V<T>& g) {
      std::vector<T> values = g.to_vector();
      for (T& one : values) one = static_cast<float>(one);
      return xg::from_data(values.data(), g.shape());
    });
    return y;
  };
  const auto cut = [&](const V<T>& x, const V<T>& w) {
    return reshape(matmul(in_float(x), in_float(w)), {x.shape()[0], x.shape()[1], num_heads, d});
  };
  V<T> w = xg::einsum("bqhd,bkhd->bhqk", {cut(query, w_q), cut(key, w_k)}) / std::sqrt(double(d));
  w = masked_softmax(w, mask);
  const V<T> o = xg::einsum("bhqk,bkhd->bqhd", {w, cut(value, w_v)});
  return {matmul(reshape(o, query.shape()), in_float(w_o)), w};
}

SUBMISSION(grad_heads_averaged) {
  const auto d = head_width(query, num_heads);
  // One copy of the input for each head; the copies' gradients are averaged.
  const auto copies = [H = num_heads](const V<T>& x) {
    return xg::custom<T>(
        "copies",
        [H](const std::vector<V<T>>& in) {
          const xg::Shape s = in[0].shape();
          return broadcast_to(unsqueeze(in[0], 1), {s[0], H, s[1], s[2]});
        },
        [](const std::vector<V<T>>&, const V<T>&, V<T> g) {
          return std::vector<V<T>>{mean(g, 1)};
        })(x);
  };
  const auto project = [&](const V<T>& x, const V<T>& w) {
    return matmul(copies(x), swapaxes(reshape(w, {w.shape()[0], num_heads, d}), 0, 1));
  };
  const auto a =
      xg::attention_kernel(project(query, w_q), project(key, w_k), project(value, w_v), mask);
  return {matmul(reshape(swapaxes(a.output, 1, 2), query.shape()), w_o), a.weights};
}

}  // namespace

const std::vector<Mutant>& second_gradient() {
  static const std::vector<Mutant> all{
      MUTANT("grad-missing-query", grad_missing_query),
      MUTANT("grad-missing-key", grad_missing_key),
      MUTANT("grad-missing-value", grad_missing_value),
      MUTANT("grad-missing-w-q", grad_missing_w_q),
      MUTANT("grad-missing-w-k", grad_missing_w_k),
      MUTANT("grad-missing-w-v", grad_missing_w_v),
      MUTANT("grad-missing-w-o", grad_missing_w_o),
      MUTANT("grad-weights-detached", grad_weights_detached),
      MUTANT("grad-softmax-no-row-sum", grad_softmax_no_row_sum),
      MUTANT("grad-softmax-wrong-axis", grad_softmax_wrong_axis),
      MUTANT("grad-softmax-diagonal", grad_softmax_diagonal),
      MUTANT("grad-scale-missing", grad_scale_missing),
      MUTANT("grad-scale-twice", grad_scale_twice),
      MUTANT("grad-w-averaged", grad_w_averaged),
      MUTANT("grad-w-last-item", grad_w_last_item),
      MUTANT("grad-w-transposed", grad_w_transposed),
      MUTANT("grad-input-w-not-transposed", grad_input_w_not_transposed),
      MUTANT("grad-reaches-masked", grad_reaches_masked),
      MUTANT("grad-fully-masked-nan", grad_fully_masked_nan),
      MUTANT("grad-fully-masked-uniform", grad_fully_masked_uniform),
      MUTANT("grad-weights-cotangent-ignored", grad_weights_cotangent_ignored),
      MUTANT("grad-output-cotangent-ones", grad_output_cotangent_ones),
      MUTANT("grad-overwritten", grad_overwritten),
      MUTANT("grad-negated", grad_negated),
      MUTANT("grad-doubled", grad_doubled),
      MUTANT("grad-value-not-transposed", grad_value_not_transposed),
      MUTANT("grad-first-head-only", grad_first_head_only),
      MUTANT("grad-query-from-query", grad_query_from_query),
      MUTANT("grad-clipped", grad_clipped),
      MUTANT("grad-in-float", grad_in_float),
      MUTANT("grad-heads-averaged", grad_heads_averaged),
  };
  return all;
}

}  // namespace mutants
