// Part of implementation.hpp: a matrix copied with its axes swapped.

/// The lower (Half = 0) or upper halves of a and b, lane by lane in turn.
template <int Half, class T, int... Lane>
inline Batch<T> zip(Batch<T> a, Batch<T> b, std::integer_sequence<int, Lane...>) {
  constexpr int kLanes = static_cast<int>(sizeof...(Lane));
  return __builtin_shufflevector(a.data, b.data,
                                 (Lane / 2 + Half * kLanes / 2 + Lane % 2 * kLanes)...);
}

/// As many rows as a vector has lanes. Each turn zips the first half of them with the second.
template <class T>
inline void transpose_tile(const T* x, std::int64_t x_row, T* y, std::int64_t y_row) {
  constexpr int n = static_cast<int>(kWidth<T>);
  constexpr std::make_integer_sequence<int, n> kLanes;
  Batch<T> rows[n];
  for (int i = 0; i < n; ++i) rows[i] = Batch<T>::load_unaligned(x + i * x_row);
  for (int turn = 1; turn < n; turn *= 2) {
    Batch<T> zipped[n];
    for (int i = 0; i < n / 2; ++i) {
      zipped[2 * i] = zip<0>(rows[i], rows[i + n / 2], kLanes);
      zipped[2 * i + 1] = zip<1>(rows[i], rows[i + n / 2], kLanes);
    }
    for (int i = 0; i < n; ++i) rows[i] = zipped[i];
  }
  for (int i = 0; i < n; ++i) rows[i].store_unaligned(y + i * y_row);
}

template <class T>
void transpose_kernel(const T* x, std::int64_t x_row, std::int64_t rows, std::int64_t cols, T* y,
                      std::int64_t y_row) {
  constexpr std::int64_t n = kWidth<T>;
  const std::int64_t whole_rows = rows - rows % n;
  const std::int64_t whole_cols = cols - cols % n;
  for (std::int64_t i = 0; i < whole_rows; i += n) {
    for (std::int64_t j = 0; j < whole_cols; j += n) {
      transpose_tile(x + i * x_row + j, x_row, y + j * y_row + i, y_row);
    }
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = i < whole_rows ? whole_cols : 0; j < cols; ++j) {
      y[j * y_row + i] = x[i * x_row + j];
    }
  }
}
