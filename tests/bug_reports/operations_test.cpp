#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"

using test::exactly;
using test::Tolerance;
using xg::Variable;

namespace {

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();

}  // namespace

TEST_CASE_TEMPLATE("FluxML/NNlib.jl#68: softmax of large scores", T, float, double) {
  using V = Variable<T>;
  V x({-1047, -981, 1891}, true);
  V y({1000, 1000}, true);
  CHECK_CLOSE(xg::softmax(x), {0, 0, 1}, exactly);
  CHECK_CLOSE(xg::softmax(y), {.5, .5}, exactly);
  (xg::sum(xg::softmax(x)) + xg::sum(xg::softmax(y))).backward();
  CHECK_CLOSE(x.grad(), {0, 0, 0}, exactly);
  CHECK_CLOSE(y.grad(), {0, 0}, exactly);
  CHECK_CLOSE(xg::softmax(V({-1e30, -1e30})), {.5, .5}, exactly);
}

TEST_CASE_TEMPLATE("clab/dynet#218: log_softmax of a far outlier", T, float, double) {
  Variable<T> x({0, -1000}, true);
  xg::log_softmax(x).backward({0, 1});
  CHECK_CLOSE(x.grad(), {-1, 1}, exactly);
}

TEST_CASE_TEMPLATE("mlpack/mlpack#2360: the gradient of log_softmax sums to zero", T, float,
                   double) {
  Variable<T> x({0.1, 0.9}, true);
  xg::log_softmax(x).backward({1, 1});
  CHECK_CLOSE(x.grad(), {0.379949, -0.379949}, Tolerance{1e-5, 0});
}

TEST_CASE_TEMPLATE("jax-ml/jax#6811: logsumexp of -inf", T, float, double) {
  Variable<T> x({-kInf<T>, -kInf<T>}, true);
  const auto y = xg::logsumexp(x);
  CHECK(y.item() == -kInf<T>);
  y.backward();
  CHECK_CLOSE(x.grad(), {0, 0}, exactly);
  Variable<T> rows({{-kInf<T>, -kInf<T>}, {0, -kInf<T>}}, true);
  xg::sum(xg::logsumexp(rows, 1)).backward();
  CHECK_CLOSE(rows.grad(), {{0, 0}, {1, 0}}, exactly);
}

TEST_CASE_TEMPLATE("pytorch/pytorch#68425: where with an overflowing branch", T, float, double) {
  Variable<T> a(1000, true);
  xg::where(a <= 0, xg::exp(a), 1 + a).backward();
  CHECK(a.grad().item() == T(1));
}

TEST_CASE_TEMPLATE("HIPS/autograd#802: where with a NaN branch", T, float, double) {
  Variable<T> x(1, true);
  xg::where(x >= 0, x, xg::sqrt(-x)).backward();
  CHECK(x.grad().item() == T(1));
  Variable<T> at_zero(0, true);
  xg::where(at_zero <= 0, at_zero * 2, xg::pow(at_zero, -0.5)).backward();
  CHECK(at_zero.grad().item() == T(2));
}

TEST_CASE_TEMPLATE("pytorch/pytorch#1787: gradients of broadcast products", T, float, double) {
  const auto check = [](const xg::Shape& sa, const xg::Shape& sb) {
    auto a = xg::randn<T>(sa, 1);
    auto b = xg::randn<T>(sb, 2);
    a.set_requires_grad();
    b.set_requires_grad();
    const auto y = a * b;
    xg::sum(y).backward();
    CHECK(a.grad().shape() == sa);
    CHECK(b.grad().shape() == sb);
    CHECK_CLOSE(xg::sum(a.grad() * a.detach()), xg::sum(y.detach()), Tolerance{1e-4, 1e-5});
  };
  check({1}, {5, 4});
  check({4, 1}, {1, 4});
  check({3, 1, 2}, {4, 1});
  Variable<T> scalar(3, true);
  xg::sum(scalar * xg::ones<T>(2)).backward();
  CHECK_CLOSE(scalar.grad(), Variable<T>(2), exactly);
}

TEST_CASE_TEMPLATE("tensorflow/tfjs#8721: matmul of a batch with one matrix", T, float, double) {
  using V = Variable<T>;
  V a({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, true);
  V b({{9, 10}, {11, 12}}, true);
  xg::sum(xg::matmul(a, b)).backward();
  CHECK_CLOSE(b.grad(), {{16, 16}, {20, 20}}, exactly);
  CHECK_CLOSE(a.grad(), {{{19, 23}, {19, 23}}, {{19, 23}, {19, 23}}}, exactly);
}

TEST_CASE_TEMPLATE("harvard-edge/cs249r_book#1781: matrix by vector", T, float, double) {
  using V = Variable<T>;
  V a({{1, 2}, {3, 4}, {5, 6}}, true);
  V b({10, 20}, true);
  const auto y = xg::matmul(a, b);
  CHECK_CLOSE(y, {50, 110, 170}, exactly);
  y.backward({1, 1, 1});
  CHECK_CLOSE(a.grad(), {{10, 20}, {10, 20}, {10, 20}}, exactly);
  CHECK_CLOSE(b.grad(), {9, 12}, exactly);
  V row({1, 2, 3}, true);
  const auto z = xg::matmul(row, a.detach());
  CHECK_CLOSE(z, {22, 28}, exactly);
  z.backward({1, 1});
  CHECK_CLOSE(row.grad(), {3, 7, 11}, exactly);
}

TEST_CASE_TEMPLATE("tracel-ai/burn#5304: a transpose as the left operand", T, float, double) {
  using V = Variable<T>;
  V a({{.7, -1.3, 2.1}, {-.4, 1.9, -3.2}}, true);
  CHECK_CLOSE(xg::matmul(xg::transpose(a), xg::ones<T>({2, 2})), {{.3, .3}, {.6, .6}, {-1.1, -1.1}},
              Tolerance{1e-5, 0});
  CHECK_CLOSE(xg::matmul(xg::ones<T>({2, 3}), xg::transpose(a)), {{1.5, -1.7}, {1.5, -1.7}},
              Tolerance{1e-5, 0});
}

TEST_CASE_TEMPLATE("pytorch/pytorch#9172: transpose by a mixed permutation, and by a repeated axis",
                   T, float, double) {
  const auto x = xg::reshape(xg::arange<T>(0, 12), {2, 3, 2});
  const auto y = xg::transpose(x, {1, 0, -1});
  CHECK(y.shape() == xg::Shape{3, 2, 2});
  CHECK_CLOSE(y, {{{0, 1}, {6, 7}}, {{2, 3}, {8, 9}}, {{4, 5}, {10, 11}}}, exactly);
  CHECK_ERROR(xg::ShapeError, "transpose", xg::transpose(xg::slice(x, 2, 0, 1), {0, 0}));
  CHECK_ERROR(xg::ShapeError, "transpose", xg::transpose(x, {0, 1, -2}));
}

TEST_CASE_TEMPLATE(
    "huggingface/candle#3756, tinygrad/tinygrad#3108: products over nothing, rows of nothing", T,
    float, double) {
  auto a = xg::zeros<T>({2, 0});
  auto b = xg::zeros<T>({0, 3});
  a.set_requires_grad();
  b.set_requires_grad();
  const auto y = xg::matmul(a, b);
  CHECK_CLOSE(y, xg::zeros<T>({2, 3}), exactly);
  xg::sum(y).backward();
  CHECK(a.grad().shape() == xg::Shape{2, 0});
  CHECK(b.grad().shape() == xg::Shape{0, 3});
  CHECK(xg::log_softmax(xg::zeros<T>({10, 0})).shape() == xg::Shape{10, 0});
  CHECK(xg::matmul(xg::zeros<T>({0, 2}), xg::ones<T>({2, 3})).shape() == xg::Shape{0, 3});
  CHECK(xg::matmul(xg::zeros<T>({0, 2, 2}), xg::ones<T>({2, 3})).shape() == xg::Shape{0, 2, 3});
}

TEST_CASE("pytorch/pytorch#187806: gelu in the far left tail") {
  const Variable<float> x({-5, -6, -10});
  CHECK_CLOSE(xg::gelu(x), {-1.43326e-6, -5.9195e-9, -7.62e-23}, Tolerance{1e-3, 0});
  CHECK_CLOSE(xg::gelu(Variable<double>({-5, -6, -10})), {-1.43326e-6, -5.9195e-9, -7.62e-23},
              Tolerance{1e-3, 0});
}

TEST_CASE_TEMPLATE("pyg-team/pytorch_geometric pull 2917: layer_norm of equal elements", T, float,
                   double) {
  Variable<T> x({{3, 3, 3, 3}}, true);
  const auto y = xg::layer_norm(x, xg::ones<T>(4), xg::zeros<T>(4), 1e-5);
  CHECK_CLOSE(y, {{0, 0, 0, 0}}, exactly);
  y.backward(Variable<T>({{1, 2, 3, 4}}));
  for (const T g : x.grad().to_vector()) CHECK(std::isfinite(g));
}

TEST_CASE_TEMPLATE("pytorch/pytorch#15508: cross_entropy with a target out of range", T, float,
                   double) {
  const auto logits = xg::zeros<T>({2, 3});
  CHECK_THROWS_AS(xg::cross_entropy(logits, {0, -4}), xg::Error);
  CHECK_THROWS_AS(xg::cross_entropy(logits, {0, 3}), xg::Error);
  CHECK_THROWS_AS(xg::cross_entropy(logits, {0, 1, 2}), xg::Error);
  CHECK_CLOSE(xg::cross_entropy(logits, {0, 2}), Variable<T>(std::log(T(3))));
}

TEST_CASE_TEMPLATE("pytorch/pytorch#1528: a row that is looked up twice gets both gradients", T,
                   float, double) {
  auto table = xg::ones<T>({3, 2});
  table.set_requires_grad();
  xg::embedding(table, {0, 0, 2}).backward(xg::ones<T>({3, 2}));
  CHECK_CLOSE(table.grad(), {{2, 2}, {0, 0}, {1, 1}}, exactly);
  auto x = xg::ones<T>({2, 3});
  x.set_requires_grad();
  xg::sum(xg::take(x, {1, 1, -1, 1}, 1)).backward();
  CHECK_CLOSE(x.grad(), {{0, 3, 1}, {0, 3, 1}}, exactly);
}

TEST_CASE_TEMPLATE("stan-dev/stan#1443: the sum of nothing is 0", T, float, double) {
  auto none = xg::zeros<T>(0);
  none.set_requires_grad();
  const auto y = xg::sum(none);
  CHECK_CLOSE(y, Variable<T>(0), exactly);
  y.backward();
  CHECK(none.grad().shape() == xg::Shape{0});
}
