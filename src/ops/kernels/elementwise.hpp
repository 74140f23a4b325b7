// Part of implementation.hpp: the elementwise kernels. A functor is called with whole vectors.

template <class T, class F>
void unary_kernel(const T* x, T* y, std::int64_t n) {
  for_each_vector<T>(
      n, [=](std::int64_t i, std::int64_t count) { store(y + i, F()(load(x + i, count)), count); });
}

/// F<T> computes in double, to the precision of T.
template <class T, template <class> class F>
struct InDouble;
template <template <class> class F>
struct InDouble<double, F> {
  static constexpr UnaryKernel<double> unary = unary_kernel<double, F<double>>;
};
template <template <class> class F>
struct InDouble<float, F> {
  static void unary(const float* x, float* y, std::int64_t n) {
    for_each_vector<double>(n, [=](std::int64_t i, std::int64_t count) {
      store_narrow(y + i, F<float>()(load_wide(x + i, count)), count);
    });
  }
};

template <class T>
struct Constant {
  Batch<T> value;
  Batch<T> at(std::int64_t, std::int64_t) const { return value; }
};
template <class T>
struct Dense {
  const T* data;
  Batch<T> at(std::int64_t i, std::int64_t count) const { return load(data + i, count); }
};

/// Calls f with a and b as rows that are dense or constant.
template <class T, class F>
inline void with_rows_of(Operand<T> a, Operand<T> b, F f) {
  if (a.constant) {
    f(Constant<T>{Batch<T>(*a.data)}, Dense<T>{b.data});
  } else if (b.constant) {
    f(Dense<T>{a.data}, Constant<T>{Batch<T>(*b.data)});
  } else {
    f(Dense<T>{a.data}, Dense<T>{b.data});
  }
}

template <class T, class F>
void binary_kernel(Operand<T> a, Operand<T> b, T* y, std::int64_t n) {
  with_rows_of(a, b, [=](auto left, auto right) {
    for_each_vector<T>(n, [=](std::int64_t i, std::int64_t count) {
      store(y + i, F()(left.at(i, count), right.at(i, count)), count);
    });
  });
}

struct Neg {
  template <class V>
  V operator()(V x) const {
    return V(-0.0) - x;  // xsimd's -x is 0 - x in AVX-512, and loses the sign of 0
  }
};
struct Abs {
  template <class V>
  V operator()(V x) const {
    return xsimd::abs(x);
  }
};
struct Square {
  template <class V>
  V operator()(V x) const {
    return x * x;
  }
};
struct Sqrt {
  template <class V>
  V operator()(V x) const {
    return xsimd::sqrt(x);
  }
};
struct Relu {
  template <class V>
  V operator()(V x) const {
    const V zero(0);
    return xsimd::select(x <= zero, zero, x);
  }
};
struct Exp {
  template <class V>
  V operator()(V x) const {
    return math::exp(x);
  }
};
struct Log {
  template <class V>
  V operator()(V x) const {
    return math::log(x);
  }
};
struct Sigmoid {
  template <class V>
  V operator()(V x) const {
    return math::sigmoid(x);
  }
};
struct Tanh {
  template <class V>
  V operator()(V x) const {
    return math::tanh(x);
  }
};
struct Erf {
  template <class V>
  V operator()(V x) const {
    return math::erf(x);
  }
};
struct Gelu {
  template <class V>
  V operator()(V x) const {
    return math::gelu(x);
  }
};
struct GeluSlope {
  template <class V>
  V operator()(V x) const {
    return math::gelu_slope(x);
  }
};
template <class P>
struct Sin {
  Batch<double> operator()(Batch<double> x) const { return math::sine<P, 0>(x); }
};
template <class P>
struct Cos {
  Batch<double> operator()(Batch<double> x) const { return math::sine<P, 1>(x); }
};

struct Add {
  template <class V>
  V operator()(V a, V b) const {
    return a + b;
  }
};
struct Sub {
  template <class V>
  V operator()(V a, V b) const {
    return a - b;
  }
};
struct Mul {
  template <class V>
  V operator()(V a, V b) const {
    return a * b;
  }
};
struct Div {
  template <class V>
  V operator()(V a, V b) const {
    return a / b;
  }
};
/// The product in which 0 times anything is 0.
struct Chain {
  template <class V>
  V operator()(V g, V d) const {
    const V zero(0);
    return xsimd::select((g == zero) | (d == zero), zero, g * d);
  }
};
struct Cube {
  template <class V>
  V operator()(V x) const {
    return x * x * x;
  }
};
template <class>
using Cubed = Cube;

/// In double: the product's error, of up to 100, would be the result's.
inline void pow_kernel(Operand<float> x, Operand<float> p, float* y, std::int64_t n) {
  if (p.constant && *p.data == 2) return unary_kernel<float, Square>(x.data, y, n);
  if (p.constant && *p.data == 3) return InDouble<float, Cubed>::unary(x.data, y, n);
  for_each_vector<double>(n, [=](std::int64_t i, std::int64_t count) {
    const auto at = [=](Operand<float> row) {
      return row.constant ? Batch<double>(static_cast<double>(*row.data))
                          : load_wide(row.data + i, count);
    };
    const Batch<double> base = at(x);
    const Batch<double> exponent = at(p);
    Batch<double> power = math::power(base, exponent, math::log(xsimd::abs(base)));
    // As above, so that a constant exponent changes nothing.
    power = xsimd::select(exponent == Batch<double>(2.0), base * base, power);
    power = xsimd::select(exponent == Batch<double>(3.0), base * base * base, power);
    store_narrow(y + i, power, count);
  });
}
/// The C library's, but for the commonest exponents.
inline void pow_kernel(Operand<double> x, Operand<double> p, double* y, std::int64_t n) {
  if (p.constant && *p.data == 2) return unary_kernel<double, Square>(x.data, y, n);
  if (p.constant && *p.data == 3) return unary_kernel<double, Cube>(x.data, y, n);
  for (std::int64_t i = 0; i < n; ++i) {
    const double base = x.data[x.constant ? 0 : i];
    const double exponent = p.data[p.constant ? 0 : i];
    y[i] = exponent == 2   ? Square()(base)
           : exponent == 3 ? Cube()(base)
                           : __builtin_pow(base, exponent);
  }
}

template <class M, class V>
inline V pick(M mask, V a, V b) {
  return xsimd::select(mask, a, b);
}
template <class T>
inline T pick(bool mask, T a, T b) {
  return mask ? a : b;
}

/// One instruction; NaN where b is.
template <class T>
inline Batch<T> larger(Batch<T> a, Batch<T> b) {
  return xsimd::max(a, b);
}
template <class T>
inline T larger(T a, T b) {
  return a > b ? a : b;
}
template <class T>
inline Batch<T> smaller(Batch<T> a, Batch<T> b) {
  return xsimd::min(a, b);
}
template <class T>
inline T smaller(T a, T b) {
  return a < b ? a : b;
}

/// NaN wins, whatever the order. (xsimd's != is false for NaN in AVX.)
struct Maximum {
  template <class V>
  V operator()(V a, V b) const {
    return pick(a == a, larger(a, b), a);
  }
};
struct Minimum {
  template <class V>
  V operator()(V a, V b) const {
    return pick(a == a, smaller(a, b), a);
  }
};

/// x - centre, and 0 where they are equal, be they infinite.
struct Shift {
  template <class V>
  V operator()(V x, V centre) const {
    return xsimd::select(x == centre, V(0), x - centre);
  }
};
struct ExpShift {
  template <class V>
  V operator()(V x, V centre) const {
    return math::exp(Shift()(x, centre));
  }
};

template <class T>
void clip_kernel(const T* x, T low, T high, T* y, std::int64_t n) {
  const Batch<T> least(low);
  const Batch<T> most(high);
  for_each_vector<T>(n, [=](std::int64_t i, std::int64_t count) {
    const Batch<T> v = load(x + i, count);
    const Batch<T> at_most = xsimd::select(v > most, most, v);  // NaN stays
    store(y + i, xsimd::select(v < least, least, at_most), count);
  });
}

// Comparisons are plain loops, which the compiler vectorises: xsimd has no vectors of bool.

struct Less {
  template <class T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Equal {
  template <class T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  bool operator()(T a, T b) const {
    return a != b;
  }
};

template <class T, class F>
void compare_kernel(Operand<T> a, Operand<T> b, bool* __restrict y, std::int64_t n) {
  const T* __restrict left = a.data;
  const T* __restrict right = b.data;
  if (a.constant) {
    const T value = *left;
    for (std::int64_t i = 0; i < n; ++i) y[i] = F()(value, right[i]);
  } else if (b.constant) {
    const T value = *right;
    for (std::int64_t i = 0; i < n; ++i) y[i] = F()(left[i], value);
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = F()(left[i], right[i]);
  }
}

#if defined(__AVX512F__)
inline Bits<float> load_lanes(const bool* mask, float) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(mask)));
}
inline Bits<double> load_lanes(const bool* mask, double) {
  return _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(mask)));
}
#elif defined(__AVX2__)
inline Bits<float> load_lanes(const bool* mask, float) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(mask)));
}
inline Bits<double> load_lanes(const bool* mask, double) {
  return _mm256_setr_epi64x(mask[0], mask[1], mask[2], mask[3]);
}
#else
template <class T>
inline Bits<T> load_lanes(const bool* mask, T) {
  using Lane = typename Bits<T>::value_type;
  alignas(64) Lane lanes[kWidth<T>];
  for (std::int64_t i = 0; i < kWidth<T>; ++i) lanes[i] = static_cast<Lane>(mask[i]);
  return Bits<T>::load_aligned(lanes);
}
#endif

/// All bits of a lane set where the mask is true.
template <class T>
inline Bits<T> lanes_of(const bool* mask, std::int64_t count) {
  const Bits<T> none(typename Bits<T>::value_type(0));
  if (count == kWidth<T>) return none - load_lanes(mask, T());
  bool part[kWidth<T>] = {};
  for (std::int64_t i = 0; i < count; ++i) part[i] = mask[i];
  return none - load_lanes(part, T());
}

template <class T>
void where_kernel(Operand<bool> mask, Operand<T> a, Operand<T> b, T* y, std::int64_t n) {
  const auto run = [=](auto yes, auto no, auto lanes) {
    for_each_vector<T>(n, [=](std::int64_t i, std::int64_t count) {
      const Bits<T> taken = lanes(i, count);
      store(y + i,
            cast_bits<Batch<T>>((cast_bits<Bits<T>>(yes.at(i, count)) & taken) |
                                (cast_bits<Bits<T>>(no.at(i, count)) & ~taken)),
            count);
    });
  };
  const auto lanes = [=](std::int64_t i, std::int64_t count) {
    return lanes_of<T>(mask.data + i, count);
  };
  using Lane = typename Bits<T>::value_type;
  const auto all = [taken = Bits<T>(Lane(0) - static_cast<Lane>(*mask.data))](
                       std::int64_t, std::int64_t) { return taken; };
  if (a.constant && b.constant) {
    run(Constant<T>{Batch<T>(*a.data)}, Constant<T>{Batch<T>(*b.data)}, lanes);
  } else if (mask.constant) {
    with_rows_of(a, b, [=](auto yes, auto no) { run(yes, no, all); });
  } else {
    with_rows_of(a, b, [=](auto yes, auto no) { run(yes, no, lanes); });
  }
}
