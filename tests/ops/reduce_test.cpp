#include <cmath>
#include <cstdint>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Axes;
using xg::Variable;

namespace {

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();

/// f(x, axes, keep_dims) over every choice of axes.
template <class F>
void expect_reduction_grad(const std::string& op, F f, double low = -2, double high = 2) {
  struct Case {
    xg::Shape shape;
    Axes axes;
    bool keep_dims;
  };
  for (const Case& c :
       {Case{{2, 3, 2}, {}, false}, Case{{2, 3, 2}, 1, false}, Case{{2, 3, 2}, -1, true},
        Case{{2, 3, 2}, {0, -1}, false}, Case{{2, 3, 2}, {2, 1}, true}, Case{{5}, 0, true},
        Case{{}, {}, false}, Case{{}, {}, true}, Case{{1, 1}, 0, false}, Case{{0, 3}, 1, false}}) {
    CAPTURE(test::text(c.shape));
    expect_grad(op, [&](const auto& x) { return f(x[0], c.axes, c.keep_dims); },
                {numbers(c.shape, 1, low, high)});
  }
}

template <class F>
void expect_reduction_of_nothing_grad(const std::string& op, F f) {
  expect_grad(op, [&](const auto& x) { return f(x[0], Axes(), false); }, {numbers({0})});
  expect_grad(op, [&](const auto& x) { return f(x[0], Axes(0), true); }, {numbers({0, 3})});
}

}  // namespace

TEST_CASE("sum and mean have the right gradients over every choice of axes") {
  const auto by_sum = [](const auto& x, const Axes& axes, bool keep) { return sum(x, axes, keep); };
  const auto by_mean = [](const auto& x, const Axes& axes, bool keep) {
    return mean(x, axes, keep);
  };
  expect_reduction_grad("sum", by_sum);
  expect_reduction_of_nothing_grad("sum", by_sum);
  expect_reduction_grad("mean", by_mean);
  expect_reduction_of_nothing_grad("mean", by_mean);
}

TEST_CASE("var has the right gradient over every choice of axes") {
  const auto by_var = [](const auto& x, const Axes& axes, bool keep) { return var(x, axes, keep); };
  expect_reduction_grad("var", by_var);
  expect_reduction_of_nothing_grad("var", by_var);
  expect_grad("var", [](const auto& x) { return var(x[0], 1, false, 1); }, {numbers({2, 3})});
  expect_grad("var", [](const auto& x) { return var(x[0], {}, true, 2); }, {numbers({2, 3})});
}

TEST_CASE("prod has the right gradient over every choice of axes, and where elements are zero") {
  const auto by_prod = [](const auto& x, const Axes& axes, bool keep) {
    return prod(x, axes, keep);
  };
  expect_reduction_grad("prod", by_prod);
  expect_reduction_of_nothing_grad("prod", by_prod);
  const Variable<double> zeros({{1, 0, 3}, {0, 0, 2}, {0, 0, 0}});
  expect_grad("prod", [](const auto& x) { return prod(x[0], 1); }, {zeros});
}

TEST_CASE("logsumexp has the right gradient over every choice of axes") {
  const auto by_logsumexp = [](const auto& x, const Axes& axes, bool keep) {
    return logsumexp(x, axes, keep);
  };
  expect_reduction_grad("logsumexp", by_logsumexp);
}

TEST_CASE("cumsum has the right gradient along every axis") {
  const auto expect_cumsum = [](const xg::Shape& shape, std::int64_t axis) {
    expect_grad("cumsum", [axis](const auto& x) { return cumsum(x[0], axis); }, {numbers(shape)});
  };
  expect_cumsum({2, 3, 2}, 0);
  expect_cumsum({2, 3, 2}, 1);
  expect_cumsum({2, 3, 2}, -1);
  expect_cumsum({5}, 0);
  expect_cumsum({1}, 0);
  expect_cumsum({}, 0);
  expect_cumsum({0, 3}, 1);
}

TEST_CASE_TEMPLATE("reductions follow NumPy's axes and shapes", T, float, double) {
  const Variable<T> x({{1, 2, 3}, {4, 5, 6}});
  CHECK_CLOSE(sum(x), Variable<T>(21));
  CHECK_CLOSE(sum(x, 0), {5, 7, 9});
  CHECK_CLOSE(sum(x, -1, true), {{6}, {15}});
  CHECK_CLOSE(sum(x, {0, 1}, true), {{21}});
  CHECK_CLOSE(mean(x, 1), {2, 5});
  CHECK_CLOSE(var(x, 1), {T(2) / 3, T(2) / 3});
  CHECK_CLOSE(var(x, 1, false, 1), {1, 1});
  CHECK_CLOSE(prod(x, 0), {4, 10, 18});
  CHECK_CLOSE(cumsum(x, 1), {{1, 3, 6}, {4, 9, 15}});
  CHECK_CLOSE(cumsum(flip(x), 0), {{6, 5, 4}, {9, 7, 5}});
}

TEST_CASE_TEMPLATE("S15: reductions of nothing", T, float, double) {
  const Variable<T> empty = xg::zeros<T>({0, 3});
  CHECK_CLOSE(sum(empty), Variable<T>(0));  // stan-dev/stan#1443
  CHECK_CLOSE(sum(empty, 0), {0, 0, 0});
  CHECK_CLOSE(prod(empty), Variable<T>(1));
  CHECK_CLOSE(logsumexp(empty, 0), {-kInf<T>, -kInf<T>, -kInf<T>});
  CHECK(std::isnan(mean(empty).item()));
  CHECK(std::isnan(var(empty).item()));
  CHECK(sum(empty, 1).shape() == xg::Shape{0});
  CHECK(cumsum(empty, 0).shape() == xg::Shape{0, 3});
  Variable<T> x = empty.clone().set_requires_grad();
  logsumexp(x).backward();
  CHECK(x.grad().shape() == xg::Shape{0, 3});
}

TEST_CASE_TEMPLATE("S19: logsumexp is stable, and has its limits at infinity", T, float, double) {
  CHECK_CLOSE(logsumexp(Variable<T>({1000, 1000})), Variable<T>(1000 + std::log(T(2))));
  CHECK_CLOSE(logsumexp(Variable<T>({-1000, -1000})), Variable<T>(-1000 + std::log(T(2))));
  CHECK_CLOSE(logsumexp(Variable<T>({0, kInf<T>})), Variable<T>(kInf<T>));
  CHECK(std::isnan(logsumexp(Variable<T>({0, std::numeric_limits<T>::quiet_NaN()})).item()));
  Variable<T> x({-kInf<T>, -kInf<T>}, true);  // jax-ml/jax#6811
  const Variable<T> y = logsumexp(x);
  CHECK_CLOSE(y, Variable<T>(-kInf<T>));
  y.backward();
  CHECK_CLOSE(x.grad(), {0, 0}, test::exactly);
}

TEST_CASE("S17: the error of a float sum grows with log n, in any direction and layout") {
  const std::int64_t n = 1 << 24;
  const auto ones = broadcast_to(Variable<float>({{1}}), {n + 4, 1});
  CHECK(sum(ones).item() == float(n + 4));  // a running sum stops at 2^24
  const auto tenths = broadcast_to(Variable<float>({{0.1}}), {3, n});
  const double want = double(0.1f) * double(n);
  CHECK_CLOSE(sum(tenths, 1), {want, want, want}, {1e-6, 0});
  CHECK_CLOSE(sum(transpose(tenths), 0), {want, want, want}, {1e-6, 0});
  CHECK_CLOSE(mean(tenths), Variable<float>(0.1f), {1e-6, 0});
  CHECK(cumsum(flatten(ones), 0).at(-1) == float(n + 4));
}

TEST_CASE("S17: the sum inside a broadcast gradient loses no more") {
  const std::int64_t n = 1 << 24;
  Variable<float> x({1}, true);
  const auto y = broadcast_to(x, n + 4);
  y.backward(broadcast_to(Variable<float>({1}), n + 4));
  CHECK(x.grad().item() == float(n + 4));
}

TEST_CASE_TEMPLATE("var keeps its digits beside a large mean", T, float, double) {
  const Variable<T> x({1, 2, 3, 4});
  CHECK_CLOSE(var(x + 10000), Variable<T>(1.25), {1e-5, 0});
  CHECK(var(xg::full<T>(100, 0.1)).item() <= std::numeric_limits<T>::epsilon());
}

TEST_CASE("S26: bad axes are a ShapeError, and change nothing") {
  using V = Variable<double>;
  const V x({{1, 2, 3}, {4, 5, 6}});
  CHECK_ERROR(xg::ShapeError, "sum", sum(x, 2));
  CHECK_ERROR(xg::ShapeError, "sum", sum(x, {0, -2}));
  CHECK_ERROR(xg::ShapeError, "sum", sum(V(1), 0));
  CHECK_ERROR(xg::ShapeError, "mean", mean(x, -3));
  CHECK_ERROR(xg::ShapeError, "mean", mean(x, {1, 1}));
  CHECK_ERROR(xg::ShapeError, "var", var(x, 2));
  CHECK_ERROR(xg::ShapeError, "prod", prod(x, 2));
  CHECK_ERROR(xg::ShapeError, "logsumexp", logsumexp(x, 2));
  CHECK_ERROR(xg::ShapeError, "cumsum", cumsum(x, 2));
  CHECK_ERROR(xg::GraphError, "sum", sum(V()));
  CHECK_ERROR(xg::GraphError, "mean", mean(V()));
  CHECK_ERROR(xg::GraphError, "var", var(V()));
  CHECK_ERROR(xg::GraphError, "prod", prod(V()));
  CHECK_ERROR(xg::GraphError, "logsumexp", logsumexp(V()));
  CHECK_ERROR(xg::GraphError, "cumsum", cumsum(V(), 0));
  CHECK_CLOSE(x, {{1, 2, 3}, {4, 5, 6}});
}
