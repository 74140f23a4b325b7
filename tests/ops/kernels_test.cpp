// The kernels of every instruction set that this processor has, against the C library in more
// digits, and against each other.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/kernels/tables.hpp>

namespace {

using xg::detail::Kernels;

template <class T>
struct Table {
  std::string name;
  const Kernels<T>* kernels;
};

template <class T>
std::vector<Table<T>> tables() {
  std::vector<Table<T>> all = {{"baseline", &xg::detail::baseline_kernels(T())}};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    all.push_back({"avx2", &xg::detail::avx2_kernels(T())});
  }
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    all.push_back({"avx512", &xg::detail::avx512_kernels(T())});
  }
#endif
  return all;
}

/// More digits than float and double have.
using Longer = long double;

/// The distance from the exact value in units of T's last place there.
template <class T>
double ulps(T got, Longer exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : HUGE_VAL;
  const T nearest = static_cast<T>(exact);
  if (got == nearest) {
    return exact != 0 || std::signbit(got) == std::signbit(exact) ? 0 : HUGE_VAL;
  }
  if (std::isinf(got) || std::isinf(nearest) || std::isnan(got)) {
    return static_cast<double>(std::abs(static_cast<Longer>(std::isinf(got) ? nearest : got))) >=
                   static_cast<double>(std::numeric_limits<T>::max())
               ? 1
               : HUGE_VAL;
  }
  const T magnitude = std::abs(nearest);
  const T unit = magnitude < std::numeric_limits<T>::min()
                     ? std::numeric_limits<T>::denorm_min()
                     : std::ldexp(std::numeric_limits<T>::epsilon(), std::ilogb(magnitude));
  return static_cast<double>(std::abs(static_cast<Longer>(got) - exact) /
                             static_cast<Longer>(unit));
}

/// Numbers of every magnitude and sign, denser where the functions bend, and the special ones.
template <class T>
std::vector<T> samples() {
  using Limits = std::numeric_limits<T>;
  const T special[] = {T(0),
                       Limits::denorm_min(),
                       Limits::min(),
                       Limits::min() / 3,
                       Limits::epsilon(),
                       T(0.5),
                       T(0.625),
                       T(1),
                       T(3.14159265358979),
                       T(20),
                       Limits::max(),
                       Limits::infinity(),
                       Limits::quiet_NaN()};
  std::vector<T> x;
  for (const T s : special) {
    x.push_back(s);
    x.push_back(-s);
  }
  std::mt19937 random(1);
  for (const double most : {1e-3, 1.0, 6.0, 40.0, 120.0, 800.0, 1e4}) {
    std::uniform_real_distribution<double> uniform(-most, most);
    for (int i = 0; i < 60000; ++i) x.push_back(static_cast<T>(uniform(random)));
  }
  std::uniform_int_distribution<int> exponent(Limits::min_exponent - Limits::digits,
                                              Limits::max_exponent - 1);
  std::uniform_real_distribution<double> mantissa(-2, 2);
  for (int i = 0; i < 200000; ++i) {
    x.push_back(static_cast<T>(std::ldexp(mantissa(random), exponent(random))));
  }
  return x;
}

Longer gelu(Longer x) {
  using L = Longer;
  if (x == -std::numeric_limits<L>::infinity()) return -L(0);
  return x * (std::erfc(-x / std::sqrt(L(2))) / 2);
}

template <class T>
struct Function {
  std::string name;
  xg::detail::UnaryKernel<T> Kernels<T>::*kernel;
  Longer (*exact)(Longer);
  double tolerance;  // units in the last place
};

template <class T>
std::vector<Function<T>> functions() {
  using L = Longer;
  using K = Kernels<T>;
  return {
      {"neg", &K::neg, [](L x) { return -x; }, 0},
      {"abs", &K::abs, [](L x) { return std::abs(x); }, 0},
      {"square", &K::square, [](L x) { return x * x; }, 0.5},
      {"sqrt", &K::sqrt, [](L x) { return std::sqrt(x); }, 0.51},
      {"relu", &K::relu, [](L x) { return x <= 0 ? L(0) : x; }, 0},
      {"exp", &K::exp, [](L x) { return std::exp(x); }, 1.1},
      {"log", &K::log, [](L x) { return std::log(x); }, 1},
      {"sigmoid", &K::sigmoid, [](L x) { return 1 / (1 + std::exp(-x)); }, 2.5},
      {"tanh", &K::tanh, [](L x) { return std::tanh(x); }, 2},
      {"erf", &K::erf, [](L x) { return std::erf(x); }, 2.5},
      {"gelu", &K::gelu, [](L x) { return gelu(x); }, 6},
      {"sin", &K::sin, [](L x) { return std::sin(x); }, 2},
      {"cos", &K::cos, [](L x) { return std::cos(x); }, 2},
  };
}

/// The same bits, but for a NaN's.
template <class T>
bool equal_or_nan(T a, T b) {
  return std::isnan(b) ? std::isnan(a) : a == b && std::signbit(a) == std::signbit(b);
}
template <class T>
bool same_bits(const T* a, const T* b, std::size_t n) {
  return std::equal(a, a + n, b, equal_or_nan<T>);
}

template <class T>
struct Pair {
  std::string name;
  xg::detail::BinaryKernel<T> Kernels<T>::*kernel;
  T (*expected)(T, T);
};

template <class T>
struct Comparison {
  std::string name;
  xg::detail::CompareKernel<T> Kernels<T>::*kernel;
  bool (*expected)(T, T);
};

/// Every pair of these and some more is compared.
template <class T>
std::vector<T> special_numbers() {
  using Limits = std::numeric_limits<T>;
  return {T(0),
          -T(0),
          T(1),
          T(-1),
          T(2.5),
          T(-3),
          T(7),
          T(11),
          Limits::max(),
          -Limits::max(),
          T(1e-3),
          Limits::denorm_min(),
          T(13),
          T(17),
          Limits::infinity(),
          -Limits::infinity(),
          Limits::quiet_NaN()};
}

}  // namespace

TEST_CASE_TEMPLATE("unary kernels agree with the C library on every instruction set", T, float,
                   double) {
  const std::vector<T> x = samples<T>();
  for (const Table<T>& table : tables<T>()) {
    for (const Function<T>& f : functions<T>()) {
      std::vector<T> y(x.size());
      (table.kernels->*f.kernel)(x.data(), y.data(), static_cast<std::int64_t>(x.size()));
      double worst = 0;
      T where = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double error = ulps(y[i], f.exact(static_cast<Longer>(x[i])));
        if (error > worst) {
          worst = error;
          where = x[i];
        }
      }
      CHECK_MESSAGE(worst <= f.tolerance,
                    table.name << " " << f.name << ": " << worst << " ulp at " << where);
    }
  }
}

TEST_CASE_TEMPLATE("a kernel's result does not depend on place, alignment or length, in place too",
                   T, float, double) {
  std::mt19937 random(2);
  std::uniform_real_distribution<double> uniform(-3, 3);
  std::vector<T> x(80);
  for (T& value : x) value = static_cast<T>(uniform(random));
  x[5] = std::numeric_limits<T>::infinity();
  x[40] = std::numeric_limits<T>::quiet_NaN();
  x[41] = static_cast<T>(-1e6);
  for (const Table<T>& table : tables<T>()) {
    for (const Function<T>& f : functions<T>()) {
      CAPTURE(table.name);
      CAPTURE(f.name);
      const auto kernel = table.kernels->*f.kernel;
      std::vector<T> one_by_one(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) kernel(&x[i], &one_by_one[i], 1);
      for (std::size_t first = 0; first < 9; ++first) {
        for (std::size_t n = 0; first + n <= 70; ++n) {
          std::vector<T> y = x;
          kernel(&y[first], &y[first], static_cast<std::int64_t>(n));
          REQUIRE(same_bits(&y[0], &x[0], first));
          REQUIRE(same_bits(&y[first], &one_by_one[first], n));
          REQUIRE(same_bits(&y[first + n], &x[first + n], x.size() - first - n));
        }
      }
    }
  }
}

TEST_CASE_TEMPLATE("binary kernels, with a constant on either side", T, float, double) {
  using K = Kernels<T>;
  const Pair<T> pairs[] = {
      {"add", &K::add, [](T a, T b) { return a + b; }},
      {"sub", &K::sub, [](T a, T b) { return a - b; }},
      {"mul", &K::mul, [](T a, T b) { return a * b; }},
      {"div", &K::div, [](T a, T b) { return a / b; }},
      {"chain", &K::chain, [](T a, T b) { return a == 0 || b == 0 ? T(0) : a * b; }},
      {"maximum", &K::maximum, [](T a, T b) { return std::isnan(a) || a > b ? a : b; }},
      {"minimum", &K::minimum, [](T a, T b) { return std::isnan(a) || a < b ? a : b; }},
  };
  const Comparison<T> comparisons[] = {
      {"less", &K::less, [](T a, T b) { return a < b; }},
      {"less_equal", &K::less_equal, [](T a, T b) { return a <= b; }},
      {"equal", &K::equal, [](T a, T b) { return a == b; }},
      {"not_equal", &K::not_equal, [](T a, T b) { return a != b; }},
  };
  const std::vector<T> x = special_numbers<T>();
  const auto n = static_cast<std::int64_t>(x.size());
  for (const Table<T>& table : tables<T>()) {
    CAPTURE(table.name);
    for (std::size_t shift = 0; shift < x.size(); ++shift) {
      std::vector<T> turned(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) turned[i] = x[(i + shift) % x.size()];
      const T constant = x[shift];
      const auto check = [&](const auto& op, auto* results) {
        CAPTURE(op.name);
        const auto kernel = table.kernels->*op.kernel;
        kernel({x.data(), false}, {turned.data(), false}, results, n);
        for (std::size_t i = 0; i < x.size(); ++i) {
          REQUIRE(equal_or_nan<T>(results[i], op.expected(x[i], turned[i])));
        }
        kernel({&constant, true}, {x.data(), false}, results, n);
        for (std::size_t i = 0; i < x.size(); ++i) {
          REQUIRE(equal_or_nan<T>(results[i], op.expected(constant, x[i])));
        }
        kernel({x.data(), false}, {&constant, true}, results, n);
        for (std::size_t i = 0; i < x.size(); ++i) {
          REQUIRE(equal_or_nan<T>(results[i], op.expected(x[i], constant)));
        }
      };
      T numbers[32];
      for (const Pair<T>& op : pairs) check(op, numbers);
      bool answers[32];
      for (const Comparison<T>& op : comparisons) check(op, answers);
    }
  }
}

TEST_CASE_TEMPLATE("where and clip on every instruction set", T, float, double) {
  const std::vector<T> x = special_numbers<T>();
  const std::size_t n = x.size();
  const T constants[] = {T(5), T(6)};
  for (const Table<T>& table : tables<T>()) {
    CAPTURE(table.name);
    std::vector<T> y(n);
    table.kernels->clip(x.data(), T(-2), T(8), y.data(), static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i) {
      REQUIRE(equal_or_nan<T>(y[i], x[i] < -2 ? T(-2) : x[i] > 8 ? T(8) : x[i]));
    }
    for (int constant = 0; constant < 8; ++constant) {
      if (constant == 7) continue;  // at most two
      bool mask[32];
      for (std::size_t i = 0; i < n; ++i) mask[i] = i % 3 == 1;
      const std::vector<T> other(x.rbegin(), x.rend());
      const xg::detail::Operand<bool> m{mask + 1, (constant & 1) != 0};
      const xg::detail::Operand<T> a{(constant & 2) != 0 ? &constants[0] : x.data(),
                                     (constant & 2) != 0};
      const xg::detail::Operand<T> b{(constant & 4) != 0 ? &constants[1] : other.data(),
                                     (constant & 4) != 0};
      table.kernels->where(m, a, b, y.data(), static_cast<std::int64_t>(n - 1));
      for (std::size_t i = 0; i + 1 < n; ++i) {
        const T from_a = a.data[a.constant ? 0 : i];
        const T from_b = b.data[b.constant ? 0 : i];
        REQUIRE(equal_or_nan<T>(y[i], m.data[m.constant ? 0 : i] ? from_a : from_b));
      }
    }
  }
}

TEST_CASE_TEMPLATE("pow on every instruction set, with C's special cases", T, float, double) {
  std::vector<T> x = special_numbers<T>();
  for (const double more : {0.5, -0.5, 2.0, 3.0, -2.0, 1e30, -7.5, 0.999, 1.001}) {
    x.push_back(static_cast<T>(more));
  }
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 20);
  for (int i = 0; i < 200; ++i) x.push_back(static_cast<T>(uniform(random)));
  std::vector<T> y(x.size());
  for (const Table<T>& table : tables<T>()) {
    CAPTURE(table.name);
    for (const T p : x) {
      table.kernels->pow({x.data(), false}, {&p, true}, y.data(),
                         static_cast<std::int64_t>(x.size()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        CAPTURE(x[i]);
        CAPTURE(p);
        REQUIRE(ulps(y[i], std::pow(static_cast<Longer>(x[i]), static_cast<Longer>(p))) <= 1.5);
      }
    }
  }
}
