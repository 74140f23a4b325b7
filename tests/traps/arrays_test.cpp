#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"

// Faults of the libraries below, each with the input that shows it, through xgrad.

using test::exactly;
using xg::Mask;
using xg::Variable;

namespace {

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
constexpr test::Tolerance kNanToo{0, 0, test::Nan::equals_nan};

}  // namespace

TEST_CASE_TEMPLATE("a kept reduced axis inside a broadcasting expression", T, float, double) {
  using V = Variable<T>;
  const V m({{1, 2, 3}, {4, 5, 7}});
  CHECK_CLOSE(m - xg::max(m, 1, true), {{-2, -1, 0}, {-3, -2, 0}}, exactly);
  CHECK_CLOSE(m - xg::min(m, 1, true), {{0, 1, 2}, {0, 1, 3}}, exactly);
  CHECK_CLOSE(m / xg::sum(m, 1, true), {{T(1) / 6, T(2) / 6, T(3) / 6}, {.25, .3125, .4375}});
  CHECK_CLOSE(m - xg::mean(m, 0, true), {{-1.5, -1.5, -2}, {1.5, 1.5, 2}}, exactly);
  const T e1 = std::exp(T(-1)), e2 = std::exp(T(-2)), e3 = std::exp(T(-3));
  const T a = 1 + e1 + e2, b = 1 + e2 + e3;
  CHECK_CLOSE(xg::softmax(m), {{e2 / a, e1 / a, 1 / a}, {e3 / b, e2 / b, 1 / b}});
  const V shifted = xg::exp(m - xg::max(m, 1, true));
  CHECK_CLOSE(shifted / xg::sum(shifted, {1}, true), xg::softmax(m));
}

TEST_CASE_TEMPLATE("equal shapes are compared before anything is added", T, float, double) {
  using V = Variable<T>;
  V a = xg::ones<T>({3, 1});
  V b = xg::ones<T>({1, 4});
  a.set_requires_grad();
  b.set_requires_grad();
  for (int i = 1; i <= 3; ++i) {
    xg::sum(a + b).backward();
    CHECK_CLOSE(a.grad(), xg::full<T>({3, 1}, 4 * i), exactly);
    CHECK_CLOSE(b.grad(), xg::full<T>({1, 4}, 3 * i), exactly);
  }
  CHECK_ERROR(xg::ShapeError, "set_grad", a.set_grad(xg::ones<T>({3, 4})));
  CHECK_ERROR(xg::ShapeError, "set_value", a.set_value(xg::ones<T>({3, 4})));
  CHECK_ERROR(xg::ShapeError, "set_value", a.set_value(xg::ones<T>({1, 1})));
  V y({{1, 2}, {3, 4}});
  V row = xg::slice(y, 0, 0, 1).detach();
  row.set_value(V({{8, 9}}));
  CHECK_CLOSE(y, {{1, 2}, {3, 4}}, exactly);
  a += b;  // a new result; the leaf and its gradient keep their shape
  CHECK(a.shape() == xg::Shape{3, 4});
}

TEST_CASE_TEMPLATE("reshape knows -1, zero extents and negative ones", T, float, double) {
  using V = Variable<T>;
  const V none = xg::zeros<T>({2, 0, 4});
  CHECK(xg::reshape(none, {2, 0, 2, 2}).shape() == xg::Shape{2, 0, 2, 2});
  CHECK(xg::reshape(none, {0}).shape() == xg::Shape{0});
  CHECK(xg::reshape(none, {-1, 4}).shape() == xg::Shape{0, 4});
  CHECK_ERROR(xg::ShapeError, "reshape", xg::reshape(none, {-1, 0}));
  CHECK_ERROR(xg::ShapeError, "reshape", xg::reshape(none, {1}));
  const V six = xg::arange<T>(0, 6);
  CHECK(xg::reshape(six, {-1}).shape() == xg::Shape{6});
  CHECK(xg::reshape(six, {2, -1}).shape() == xg::Shape{2, 3});
  CHECK(xg::reshape(six, {six.shape()[0], -1}).shape() == xg::Shape{6, 1});
  CHECK_ERROR(xg::ShapeError, "reshape", xg::reshape(six, {4, 2}));
  CHECK_ERROR(xg::ShapeError, "reshape", xg::reshape(six, {-2, 3}));
  CHECK_ERROR(xg::ShapeError, "reshape", xg::reshape(six, {}));
}

TEST_CASE("a scalar does not change the type of a result") {
  using F = Variable<float>;
  const F x({1, 2});
  static_assert(std::is_same_v<decltype(x * 2.0), F>);
  static_assert(std::is_same_v<decltype(2.0 / x), F>);
  static_assert(std::is_same_v<decltype(x + 1), F>);
  static_assert(std::is_same_v<decltype(1L - x), F>);
  static_assert(std::is_same_v<decltype(xg::mean(x)), F>);
  static_assert(std::is_same_v<decltype(xg::var(x)), F>);
  static_assert(std::is_same_v<decltype(xg::pow(x, 2)), F>);
  static_assert(std::is_same_v<decltype(xg::pow(x, 2.0)), F>);
  static_assert(std::is_same_v<decltype(xg::where(x > 0, x, 0.0)), F>);
  static_assert(std::is_same_v<decltype(xg::maximum(x, 0.0)), F>);
  static_assert(std::is_same_v<decltype(xg::clip(x, 0.0, 1)), F>);
  static_assert(std::is_same_v<decltype(xg::dropout(x, 0.5, 1)), F>);
  static_assert(std::is_same_v<decltype(x < 1.5), Mask>);
  CHECK((x * 0.1).at(0) == 0.1F);
}

TEST_CASE("float sums do not stop at 2^24") {
  CHECK(xg::sum(xg::ones<float>(20000000)).item() == 20000000.0F);
  CHECK(xg::sum(xg::ones<float>({5000000, 4}), 0).at(3) == 5000000.0F);
  CHECK(xg::mean(xg::ones<float>(20000000)).item() == 1.0F);
  CHECK(std::abs(xg::cumsum(xg::ones<float>(20000000), 0).at(-1) - 20000000.0F) < 20);
}

TEST_CASE_TEMPLATE("at takes as many indices as there are axes, each checked", T, float, double) {
  using V = Variable<T>;
  const V m({{1, 2, 3}, {4, 5, 6}});
  CHECK(m.at({1, 2}) == T(6));
  CHECK(m.at({-1, -3}) == T(4));
  CHECK_ERROR(xg::ShapeError, "at", m.at(1));
  CHECK_ERROR(xg::ShapeError, "at", V({1, 2}).at({5, 1}));
  CHECK_ERROR(xg::ShapeError, "at", m.at({5, 5}));
  CHECK_ERROR(xg::ShapeError, "at", m.at({0, 3}));
  CHECK_ERROR(xg::ShapeError, "at", m.at({-3, 0}));
  CHECK(V(7).at({}) == T(7));
  CHECK_ERROR(xg::ShapeError, "at", V(7).at(0));
  CHECK_ERROR(xg::ShapeError, "at", xg::zeros<T>({0}).at(0));
}

TEST_CASE_TEMPLATE("undefined, 0-D and empty are three things", T, float, double) {
  using V = Variable<T>;
  const V undefined;
  const V scalar(0);
  const V empty = xg::zeros<T>(0);
  CHECK_FALSE(undefined.defined());
  CHECK(scalar.defined());
  CHECK(scalar.shape().empty());
  CHECK(scalar.size() == 1);
  CHECK(empty.shape() == xg::Shape{0});
  CHECK(empty.size() == 0);
  V x(1, true);
  CHECK_FALSE(x.grad().defined());
  const Mask none;
  CHECK_FALSE(none.defined());
  CHECK(Mask(xg::Dims(), {true}).defined());
}

TEST_CASE_TEMPLATE("nested lists of any depth", T, float, double) {
  using V = Variable<T>;
  CHECK(V({{1}, {2}, {3}}).shape() == xg::Shape{3, 1});
  CHECK(V({{1}}).shape() == xg::Shape{1, 1});
  CHECK(V({1}).shape() == xg::Shape{1});
  CHECK(V({{{1}}}).shape() == xg::Shape{1, 1, 1});
  CHECK(V({{{{1}}}}).shape() == xg::Shape{1, 1, 1, 1});
  CHECK(V({{{{{1}, {2}}}}}).shape() == xg::Shape{1, 1, 1, 2, 1});
  CHECK(V({{{{{{1, 2}}}}}}).shape() == xg::Shape{1, 1, 1, 1, 1, 2});
  CHECK(V({{1}, {2}}, true).requires_grad());
  CHECK(V{2.0, true}.shape().empty());
  CHECK(V{2.0, true}.requires_grad());
  CHECK(V({1, 2.5f, 3u, 4L}).at(1) == T(2.5));
  CHECK(Mask({{true}, {false}}).shape() == xg::Shape{2, 1});
  CHECK(Mask({{true}}).shape() == xg::Shape{1, 1});
  CHECK(Mask({{{{{{true, false}}}}}}).shape() == xg::Shape{1, 1, 1, 1, 1, 2});
  static_assert(!std::is_constructible_v<V, bool>);
}

TEST_CASE_TEMPLATE("rows of -inf, and NaN in either order", T, float, double) {
  using V = Variable<T>;
  const V rows({{-kInf<T>, -kInf<T>}, {-kInf<T>, 1}});
  CHECK_CLOSE(xg::max(rows, 1), {-kInf<T>, 1}, exactly);
  CHECK_CLOSE(xg::min(V({kInf<T>, kInf<T>})), V(kInf<T>), exactly);
  CHECK_CLOSE(xg::softmax(rows), {{kNan<T>, kNan<T>}, {0, 1}}, kNanToo);
  const Mask visible({{false, false}, {true, true}});
  CHECK_CLOSE(xg::masked_softmax(rows, visible), {{0, 0}, {0, 1}}, exactly);
  for (const V& x : {V({kNan<T>, 1}), V({1, kNan<T>}), V({1, kNan<T>, 2}),
                     xg::concat({xg::ones<T>(100), V({kNan<T>}), xg::ones<T>(100)})}) {
    CHECK(std::isnan(xg::max(x).item()));
    CHECK(std::isnan(xg::min(x).item()));
    CHECK(std::isnan(xg::sum(x).item()));
    CHECK(std::isnan(xg::logsumexp(x).item()));
    CHECK(std::isnan(xg::softmax(x).at(0)));
    CHECK(std::isnan(xg::maximum(x, 1).at(0)) == std::isnan(x.at(0)));
    CHECK(std::isnan(xg::maximum(1, x).at(0)) == std::isnan(x.at(0)));
  }
  CHECK_ERROR(xg::ShapeError, "max", xg::max(xg::zeros<T>(0)));
  CHECK_ERROR(xg::ShapeError, "max", xg::max(xg::zeros<T>({2, 0}), 1));
  CHECK(xg::max(xg::zeros<T>({2, 0}), 0).shape() == xg::Shape{0});
}

TEST_CASE_TEMPLATE("transposing by a repeated axis is an error", T, float, double) {
  CHECK_ERROR(xg::ShapeError, "transpose", xg::transpose(xg::ones<T>({2, 2}), {0, 0}));
  CHECK_ERROR(xg::ShapeError, "transpose", xg::transpose(xg::ones<T>({2, 2}), {1, -1}));
}

TEST_CASE_TEMPLATE("any number of arrays can be joined", T, float, double) {
  std::vector<Variable<T>> parts;
  for (int i = 0; i < 300; ++i) parts.push_back(Variable<T>({i}));
  CHECK_CLOSE(xg::concat(parts), xg::arange<T>(0, 300), exactly);
  CHECK(xg::stack(parts).shape() == xg::Shape{300, 1});
}
