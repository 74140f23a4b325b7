#ifndef XGRAD_OPS_LOOPS_HPP
#define XGRAD_OPS_LOOPS_HPP

// Private: the loops under the elementwise operations, for operands of any strides.

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/thread_pool.hpp>
#include <xgrad/ops/kernels/kernels.hpp>

namespace xg::detail {

constexpr std::size_t kMostLoopAxes = 32;

/// Strides with which an operand is read as if it had `shape` (0 along broadcast axes).
Extents broadcast_strides(const Extents& own_shape, const Extents& own_strides,
                          const Extents& shape);

/// A nest of loops over `axes` axes; adjacent axes that step evenly in every operand are merged,
/// and the axis along which the first operand is densest comes last.
template <std::size_t N>
struct LoopNest {
  std::size_t axes = 0;
  std::int64_t extent[kMostLoopAxes];
  std::int64_t stride[N][kMostLoopAxes];
  std::array<std::int64_t, N> origin{};

  LoopNest(const Extents& shape, const std::array<Extents, N>& strides) {
    for (std::size_t i = 0; i < shape.size(); ++i) insert(shape[i], strides, i);
    merge();
    if (axes == 0) {
      axes = 1;
      extent[0] = 1;
      for (auto& s : stride) s[0] = 0;
    }
  }

  bool empty() const noexcept {
    for (std::size_t i = 0; i < axes; ++i) {
      if (extent[i] == 0) return true;
    }
    return false;
  }

  std::int64_t positions() const noexcept {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < axes; ++i) product *= extent[i];
    return product;
  }

  /// Where each operand lies at one of the positions, counted with the last axis fastest.
  std::array<std::int64_t, N> offsets(std::int64_t position) const noexcept {
    std::array<std::int64_t, N> at = origin;
    for (std::size_t i = axes; i-- > 0;) {
      const std::int64_t index = position % extent[i];
      position /= extent[i];
      for (std::size_t k = 0; k < N; ++k) at[k] += index * stride[k][i];
    }
    return at;
  }

  /// Calls `inner(offsets)` for every position of the outer axes; the last ones are the caller's.
  template <class Inner>
  void for_each_row(Inner inner, std::size_t callers_axes = 1) const {
    if (empty()) return;
    std::int64_t index[kMostLoopAxes] = {};
    std::array<std::int64_t, N> offset = origin;
    for (;;) {
      inner(offset);
      std::size_t axis = axes - callers_axes;
      for (;;) {
        if (axis == 0) return;
        --axis;
        for (std::size_t k = 0; k < N; ++k) offset[k] += stride[k][axis];
        if (++index[axis] < extent[axis]) break;
        for (std::size_t k = 0; k < N; ++k) offset[k] -= stride[k][axis] * extent[axis];
        index[axis] = 0;
      }
    }
  }

 private:
  void insert(std::int64_t length, const std::array<Extents, N>& strides, std::size_t axis) {
    if (length == 1) return;
    const auto magnitude = [](std::int64_t s) { return s < 0 ? -s : s; };
    std::size_t at = axes;
    while (at > 0 && magnitude(stride[0][at - 1]) < magnitude(strides[0][axis])) {
      extent[at] = extent[at - 1];
      for (std::size_t k = 0; k < N; ++k) stride[k][at] = stride[k][at - 1];
      --at;
    }
    extent[at] = length;
    for (std::size_t k = 0; k < N; ++k) stride[k][at] = strides[k][axis];
    ++axes;
  }

  void merge() {
    std::size_t last = 0;
    for (std::size_t i = 1; i < axes; ++i) {
      bool even = true;
      for (std::size_t k = 0; k < N; ++k) even &= stride[k][last] == stride[k][i] * extent[i];
      if (even) {
        extent[last] *= extent[i];
      } else {
        ++last;
        extent[last] = extent[i];
      }
      for (std::size_t k = 0; k < N; ++k) stride[k][last] = stride[k][i];
    }
    if (axes > 0) axes = last + 1;
  }
};

// Of a simple loop, for one thread.
constexpr std::int64_t kLeastElements = std::int64_t{1} << 15;

/// Calls f(part) for parts that cover the nest, on several threads if it is large. `weight` is the
/// work at one position, in elements of a simple loop.
template <std::size_t N, class F>
void in_parts(const LoopNest<N>& nest, std::int64_t weight, F f) {
  const std::int64_t positions = nest.positions();
  if (positions * weight < 2 * kLeastElements) return f(nest);
  std::size_t axis = 0;  // the longest, the innermost only if it is alone
  for (std::size_t i = 1; i + 1 < nest.axes; ++i) {
    if (nest.extent[i] > nest.extent[axis]) axis = i;
  }
  const std::int64_t elements = positions / nest.extent[axis] * weight;
  const std::int64_t unit = nest.axes == 1 && weight == 1 ? 64 : 1;  // whole cache lines
  parallel_ranges(nest.extent[axis], kLeastElements / elements + 1, unit,
                  [&](std::int64_t begin, std::int64_t end) {
                    LoopNest<N> part = nest;
                    part.extent[axis] = end - begin;
                    for (std::size_t k = 0; k < N; ++k) {
                      part.origin[k] += begin * nest.stride[k][axis];
                    }
                    f(part);
                  });
}

/// One operand is the same along the whole row: read once, so that the loop can be a vector loop.
template <class Out, class F, class A, class B>
void map_row_with_constant(Out* out, std::int64_t n, F f, const A* a, bool a_is_constant,
                           const B* b) {
  if (a_is_constant) {
    const A constant = *a;
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(constant, b[i]);
  } else {
    const B constant = *b;
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(a[i], constant);
  }
}

template <std::size_t N, class Out, class F, std::size_t... K, class... In>
void map_elements(const LoopNest<N>& nest, Out* out, F f, std::index_sequence<K...>,
                  const In*... in) {
  const std::size_t inner = nest.axes - 1;
  const std::int64_t n = nest.extent[inner];
  bool dense = true;
  std::int64_t steps = 0;
  for (const auto& stride : nest.stride) {
    dense &= stride[inner] == 1;
    steps += stride[inner] == 0 || stride[inner] == 1 ? stride[inner] : 3;
  }
  const bool one_constant = N == 3 && nest.stride[0][inner] == 1 && steps == 2;
  nest.for_each_row([&](const std::array<std::int64_t, N>& at) {
    Out* o = out + at[0];
    if (dense) {
      for (std::int64_t i = 0; i < n; ++i) o[i] = f(in[at[K + 1] + i]...);
      return;
    }
    if constexpr (N == 3) {
      if (one_constant) {
        const auto row = std::tuple(in...);
        map_row_with_constant(o, n, f, std::get<0>(row) + at[1], nest.stride[1][inner] == 0,
                              std::get<1>(row) + at[2]);
        return;
      }
    }
    for (std::int64_t i = 0; i < n; ++i) {
      o[i * nest.stride[0][inner]] = f(in[at[K + 1] + i * nest.stride[K + 1][inner]]...);
    }
  });
}

/// The operands of a kernel as rows of memory one after another, or, where it takes them so, as one
/// element that stands for all. What lies otherwise passes through a buffer, so that every element
/// meets the same instructions however it lies.
template <class Out, class... In>
class DenseRows {
 public:
  static constexpr std::size_t kOperands = 1 + sizeof...(In);

  DenseRows(const LoopNest<kOperands>& nest, bool takes_constants) : nest_(nest) {
    const std::size_t inner = nest.axes - 1;
    const std::int64_t n = nest.extent[inner];
    std::size_t constants = 0;
    bool across = false;
    for (std::size_t k = 0; k < kOperands; ++k) {
      step_[k] = n == 1 ? 1 : nest.stride[k][inner];
      dense_[k] = step_[k] == 1;
      if (k > 0 && step_[k] == 0 && takes_constants && constants + 2 < kOperands) {
        dense_[k] = true;
        ++constants;
      }
      all_dense_ &= dense_[k];
      across |= !dense_[k] && inner > 0 && nest.stride[k][inner - 1] == 1;
    }
    // A transposed operand is read in tiles, whose every cache line is used as a whole.
    tiled_ = across && dense_[0];
    for (std::size_t k = 0; k < kOperands; ++k) {
      across_[k] = tiled_ ? nest.stride[k][inner - 1] : 0;
    }
    length_ = all_dense_ ? n : kLength;
  }

  /// Calls row(y, n, operands...).
  template <class Row>
  void run(Row row, Out* out, const In*... in) const {
    run(row, std::index_sequence_for<In...>(), out, in...);
  }

 private:
  static constexpr std::int64_t kLength = 128;
  static constexpr std::int64_t kTile = 16;

  template <class Row, std::size_t... K>
  void run(Row row, std::index_sequence<K...>, Out* out, const In*... in) const {
    const std::int64_t n = nest_.extent[nest_.axes - 1];
    const std::int64_t lines = tiled_ ? nest_.extent[nest_.axes - 2] : 1;
    const auto lines_at = [&](const std::array<std::int64_t, kOperands>& at) {
      for (std::int64_t line = 0; line < lines; line += kTile) {
        const std::int64_t height = lines - line < kTile ? lines - line : kTile;
        for (std::int64_t first = 0; first < n; first += length_) {
          const std::int64_t width = n - first < length_ ? n - first : length_;
          tile(row, std::index_sequence<K...>(), height, width,
               out + at[0] + line * across_[0] + first * step_[0],
               (in + at[K + 1] + line * across_[K + 1] + first * step_[K + 1])...);
        }
      }
    };
    nest_.for_each_row(lines_at, tiled_ ? 2 : 1);
  }

  template <class A>
  struct Buffer {
    A elements[kTile * kLength];
  };

  template <class Row, std::size_t... K>
  void tile(Row row, std::index_sequence<K...>, std::int64_t height, std::int64_t width, Out* y,
            const In*... x) const {
    if (all_dense_) {
      return row(y, width, Operand<In>{x, step_[K + 1] == 0}...);
    }
    std::tuple<Buffer<In>...> buffers;
    (gather(x, K + 1, height, width, std::get<K>(buffers)), ...);
    Out results[kLength];
    for (std::int64_t j = 0; j < height; ++j) {
      Out* const to = y + j * across_[0];
      row(dense_[0] ? to : results, width,
          (dense_[K + 1] ? Operand<In>{x + j * across_[K + 1], step_[K + 1] == 0}
                         : Operand<In>{std::get<K>(buffers).elements + j * kLength, false})...);
      if (dense_[0]) continue;
      for (std::int64_t i = 0; i < width; ++i) to[i * step_[0]] = results[i];
    }
  }

  template <class A>
  void gather(const A* x, std::size_t k, std::int64_t height, std::int64_t width,
              Buffer<A>& buffer) const {
    if (dense_[k]) return;
    if constexpr (std::is_floating_point_v<A>) {
      if (across_[k] == 1) {
        return kernels<A>().transpose(x, step_[k], width, height, buffer.elements, kLength);
      }
    }
    for (std::int64_t i = 0; i < width; ++i) {
      for (std::int64_t j = 0; j < height; ++j) {
        buffer.elements[j * kLength + i] = x[i * step_[k] + j * across_[k]];
      }
    }
  }

  const LoopNest<kOperands>& nest_;
  std::int64_t step_[kOperands];
  std::int64_t across_[kOperands];
  bool dense_[kOperands];
  bool all_dense_ = true;
  bool tiled_;
  std::int64_t length_;  // of a row that is done at once
};

enum class Constants : bool { spelled_out, taken };

/// row(y, n, operands...) over all of `out`, the inputs broadcast to its shape, as rows on which a
/// kernel can run. An operand may be constant along a row only where constants are taken, and then
/// not all of them are.
template <class Out, class Row, class... In>
void map_rows(Array<Out>& out, Constants constants, Row row, const Array<In>&... in) {
  if (out.contiguous() && ((in.shape() == out.shape() && in.contiguous()) && ...)) {
    parallel_ranges(out.size(), kLeastElements, 64, [&](std::int64_t begin, std::int64_t end) {
      row(out.data() + begin, end - begin, Operand<In>{in.data() + begin, false}...);
    });
    return;
  }
  const LoopNest<1 + sizeof...(In)> nest(
      out.shape(), {out.strides(), broadcast_strides(in.shape(), in.strides(), out.shape())...});
  in_parts(nest, 1, [&](const auto& part) {
    DenseRows<Out, In...>(part, constants == Constants::taken).run(row, out.data(), in.data()...);
  });
}

/// out[i] = f(in[i]...) in any order and on any thread, the inputs broadcast to the shape of `out`,
/// which overlaps none of them unless it is the same memory element by element.
template <class Out, class F, class... In>
void map(Array<Out>& out, F f, const Array<In>&... in) {
  const LoopNest<1 + sizeof...(In)> nest(
      out.shape(), {out.strides(), broadcast_strides(in.shape(), in.strides(), out.shape())...});
  in_parts(nest, 1, [&](const auto& part) {
    map_elements(part, out.data(), f, std::index_sequence_for<In...>(), in.data()...);
  });
}

/// The same, by a kernel.
template <class T>
void map(Array<T>& out, UnaryKernel<T> kernel, const Array<T>& x) {
  const auto row = [=](T* y, std::int64_t n, Operand<T> a) { kernel(a.data, y, n); };
  map_rows(out, Constants::spelled_out, row, x);
}
template <class T, class Out>
void map(Array<Out>& out, void (*kernel)(Operand<T>, Operand<T>, Out*, std::int64_t),
         const Array<T>& a, const Array<T>& b) {
  const auto row = [=](Out* y, std::int64_t n, Operand<T> left, Operand<T> right) {
    kernel(left, right, y, n);
  };
  map_rows(out, Constants::taken, row, a, b);
}

template <std::size_t N>
LoopNest<N> nest_of_lines(Extents shape, std::array<Extents, N> strides, std::size_t axis) {
  shape.erase(axis);
  for (Extents& s : strides) s.erase(axis);
  return LoopNest<N>(shape, strides);
}

template <std::size_t N, class F>
void for_each_position(const LoopNest<N>& nest, F f) {
  const std::size_t inner = nest.axes - 1;
  nest.for_each_row([&](std::array<std::int64_t, N> offset) {
    for (std::int64_t i = 0; i < nest.extent[inner]; ++i) {
      f(offset);
      for (std::size_t k = 0; k < N; ++k) offset[k] += nest.stride[k][inner];
    }
  });
}

/// Calls f(offsets) at the start of every line along `axis`, one after another, for operands of one
/// shape.
template <std::size_t N, class F>
void for_each_line(const Extents& shape, const std::array<Extents, N>& strides, std::size_t axis,
                   F f) {
  for_each_position(nest_of_lines(shape, strides, axis), f);
}

/// The same for lines that have nothing to do with each other, on several threads if they are many.
template <std::size_t N, class F>
void for_each_line_in_parallel(const Extents& shape, const std::array<Extents, N>& strides,
                               std::size_t axis, F f) {
  in_parts(nest_of_lines(shape, strides, axis), shape[axis],
           [&](const LoopNest<N>& part) { for_each_position(part, f); });
}

/// f(x[i]) for every element, in no particular order.
template <class A, class F>
void for_each(F f, const Array<A>& in) {
  const LoopNest<1> nest(in.shape(), {in.strides()});
  const std::size_t inner = nest.axes - 1;
  nest.for_each_row([&](const std::array<std::int64_t, 1>& offset) {
    const A* x = in.data() + offset[0];
    for (std::int64_t i = 0; i < nest.extent[inner]; ++i) f(x[i * nest.stride[0][inner]]);
  });
}

}  // namespace xg::detail

#endif
