#ifndef XGRAD_OPS_REDUCE_LOOPS_HPP
#define XGRAD_OPS_REDUCE_LOOPS_HPP

// Private: reductions over any axes of an array of any strides, by halves, so that the rounding
// error of a sum grows with log n.

#include <algorithm>
#include <utility>

#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg::detail {

/// Folds of more than a kernel takes at once, by halves.
template <class T>
class Folder {
 public:
  static constexpr std::int64_t kWidest = 256;  // of a row of results

  explicit Folder(const Fold<T>& fold) : fold_(fold) {}

  /// Of a line of n > 0 elements.
  T line(const T* x, std::int64_t step, std::int64_t n, T centre) const {
    if (step == 1) return fold_.line(x, n, centre);
    if (n > kBuffer) {
      const std::int64_t half = n / 2;
      const T first = line(x, step, half, centre);
      return combine(first, line(x + half * step, step, n - half, centre));
    }
    T dense[kBuffer];
    dense[0] = x[0];  // n > 0, which the compiler does not know
    for (std::int64_t i = 0; i < n; ++i) dense[i] = x[i * step];
    return fold_.line(dense, n, centre);
  }

  /// Of n > 0 rows of at most kWidest elements.
  void rows(const T* x, std::int64_t stride, std::int64_t step, std::int64_t n, const T* centres,
            T* result, std::int64_t width) const {
    if (n > kMostRows) {
      const std::int64_t half = n / 2;
      T other[kWidest];
      rows(x, stride, step, half, centres, result, width);
      rows(x + half * stride, stride, step, n - half, centres, other, width);
      combine(result, other, width);
    } else if (step == 1) {
      fold_.rows(x, stride, n, centres, result, width);
    } else {
      T dense[kMostRows * kWidest];
      dense[0] = x[0];
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < width; ++i) {
          dense[j * kWidest + i] = x[j * stride + i * step];
        }
      }
      fold_.rows(dense, kWidest, n, centres, result, width);
    }
  }

  T combine(T a, T b) const {
    combine(&a, &b, 1);
    return a;
  }
  void combine(T* a, const T* b, std::int64_t n) const {
    fold_.combine({a, false}, {b, false}, a, n);
  }

 private:
  static constexpr std::int64_t kMostRows = 16;
  static constexpr std::int64_t kBuffer = 1024;
  const Fold<T>& fold_;
};

/// out[k] = the fold of x, which has elements, and centres[k] over the reduced axes. `kept` is the
/// shape of x with 1 along the reduced axes; `out` holds its elements row-major, and k counts them.
template <class T>
class Reducer {
 public:
  Reducer(const Array<T>& x, const Extents& kept, const Fold<T>& fold, const T* centres)
      : fold_(fold), centres_(centres) {
    const Extents out_strides = contiguous_strides(kept);
    for (std::size_t i = 0; i < x.dim(); ++i) {
      if (x.extent(i) == 1) continue;
      if (kept[i] == 1) {
        insert(reduced_, {x.extent(i), x.stride(i), 0});
      } else {
        insert(outer_, {x.extent(i), x.stride(i), out_strides[i]});
      }
    }
    merge(reduced_);
    merge(outer_);
    // Where x is denser along a kept axis, whole rows of results are combined at once.
    if (outer_.count > 0 && reduced_.count > 0) {
      const Axis& row = outer_.axis[outer_.count - 1];
      if (magnitude(row.stride) < magnitude(reduced_.axis[reduced_.count - 1].stride)) {
        row_ = row;
        --outer_.count;
      }
    }
  }

  void run(const T* x, T* out) const { visit_outer(0, x, out, 0); }

 private:
  struct Axis {
    std::int64_t extent = 1;
    std::int64_t stride = 0;
    std::int64_t out_stride = 0;
  };
  struct AxisList {
    std::size_t count = 0;
    Axis axis[kMostLoopAxes];
  };
  static constexpr std::int64_t kRow = Folder<T>::kWidest;
  static std::int64_t magnitude(std::int64_t s) { return s < 0 ? -s : s; }

  static void insert(AxisList& list, Axis axis) {
    std::size_t at = list.count++;
    while (at > 0 && magnitude(list.axis[at - 1].stride) < magnitude(axis.stride)) {
      list.axis[at] = list.axis[at - 1];
      --at;
    }
    list.axis[at] = axis;
  }

  static void merge(AxisList& list) {
    std::size_t last = 0;
    for (std::size_t i = 1; i < list.count; ++i) {
      Axis& outer = list.axis[last];
      const Axis& inner = list.axis[i];
      if (outer.stride == inner.stride * inner.extent &&
          outer.out_stride == inner.out_stride * inner.extent) {
        outer = {outer.extent * inner.extent, inner.stride, inner.out_stride};
      } else {
        list.axis[++last] = inner;
      }
    }
    if (list.count > 0) list.count = last + 1;
  }

  void visit_outer(std::size_t level, const T* x, T* out, std::int64_t k) const {
    if (level < outer_.count) {
      const Axis& axis = outer_.axis[level];
      for (std::int64_t i = 0; i < axis.extent; ++i) {
        visit_outer(level + 1, x + i * axis.stride, out, k + i * axis.out_stride);
      }
      return;
    }
    if (row_.extent == 1) {
      out[k] = one(x, centres_ == nullptr ? T(0) : centres_[k], 0, extent(0));
    } else {
      visit_row(x, out, k);
    }
  }

  void visit_row(const T* x, T* out, std::int64_t k) const {
    for (std::int64_t first = 0; first < row_.extent; first += kRow) {
      const std::int64_t width = std::min(kRow, row_.extent - first);
      const std::int64_t to = k + first * row_.out_stride;
      T sums[kRow];
      T centres[kRow] = {};
      for (std::int64_t i = 0; centres_ != nullptr && i < width; ++i) {
        centres[i] = centres_[to + i * row_.out_stride];
      }
      rows(x + first * row_.stride, centres, width, 0, extent(0), sums);
      for (std::int64_t i = 0; i < width; ++i) out[to + i * row_.out_stride] = sums[i];
    }
  }

  std::int64_t extent(std::size_t level) const {
    return level < reduced_.count ? reduced_.axis[level].extent : 1;
  }
  std::int64_t stride(std::size_t level) const {
    return level < reduced_.count ? reduced_.axis[level].stride : 0;
  }
  bool innermost(std::size_t level) const { return level + 1 >= reduced_.count; }

  T one(const T* x, T centre, std::size_t level, std::int64_t n) const {
    if (innermost(level)) return fold_.line(x, stride(level), n, centre);
    if (n == 1) return one(x, centre, level + 1, extent(level + 1));
    const std::int64_t half = n / 2;
    const T first = one(x, centre, level, half);
    return fold_.combine(first, one(x + half * stride(level), centre, level, n - half));
  }

  void rows(const T* x, const T* centres, std::int64_t width, std::size_t level, std::int64_t n,
            T* sums) const {
    if (innermost(level)) {
      return fold_.rows(x, stride(level), row_.stride, n, centres, sums, width);
    }
    if (n == 1) return rows(x, centres, width, level + 1, extent(level + 1), sums);
    const std::int64_t half = n / 2;
    T other[kRow];
    rows(x, centres, width, level, half, sums);
    rows(x + half * stride(level), centres, width, level, n - half, other);
    fold_.combine(sums, other, width);
  }

  Folder<T> fold_;
  const T* centres_;  // null: all 0
  AxisList reduced_;
  AxisList outer_;
  Axis row_;  // extent 1 unless rows of results are combined at once
};

/// As Reducer says, or `identity` if there is nothing to fold.
template <class T>
void reduce(Array<T>& out, const Array<T>& x, const Extents& kept, T identity, const Fold<T>& fold,
            const T* centres = nullptr) {
  if (x.size() == 0) {
    std::fill_n(out.data(), out.size(), identity);
    return;
  }
  Reducer<T>(x, kept, fold, centres).run(x.data(), out.data());
}

}  // namespace xg::detail

#endif
