#include <cmath>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using test::Smoothness;
using xg::Axes;
using xg::Variable;

namespace {

template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();

}  // namespace

TEST_CASE("abs and clip have the right gradients") {
  for (const xg::Shape& shape : test::shapes()) {
    const auto x = numbers(shape);
    expect_grad("abs", [](const auto& in) { return abs(in[0]); }, {x});
    expect_grad("clip", [](const auto& in) { return clip(in[0], -0.7, 0.9); }, {x});
    expect_grad("clip", [](const auto& in) { return clip(in[0], 0.1, kInf<double>); }, {x});
  }
}

TEST_CASE("maximum and minimum have the right gradients, broadcast in every way") {
  for (const auto& [a, b] : std::vector<std::pair<xg::Shape, xg::Shape>>{{{2, 3}, {2, 3}},
                                                                         {{3, 1}, {1, 2}},
                                                                         {{}, {2, 3}},
                                                                         {{1}, {}},
                                                                         {{}, {}},
                                                                         {{0, 3}, {1, 3}}}) {
    const std::vector<Variable<double>> in{numbers(a, 1), numbers(b, 2)};
    expect_grad(
        "maximum", [](const auto& x) { return maximum(x[0], x[1]); }, in);
    expect_grad(
        "minimum", [](const auto& x) { return minimum(x[0], x[1]); }, in);
  }
  expect_grad("maximum", [](const auto& x) { return maximum(x[0], 0.05); }, {numbers({2, 3})});
  expect_grad("minimum", [](const auto& x) { return minimum(0.05, x[0]); }, {numbers({2, 3})});
}

TEST_CASE("max and min have the right gradients over every choice of axes") {
  struct Case {
    xg::Shape shape;
    Axes axes;
    bool keep_dims;
  };
  for (const Case& c :
       {Case{{2, 3, 2}, {}, false}, Case{{2, 3, 2}, 1, false}, Case{{2, 3, 2}, -1, true},
        Case{{2, 3, 2}, {0, -1}, false}, Case{{5}, 0, true}, Case{{}, {}, false},
        Case{{1, 1}, 0, false}, Case{{0, 3}, 1, false}}) {
    expect_grad(
        "max", [&](const auto& x) { return max(x[0], c.axes, c.keep_dims); }, {numbers(c.shape)},
        Smoothness::kinked);
    expect_grad(
        "min", [&](const auto& x) { return min(x[0], c.axes, c.keep_dims); }, {numbers(c.shape)},
        Smoothness::kinked);
  }
}

TEST_CASE_TEMPLATE("S22: ties share the gradient equally", T, float, double) {
  Variable<T> x({{1, 3, 3}, {2, 2, 2}}, true);
  max(x, 1).backward({6, 9});
  CHECK_CLOSE(x.grad(), {{0, 3, 3}, {3, 3, 3}});
  x.set_grad({});
  min(x).backward(Variable<T>(4));
  CHECK_CLOSE(x.grad(), {{4, 0, 0}, {0, 0, 0}});
  Variable<T> a({1, 2, 3}, true);
  Variable<T> b({2, 2, 2}, true);
  maximum(a, b).backward({2, 2, 2});
  CHECK_CLOSE(a.grad(), {0, 1, 2});
  CHECK_CLOSE(b.grad(), {2, 1, 0});
}

TEST_CASE_TEMPLATE("S22: clip passes the gradient at its bounds, abs' (0) = 0", T, float, double) {
  Variable<T> x({-2, -1, 0, 1, 2}, true);
  xg::sum(clip(x, -1, 1)).backward();
  CHECK_CLOSE(x.grad(), {0, 1, 1, 1, 0});
  x.set_grad({});
  xg::sum(abs(x)).backward();
  CHECK_CLOSE(x.grad(), {-1, -1, 0, 1, 1});
}

TEST_CASE_TEMPLATE("NaN wins, wherever it stands", T, float, double) {
  CHECK(std::isnan(max(Variable<T>({kNan<T>, 1})).item()));
  CHECK(std::isnan(max(Variable<T>({1, kNan<T>})).item()));
  CHECK(std::isnan(min(Variable<T>({kNan<T>, 1})).item()));
  CHECK(std::isnan(min(Variable<T>({1, kNan<T>})).item()));
  CHECK(std::isnan(maximum(Variable<T>(kNan<T>), 1).item()));
  CHECK(std::isnan(maximum(1, Variable<T>(kNan<T>)).item()));
  CHECK(std::isnan(clip(Variable<T>(kNan<T>), 0, 1).item()));
}

TEST_CASE_TEMPLATE("the maximum of infinities is one", T, float, double) {
  CHECK_CLOSE(max(Variable<T>({-kInf<T>, -kInf<T>})), Variable<T>(-kInf<T>));
  CHECK_CLOSE(min(Variable<T>({kInf<T>, kInf<T>})), Variable<T>(kInf<T>));
}

TEST_CASE("S15, S26: extrema of nothing and bad arguments are named errors") {
  using V = Variable<double>;
  const V x({1, 2, 3});
  CHECK_ERROR(xg::ShapeError, "max", max(xg::zeros<double>({0, 3})));
  CHECK_ERROR(xg::ShapeError, "min", min(xg::zeros<double>({2, 0}), 1));
  CHECK_ERROR(xg::ShapeError, "max", max(x, 1));
  CHECK_ERROR(xg::ShapeError, "maximum", maximum(x, V({1, 2})));
  CHECK_ERROR(xg::ShapeError, "minimum", minimum(x, V({1, 2})));
  CHECK_ERROR(xg::ArgumentError, "clip", clip(x, 2, 1));
  CHECK_ERROR(xg::ArgumentError, "clip", clip(x, kNan<double>, 1));
  CHECK_ERROR(xg::GraphError, "max", max(V()));
  CHECK_ERROR(xg::GraphError, "min", min(V()));
  CHECK_ERROR(xg::GraphError, "abs", abs(V()));
  CHECK_ERROR(xg::GraphError, "clip", clip(V(), 0, 1));
  CHECK_ERROR(xg::GraphError, "maximum", maximum(V(), x));
  CHECK_CLOSE(x, {1, 2, 3});
}
