// Included by one source file for each instruction set, inside an anonymous namespace and after
// xsimd. Only raw pointers and xsimd here: an inline function of the standard library compiled with
// these flags could be the copy that the linker keeps for every caller.

template <class T>
using Batch = xsimd::batch<T>;

template <class T>
constexpr std::int64_t kWidth = static_cast<std::int64_t>(Batch<T>::size);

template <class T>
constexpr T kInfinity = static_cast<T>(__builtin_inf());

/// Calls f(offset, count) with count = the vector's width, and at last with what is left.
template <class T, class F>
inline void for_each_vector(std::int64_t n, F f) {
  std::int64_t i = 0;
  for (; i + kWidth<T> <= n; i += kWidth<T>) f(i, kWidth<T>);
  if (i < n) f(i, n - i);
}

template <class T>
inline Batch<T> load(const T* x, std::int64_t count, T filler) {
  if (count == kWidth<T>) return Batch<T>::load_unaligned(x);
  alignas(64) T lanes[kWidth<T>];
  for (std::int64_t i = 0; i < kWidth<T>; ++i) lanes[i] = i < count ? x[i] : filler;
  return Batch<T>::load_aligned(lanes);
}

template <class T>
inline void store(T* y, Batch<T> value, std::int64_t count) {
  if (count == kWidth<T>) return value.store_unaligned(y);
  alignas(64) T lanes[kWidth<T>];
  value.store_aligned(lanes);
  for (std::int64_t i = 0; i < count; ++i) y[i] = lanes[i];
}

template <class T>
inline T sum_lanes(Batch<T> x) {
  alignas(64) T lanes[kWidth<T>];
  x.store_aligned(lanes);
  for (std::int64_t width = kWidth<T> / 2; width > 0; width /= 2) {
    for (std::int64_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

/// Sums in blocks, the blocks in double: the error does not grow with n.
template <class T>
class BlockSum {
 public:
  void add(Batch<T> x) {
    block_ += x;
    if (++count_ == 16) close();
  }
  T total() {
    close();
    return static_cast<T>(total_);
  }

 private:
  void close() {
    total_ += static_cast<double>(sum_lanes(block_));
    block_ = Batch<T>(T(0));
    count_ = 0;
  }
  Batch<T> block_ = Batch<T>(T(0));
  int count_ = 0;
  double total_ = 0;
};

template <class T>
void exp_kernel(const T* x, T* y, std::int64_t n) {
  // Below this xsimd returns 0 where the result is still a subnormal number.
  const T subnormal = sizeof(T) == 4 ? T(-87) : T(-708);
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    const Batch<T> v = load(x + i, count, T(0));
    if (xsimd::any(v < Batch<T>(subnormal))) {
      for (std::int64_t k = i; k < i + count; ++k) {
        y[k] =
            sizeof(T) == 4 ? T(__builtin_expf(static_cast<float>(x[k]))) : T(__builtin_exp(x[k]));
      }
    } else {
      store(y + i, xsimd::exp(v), count);
    }
  });
}

template <class T>
T softmax_kernel(const T* x, T* y, std::int64_t n) {
  Batch<T> most(-kInfinity<T>);
  Batch<T> unordered(T(0));  // becomes NaN with the first NaN, which a maximum may lose
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    const Batch<T> v = load(x + i, count, -kInfinity<T>);
    most = xsimd::max(most, v);
    unordered += xsimd::select(v == v, Batch<T>(T(0)), v);
  });
  alignas(64) T lanes[kWidth<T>];
  most.store_aligned(lanes);
  T max = lanes[0];
  for (std::int64_t i = 1; i < kWidth<T>; ++i) max = lanes[i] > max ? lanes[i] : max;
  max += sum_lanes(unordered);
  if (max == kInfinity<T>) {  // the only infinite score takes all the weight
    std::int64_t infinite = 0;
    for (std::int64_t i = 0; i < n; ++i) infinite += x[i] == max ? 1 : 0;
    const T weight = infinite == 1 ? T(1) : T(__builtin_nan(""));
    const T rest = infinite == 1 ? T(0) : weight;
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] == max ? weight : rest;
    return weight;
  }
  BlockSum<T> sum;
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    const Batch<T> e = xsimd::exp(load(x + i, count, -kInfinity<T>) - Batch<T>(max));
    sum.add(e);
    store(y + i, e, count);
  });
  const T total = sum.total();
  const Batch<T> scale(T(1) / total);
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    store(y + i, load(y + i, count, T(0)) * scale, count);
  });
  return total;
}

template <class T>
void softmax_backward_kernel(const T* g, const T* y, T* dx, std::int64_t n) {
  const Batch<T> zero(T(0));
  BlockSum<T> sum;
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    const Batch<T> yi = load(y + i, count, T(0));
    sum.add(xsimd::select(yi == zero, zero, yi * load(g + i, count, T(0))));
  });
  const Batch<T> dot(sum.total());
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    const Batch<T> yi = load(y + i, count, T(0));
    const Batch<T> d = yi * (load(g + i, count, T(0)) - dot);
    store(dx + i, xsimd::select(yi == zero, zero, d), count);
  });
}

template <class T>
constexpr Kernels<T> kTable = {exp_kernel<T>, softmax_kernel<T>, softmax_backward_kernel<T>};
