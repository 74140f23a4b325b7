#include <xgrad/ops/matmul.hpp>

#include <algorithm>
#include <limits>
#include <optional>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/autograd/thread_pool.hpp>
#include <xgrad/ops/blas_threads.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/gemm.hpp>
#include <xgrad/ops/loops.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace detail {
namespace {

Extents batch_of(const Extents& shape) { return Extents(shape.data(), shape.size() - 2); }

template <class T>
MatrixView<T> last_matrix(T* data, const Extents& shape, const Extents& strides) {
  const std::size_t i = shape.size() - 2;
  return {data, shape[i], shape[i + 1], strides[i], strides[i + 1]};
}

/// One batch axis, with its stride in each operand.
struct BatchAxis {
  std::int64_t extent;
  std::int64_t a, b, c;
};

/// Makes one product of many where memory allows: a batch axis becomes part of the rows, of the
/// columns, or, if the result is summed over it, of the inner extent.
template <class T>
bool absorb(const BatchAxis& axis, MatrixView<const T>& a, MatrixView<const T>& b,
            MatrixView<T>& c) {
  // Does the axis continue an axis of a matrix? One of extent 1 takes any stride.
  const auto continues = [](std::int64_t extent, std::int64_t& stride, std::int64_t batch) {
    if (extent == 1) stride = batch;
    return batch == extent * stride;
  };
  MatrixView<const T> x = a;
  MatrixView<const T> y = b;
  MatrixView<T> z = c;
  if (axis.c != 0 && axis.b == 0 && continues(x.rows, x.row_stride, axis.a) &&
      continues(z.rows, z.row_stride, axis.c)) {
    x.rows = z.rows = z.rows * axis.extent;
  } else if (axis.c == 0 && axis.a != 0 && axis.b != 0 && continues(x.cols, x.col_stride, axis.a) &&
             continues(y.rows, y.row_stride, axis.b)) {
    x.cols = y.rows = y.rows * axis.extent;
  } else {
    return false;
  }
  a = x;
  b = y;
  c = z;
  return true;
}

// In multiply-adds. Below the first, OpenBLAS uses one thread by itself; a range below the second
// costs more to hand to a thread than it saves.
constexpr double kLeastForBlasThreads = 1 << 15;
constexpr double kLeastRange = 1 << 18;
// A range of rows packs the whole other operand.
constexpr std::int64_t kLeastRows = 128;

/// How many parts of so much work make a range.
std::int64_t parts_in_range(double work) {
  return static_cast<std::int64_t>(kLeastRange / std::max(work, 1.0)) + 1;
}

template <class T>
struct Product {
  MatrixView<const T> a, b;
  MatrixView<T> c;

  /// c^T = b^T a^T
  Product transposed() const { return {b.transposed(), a.transposed(), c.transposed()}; }
  double work() const {
    return static_cast<double>(c.rows) * static_cast<double>(c.cols) * static_cast<double>(a.cols);
  }
};

/// c = alpha a b (+ c), a part of the rows, or of the columns, to each thread.
template <class T>
void multiply_in_parts(T alpha, const Product<T>& product, bool accumulate) {
  const Product<T> p = product.c.cols > product.c.rows ? product.transposed() : product;
  const double row = static_cast<double>(p.a.cols) * static_cast<double>(p.c.cols);
  const std::int64_t least = std::max(kLeastRows, parts_in_range(row));
  parallel_ranges(p.c.rows, least, 16, [&](std::int64_t begin, std::int64_t end) {
    gemm(alpha, p.a.rows_from(begin, end), p.b, accumulate, p.c.rows_from(begin, end));
  });
}

/// c = alpha a b at each position of the nest: several products at a time if there are enough.
template <class T>
void multiply_each(T alpha, const Product<T>& first, const LoopNest<3>& nest, bool accumulate) {
  const std::int64_t products = nest.positions();
  const auto at = [&](std::int64_t i) {
    const auto offset = nest.offsets(i);
    Product<T> p = first;
    p.c.data += offset[0];
    p.a.data += offset[1];
    p.b.data += offset[2];
    return p;
  };
  if (accumulate || products < num_threads()) {
    for (std::int64_t i = 0; i < products; ++i) multiply_in_parts(alpha, at(i), accumulate);
    return;
  }
  parallel_ranges(products, parts_in_range(first.work()), 1, [&](std::int64_t i, std::int64_t end) {
    for (; i < end; ++i) {
      const Product<T> p = at(i);
      gemm(alpha, p.a, p.b, false, p.c);
    }
  });
}

/// The i-th batch axis from the last.
template <class T>
std::pair<std::int64_t, std::int64_t> extent_and_stride(const Array<T>& x, std::size_t i) {
  if (i + 2 >= x.dim()) return {1, 0};
  const std::size_t axis = x.dim() - 3 - i;
  return {x.extent(axis), x.extent(axis) == 1 ? 0 : x.stride(axis)};
}

/// out = alpha a b, summed over the batch axes that `out` does not have.
template <class T>
void multiply(T alpha, const Array<T>& a, bool transpose_a, const Array<T>& b, bool transpose_b,
              Array<T>& out) {
  if (a.size() == 0 || b.size() == 0) {
    std::fill_n(out.data(), out.size(), T(0));
    return;
  }
  Product<T> p{last_matrix(a.data(), a.shape(), a.strides()),
               last_matrix(b.data(), b.shape(), b.strides()),
               last_matrix(out.data(), out.shape(), out.strides())};
  if (transpose_a) p.a = p.a.transposed();
  if (transpose_b) p.b = p.b.transposed();
  Extents extents;
  Extents strides_a;
  Extents strides_b;
  Extents strides_c;
  bool summed = false;
  bool absorbing = true;
  for (std::size_t i = 0; i + 2 < std::max({a.dim(), b.dim(), out.dim()}); ++i) {
    const auto [extent_a, stride_a] = extent_and_stride(a, i);
    const auto [extent_b, stride_b] = extent_and_stride(b, i);
    const auto [extent_c, stride_c] = extent_and_stride(out, i);
    const std::int64_t extent = extent_a != 1 ? extent_a : extent_b != 1 ? extent_b : extent_c;
    if (extent == 1) continue;
    absorbing = absorbing && absorb({extent, stride_a, stride_b, stride_c}, p.a, p.b, p.c);
    if (absorbing) continue;
    extents.push_back(extent);
    strides_a.push_back(stride_a);
    strides_b.push_back(stride_b);
    strides_c.push_back(stride_c);
    summed |= extent_c == 1;
  }
  std::optional<BlasOnOneThread> guard;
  if (p.work() >= kLeastForBlasThreads) guard.emplace();
  if (extents.empty()) return multiply_in_parts(alpha, p, false);
  const LoopNest<3> nest(extents, {strides_c, strides_a, strides_b});
  if (summed) std::fill_n(out.data(), out.size(), T(0));
  multiply_each(alpha, p, nest, summed);
}

}  // namespace

template <class T>
Extents memory_order(const Array<T>& x) {
  if (x.contiguous()) return {};
  Extents order;
  for (std::size_t i = 0; i < x.dim(); ++i) {
    if (x.extent(i) != 1 && x.stride(i) <= 0) return {};
    order.push_back(static_cast<std::int64_t>(i));
  }
  const auto stride = [&](std::int64_t i) {
    const auto axis = static_cast<std::size_t>(i);
    return x.extent(axis) == 1 ? std::numeric_limits<std::int64_t>::max() : x.stride(axis);
  };
  std::sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    return stride(i) != stride(j) ? stride(i) > stride(j) : i < j;
  });
  if (order.back() + 2 < static_cast<std::int64_t>(x.dim())) return {};
  return order;
}

template Extents memory_order(const Array<float>&);
template Extents memory_order(const Array<double>&);

namespace {

/// An operand, perhaps with its last two axes swapped.
template <class T>
struct Factor {
  Variable<T> x;
  bool transposed;
};

/// alpha a b with batch axes broadcast, then summed down to the batch axes of `shape`. In this form
/// its gradients are products of the same kind, and no array larger than they is ever made.
template <class T>
class MatMul final : public Primitive<T> {
 public:
  using value_type = T;
  MatMul(double alpha, Extents shape, Extents order, bool transpose_a = false,
         bool transpose_b = false)
      : alpha_(alpha),
        shape_(std::move(shape)),
        order_(std::move(order)),
        transpose_a_(transpose_a),
        transpose_b_(transpose_b) {}
  const char* name() const noexcept override { return "matmul"; }
  Needs needs() const noexcept override { return Needs::inputs({0, 1}); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out = order_.empty() ? Array<T>(Extents(shape_)) : Array<T>(shape_, order_);
    multiply(static_cast<T>(alpha_), in[0], transpose_a_, in[1], transpose_b_, out);
    return out;
  }

  void backward(Pullback<T>& p) const override {
    const Factor<T> g{p.take_grad(), false};  // [..., M, N]
    const Factor<T> a{p.input(0), transpose_a_};
    const Factor<T> b{p.input(1), transpose_b_};
    // [M,N] x [N,K] -> [M,K], or its transpose
    if (p.needs(0)) p.give(0, transpose_a_ ? gradient(a.x, b, t(g)) : gradient(a.x, g, t(b)));
    // [K,M] x [M,N] -> [K,N], or its transpose
    if (p.needs(1)) p.give(1, transpose_b_ ? gradient(b.x, t(g), a) : gradient(b.x, t(a), g));
  }

 private:
  static Factor<T> t(const Factor<T>& f) { return {f.x, !f.transposed}; }

  /// alpha left right, of the shape of x.
  Variable<T> gradient(const Variable<T>& x, const Factor<T>& left, const Factor<T>& right) const {
    const Extents& shape = extents(name(), x);
    // Laid out as the input lies, so that undoing a head split copies nothing.
    Extents order = memory_order(array(name(), x));
    // Along a batch axis that the product does not have, the gradient is the same everywhere.
    Extents reduced = shape;
    const std::size_t axes = shape.size() - 2;
    const auto extent = [&](const Factor<T>& f, std::size_t i) {
      const Extents& own = extents(name(), f.x);
      const std::size_t from_last = shape.size() - i;
      return from_last > own.size() ? 1 : own[own.size() - from_last];
    };
    for (std::size_t i = 0; i < axes; ++i) {
      if (extent(left, i) == 1 && extent(right, i) == 1) reduced[i] = 1;
    }
    const bool repeated = reduced != shape;
    if (repeated) order = {};
    auto product = record(make<MatMul>(alpha_, std::move(reduced), std::move(order),
                                       left.transposed, right.transposed),
                          left.x, right.x);
    return repeated ? broadcast_to(std::move(product), Dims(shape)) : product;
  }

  double alpha_;
  Extents shape_;
  Extents order_;
  bool transpose_a_;
  bool transpose_b_;
};

}  // namespace

template <class T>
Variable<T> scaled_matmul(Variable<T> a, Variable<T> b, double alpha, const Extents& order) {
  const Extents& x = extents("matmul", a);
  const Extents& y = extents("matmul", b);
  if (x.back() != y[y.size() - 2]) {
    fail<ShapeError>("matmul", "inner extents differ", text(x) + " and " + text(y),
                     "(..., M, K) and (..., K, N)");
  }
  Extents shape = broadcast_shape("matmul", batch_of(x), batch_of(y));
  shape.push_back(x[x.size() - 2]);
  shape.push_back(y.back());
  (void)checked_size("matmul", shape);
  return record(make<MatMul<T>>(alpha, std::move(shape), order), std::move(a), std::move(b));
}

template <class T>
Variable<T> summed_matmul(Variable<T> a, Variable<T> b, const Extents& shape,
                          const Extents& order) {
  (void)checked_size("matmul", shape);
  return record(make<MatMul<T>>(1.0, shape, order), std::move(a), std::move(b));
}

template Variable<float> scaled_matmul(Variable<float>, Variable<float>, double, const Extents&);
template Variable<double> scaled_matmul(Variable<double>, Variable<double>, double, const Extents&);
template Variable<float> summed_matmul(Variable<float>, Variable<float>, const Extents&,
                                       const Extents&);
template Variable<double> summed_matmul(Variable<double>, Variable<double>, const Extents&,
                                        const Extents&);

}  // namespace detail

template <class T>
Variable<T> matmul(Variable<T> a, Variable<T> b) {
  const std::size_t a_rank = detail::extents("matmul", a).size();
  const std::size_t b_rank = detail::extents("matmul", b).size();
  if (a_rank == 0 || b_rank == 0) {
    detail::fail<ShapeError>("matmul", "0-D operand",
                             detail::text(detail::extents("matmul", a)) + " and " +
                                 detail::text(detail::extents("matmul", b)),
                             "at least one axis each", "a * b scales by a number");
  }
  if (a_rank == 1) a = unsqueeze(std::move(a), 0);
  if (b_rank == 1) b = unsqueeze(std::move(b), 1);
  Variable<T> out = detail::scaled_matmul(std::move(a), std::move(b), 1.0);
  if (b_rank == 1) out = squeeze(std::move(out), -1);
  if (a_rank == 1) out = squeeze(std::move(out), b_rank == 1 ? -1 : -2);
  return out;
}

template Variable<float> matmul(Variable<float>, Variable<float>);
template Variable<double> matmul(Variable<double>, Variable<double>);

}  // namespace xg
