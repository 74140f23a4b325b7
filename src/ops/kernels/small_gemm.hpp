// Part of implementation.hpp: a matrix product for operands so small that OpenBLAS's calls, checks
// and packing would take longer than the product.

/// The rows i to i + R - 1 and V vectors of columns from j on, of which the last has `count` lanes.
template <int R, int V, bool kWhole, class T>
inline void small_gemm_tile(const SmallProduct<T>& p, std::int64_t i, std::int64_t j,
                            std::int64_t count) {
  const auto lanes = [&](int v) { return kWhole || v + 1 < V ? kWidth<T> : count; };
  Batch<T> sum[R][V];
  for (auto& row : sum) {
    for (auto& vector : row) vector = Batch<T>(T(0));
  }
  const T* a = p.a + i * p.a_row;
  const T* b = p.b + j;
  for (std::int64_t k = 0; k < p.k; ++k, a += p.a_col, b += p.b_row) {
    Batch<T> right[V];
    for (int v = 0; v < V; ++v) right[v] = load(b + v * kWidth<T>, lanes(v));
    for (int r = 0; r < R; ++r) {
      const Batch<T> left(a[r * p.a_row]);
      for (int v = 0; v < V; ++v) sum[r][v] = xsimd::fma(left, right[v], sum[r][v]);
    }
  }
  const Batch<T> alpha(p.alpha);
  for (int r = 0; r < R; ++r) {
    T* c = p.c + (i + r) * p.c_row + j;
    for (int v = 0; v < V; ++v, c += kWidth<T>) {
      const Batch<T> product = alpha * sum[r][v];
      store(c, p.accumulate ? load(c, lanes(v)) + product : product, lanes(v));
    }
  }
}

template <int V, bool kWhole, class T>
inline void small_gemm_columns(const SmallProduct<T>& p, std::int64_t j, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + 4 <= p.m; i += 4) small_gemm_tile<4, V, kWhole>(p, i, j, count);
  switch (p.m - i) {
    case 3:
      return small_gemm_tile<3, V, kWhole>(p, i, j, count);
    case 2:
      return small_gemm_tile<2, V, kWhole>(p, i, j, count);
    case 1:
      return small_gemm_tile<1, V, kWhole>(p, i, j, count);
    default:
      return;
  }
}

template <class T>
bool small_gemm_kernel(const SmallProduct<T>& product) {
  constexpr std::int64_t width = kWidth<T>;
  constexpr std::int64_t kMostCopied = 4096;
  SmallProduct<T> p = product;
  alignas(64) T rows[kMostCopied];
  if (p.b_col != 1) {  // vectors along the rows of b need them one after another
    if (p.k * p.n > kMostCopied) return false;
    for (std::int64_t j = 0; j < p.n; ++j) {
      const T* column = p.b + j * p.b_col;
      for (std::int64_t k = 0; k < p.k; ++k) rows[k * p.n + j] = column[k * p.b_row];
    }
    p.b = rows;
    p.b_row = p.n;
    p.b_col = 1;
  }
  std::int64_t j = 0;
  for (; j + 2 * width <= p.n; j += 2 * width) small_gemm_columns<2, true>(p, j, width);
  const std::int64_t left = p.n - j;
  if (left > width) {
    small_gemm_columns<2, false>(p, j, left - width);
  } else if (left == width) {
    small_gemm_columns<1, true>(p, j, width);
  } else if (left > 0) {
    small_gemm_columns<1, false>(p, j, left);
  }
  return true;
}
