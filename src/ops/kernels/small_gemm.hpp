// Part of implementation.hpp: a matrix product for operands so small that OpenBLAS's calls, checks
// and packing would take longer than the product.

/// The rows i to i + R - 1 and V vectors of columns from j on; b has unit stride along its rows.
template <int R, int V, class T>
inline void small_gemm_tile(const SmallProduct<T>& p, const T* b, std::int64_t b_row,
                            std::int64_t i, std::int64_t j) {
  Batch<T> sum[R][V];
  for (auto& row : sum) {
    for (auto& lanes : row) lanes = Batch<T>(T(0));
  }
  const T* a = p.a + i * p.a_row;
  b += j;
  for (std::int64_t k = 0; k < p.k; ++k) {
    Batch<T> right[V];
    for (int v = 0; v < V; ++v) right[v] = Batch<T>::load_unaligned(b + v * kWidth<T>);
    for (int r = 0; r < R; ++r) {
      const Batch<T> left(a[r * p.a_row]);
      for (int v = 0; v < V; ++v) sum[r][v] = xsimd::fma(left, right[v], sum[r][v]);
    }
    a += p.a_col;
    b += b_row;
  }
  const Batch<T> alpha(p.alpha);
  for (int r = 0; r < R; ++r) {
    T* c = p.c + (i + r) * p.c_row + j;
    for (int v = 0; v < V; ++v, c += kWidth<T>) {
      const std::int64_t left = p.n - j - v * kWidth<T>;
      const std::int64_t count = left < kWidth<T> ? left : kWidth<T>;
      const Batch<T> product = alpha * sum[r][v];
      store(c, p.accumulate ? load(c, count) + product : product, count);
    }
  }
}

template <int V, class T>
inline void small_gemm_columns(const SmallProduct<T>& p, const T* b, std::int64_t b_row,
                               std::int64_t j) {
  std::int64_t i = 0;
  for (; i + 4 <= p.m; i += 4) small_gemm_tile<4, V>(p, b, b_row, i, j);
  switch (p.m - i) {
    case 3:
      return small_gemm_tile<3, V>(p, b, b_row, i, j);
    case 2:
      return small_gemm_tile<2, V>(p, b, b_row, i, j);
    case 1:
      return small_gemm_tile<1, V>(p, b, b_row, i, j);
    default:
      return;
  }
}

template <class T>
bool small_gemm_kernel(const SmallProduct<T>& p) {
  constexpr std::int64_t width = kWidth<T>;
  constexpr std::int64_t kMostPacked = 4096;
  const std::int64_t padded = (p.n + width - 1) / width * width;
  const T* b = p.b;
  std::int64_t b_row = p.b_row;
  alignas(64) T packed[kMostPacked];
  if (p.b_col != 1 || padded != p.n) {  // rows of whole vectors
    if (p.k * padded > kMostPacked) return false;
    for (std::int64_t k = 0; k < p.k; ++k) {
      T* row = packed + k * padded;
      for (std::int64_t j = p.n; j < padded; ++j) row[j] = T(0);
      for (std::int64_t j = 0; j < p.n; ++j) row[j] = p.b[k * p.b_row + j * p.b_col];
    }
    b = packed;
    b_row = padded;
  }
  std::int64_t j = 0;
  for (; j + width < p.n; j += 2 * width) small_gemm_columns<2>(p, b, b_row, j);
  if (j < p.n) small_gemm_columns<1>(p, b, b_row, j);
  return true;
}
