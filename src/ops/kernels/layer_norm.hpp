// Part of implementation.hpp: layer_norm and its gradients, along a dense line of n > 0 elements.

template <class T>
struct Normaliser {
  Batch<T> mean;
  Batch<T> inverse;  // 1 / sqrt(var + eps)

  Normaliser(const T* x, std::int64_t n, T eps) {
    // Relative to the first element, so that a constant row deviates by exactly 0.
    const T count = static_cast<T>(n);
    const T average = x[0] + fold_line_kernel<T, SumCentred<T>>(x, n, x[0]) / count;
    const T variance = fold_line_kernel<T, SumSquares<T>>(x, n, average) / count;
    mean = Batch<T>(average);
    inverse = Batch<T>(T(1)) / xsimd::sqrt(Batch<T>(variance + eps));
  }
  Batch<T> operator()(Batch<T> x) const { return (x - mean) * inverse; }
};

template <class T>
void layer_norm_kernel(const T* x, const T* weight, const T* bias, T* y, std::int64_t n, T eps) {
  const Normaliser<T> normalised(x, n, eps);
  if (weight == nullptr) {
    for_each_vector<T>(n, [=](std::int64_t i, std::int64_t count) {
      store(y + i, normalised(load(x + i, count)), count);
    });
    return;
  }
  for_each_vector<T>(n, [=](std::int64_t i, std::int64_t count) {
    store(y + i,
          multiply_add(normalised(load(x + i, count)), load(weight + i, count),
                       load(bias + i, count)),
          count);
  });
}

template <class T>
void layer_norm_backward_kernel(const T* g, const T* x, const T* weight, T* dx, std::int64_t n,
                                T eps) {
  const Normaliser<T> normalised(x, n, eps);
  const auto h = [=](std::int64_t i, std::int64_t count) {
    const Batch<T> gi = load(g + i, count);
    return weight == nullptr ? gi : gi * load(weight + i, count);
  };
  BlockSum<T> sum_h;
  BlockSum<T> sum_hn;
  for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
    const Batch<T> hi = h(i, count);
    sum_h.add(hi);
    sum_hn.add(hi * normalised(load(x + i, count)));  // 0 beyond the end, where h is
  });
  const Batch<T> mean_h(sum_h.total() / static_cast<T>(n));
  const Batch<T> mean_hn(sum_hn.total() / static_cast<T>(n));
  for_each_vector<T>(n, [=](std::int64_t i, std::int64_t count) {
    const Batch<T> n_hat = normalised(load(x + i, count));
    store(dx + i, normalised.inverse * (h(i, count) - mean_h - n_hat * mean_hn), count);
  });
}

template <class T>
void layer_norm_weight_gradient_kernel(const T* g, const T* x, T* sum, std::int64_t n, T eps) {
  const Normaliser<T> normalised(x, n, eps);
  for_each_vector<T>(n, [=](std::int64_t i, std::int64_t count) {
    const Batch<T> more = load(g + i, count) * normalised(load(x + i, count));
    store(sum + i, load(sum + i, count) + more, count);
  });
}
