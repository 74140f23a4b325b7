// The kernels of every instruction set that this processor has, against the C library in more
// digits, and against each other.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
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

namespace {

template <class T>
std::vector<T> uniform_numbers(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-2, 2);
  std::vector<T> x(n);
  for (T& value : x) value = static_cast<T>(uniform(random));
  return x;
}

template <class T>
struct FoldCase {
  std::string name;
  xg::detail::Fold<T> Kernels<T>::*fold;
  Longer first;
  Longer (*next)(Longer sum, Longer x, Longer centre);
};

template <class T>
bool close(T got, Longer want, Longer scale) {
  return std::abs(static_cast<Longer>(got) - want) <=
         8 * static_cast<Longer>(std::numeric_limits<T>::epsilon()) * scale +
             static_cast<Longer>(std::numeric_limits<T>::min());
}

}  // namespace

TEST_CASE_TEMPLATE("folds of lines and of rows on every instruction set", T, float, double) {
  using L = Longer;
  using K = Kernels<T>;
  const L infinity = std::numeric_limits<L>::infinity();
  const FoldCase<T> cases[] = {
      {"sum", &K::sum, 0, [](L s, L x, L) { return s + x; }},
      {"prod", &K::prod, 1, [](L s, L x, L) { return s * x; }},
      {"max", &K::max, -infinity, [](L s, L x, L) { return x > s ? x : s; }},
      {"min", &K::min, infinity, [](L s, L x, L) { return x < s ? x : s; }},
      {"sum_centred", &K::sum_centred, 0, [](L s, L x, L c) { return s + (x - c); }},
      {"sum_squares", &K::sum_squares, 0, [](L s, L x, L c) { return s + (x - c) * (x - c); }},
      {"sum_exp", &K::sum_exp, 0, [](L s, L x, L c) { return s + std::exp(x - c); }},
  };
  const std::vector<T> x = uniform_numbers<T>(3000, 4);
  const std::vector<T> centres = uniform_numbers<T>(40, 5);
  for (const Table<T>& table : tables<T>()) {
    CAPTURE(table.name);
    for (const FoldCase<T>& f : cases) {
      CAPTURE(f.name);
      const auto fold = table.kernels->*f.fold;
      for (const std::int64_t n : {1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 130, 600, 3000}) {
        CAPTURE(n);
        L want = f.first;
        L scale = 1;
        for (std::int64_t i = 0; i < n; ++i) {
          want = f.next(want, x[i], centres[0]);
          scale = std::max(scale, std::abs(want));
        }
        const bool product = f.name == "prod";
        scale = product ? std::abs(want) * n : scale + static_cast<L>(n) / 16;
        CHECK(close(fold.line(x.data(), n, centres[0]), want, scale));
      }
      for (const std::int64_t width : {1, 5, 16, 37}) {
        std::vector<T> result(40, T(7));
        fold.rows(x.data(), 50, 8, centres.data(), result.data(), width);
        for (std::int64_t i = 0; i < width; ++i) {
          L want = f.first;
          for (std::int64_t j = 0; j < 8; ++j) want = f.next(want, x[j * 50 + i], centres[i]);
          CHECK(close(result[i], want, std::abs(want) + 8));
        }
        CHECK(result[width] == T(7));
      }
      const T nan = std::numeric_limits<T>::quiet_NaN();
      for (std::size_t place = 0; place < 70; ++place) {
        std::vector<T> with_nan(x.begin(), x.begin() + 70);
        with_nan[place] = nan;
        REQUIRE(std::isnan(fold.line(with_nan.data(), 70, T(1))));
      }
    }
  }
}

TEST_CASE_TEMPLATE("transpose of any size on every instruction set", T, float, double) {
  for (const auto& table : tables<T>()) {
    CAPTURE(table.name);
    for (const std::int64_t rows : {1, 3, 8, 16, 33}) {
      for (const std::int64_t cols : {1, 4, 15, 16, 40}) {
        CAPTURE(rows);
        CAPTURE(cols);
        const std::int64_t x_row = cols + 3;
        const std::int64_t y_row = rows + 2;
        std::vector<T> x(rows * x_row);
        std::iota(x.begin(), x.end(), T(1));
        std::vector<T> want(cols * y_row, T(-1));
        std::vector<T> y = want;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t j = 0; j < cols; ++j) want[j * y_row + i] = x[i * x_row + j];
        }
        table.kernels->transpose(x.data(), x_row, rows, cols, y.data(), y_row);
        CHECK(y == want);
      }
    }
  }
}

TEST_CASE_TEMPLATE("softmax, log_softmax and layer_norm on every instruction set", T, float,
                   double) {
  using L = Longer;
  const std::vector<T> x = uniform_numbers<T>(700, 6);
  const std::vector<T> g = uniform_numbers<T>(700, 7);
  const std::vector<T> w = uniform_numbers<T>(700, 8);
  for (const Table<T>& table : tables<T>()) {
    CAPTURE(table.name);
    for (const std::int64_t n : {1, 2, 5, 16, 31, 64, 250, 700}) {
      CAPTURE(n);
      const auto& k = *table.kernels;
      const L count = static_cast<L>(n);
      L total = 0;
      L mean = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        total += std::exp(static_cast<L>(x[i]));
        mean += x[i] / count;
      }
      L variance = 0;
      for (std::int64_t i = 0; i < n; ++i) variance += (x[i] - mean) * (x[i] - mean) / count;
      const L inverse = 1 / std::sqrt(variance + L(0.01));
      const auto weight = [&](std::int64_t i) { return std::exp(static_cast<L>(x[i])) / total; };
      const auto normal = [&](std::int64_t i) { return (x[i] - mean) * inverse; };
      L dot = 0;
      L mean_h = 0;
      L mean_hn = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        dot += g[i] * weight(i);
        mean_h += static_cast<L>(g[i]) * w[i] / count;
        mean_hn += static_cast<L>(g[i]) * w[i] * normal(i) / count;
      }
      std::vector<T> y(n), log_y(n), d(n), normalised(n), affine(n), dx(n), dw(n, T(1));
      k.softmax(x.data(), y.data(), n);
      k.log_softmax(x.data(), log_y.data(), n);
      k.softmax_backward(g.data(), y.data(), d.data(), n);
      k.layer_norm(x.data(), nullptr, nullptr, normalised.data(), n, T(0.01));
      k.layer_norm(x.data(), w.data(), g.data(), affine.data(), n, T(0.01));
      k.layer_norm_backward(g.data(), x.data(), w.data(), dx.data(), n, T(0.01));
      k.layer_norm_weight_gradient(g.data(), x.data(), dw.data(), n, T(0.01));
      for (std::int64_t i = 0; i < n; ++i) {
        CHECK(close(y[i], weight(i), weight(i)));
        CHECK(close(log_y[i], std::log(weight(i)), L(8)));
        CHECK(close(d[i], weight(i) * (g[i] - dot), weight(i) * 2));
        CHECK(close(normalised[i], normal(i), L(2)));
        CHECK(close(affine[i], normal(i) * w[i] + g[i], L(4)));
        CHECK(close(dx[i], inverse * (g[i] * static_cast<L>(w[i]) - mean_h - normal(i) * mean_hn),
                    inverse * 8));
        CHECK(close(dw[i], 1 + g[i] * normal(i), L(4)));
      }
    }
    // The limits at infinity.
    const T infinity = std::numeric_limits<T>::infinity();
    std::vector<T> scores = {T(1), infinity, -infinity};
    std::vector<T> y(3);
    CHECK(table.kernels->softmax(scores.data(), y.data(), 3) == T(1));
    CHECK(y == std::vector<T>{0, 1, 0});
    scores[0] = infinity;
    CHECK(std::isnan(table.kernels->softmax(scores.data(), y.data(), 3)));
    scores[0] = scores[1] = -infinity;
    CHECK(std::isnan(table.kernels->softmax(scores.data(), y.data(), 3)));
  }
}
