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

/// The lanes' results of n > 0 elements, by halves. Short lines keep four vectors going at once.
template <class T, class F>
Batch<T> fold_lanes(const T* x, std::int64_t n, T centre) {
  constexpr std::int64_t kStep = 4 * kWidth<T>;
  constexpr std::int64_t kLeaf = 8 * kStep;
  if (n > kLeaf) {
    const std::int64_t half = (n / 2 + kStep - 1) / kStep * kStep;
    return F()(fold_lanes<T, F>(x, half, centre), fold_lanes<T, F>(x + half, n - half, centre));
  }
  const Batch<T> c(centre);
  const auto element = [=](std::int64_t i, std::int64_t count) {
    return F::contribution(load(x + i, count, F::filler(centre)), c);
  };
  const Batch<T> identity(F::template identity<T>());
  Batch<T> lanes[4] = {identity, identity, identity, identity};
  std::int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (int k = 0; k < 4; ++k) lanes[k] = F()(lanes[k], element(i + k * kWidth<T>, kWidth<T>));
  }
  for (int k = 0; i < n; ++k, i += kWidth<T>) {
    lanes[k] = F()(lanes[k], element(i, n - i < kWidth<T> ? n - i : kWidth<T>));
  }
  return F()(F()(lanes[0], lanes[1]), F()(lanes[2], lanes[3]));
}

template <class T, class F>
inline T combine_lanes(Batch<T> x) {
  alignas(64) T lanes[kWidth<T>];
  x.store_aligned(lanes);
  for (std::int64_t width = kWidth<T> / 2; width > 0; width /= 2) {
    for (std::int64_t i = 0; i < width; ++i) lanes[i] = F()(lanes[i], lanes[i + width]);
  }
  return lanes[0];
}

template <class T, class F>
T fold_line_kernel(const T* x, std::int64_t n, T centre) {
  return combine_lanes<T, F>(fold_lanes<T, F>(x, n, centre));
}

template <class T, class F>
void fold_rows_kernel(const T* x, std::int64_t stride, std::int64_t n, const T* centres, T* result,
                      std::int64_t width) {
  for_each_vector<T>(width, [=](std::int64_t i, std::int64_t count) {
    const Batch<T> centre = load(centres + i, count);
    Batch<T> y = F::contribution(load(x + i, count), centre);
    for (std::int64_t j = 1; j < n; ++j) {
      y = F()(y, F::contribution(load(x + j * stride + i, count), centre));
    }
    store(result + i, y, count);
  });
}

template <class T, class F>
constexpr Fold<T> fold() {
  return {fold_line_kernel<T, F>, fold_rows_kernel<T, F>, binary_kernel<T, F>};
}
