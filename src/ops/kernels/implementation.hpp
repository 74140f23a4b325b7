// Included by one source file for each instruction set, inside an anonymous namespace and after
// xsimd. Only raw pointers and xsimd here: an inline function of the standard library compiled with
// these flags could be the copy that the linker keeps for every caller.

#include <xgrad/ops/kernels/vector.hpp>

#include <xgrad/ops/kernels/math.hpp>

#include <xgrad/ops/kernels/elementwise.hpp>

#include <xgrad/ops/kernels/small_gemm.hpp>

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
    const Batch<T> e = math::exp(load(x + i, count, -kInfinity<T>) - Batch<T>(max));
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
constexpr Kernels<T> table() {
  Kernels<T> t{};
  t.neg = unary_kernel<T, Neg>;
  t.abs = unary_kernel<T, Abs>;
  t.square = unary_kernel<T, Square>;
  t.sqrt = unary_kernel<T, Sqrt>;
  t.relu = unary_kernel<T, Relu>;
  t.exp = unary_kernel<T, Exp>;
  t.log = unary_kernel<T, Log>;
  t.sigmoid = unary_kernel<T, Sigmoid>;
  t.tanh = unary_kernel<T, Tanh>;
  t.erf = InDouble<T, Erf>::unary;
  t.gelu = InDouble<T, Gelu>::unary;
  t.gelu_slope = InDouble<T, GeluSlope>::unary;
  t.sin = InDouble<T, Sin>::unary;
  t.cos = InDouble<T, Cos>::unary;
  t.add = binary_kernel<T, Add>;
  t.sub = binary_kernel<T, Sub>;
  t.mul = binary_kernel<T, Mul>;
  t.div = binary_kernel<T, Div>;
  t.chain = binary_kernel<T, Chain>;
  t.maximum = binary_kernel<T, Maximum>;
  t.minimum = binary_kernel<T, Minimum>;
  t.less = compare_kernel<T, Less>;
  t.less_equal = compare_kernel<T, LessEqual>;
  t.equal = compare_kernel<T, Equal>;
  t.not_equal = compare_kernel<T, NotEqual>;
  t.clip = clip_kernel<T>;
  t.where = where_kernel<T>;
  t.softmax = softmax_kernel<T>;
  t.softmax_backward = softmax_backward_kernel<T>;
  t.small_gemm = small_gemm_kernel<T>;
  return t;
}

template <class T>
constexpr Kernels<T> kTable = table<T>();
