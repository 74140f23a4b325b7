// Part of implementation.hpp: elementary functions of vectors. The polynomials are Chebyshev fits,
// highest power first; what tests/ops/kernels_test.cpp measures is stated beside each function.

template <class To, class From>
inline To cast_bits(From x) {
#if XSIMD_VERSION_MAJOR < 9
  return xsimd::bitwise_cast<To>(x);
#else
  return xsimd::bitwise_cast<typename To::value_type>(x);
#endif
}

template <class T, class C, int N>
inline Batch<T> polynomial(Batch<T> x, const C (&coefficients)[N]) {
  Batch<T> y(static_cast<T>(coefficients[0]));
  for (int i = 1; i < N; ++i) y = multiply_add(y, x, Batch<T>(static_cast<T>(coefficients[i])));
  return y;
}

/// How the bits of a number lie, and what exp and log need of it.
template <class T>
struct Format;

template <>
struct Format<float> {
  using Bits = xsimd::batch<std::uint32_t>;
  static constexpr int mantissa = 23;
  static constexpr std::uint32_t one = 0x3F800000;
  static constexpr std::uint32_t sqrt_half = 0x3F3504F3;
  static constexpr std::uint32_t two_to_mantissa = 0x4B000000;
  static constexpr float bias = 8388608.0F + 127;     // 2^23 + the exponent of 1
  static constexpr float round = 12582912.0F;         // 1.5 2^23
  static constexpr float smallest = 1.17549435e-38F;  // that is normal
  static constexpr float scale_up = 33554432;         // 2^25
  static constexpr float scale_up_exponent = 25;
  static constexpr float lowest_exponent = -105;   // exp gives 0 from here on
  static constexpr float highest_exponent = 89;    // exp gives inf from here on
  static constexpr float ln2_high = 0.693359375F;  // times an exponent: exact
  static constexpr float ln2_low = -2.12194440e-4F;
  static constexpr float exp[] = {0.001392768462F, 0.008364380693F, 0.04166654542F, 0.1666656963F,
                                  0.5F};
  static constexpr float log[] = {0.2334194339F, 0.2855039696F, 0.4000012559F, 0.6666666655F};
  static constexpr float tanh[] = {-0.006096299523F, 0.02099689404F, -0.05385084952F, 0.1333276934F,
                                   -0.3333332894F};
};

template <>
struct Format<double> {
  using Bits = xsimd::batch<std::uint64_t>;
  static constexpr int mantissa = 52;
  static constexpr std::uint64_t one = 0x3FF0000000000000;
  static constexpr std::uint64_t sqrt_half = 0x3FE6A09E667F3BCD;
  static constexpr std::uint64_t two_to_mantissa = 0x4330000000000000;
  static constexpr double bias = 4503599627370496.0 + 1023;
  static constexpr double round = 6755399441055744.0;
  static constexpr double smallest = 2.2250738585072014e-308;
  static constexpr double scale_up = 18014398509481984;  // 2^54
  static constexpr double scale_up_exponent = 54;
  static constexpr double lowest_exponent = -746;
  static constexpr double highest_exponent = 710;
  static constexpr double ln2_high = 6.93145751953125e-1;
  static constexpr double ln2_low = 1.42860682030941723212e-6;
  static constexpr double exp[] = {
      2.5102327723609145e-8,  2.7622614078619689e-7, 2.7557264294679126e-6, 2.4801515879478316e-5,
      0.00019841269865788536, 0.0013888888920770122, 0.0083333333333295031, 0.041666666666616862,
      0.16666666666666668,    0.50000000000000012};
  static constexpr double log[] = {0.1463003136412286,  0.15330617306743305, 0.18182922513515942,
                                   0.22222210674238515, 0.28571428628810996, 0.39999999999893222,
                                   0.66666666666666699};
  static constexpr double tanh[] = {
      -1.724229434740653e-5,  7.959476025492855e-5,   -0.00023077238182345805,
      0.00058743564089057253, -0.0014553088663318696, 0.0035920589077708861,
      -0.008863229824094,     0.021869488260176276,   -0.053968253961384733,
      0.13333333333326646,    -0.33333333333333323};
};

template <class T>
using Bits = typename Format<T>::Bits;

template <class T>
inline Batch<T> with_sign_of(Batch<T> magnitude, Batch<T> x) {
  return xsimd::copysign(magnitude, x);
}

/// 2^k from k + Format::round, whose lowest bits are k.
template <class T>
inline Batch<T> power_of_two(Batch<T> rounded) {
  const auto exponent = cast_bits<Bits<T>>(rounded) << Format<T>::mantissa;
  return cast_bits<Batch<T>>(exponent + Bits<T>(Format<T>::one));
}

namespace math {

#if defined(__AVX512F__)
inline Batch<float> scale(Batch<float> y, Batch<float> k) { return _mm512_scalef_ps(y, k); }
inline Batch<double> scale(Batch<double> y, Batch<double> k) { return _mm512_scalef_pd(y, k); }
#else
/// y 2^k, in two steps, each of which is by a normal number where the result is not.
template <class T>
inline Batch<T> scale(Batch<T> y, Batch<T> k) {
  const Batch<T> round(Format<T>::round);
  const Batch<T> half = multiply_add(k, Batch<T>(T(0.5)), round);
  const Batch<T> rest = k - (half - round) + round;
  return y * power_of_two(half) * power_of_two(rest);
}
#endif

/// e^(x + more) for |more| < 0.1. Below 1.1 ulp, subnormal results too.
template <class T>
inline Batch<T> exp(Batch<T> x, Batch<T> more = Batch<T>(T(0))) {
  using F = Format<T>;
  // In this order NaN stays.
  x = xsimd::max(Batch<T>(F::lowest_exponent), x);
  x = xsimd::min(Batch<T>(F::highest_exponent), x);
  const Batch<T> round(F::round);
  const Batch<T> k = multiply_add(x + more, Batch<T>(T(1.4426950408889634074)), round) - round;
  Batch<T> r = multiply_add(k, Batch<T>(-F::ln2_high), x);
  r = multiply_add(k, Batch<T>(-F::ln2_low), r + more);
  return scale(Batch<T>(T(1)) + multiply_add(r * r, polynomial(r, F::exp), r), k);
}

/// ln x. Below 1 ulp, of subnormal numbers too.
template <class T>
inline Batch<T> log(Batch<T> x) {
  using F = Format<T>;
  const Batch<T> zero(T(0));
  const auto tiny = x < Batch<T>(F::smallest);
  const Batch<T> scaled = xsimd::select(tiny, x * Batch<T>(F::scale_up), x);
  // x = 2^k (1 + f) with 1 + f between sqrt 1/2 and sqrt 2.
  const Bits<T> bits = cast_bits<Bits<T>>(scaled) + Bits<T>(F::one - F::sqrt_half);
  const Bits<T> exponent = (bits >> F::mantissa) | Bits<T>(F::two_to_mantissa);
  const Batch<T> k = cast_bits<Batch<T>>(exponent) - Batch<T>(F::bias) -
                     xsimd::select(tiny, Batch<T>(F::scale_up_exponent), zero);
  const Bits<T> mask((typename Bits<T>::value_type(1) << F::mantissa) - 1);
  const Batch<T> f = cast_bits<Batch<T>>((bits & mask) + Bits<T>(F::sqrt_half)) - Batch<T>(T(1));
  // ln(1 + f) = f - f^2 / 2 + s (f^2 / 2 + z p(z)), z = s^2: after fdlibm.
  const Batch<T> s = f / (Batch<T>(T(2)) + f);
  const Batch<T> z = s * s;
  const Batch<T> half_square = f * f * Batch<T>(T(0.5));
  const Batch<T> low =
      multiply_add(s, half_square + z * polynomial(z, F::log), k * Batch<T>(F::ln2_low));
  Batch<T> y = multiply_add(k, Batch<T>(F::ln2_high), f - (half_square - low));
  y = xsimd::select(x == Batch<T>(kInfinity<T>), x, y);
  y = xsimd::select(x == zero, Batch<T>(-kInfinity<T>), y);
  return xsimd::select(x >= zero, y, Batch<T>(kNaN<T>));
}

/// Below 2.5 ulp.
template <class T>
inline Batch<T> sigmoid(Batch<T> x) {
  const Batch<T> one(T(1));
  const Batch<T> e = math::exp(-xsimd::abs(x));
  return xsimd::select(x < Batch<T>(T(0)), e, one) / (one + e);
}

/// Below 2 ulp.
template <class T>
inline Batch<T> tanh(Batch<T> x) {
  const Batch<T> one(T(1));
  const Batch<T> z = x * x;
  const Batch<T> small = multiply_add(x * z, polynomial(z, Format<T>::tanh), x);
  const Batch<T> a = xsimd::abs(x);
  const Batch<T> large = one - Batch<T>(T(2)) / (math::exp(a + a) + one);
  return with_sign_of(xsimd::select(a < Batch<T>(T(0.625)), small, large), x);
}

template <class T>
struct NormalCoefficients;
template <>
struct NormalCoefficients<float> {
  static constexpr std::uint32_t upper_half = 0xFFFFF000;
  static constexpr double centre = 4;
  static constexpr double tail[] = {
      3.4708805432837868e-6, -0.00010303511444438819, -7.6802146878305402e-5,
      0.0010376320249789809, -0.00069300032159942639, -0.0072770666011878015,
      0.02889022292092195,   -0.058320465682290096,   0.070148321911325799,
      -0.031721023048127423, -0.066178291594535472,   0.62847787786657736};
  static constexpr double erf[] = {
      7.8758750626854883e-5, -0.00080168642871658695, 0.005189087423433974, -0.026854212010626412,
      0.11283594715160218,   -0.37612626666720331,    1.1283791658483509};
};
template <>
struct NormalCoefficients<double> {
  static constexpr std::uint64_t upper_half = ~std::uint64_t(0) << 27;
  static constexpr double centre = 5;
  static constexpr double tail[] = {
      1.1600024458881742e-9,  5.8623391957389796e-9,  -2.6001461471625531e-10,
      -4.7517511169651989e-8, -2.6360989074057965e-8, 2.9737615387919389e-7,
      1.442137596243521e-7,   -1.9533141055495691e-6, 1.8227178006763444e-7,
      1.3340534330502536e-5,  -1.674800077978655e-5,  -7.6211400012998126e-5,
      0.00028288940343206825, -4.4600172891357639e-5, -0.0024612651433029263,
      0.010208851376858619,   -0.02517855483514738,   0.044398861329851873,
      -0.057159048971986365,  0.047648661338913142,   -0.0041937081782827863,
      -0.070052413620617633,  0.62082092649483723};
  static constexpr double erf[] = {
      -7.7958988270021422e-10, 1.3720064546777686e-8, -1.6208483801871706e-7,
      1.6447424703317362e-6,   -1.492473690741966e-5, 0.00012055294904839708,
      -0.00085483259753896921, 0.0052239776071164227, -0.02686617064323777,
      0.11283791670945006,     -0.3761263890318354,   1.1283791670955126};
};

template <class T>
struct NormalTail {
  Batch<T> density;  // e^(-a^2 / 2)
  Batch<T> ratio;    // of the normal distribution at -a to it
};

/// For 0 <= a <= 40.
template <class T>
inline NormalTail<T> normal_tail(Batch<T> a) {
  using C = NormalCoefficients<T>;
  // a^2 to twice the precision: the upper half of a has an exact square.
  const Batch<T> high = cast_bits<Batch<T>>(cast_bits<Bits<T>>(a) & Bits<T>(C::upper_half));
  const Batch<T> half(T(-0.5));
  const Batch<T> density = math::exp(half * high * high, half * (a - high) * (a + high));
  // The ratio times (1 + sqrt 2 a) is a function without a pole.
  const Batch<T> centre(static_cast<T>(C::centre));
  const Batch<T> scale = multiply_add(a, Batch<T>(T(1.41421356237309504880)), Batch<T>(T(1)));
  return {density, polynomial((a - centre) / (a + centre), C::tail) / scale};
}

/// Below 2.5 ulp.
template <class T>
inline Batch<T> erf(Batch<T> x) {
  const Batch<T> a = xsimd::abs(x);
  const Batch<T> small = x * polynomial(x * x, NormalCoefficients<T>::erf);
  const Batch<T> most(T(20));
  const Batch<T> scaled = a * Batch<T>(T(1.41421356237309504880));
  const NormalTail<T> t = normal_tail(xsimd::select(scaled > most, most, scaled));
  const Batch<T> outside = Batch<T>(T(2)) * t.density * t.ratio;
  const Batch<T> one(T(1));
  return xsimd::select(a < one, small, with_sign_of(one - outside, x));
}

/// x, at most 40 far from 0: beyond, the normal distribution is 0 or 1.
template <class T>
inline Batch<T> bounded(Batch<T> x) {
  const Batch<T> most(T(40));
  return xsimd::select(xsimd::abs(x) > most, with_sign_of(most, x), x);
}

/// x times the normal distribution at x. Below 6 ulp, however small.
template <class T>
inline Batch<T> gelu(Batch<T> x) {
  const Batch<T> near = bounded(x);
  const NormalTail<T> t = normal_tail(xsimd::abs(near));
  const Batch<T> below = t.density * (t.ratio * near);
  const Batch<T> above = multiply_add(-near, t.density * t.ratio, x);
  return xsimd::select(x > Batch<T>(T(0)), above, below);
}

template <class T>
inline Batch<T> gelu_slope(Batch<T> x) {
  const Batch<T> near = bounded(x);
  const NormalTail<T> t = normal_tail(xsimd::abs(near));
  const Batch<T> tail = t.density * t.ratio;
  const Batch<T> p = xsimd::select(x < Batch<T>(T(0)), tail, Batch<T>(T(1)) - tail);
  return multiply_add(near, t.density * Batch<T>(T(0.39894228040143267794)), p);
}

// What follows is computed in double for float, too. P is the precision of the result.

/// |x|^p for a logarithm of |x| that is precise enough; the signs and the special cases of C's pow.
inline Batch<double> power(Batch<double> x, Batch<double> p, Batch<double> logarithm) {
  const Batch<double> zero(0.0);
  // 0 times anything is 0 here: x^0 and (+-1)^p.
  const Batch<double> t = xsimd::select((p == zero) | (logarithm == zero), zero, p * logarithm);
  const Batch<double> magnitude = math::exp(t);
  const Batch<double> half = p * Batch<double>(0.5);
  const auto integer = xsimd::floor(p) == p;
  const auto even = xsimd::floor(half) == half;
  const Batch<double> signed_power = xsimd::select(even, magnitude, with_sign_of(magnitude, x));
  const Batch<double> y = xsimd::select(integer, signed_power, magnitude);
  const Batch<double> not_real = xsimd::select(integer, y, Batch<double>(kNaN<double>));
  return xsimd::select((x < zero) & (x != Batch<double>(-kInfinity<double>)), not_real, y);
}

template <class P>
struct CircleCoefficients;
template <>
struct CircleCoefficients<float> {
  static constexpr double sin[] = {2.7246868722877945e-6, -0.00019840063040804117,
                                   0.0083333318306294284, -0.16666666663741368};
  static constexpr double cos[] = {2.4545419078353295e-5, -0.0013888291300556933,
                                   0.04166666459882798};
};
template <>
struct CircleCoefficients<double> {
  static constexpr double sin[] = {1.5916726193889337e-10, -2.5051112272573244e-8,
                                   2.7557316008171551e-6,  -0.00019841269836575709,
                                   0.008333333333330827,   -0.16666666666666664};
  static constexpr double cos[] = {-1.1381754653662937e-11, 2.0876134024090146e-9,
                                   -2.755731721268659e-7,   2.4801587298651292e-5,
                                   -0.0013888888888887321,  0.041666666666666665};
};

/// sin(x + quarter turns). Above 10^5, where more digits of pi are needed, the C library's.
template <class P, int Quarter>
inline Batch<double> sine(Batch<double> x) {
  using C = CircleCoefficients<P>;
  const Batch<double> round(Format<double>::round);
  const Batch<double> rounded = multiply_add(x, Batch<double>(0.63661977236758134308), round);
  const Batch<double> k = rounded - round;
  // -pi / 2 in three parts of 33 bits, so that the products are exact, and the rest.
  Batch<double> r = multiply_add(k, Batch<double>(-1.57079632673412561417), x);
  r = multiply_add(k, Batch<double>(-6.07710050630396597660e-11), r);
  if (sizeof(P) == 8) {
    r = multiply_add(k, Batch<double>(-2.02226624871116645580e-21), r);
    r = multiply_add(k, Batch<double>(-8.47842766036889956997e-32), r);
  }
  const Batch<double> z = r * r;
  const Batch<double> s =
      with_sign_of(multiply_add(r * z, polynomial(z, C::sin), r), r);  // of -0, too
  const Batch<double> one(1.0);
  const Batch<double> c =
      multiply_add(z * z, polynomial(z, C::cos), multiply_add(z, Batch<double>(-0.5), one));
  using B = Bits<double>;
  const B quarter = cast_bits<B>(rounded) + B(std::uint64_t(Quarter));
  const B odd = B(std::uint64_t(0)) - (quarter & B(std::uint64_t(1)));
  const B magnitude = (cast_bits<B>(c) & odd) | (cast_bits<B>(s) & ~odd);
  Batch<double> y = cast_bits<Batch<double>>(magnitude ^ ((quarter & B(std::uint64_t(2))) << 62));
  const auto far = !(xsimd::abs(x) <= Batch<double>(1e5));
  if (xsimd::any(far)) {
    alignas(64) double from[kWidth<double>];
    alignas(64) double to[kWidth<double>];
    x.store_aligned(from);
    y.store_aligned(to);
    for (std::int64_t i = 0; i < kWidth<double>; ++i) {
      if (__builtin_fabs(from[i]) <= 1e5) continue;
      to[i] = Quarter == 0 ? __builtin_sin(from[i]) : __builtin_cos(from[i]);
    }
    y = Batch<double>::load_aligned(to);
  }
  return y;
}

}  // namespace math
