// Included as implementation.hpp is, and under the same rules.

#include <xgrad/ops/kernels/implementation.hpp>

struct Larger {
  template <class V>
  V operator()(V a, V b) const {
    return larger(a, b);
  }
};

/// e^x of a score's distance x <= 0 from the largest one. A result that is not a normal number, and
/// is lost beside the largest one's 1, is 0: many processors take long for the others.
template <class T>
inline Batch<T> weight(Batch<T> x) {
  using F = Format<T>;
  const Batch<T> least(sizeof(T) == 4 ? T(-87) : T(-708));
  const auto vanishes = x < least;
  x = xsimd::select(vanishes, least, x);  // NaN stays
  const Batch<T> rounded = multiply_add(x, Batch<T>(T(1.4426950408889634074)), Batch<T>(F::round));
  const Batch<T> k = rounded - Batch<T>(F::round);
  Batch<T> r = multiply_add(k, Batch<T>(-F::ln2_high), x);
  r = multiply_add(k, Batch<T>(-F::ln2_low), r);
  Batch<T> y(F::exp[0]);
  for (std::size_t i = 1; i < sizeof(F::exp) / sizeof(T); ++i) {
    y = multiply_add(y, r, Batch<T>(F::exp[i]));
  }
  y = multiply_add(r * r, y, r) + Batch<T>(T(1));
  return xsimd::select(vanishes, Batch<T>(T(0)), y * power_of_two(rounded));
}

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
    const T old = most[row];
    const T most_here = combine_lanes<T, Larger>(largest);
    const T next = most_here > old ? most_here : old;
    most[row] = next;
    if (next == kInfinity<T> || next == -kInfinity<T>) {
      infinite_softmax_step(scores, n, old, sum + row, correction + row, next);
      continue;
    }
    Batch<T> total(T(0));
    for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
      const Batch<T> e = weight(load(scores + i, count, -kInfinity<T>) - Batch<T>(next));
      total += e;
      store(scores + i, e, count);
    });
    T factor = old == next ? T(1) : T(0);
    if (old != next && old != -kInfinity<T>) {
      factor = combine_lanes<T, Larger>(weight(Batch<T>(old - next)));
    }
    correction[row] = factor;
    sum[row] = sum[row] * factor + combine_lanes<T, Sums>(total);
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
      store(scores + i, weight(load(scores + i, count, T(0)) - largest) * scale, count);
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
    const Batch<T> mean(whole ? combine_lanes<T, Sums>(total) : dot[row]);
    for_each_vector<T>(n, [&](std::int64_t i, std::int64_t count) {
      const Batch<T> w = load(weights + i, count, T(0));
      const Batch<T> d = w * (load(g + i, count, T(0)) - mean);
      store(g + i, xsimd::select(w == zero, zero, d), count);
    });
  }
}

// A whole vector where visible, else the filler: ten times as fast as what the compiler makes of
// the loop over elements.
#if defined(__AVX512F__)
inline Batch<float> shown(const float* x, const bool* visible, Batch<float> filler) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(visible));
  return _mm512_mask_loadu_ps(filler, _mm_test_epi8_mask(bytes, bytes), x);
}
inline Batch<double> shown(const double* x, const bool* visible, Batch<double> filler) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(visible));
  return _mm512_mask_loadu_pd(filler, static_cast<__mmask8>(_mm_test_epi8_mask(bytes, bytes)), x);
}
#elif defined(__AVX2__)
inline Batch<float> shown(const float* x, const bool* visible, Batch<float> filler) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(visible));
  const __m256i mask = _mm256_cmpgt_epi32(_mm256_cvtepi8_epi32(bytes), _mm256_setzero_si256());
  return _mm256_blendv_ps(filler, _mm256_loadu_ps(x), _mm256_castsi256_ps(mask));
}
inline Batch<double> shown(const double* x, const bool* visible, Batch<double> filler) {
  const __m128i bytes = _mm_loadu_si32(visible);
  const __m256i mask = _mm256_cmpgt_epi64(_mm256_cvtepi8_epi64(bytes), _mm256_setzero_si256());
  return _mm256_blendv_pd(filler, _mm256_loadu_pd(x), _mm256_castsi256_pd(mask));
}
#else
template <class T>
inline Batch<T> shown(const T* x, const bool* visible, Batch<T> filler) {
  alignas(64) T lanes[kWidth<T>];
  filler.store_aligned(lanes);
  for (std::int64_t i = 0; i < kWidth<T>; ++i) lanes[i] = visible[i] ? x[i] : lanes[i];
  return Batch<T>::load_aligned(lanes);
}
#endif

template <class T>
void hide_kernel(T* x, const bool* visible, std::int64_t n, T filler) {
  std::int64_t i = 0;
  for (; i + kWidth<T> <= n; i += kWidth<T>) {
    shown(x + i, visible + i, Batch<T>(filler)).store_unaligned(x + i);
  }
  for (; i < n; ++i) x[i] = visible[i] ? x[i] : filler;
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
    dot[row] = combine_lanes<T, Sums>(total);
  }
}

template <class T>
constexpr AttentionKernels<T> kAttentionTable = {softmax_step_kernel<T>,   weights_kernel<T>,
                                                 score_gradient_kernel<T>, hide_kernel<T>,
                                                 scale_rows_kernel<T>,     dot_rows_kernel<T>};
