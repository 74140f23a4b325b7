#include <xgrad/ops/layer_norm.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/loops.hpp>
#include <xgrad/ops/reduce.hpp>

namespace xg {
namespace detail {
namespace {

/// f(first) + ... + f(first + n - 1), by halves.
template <class T, class F>
T sum_of(std::int64_t first, std::int64_t n, F f) {
  constexpr std::int64_t kLeaf = 128;
  if (n > kLeaf) {
    const std::int64_t half = n / 2 / 8 * 8;
    return sum_of<T>(first, half, f) + sum_of<T>(first + half, n - half, f);
  }
  // Eight independent chains, which the compiler keeps in one vector.
  T lane[8] = {};
  std::int64_t i = first;
  const std::int64_t last = first + n;
  for (; i + 8 <= last; i += 8) {
    for (int k = 0; k < 8; ++k) lane[k] += f(i + k);
  }
  for (int k = 0; i < last; ++i, ++k) lane[k] += f(i);
  for (int width = 4; width > 0; width /= 2) {
    for (int k = 0; k < width; ++k) lane[k] += lane[k + width];
  }
  return lane[0];
}

/// A row that does not lie dense.
template <class T>
struct Row {
  T* data;
  std::int64_t stride;
  T& operator[](std::int64_t i) const { return data[i * stride]; }
};

template <class T>
struct Moments {
  T mean;
  T inverse;  // 1 / sqrt(var + eps)

  template <class R>
  Moments(const R& x, std::int64_t n, T eps) {
    // Relative to the first element, so that a constant row deviates by exactly 0.
    const T base = x[0];
    const T count = static_cast<T>(n);
    mean = base + sum_of<T>(0, n, [&](std::int64_t i) { return x[i] - base; }) / count;
    const T squares = sum_of<T>(0, n, [&](std::int64_t i) {
      const T d = x[i] - mean;
      return d * d;
    });
    inverse = T(1) / std::sqrt(squares / count + eps);
  }
};

/// n = (x - mean) / sqrt(var + eps) along the last axis. Differentiable.
template <class T>
Variable<T> normalized(const Variable<T>& x, double eps);

/// dx = r (h - mean(h) - n mean(h n)) for the inputs g, x and weight, with h = g weight; without a
/// weight, h = g. As a map from h to dx it is symmetric.
template <class T>
class LayerNormBackward final : public Primitive<T> {
 public:
  using value_type = T;
  explicit LayerNormBackward(double eps) : eps_(eps) {}
  const char* name() const noexcept override { return "layer_norm_backward"; }
  Needs needs() const noexcept override { return Needs::all(); }

  Array<T> forward(const Inputs<T>& in) const override {
    const Array<T>& g = in[0];
    const Array<T>& x = in[1];
    Array<T> out{Extents(x.shape())};
    const std::size_t axis = x.dim() - 1;
    const std::int64_t n = x.extent(axis);
    if (n == 0) return out;
    static const T one = 1;
    const bool weighted = in.size() == 3;
    const Row<const T> w{weighted ? in[2].data() : &one, weighted ? in[2].stride(0) : 0};
    const bool dense =
        n == 1 || (g.stride(axis) == 1 && x.stride(axis) == 1 && (!weighted || w.stride == 1));
    for_each_line_in_parallel<3>(
        x.shape(), {out.strides(), g.strides(), x.strides()}, axis, [&](auto at) {
          T* dx = out.data() + at[0];
          const Row<const T> gi{g.data() + at[1], g.stride(axis)};
          const Row<const T> xi{x.data() + at[2], x.stride(axis)};
          if (dense) {
            kernels<T>().layer_norm_backward(gi.data, xi.data, weighted ? w.data : nullptr, dx, n,
                                             static_cast<T>(eps_));
            return;
          }
          const Moments<T> m(xi, n, static_cast<T>(eps_));
          const T count = static_cast<T>(n);
          const auto h = [&](std::int64_t i) { return gi[i] * w[i]; };
          const auto hn = [&](std::int64_t i) { return h(i) * ((xi[i] - m.mean) * m.inverse); };
          const T mean_h = sum_of<T>(0, n, h) / count;
          const T mean_hn = sum_of<T>(0, n, hn) / count;
          for (std::int64_t i = 0; i < n; ++i) {
            dx[i] = m.inverse * (h(i) - mean_h - (xi[i] - m.mean) * m.inverse * mean_hn);
          }
        });
    return out;
  }

  void backward(Pullback<T>& p) const override {
    const Variable<T> v = p.take_grad();
    const Variable<T> g = p.input(0);
    const Variable<T> x = p.input(1);
    const bool weighted = p.inputs() == 3;
    const auto unweighted = [&](const Variable<T>& h) {
      return record(make<LayerNormBackward>(eps_), h, x);
    };
    // <v, P(g weight)> = <P(v) weight, g> with the symmetric map P.
    const Variable<T> pv = unweighted(v);
    if (p.needs(0)) p.give(0, weighted ? chain(pv, p.input(2)) : pv);
    if (weighted && p.needs(2)) p.give(2, sum_to(chain(pv, g), p.shape(2)));
    if (p.needs(1)) {
      // P depends on x through r, whose derivative is -r^2 n / D, and through n, whose is P.
      const auto row_mean = [](Variable<T> a) { return mean(std::move(a), -1, true); };
      const Variable<T> n = normalized(x, eps_);
      const Variable<T> centred = x - row_mean(x);
      const Variable<T> r = T(1) / sqrt(row_mean(centred * centred) + eps_);
      const Variable<T> h = weighted ? chain(g, p.input(2)) : g;
      const Variable<T> through_r = chain(row_mean(chain(v, p.output())), r * n);
      const Variable<T> through_n =
          chain(v, row_mean(chain(h, n))) + chain(row_mean(chain(v, n)), h);
      p.give(1, -(through_r + chain(unweighted(through_n), r)));
    }
  }

 private:
  double eps_;
};

/// dweight = sum over the rows of g n, for the inputs g and x; by halves.
template <class T>
class LayerNormWeightGradient final : public Primitive<T> {
 public:
  using value_type = T;
  explicit LayerNormWeightGradient(double eps) : eps_(eps) {}
  const char* name() const noexcept override { return "layer_norm_weight_gradient"; }
  Needs needs() const noexcept override { return Needs::inputs({0, 1}); }

  Array<T> forward(const Inputs<T>& in) const override {
    const Array<T>& g = in[0];
    const Array<T>& x = in[1];
    const std::size_t axis = x.dim() - 1;
    const std::int64_t n = x.extent(axis);
    Extents shape(1, n);
    Array<T> out(std::move(shape));
    std::fill_n(out.data(), n, T(0));
    if (x.size() == 0) return out;
    // partial[k] holds the sum of 2^k blocks of rows, as the digits of a binary number do.
    std::vector<std::vector<T>> partial;
    std::int64_t rows = 0;
    const auto carry = [&] {
      std::size_t level = 0;
      for (std::int64_t block = rows / kBlock - 1; block % 2 == 1; block /= 2) {
        add(out.data(), partial[level++].data(), n);
      }
      if (level == partial.size()) partial.emplace_back(static_cast<std::size_t>(n));
      std::copy_n(out.data(), n, partial[level].data());
      std::fill_n(out.data(), n, T(0));
    };
    const bool dense = n == 1 || (g.stride(axis) == 1 && x.stride(axis) == 1);
    for_each_line<2>(x.shape(), {x.strides(), g.strides()}, axis, [&](auto at) {
      T* sum = out.data();
      const Row<const T> xi{x.data() + at[0], x.stride(axis)};
      const Row<const T> gi{g.data() + at[1], g.stride(axis)};
      if (dense) {
        kernels<T>().layer_norm_weight_gradient(gi.data, xi.data, sum, n, static_cast<T>(eps_));
      } else {
        const Moments<T> m(xi, n, static_cast<T>(eps_));
        for (std::int64_t i = 0; i < n; ++i) sum[i] += gi[i] * ((xi[i] - m.mean) * m.inverse);
      }
      if (++rows % kBlock == 0) carry();
    });
    for (std::size_t level = 0; level < partial.size(); ++level) {
      if ((rows / kBlock >> level & 1) != 0) add(out.data(), partial[level].data(), n);
    }
    return out;
  }

  void backward(Pullback<T>& p) const override {
    const Variable<T> v = p.take_grad();
    // <v, sum g n> = <v n, g>; as a function of x, n's rule with the weight v.
    if (p.needs(0)) p.give(0, chain(v, normalized(p.input(1), eps_)));
    if (p.needs(1)) {
      p.give(1, record(make<LayerNormBackward<T>>(eps_), p.input(0), p.input(1), v));
    }
  }

 private:
  static constexpr std::int64_t kBlock = 32;
  static void add(T* sum, const T* more, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) sum[i] += more[i];
  }

  double eps_;
};

/// For the inputs x, weight and bias; for x alone, its normalised rows.
template <class T>
class LayerNorm final : public Primitive<T> {
 public:
  using value_type = T;
  explicit LayerNorm(double eps) : eps_(eps) {}
  const char* name() const noexcept override { return "layer_norm"; }
  Needs needs() const noexcept override { return Needs::inputs({0, 1}); }

  Array<T> forward(const Inputs<T>& in) const override {
    const Array<T>& x = in[0];
    Array<T> out{Extents(x.shape())};
    const std::size_t axis = x.dim() - 1;
    const std::int64_t n = x.extent(axis);
    if (n == 0) return out;
    static const T one = 1;
    static const T zero = 0;
    const bool affine = in.size() == 3;
    const Row<const T> w{affine ? in[1].data() : &one, affine ? in[1].stride(0) : 0};
    const Row<const T> b{affine ? in[2].data() : &zero, affine ? in[2].stride(0) : 0};
    const bool dense =
        n == 1 || (x.stride(axis) == 1 && (!affine || (w.stride == 1 && b.stride == 1)));
    for_each_line_in_parallel<2>(x.shape(), {out.strides(), x.strides()}, axis, [&](auto at) {
      T* y = out.data() + at[0];
      const Row<const T> xi{x.data() + at[1], x.stride(axis)};
      if (dense) {
        kernels<T>().layer_norm(xi.data, affine ? w.data : nullptr, affine ? b.data : nullptr, y, n,
                                static_cast<T>(eps_));
        return;
      }
      const Moments<T> m(xi, n, static_cast<T>(eps_));
      for (std::int64_t i = 0; i < n; ++i) y[i] = (xi[i] - m.mean) * m.inverse * w[i] + b[i];
    });
    return out;
  }

  void backward(Pullback<T>& p) const override {
    const Variable<T> g = p.take_grad();
    const Variable<T> x = p.input(0);
    if (p.inputs() == 1) {
      p.give(0, record(make<LayerNormBackward<T>>(eps_), g, x));
      return;
    }
    if (p.needs(0)) p.give(0, record(make<LayerNormBackward<T>>(eps_), g, x, p.input(1)));
    if (p.needs(1)) p.give(1, record(make<LayerNormWeightGradient<T>>(eps_), g, x));
    if (p.needs(2)) p.give(2, sum_to(g, p.shape(2)));
  }

 private:
  double eps_;
};

template <class T>
Variable<T> normalized(const Variable<T>& x, double eps) {
  return record(make<LayerNorm<T>>(eps), x);
}

}  // namespace
}  // namespace detail

template <class T>
Variable<T> layer_norm(Variable<T> x, Variable<T> weight, Variable<T> bias, double eps) {
  const char* op = "layer_norm";
  const Extents& shape = detail::extents(op, x);
  if (shape.empty()) detail::fail<ShapeError>(op, "no axis to normalise", "shape ()", "(..., D)");
  const Extents row(1, shape.back());
  for (const auto* parameter : {&weight, &bias}) {
    if (detail::extents(op, *parameter) != row) {
      detail::fail<ShapeError>(op,
                               std::string("wrong ") + (parameter == &weight ? "weight" : "bias"),
                               "shape " + detail::text(detail::extents(op, *parameter)),
                               detail::text(row) + " for x of shape " + detail::text(shape));
    }
  }
  if (!(static_cast<T>(eps) > 0) || !std::isfinite(static_cast<T>(eps))) {
    detail::fail<ArgumentError>(op, "eps out of range", std::to_string(eps), "a positive number",
                                "without it a constant row has no finite gradient");
  }
  return detail::record(detail::make<detail::LayerNorm<T>>(eps), std::move(x), std::move(weight),
                        std::move(bias));
}

template Variable<float> layer_norm(Variable<float>, Variable<float>, Variable<float>, double);
template Variable<double> layer_norm(Variable<double>, Variable<double>, Variable<double>, double);

}  // namespace xg
