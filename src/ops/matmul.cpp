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
};

/// c = alpha a b at each position of the nest: several products at a time, or a part of the rows.
template <class T>
void share_out(T alpha, const Product<T>& first, const LoopNest<3>& nest, bool summed) {
  const std::int64_t products = nest.positions();
  const double work = static_cast<double>(first.c.rows) * static_cast<double>(first.a.cols) *
                      static_cast<double>(first.c.cols);
  std::optional<BlasOnOneThread> guard;
  if (work >= kLeastForBlasThreads) guard.emplace();
  const auto at = [&](std::int64_t i) {
    const auto offset = nest.offsets(i);
    Product<T> p = first;
    p.c.data += offset[0];
    p.a.data += offset[1];
    p.b.data += offset[2];
    return p;
  };
  if (!summed && products >= num_threads()) {
    parallel_ranges(products, parts_in_range(work), 1, [&](std::int64_t i, std::int64_t end) {
      for (; i < end; ++i) {
        const Product<T> p = at(i);
        gemm(alpha, p.a, p.b, false, p.c);
      }
    });
    return;
  }
  for (std::int64_t i = 0; i < products; ++i) {
    const Product<T> p = first.c.cols > first.c.rows ? at(i).transposed() : at(i);
    const auto inner = static_cast<double>(p.a.cols);
    const std::int64_t least =
        std::max(kLeastRows, parts_in_range(inner * static_cast<double>(p.c.cols)));
    parallel_ranges(p.c.rows, least, 16, [&](std::int64_t begin, std::int64_t end) {
      gemm(alpha, p.a.rows_from(begin, end), p.b, summed, p.c.rows_from(begin, end));
    });
  }
}

/// out = alpha a b, summed over the batch axes that `out` does not have.
template <class T>
void multiply(T alpha, const Array<T>& a, const Array<T>& b, Array<T>& out) {
  const Extents batch =
      broadcast_shape("matmul", batch_of(out.shape()),
                      broadcast_shape("matmul", batch_of(a.shape()), batch_of(b.shape())));
  MatrixView<const T> x = last_matrix(a.data(), a.shape(), a.strides());
  MatrixView<const T> y = last_matrix(b.data(), b.shape(), b.strides());
  MatrixView<T> z = last_matrix(out.data(), out.shape(), out.strides());
  const auto batch_strides = [&](const Array<T>& m) {
    return broadcast_strides(batch_of(m.shape()), batch_of(m.strides()), batch);
  };
  const Extents sa = batch_strides(a);
  const Extents sb = batch_strides(b);
  const Extents sc = batch_strides(out);

  Extents extent_left;
  Extents a_left;
  Extents b_left;
  Extents c_left;
  bool summed = false;
  bool absorbing = true;
  for (std::size_t i = batch.size(); i-- > 0;) {
    if (batch[i] == 1) continue;
    absorbing = absorbing && absorb({batch[i], sa[i], sb[i], sc[i]}, x, y, z);
    if (absorbing) continue;
    extent_left.push_back(batch[i]);
    a_left.push_back(sa[i]);
    b_left.push_back(sb[i]);
    c_left.push_back(sc[i]);
    summed |= sc[i] == 0;
  }
  const LoopNest<3> nest(extent_left, {c_left, a_left, b_left});
  if (summed || nest.empty()) std::fill_n(out.data(), out.size(), T(0));
  if (!nest.empty()) share_out(alpha, {x, y, z}, nest, summed);
}

}  // namespace

template <class T>
Extents memory_order(const Array<T>& x) {
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

/// alpha a b with batch axes broadcast, then summed down to the batch axes of `shape`. In this form
/// its gradients are products of the same kind, and no array larger than they is ever made.
template <class T>
class MatMul final : public Primitive<T> {
 public:
  using value_type = T;
  MatMul(double alpha, Extents shape, Extents order)
      : alpha_(alpha), shape_(std::move(shape)), order_(std::move(order)) {}
  const char* name() const noexcept override { return "matmul"; }
  Needs needs() const noexcept override { return Needs::inputs({0, 1}); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out = order_.empty() ? Array<T>(Extents(shape_)) : Array<T>(shape_, order_);
    multiply(static_cast<T>(alpha_), in[0], in[1], out);
    return out;
  }

  void backward(Pullback<T>& p) const override {
    const Variable<T> g = p.take_grad();  // [..., M, N]
    const auto gradient = [&](std::size_t i, Variable<T> left, Variable<T> right) {
      const Extents shape = p.shape(i);
      // Laid out as the input lies, so that undoing a head split copies nothing.
      Extents order = memory_order(array(name(), p.input(i)));
      // The product's batch axes, aligned at the last one; the others of `shape` are 1 in it.
      const Extents batch = broadcast_shape(name(), batch_of(extents(name(), left)),
                                            batch_of(extents(name(), right)));
      Extents reduced = shape;
      const std::size_t axes = shape.size() - 2;
      for (std::size_t k = 0; k < axes; ++k) {
        const bool present = k + batch.size() >= axes;
        if (!present || batch[k + batch.size() - axes] == 1) reduced[k] = 1;
      }
      if (reduced != shape) order = {};
      auto product = record(make<MatMul>(alpha_, std::move(reduced), std::move(order)),
                            std::move(left), std::move(right));
      p.give(i, broadcast_to(std::move(product), Dims(shape)));
    };
    // [M,N] x [N,K] -> [M,K]
    if (p.needs(0)) gradient(0, g, swapaxes(p.input(1), -1, -2));
    // [K,M] x [M,N] -> [K,N]
    if (p.needs(1)) gradient(1, swapaxes(p.input(0), -1, -2), g);
  }

 private:
  double alpha_;
  Extents shape_;
  Extents order_;
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
