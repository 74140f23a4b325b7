// Part of implementation.hpp: softmax and its like, along a dense line.

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
    total_ += static_cast<double>(combine_lanes<T, Sums>(block_));
    block_ = Batch<T>(T(0));
    count_ = 0;
  }
  Batch<T> block_ = Batch<T>(T(0));
  int count_ = 0;
  double total_ = 0;
};

/// NaN for the sum of e^(x - max) if the softmax has no limit: all scores -inf, or several +inf.
template <class T>
inline T checked_total(T total, T max) {
  const bool infinite = max == kInfinity<T> || max == -kInfinity<T>;
  return infinite && !(max > T(0) && total == T(1)) ? kNaN<T> : total;
}

template <class T>
T softmax_kernel(const T* x, T* y, std::int64_t n) {
  const T max = fold_line_kernel<T, Plain<T, Maxima>>(x, n, T(0));
  const Batch<T> centre(max);
  BlockSum<T> sum;
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    const Batch<T> e = SumExp<T>::contribution(load(x + i, count, SumExp<T>::filler(max)), centre);
    sum.add(e);
    store(y + i, e, count);
  });
  const T total = checked_total(sum.total(), max);
  const Batch<T> scale(T(1) / total);
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    store(y + i, load(y + i, count) * scale, count);
  });
  return total;
}

template <class T>
void log_softmax_kernel(const T* x, T* y, std::int64_t n) {
  const T max = fold_line_kernel<T, Plain<T, Maxima>>(x, n, T(0));
  const T total = checked_total(fold_line_kernel<T, SumExp<T>>(x, n, max), max);
  const Batch<T> log_total = math::log(Batch<T>(total));
  const Batch<T> centre(max);
  for_each_vector<T>(n, [=](std::int64_t i, std::int64_t count) {
    store(y + i, Shift()(load(x + i, count), centre) - log_total, count);
  });
}

template <class T>
void softmax_backward_kernel(const T* g, const T* y, T* dx, std::int64_t n) {
  const Batch<T> zero(T(0));
  BlockSum<T> sum;
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    const Batch<T> yi = load(y + i, count);
    sum.add(xsimd::select(yi == zero, zero, yi * load(g + i, count)));
  });
  const Batch<T> dot(sum.total());
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    const Batch<T> yi = load(y + i, count);
    const Batch<T> d = yi * (load(g + i, count) - dot);
    store(dx + i, xsimd::select(yi == zero, zero, d), count);
  });
}
