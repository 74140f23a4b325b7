// Included as implementation.hpp is, and under the same rules.

#include <xgrad/ops/kernels/implementation.hpp>

/// A row whose largest score is infinite: the only score of +inf takes all the weight, and a row of
/// nothing but -inf has none yet.
template <class T>
__attribute__((noinline)) void infinite_softmax_step(T* scores, std::int64_t n, T old, T* sum,
                                                     T* correction, T most) {
  bool ordered = true;
  std::int64_t infinite = old == kInfinity<T> ? 1 : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    ordered &= scores[i] == scores[i];
    infinite += scores[i] == kInfinity<T> ? 1 : 0;
    scores[i] = scores[i] == kInfinity<T> ? T(1) : T(0);
  }
  *correction = old == most ? T(1) : T(0);
  if (old != most) *sum = *sum * T(0) + T(1);  // stays NaN
  if (!ordered || infinite > 1) *sum = T(__builtin_nan(""));
}

template <class T>
void softmax_step_kernel(T* scores, std::int64_t rows, std::int64_t n, T* most, T* sum,
                         T* correction) {
  for (std::int64_t row = 0; row < rows; ++row, scores += n) {
    // A maximum may lose a NaN; then the sum finds it.
    Batch<T> largest(-kInfinity<T>);
    for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
      largest = xsimd::max(largest, load(scores + i, count, -kInfinity<T>));
    });
    alignas(64) T lanes[kWidth<T>];
    largest.store_aligned(lanes);
    const T old = most[row];
    T next = old;
    for (std::int64_t i = 0; i < kWidth<T>; ++i) next = lanes[i] > next ? lanes[i] : next;
    most[row] = next;
    if (next == kInfinity<T> || next == -kInfinity<T>) {
      infinite_softmax_step(scores, n, old, sum + row, correction + row, next);
      continue;
    }
    Batch<T> total(T(0));
    for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
      const Batch<T> e = xsimd::exp(load(scores + i, count, -kInfinity<T>) - Batch<T>(next));
      total += e;
      store(scores + i, e, count);
    });
    T factor = T(1);
    if (old != next) {
      factor = sizeof(T) == 4 ? T(__builtin_expf(static_cast<float>(old - next)))
                              : T(__builtin_exp(static_cast<double>(old - next)));
    }
    correction[row] = factor;
    sum[row] = sum[row] * factor + sum_lanes(total);
  }
}

template <class T>
void weights_kernel(T* scores, std::int64_t rows, std::int64_t n, const T* most,
                    const T* inverse_sum) {
  for (std::int64_t row = 0; row < rows; ++row, scores += n) {
    if (most[row] == kInfinity<T>) {
      for (std::int64_t i = 0; i < n; ++i) {
        scores[i] = scores[i] == kInfinity<T> ? inverse_sum[row] : inverse_sum[row] * T(0);
      }
      continue;
    }
    const Batch<T> largest(most[row]);
    const Batch<T> scale(inverse_sum[row]);
    for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
      store(scores + i, xsimd::exp(load(scores + i, count, T(0)) - largest) * scale, count);
    });
  }
}

template <class T>
void score_gradient_kernel(const T* weights, T* g, std::int64_t rows, std::int64_t n, const T* most,
                           const T* dot) {
  const Batch<T> zero(T(0));
  for (std::int64_t row = 0; row < rows; ++row, weights += n, g += n) {
    const bool whole = dot == nullptr || most[row] == kInfinity<T>;
    Batch<T> total(T(0));
    if (whole) {
      for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
        const Batch<T> w = load(weights + i, count, T(0));
        total += xsimd::select(w == zero, zero, w * load(g + i, count, T(0)));
      });
    }
    const Batch<T> mean(whole ? sum_lanes(total) : dot[row]);
    for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
      const Batch<T> w = load(weights + i, count, T(0));
      const Batch<T> d = w * (load(g + i, count, T(0)) - mean);
      store(g + i, xsimd::select(w == zero, zero, d), count);
    });
  }
}

template <class T>
void hide_kernel(T* x, const bool* visible, std::int64_t n, T filler) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = visible[i] ? x[i] : filler;
}

template <class T>
void scale_rows_kernel(T* x, std::int64_t stride, std::int64_t rows, std::int64_t n,
                       const T* factor) {
  for (std::int64_t row = 0; row < rows; ++row, x += stride) {
    if (factor[row] == T(1)) continue;
    const Batch<T> scale(factor[row]);
    for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
      store(x + i, load(x + i, count, T(0)) * scale, count);
    });
  }
}

template <class T>
void dot_rows_kernel(const T* a, std::int64_t a_stride, const T* b, std::int64_t b_stride,
                     std::int64_t rows, std::int64_t n, T* dot) {
  for (std::int64_t row = 0; row < rows; ++row, a += a_stride, b += b_stride) {
    Batch<T> total(T(0));
    for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
      total += load(a + i, count, T(0)) * load(b + i, count, T(0));
    });
    dot[row] = sum_lanes(total);
  }
}

template <class T>
constexpr AttentionKernels<T> kAttentionTable = {softmax_step_kernel<T>,   weights_kernel<T>,
                                                 score_gradient_kernel<T>, hide_kernel<T>,
                                                 scale_rows_kernel<T>,     dot_rows_kernel<T>};
