#include "allclose.hpp"

#include <cmath>
#include <limits>

#include <xgrad/xtensor.hpp>

#if __has_include(<xtensor/core/xmath.hpp>)
#include <xtensor/core/xmath.hpp>
#else
#include <xtensor/xmath.hpp>
#endif

#include "errors.hpp"

using test::difference;
using test::Tolerance;
using xg::Variable;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE_TEMPLATE("close arrays differ in nothing", T, float, double) {
  const Variable<T> x({{1, 2, 3}, {4, 5, 6}});
  CHECK(difference(x, {{1, 2, 3}, {4, 5, 6}}, test::exactly).empty());
  CHECK(difference(x * (1 + std::numeric_limits<T>::epsilon()), x).empty());
  CHECK_FALSE(difference(x * T(1.001), x).empty());
  CHECK_CLOSE(x, {{1, 2, 3}, {4, 5, 6}});
  CHECK_CLOSE(x.to_vector(), {1, 2, 3, 4, 5, 6});
}

TEST_CASE("arrays of different shapes are never close, although xtensor broadcasts them") {
  const Variable<double> row({1, 2, 3});
  const Variable<double> rows({{1, 2, 3}, {1, 2, 3}});
  CHECK(xt::allclose(row.value(), rows.value()));
  CHECK(difference(row, rows) == "shape: got (3,), want (2, 3)");
  CHECK_FALSE(difference(Variable<double>(1), {1}).empty());
  CHECK_FALSE(difference(xg::zeros<double>({0, 3}), xg::zeros<double>({3, 0})).empty());
  CHECK(difference(xg::zeros<double>({0, 3}), xg::zeros<double>({0, 3})).empty());
}

TEST_CASE("NaN is close to nothing, although the largest difference is below any tolerance") {
  const Variable<double> got({kNan, 1});
  const Variable<double> want({1, 1});
  CHECK(xt::amax(xt::abs(got.value() - want.value()))() < 1e-9);
  CHECK_FALSE(difference(got, want, {1, 1e9}).empty());
  CHECK_FALSE(difference(want, got, {1, 1e9}).empty());
  CHECK_FALSE(difference(got, got).empty());
  CHECK(difference(got, got, {0, 0, test::Nan::equals_nan}).empty());
  CHECK_FALSE(difference(got, want, {0, 0, test::Nan::equals_nan}).empty());
}

TEST_CASE("an infinity is close to itself alone") {
  CHECK(difference(Variable<double>({kInf, -kInf}), {kInf, -kInf}).empty());
  CHECK_FALSE(difference(Variable<double>({kInf}), {-kInf}, {1, 1}).empty());
  CHECK_FALSE(difference(Variable<double>({kInf}), {1e308}, {1, 1}).empty());
  CHECK_FALSE(difference(Variable<double>({1}), {kInf}, {1, 1}).empty());
}

TEST_CASE("what doctest::Approx lets pass is not close") {
  CHECK(1e-6 == doctest::Approx(0));
  CHECK_FALSE(difference(Variable<double>({1e-6}), {0}).empty());
  CHECK(1e-5 == doctest::Approx(2e-5));
  CHECK_FALSE(difference(Variable<double>({1e-5}), {2e-5}).empty());
}

TEST_CASE("a difference names index, got, want and tolerance") {
  const std::string text =
      difference(Variable<double>({{1, 2}, {3, 4}}), {{1, 2}, {3.5, 5}}, {0.125, 0});
  CHECK(contains(text, "at (1, 0)"));
  CHECK(contains(text, "got 3"));
  CHECK(contains(text, "want 3.5"));
  CHECK(contains(text, "tolerance 0.4375"));
  CHECK(contains(text, "2 of 4 elements"));
}

TEST_CASE("the values compared are the logical ones, whatever the strides are") {
  const Variable<double> x({{1, 2}, {3, 4}});
  CHECK(difference(transpose(x), {{1, 3}, {2, 4}}).empty());
  CHECK_FALSE(difference(transpose(x), x).empty());
}

TEST_CASE("an undefined variable is close to nothing") {
  CHECK_FALSE(difference(Variable<double>(), Variable<double>()).empty());
}

TEST_CASE("an error must be of the very class and well worded") {
  const auto thrower = [](const char* text) { return [text] { throw xg::ShapeError(text); }; };
  CHECK(test::error_flaw<xg::ShapeError>("op", thrower("[op] bad: got 1, expected 2")).empty());
  CHECK_FALSE(test::error_flaw<xg::Error>("op", thrower("[op] bad: got 1, expected 2")).empty());
  CHECK_FALSE(
      test::error_flaw<xg::MaskError>("op", thrower("[op] bad: got 1, expected 2")).empty());
  CHECK_FALSE(
      test::error_flaw<xg::ShapeError>("po", thrower("[op] bad: got 1, expected 2")).empty());
  CHECK_FALSE(test::error_flaw<xg::ShapeError>("op", thrower("[op] bad")).empty());
  CHECK_FALSE(test::error_flaw<xg::ShapeError>("op", thrower("[op] : got 1, expected ")).empty());
  CHECK_FALSE(test::error_flaw<xg::ShapeError>("op", [] {}).empty());
}
