// Part of implementation.hpp: how the kernels reach memory.

template <class T>
using Batch = xsimd::batch<T>;

template <class T>
constexpr std::int64_t kWidth = static_cast<std::int64_t>(Batch<T>::size);

template <class T>
constexpr T kInfinity = static_cast<T>(__builtin_inf());

template <class T>
constexpr T kNaN = static_cast<T>(__builtin_nan(""));

/// Calls f(offset, count) with count = the vector's width, and at last with what is left. No lane
/// ever depends on where in a row its element lies, nor on how the row is aligned.
template <class T, class F>
inline void for_each_vector(std::int64_t n, F f) {
  std::int64_t i = 0;
  for (; i + kWidth<T> <= n; i += kWidth<T>) f(i, kWidth<T>);
  if (i < n) f(i, n - i);
}

#if defined(__AVX512F__)
inline Batch<float> load_part(const float* x, std::int64_t count, float filler) {
  const auto mask = static_cast<__mmask16>((1U << count) - 1);
  return _mm512_mask_loadu_ps(_mm512_set1_ps(filler), mask, x);
}
inline Batch<double> load_part(const double* x, std::int64_t count, double filler) {
  const auto mask = static_cast<__mmask8>((1U << count) - 1);
  return _mm512_mask_loadu_pd(_mm512_set1_pd(filler), mask, x);
}
inline void store_part(float* y, Batch<float> value, std::int64_t count) {
  _mm512_mask_storeu_ps(y, static_cast<__mmask16>((1U << count) - 1), value);
}
inline void store_part(double* y, Batch<double> value, std::int64_t count) {
  _mm512_mask_storeu_pd(y, static_cast<__mmask8>((1U << count) - 1), value);
}
#elif defined(__AVX2__)
inline __m256i first_lanes(float, std::int64_t count) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), lane);
}
inline __m256i first_lanes(double, std::int64_t count) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
inline Batch<float> load_part(const float* x, std::int64_t count, float filler) {
  const __m256i mask = first_lanes(0.0F, count);
  return _mm256_blendv_ps(_mm256_set1_ps(filler), _mm256_maskload_ps(x, mask),
                          _mm256_castsi256_ps(mask));
}
inline Batch<double> load_part(const double* x, std::int64_t count, double filler) {
  const __m256i mask = first_lanes(0.0, count);
  return _mm256_blendv_pd(_mm256_set1_pd(filler), _mm256_maskload_pd(x, mask),
                          _mm256_castsi256_pd(mask));
}
inline void store_part(float* y, Batch<float> value, std::int64_t count) {
  _mm256_maskstore_ps(y, first_lanes(0.0F, count), value);
}
inline void store_part(double* y, Batch<double> value, std::int64_t count) {
  _mm256_maskstore_pd(y, first_lanes(0.0, count), value);
}
#else
template <class T>
inline Batch<T> load_part(const T* x, std::int64_t count, T filler) {
  alignas(64) T lanes[kWidth<T>];
  for (std::int64_t i = 0; i < kWidth<T>; ++i) lanes[i] = i < count ? x[i] : filler;
  return Batch<T>::load_aligned(lanes);
}
template <class T>
inline void store_part(T* y, Batch<T> value, std::int64_t count) {
  alignas(64) T lanes[kWidth<T>];
  value.store_aligned(lanes);
  for (std::int64_t i = 0; i < count; ++i) y[i] = lanes[i];
}
#endif

template <class T>
inline Batch<T> load(const T* x, std::int64_t count, T filler = T(0)) {
  return count == kWidth<T> ? Batch<T>::load_unaligned(x) : load_part(x, count, filler);
}

template <class T>
inline void store(T* y, Batch<T> value, std::int64_t count) {
  if (count == kWidth<T>) {
    value.store_unaligned(y);
  } else {
    store_part(y, value, count);
  }
}

/// As many floats as a vector of doubles has lanes.
inline Batch<double> load_wide(const float* x) {
#if defined(__AVX512F__)
  return _mm512_cvtps_pd(_mm256_loadu_ps(x));
#elif defined(__AVX2__)
  return _mm256_cvtps_pd(_mm_loadu_ps(x));
#else
  alignas(64) double lanes[kWidth<double>];
  for (std::int64_t i = 0; i < kWidth<double>; ++i) lanes[i] = static_cast<double>(x[i]);
  return Batch<double>::load_aligned(lanes);
#endif
}
inline void store_narrow(float* y, Batch<double> value) {
#if defined(__AVX512F__)
  _mm256_storeu_ps(y, _mm512_cvtpd_ps(value));
#elif defined(__AVX2__)
  _mm_storeu_ps(y, _mm256_cvtpd_ps(value));
#else
  alignas(64) double lanes[kWidth<double>];
  value.store_aligned(lanes);
  for (std::int64_t i = 0; i < kWidth<double>; ++i) y[i] = static_cast<float>(lanes[i]);
#endif
}

inline Batch<double> load_wide(const float* x, std::int64_t count) {
  if (count == kWidth<double>) return load_wide(x);
  float part[kWidth<double>] = {};
  for (std::int64_t i = 0; i < count; ++i) part[i] = x[i];
  return load_wide(part);
}
inline void store_narrow(float* y, Batch<double> value, std::int64_t count) {
  if (count == kWidth<double>) return store_narrow(y, value);
  float part[kWidth<double>];
  store_narrow(part, value);
  for (std::int64_t i = 0; i < count; ++i) y[i] = part[i];
}

/// x y + z, rounded once where the processor can.
#if defined(__AVX512F__)
// xsimd 8 has none of its own for AVX-512: its fma is a product and a sum.
inline Batch<float> multiply_add(Batch<float> x, Batch<float> y, Batch<float> z) {
  return _mm512_fmadd_ps(x, y, z);
}
inline Batch<double> multiply_add(Batch<double> x, Batch<double> y, Batch<double> z) {
  return _mm512_fmadd_pd(x, y, z);
}
#else
template <class T>
inline Batch<T> multiply_add(Batch<T> x, Batch<T> y, Batch<T> z) {
  return xsimd::fma(x, y, z);
}
#endif
