// Part of implementation.hpp: a matrix product of operands that are in cache already, and so are
// not packed.

/// Rows of the result that are computed together: with two vectors of columns they fill most of the
/// vector registers.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kTileRows = 8;
#else
constexpr int kTileRows = 6;
#endif

/// R rows and V vectors of columns; the last one has `count` lanes unless it is whole.
template <int R, int V, bool kWhole, class T>
inline void product_tile(const BlockProduct<T>& p, std::int64_t i, std::int64_t j,
                         std::int64_t count) {
  Batch<T> sum[R][V];
  for (auto& row : sum) {
    for (auto& lanes : row) lanes = Batch<T>(T(0));
  }
  const T* a = p.a + i * p.a_row;
  const T* b = p.b + j;
  for (std::int64_t k = 0; k < p.depth; ++k, a += p.a_col, b += p.b_row) {
    Batch<T> right[V];
    for (int v = 0; v + 1 < V; ++v) right[v] = Batch<T>::load_unaligned(b + v * kWidth<T>);
    right[V - 1] = load(b + (V - 1) * kWidth<T>, kWhole ? kWidth<T> : count);
    for (int r = 0; r < R; ++r) {
      const Batch<T> left(a[r * p.a_row]);
      for (int v = 0; v < V; ++v) sum[r][v] = multiply_add(left, right[v], sum[r][v]);
    }
  }
  const Batch<T> alpha(p.alpha);
  for (int r = 0; r < R; ++r) {
    T* c = p.c + (i + r) * p.c_row + j;
    for (int v = 0; v < V; ++v, c += kWidth<T>) {
      const std::int64_t lanes = kWhole || v + 1 < V ? kWidth<T> : count;
      const Batch<T> product = alpha * sum[r][v];
      store(c, p.accumulate ? product + load(c, lanes) : product, lanes);
    }
  }
}

template <int V, bool kWhole, class T>
inline void product_columns(const BlockProduct<T>& p, std::int64_t j, std::int64_t count) {
  std::int64_t i = 0;
  for (; i + kTileRows <= p.rows; i += kTileRows)
    product_tile<kTileRows, V, kWhole>(p, i, j, count);
  for (; i + 2 <= p.rows; i += 2) product_tile<2, V, kWhole>(p, i, j, count);
  if (i < p.rows) product_tile<1, V, kWhole>(p, i, j, count);
}

template <class T>
void product_kernel(const BlockProduct<T>& p) {
  constexpr std::int64_t width = kWidth<T>;
  std::int64_t j = 0;
  for (; j + 2 * width <= p.cols; j += 2 * width) product_columns<2, true>(p, j, width);
  const std::int64_t left = p.cols - j;
  if (left > width) return product_columns<2, false>(p, j, left - width);
  if (left == width) return product_columns<1, true>(p, j, width);
  if (left > 0) product_columns<1, false>(p, j, left);
}
