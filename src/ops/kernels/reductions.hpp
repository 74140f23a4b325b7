// Part of implementation.hpp: reductions. A functor gives the identity and what combines, what an
// element contributes, and a filler that contributes the identity.

template <class T, class Op>
struct Plain : Op {
  static Batch<T> contribution(Batch<T> x, Batch<T>) { return x; }
  static T filler(T) { return Op::template identity<T>(); }
};

struct Sums : Add {
  template <class T>
  static constexpr T identity() {
    return T(-0.0);
  }
};
struct Products : Mul {
  template <class T>
  static constexpr T identity() {
    return T(1);
  }
};
struct Maxima : Maximum {
  template <class T>
  static constexpr T identity() {
    return -kInfinity<T>;
  }
};
struct Minima : Minimum {
  template <class T>
  static constexpr T identity() {
    return kInfinity<T>;
  }
};
template <class T>
struct SumCentred : Sums {
  static Batch<T> contribution(Batch<T> x, Batch<T> centre) { return x - centre; }
  static T filler(T centre) { return centre; }
};
template <class T>
struct SumSquares : Sums {
  static Batch<T> contribution(Batch<T> x, Batch<T> centre) { return (x - centre) * (x - centre); }
  static T filler(T centre) { return centre; }
};
template <class T>
struct SumExp : Sums {
  static Batch<T> contribution(Batch<T> x, Batch<T> centre) { return ExpShift()(x, centre); }
  static T filler(T) { return -kInfinity<T>; }
};

/// The lanes' results of n > 0 elements. Short lines keep four vectors going at once: variables, as
/// the compiler writes an array of them to memory at every turn.
template <class T, class F>
inline Batch<T> fold_leaf(const T* x, std::int64_t n, T centre) {
  constexpr std::int64_t w = kWidth<T>;
  const Batch<T> c(centre);
  const auto with = [=](Batch<T> lanes, std::int64_t i) {
    return F()(lanes, F::contribution(Batch<T>::load_unaligned(x + i), c));
  };
  Batch<T> first(F::template identity<T>());
  Batch<T> second = first;
  Batch<T> third = first;
  Batch<T> fourth = first;
  std::int64_t i = 0;
  for (; i + 4 * w <= n; i += 4 * w) {
    first = with(first, i);
    second = with(second, i + w);
    third = with(third, i + 2 * w);
    fourth = with(fourth, i + 3 * w);
  }
  if (i + w <= n) first = with(first, i), i += w;
  if (i + w <= n) second = with(second, i), i += w;
  if (i + w <= n) third = with(third, i), i += w;
  if (i < n) fourth = F()(fourth, F::contribution(load_part(x + i, n - i, F::filler(centre)), c));
  return F()(F()(first, second), F()(third, fourth));
}

/// The same of any n > 0, by halves.
template <class T, class F>
Batch<T> fold_lanes(const T* x, std::int64_t n, T centre) {
  constexpr std::int64_t kStep = 4 * kWidth<T>;
  constexpr std::int64_t kLeaf = 8 * kStep;
  if (n <= kLeaf) return fold_leaf<T, F>(x, n, centre);
  const std::int64_t half = (n / 2 + kStep - 1) / kStep * kStep;
  const Batch<T> first = fold_lanes<T, F>(x, half, centre);  // memory is faster read forwards
  return F()(first, fold_lanes<T, F>(x + half, n - half, centre));
}

/// Lane i of the result is lane i + Step of x.
template <int Step, class T, int... Lane>
inline Batch<T> rotated(Batch<T> x, std::integer_sequence<int, Lane...>) {
  constexpr int kLanes = static_cast<int>(sizeof...(Lane));
  return __builtin_shufflevector(x.data, x.data, (Lane + Step) % kLanes...);
}

/// By halves.
template <class T, class F, int Step = kWidth<T> / 2>
inline T combine_lanes(Batch<T> x) {
  if constexpr (Step == 0) {
    return x.data[0];
  } else {
    constexpr std::make_integer_sequence<int, kWidth<T>> kLanes;
    return combine_lanes<T, F, Step / 2>(F()(x, rotated<Step, T>(x, kLanes)));
  }
}

template <class T, class F>
T fold_line_kernel(const T* x, std::int64_t n, T centre) {
  return combine_lanes<T, F>(fold_lanes<T, F>(x, n, centre));
}

template <class T, class F>
void fold_rows_kernel(const T* x, std::int64_t stride, std::int64_t n, const T* centres, T* result,
                      std::int64_t width) {
  constexpr std::int64_t w = kWidth<T>;
  std::int64_t i = 0;
  for (; i + 4 * w <= width; i += 4 * w) {  // whole runs of memory at once
    const T* from = x + i;
    const auto contribution = [&](std::int64_t k) {
      return F::contribution(Batch<T>::load_unaligned(from + k * w),
                             Batch<T>::load_unaligned(centres + i + k * w));
    };
    Batch<T> first = contribution(0);
    Batch<T> second = contribution(1);
    Batch<T> third = contribution(2);
    Batch<T> fourth = contribution(3);
    for (std::int64_t j = 1; j < n; ++j) {
      from += stride;
      first = F()(first, contribution(0));
      second = F()(second, contribution(1));
      third = F()(third, contribution(2));
      fourth = F()(fourth, contribution(3));
    }
    first.store_unaligned(result + i);
    second.store_unaligned(result + i + w);
    third.store_unaligned(result + i + 2 * w);
    fourth.store_unaligned(result + i + 3 * w);
  }
  for_each_vector<T>(width - i, [=](std::int64_t at, std::int64_t count) {
    const Batch<T> centre = load(centres + i + at, count);
    Batch<T> y = F::contribution(load(x + i + at, count), centre);
    for (std::int64_t j = 1; j < n; ++j) {
      y = F()(y, F::contribution(load(x + j * stride + i + at, count), centre));
    }
    store(result + i + at, y, count);
  });
}

template <class T, class F>
constexpr Fold<T> fold() {
  return {fold_line_kernel<T, F>, fold_rows_kernel<T, F>, binary_kernel<T, F>};
}
