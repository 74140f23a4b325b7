#ifndef XGRAD_TESTS_SUPPORT_ALLCLOSE_HPP
#define XGRAD_TESTS_SUPPORT_ALLCLOSE_HPP

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include <xgrad/xgrad.hpp>

namespace test {

enum class Nan { fails, equals_nan };

/// |got - want| <= absolute + relative |want|.
struct Tolerance {
  double relative;
  double absolute;
  Nan nan = Nan::fails;
};

constexpr Tolerance exactly{0, 0};

/// What a handful of operations on numbers near one may lose.
template <class T>
constexpr Tolerance rounding{64 * double(std::numeric_limits<T>::epsilon()),
                             64 * double(std::numeric_limits<T>::epsilon())};

/// "(1, 2)", as the library writes shapes.
std::string text(const xg::Shape& shape);

/// Empty if both are close, else where they differ first: index, got, want, tolerance. Shapes are
/// compared before anything else, never broadcast; NaN is close to nothing unless asked for.
std::string difference(const xg::Shape& got_shape, const std::vector<double>& got,
                       const xg::Shape& want_shape, const std::vector<double>& want,
                       Tolerance tolerance);

template <class T>
std::vector<double> doubles(const std::vector<T>& values) {
  return std::vector<double>(values.begin(), values.end());
}

template <class T>
std::string difference(const xg::Variable<T>& got, const xg::detail::same_t<xg::Variable<T>>& want,
                       Tolerance tolerance = rounding<T>) {
  if (!got.defined() || !want.defined()) return "an undefined variable";
  return difference(got.shape(), doubles(got.to_vector()), want.shape(), doubles(want.to_vector()),
                    tolerance);
}

template <class T>
std::string difference(const std::vector<T>& got, const xg::detail::same_t<std::vector<T>>& want,
                       Tolerance tolerance = rounding<T>) {
  return difference({got.size()}, doubles(got), {want.size()}, doubles(want), tolerance);
}

/// The values as another type, in memory of their own.
template <class To, class From>
xg::Variable<To> cast(const xg::Variable<From>& x) {
  const std::vector<From> values = x.to_vector();
  const std::vector<To> converted(values.begin(), values.end());
  return xg::from_data(converted.data(), x.shape());
}

}  // namespace test

/// CHECK_CLOSE(got, want) or CHECK_CLOSE(got, want, tolerance), for variables and vectors. `want`
/// may be a nested list.
#define CHECK_CLOSE(...)                                                \
  do {                                                                  \
    const std::string xgrad_difference = test::difference(__VA_ARGS__); \
    CHECK_MESSAGE(xgrad_difference.empty(), xgrad_difference);          \
  } while (false)

#endif
