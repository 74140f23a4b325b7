#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

namespace {

using Shapes = std::vector<std::pair<xg::Shape, xg::Shape>>;

const auto kMatmul = [](const auto& x) { return matmul(x[0], x[1]); };

void expect_matmul_grad(const Shapes& pairs) {
  for (const auto& pair : pairs) {
    CAPTURE(test::text(pair.first));
    CAPTURE(test::text(pair.second));
    expect_grad("matmul", kMatmul, {numbers(pair.first, 1, -1, 1), numbers(pair.second, 2, -1, 1)});
  }
}

/// The definition, element by element.
template <class T>
Variable<T> by_hand(const Variable<T>& a, const Variable<T>& b) {
  const std::size_t m = a.shape()[0];
  const std::size_t k = a.shape()[1];
  const std::size_t n = b.shape()[1];
  std::vector<T> out(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += double(a.at({i, l})) * double(b.at({l, j}));
      out[i * n + j] = static_cast<T>(sum);
    }
  }
  return xg::from_data(out.data(), {m, n});
}

}  // namespace

TEST_CASE("matmul has the right gradients for operands of every rank") {
  expect_matmul_grad({{{3}, {3}},
                      {{3}, {3, 2}},
                      {{2, 3}, {3}},
                      {{2, 3}, {3, 2}},
                      {{2, 2, 3}, {3}},
                      {{3}, {2, 3, 2}},
                      {{2, 2, 3}, {3, 2}},
                      {{2, 3}, {2, 3, 2}}});
  test::exempt("matmul", "0-D", "NumPy's matmul takes no 0-D operand");
}

TEST_CASE("matmul has the right gradients when batch axes broadcast") {
  expect_matmul_grad({{{2, 2, 3}, {2, 3, 2}},
                      {{2, 2, 3}, {1, 3, 2}},
                      {{1, 2, 3}, {2, 3, 2}},
                      {{2, 1, 2, 2}, {3, 2, 2}},
                      {{2, 2}, {2, 3, 2, 2}},
                      {{2, 1, 1, 2}, {1, 2, 2, 1}},
                      {{2, 1, 2, 1, 2}, {3, 1, 2, 2}}});
}

TEST_CASE("matmul has the right gradients at extents of one and zero") {
  expect_matmul_grad({{{1}, {1}},
                      {{1, 1}, {1, 1}},
                      {{1, 3}, {3, 1}},
                      {{3, 1}, {1, 3}},
                      {{0}, {0}},
                      {{0}, {0, 2}},
                      {{2, 0}, {0, 3}},
                      {{0, 3}, {3, 2}},
                      {{2, 3}, {3, 0}},
                      {{0, 2, 3}, {3, 2}},
                      {{0, 2, 3}, {1, 3, 2}},
                      {{2, 2, 0}, {0, 2}},
                      {{0, 0}, {0, 0}}});
}

TEST_CASE_TEMPLATE("a product over an empty axis is zero", T, float, double) {
  // huggingface/candle#3756
  Variable<T> a = xg::zeros<T>({2, 0}).set_requires_grad();
  Variable<T> b = xg::zeros<T>({0, 3}).set_requires_grad();
  const Variable<T> y = matmul(a, b);
  CHECK_CLOSE(y, xg::zeros<T>({2, 3}));
  xg::sum(y).backward();
  CHECK(a.grad().shape() == xg::Shape{2, 0});
  CHECK(b.grad().shape() == xg::Shape{0, 3});
}

TEST_CASE_TEMPLATE("matmul follows NumPy's shapes", T, float, double) {
  const auto shape = [](const xg::Dims& a, const xg::Dims& b) {
    return matmul(xg::ones<T>(a), xg::ones<T>(b)).shape();
  };
  CHECK(shape(4, 4) == xg::Shape{});
  CHECK(shape(4, {4, 2}) == xg::Shape{2});
  CHECK(shape({3, 4}, 4) == xg::Shape{3});
  CHECK(shape({2, 3, 4}, {2, 4, 5}) == xg::Shape{2, 3, 5});
  CHECK(shape({7, 1, 3, 4}, {5, 4, 2}) == xg::Shape{7, 5, 3, 2});
  CHECK(shape(4, {2, 4, 3}) == xg::Shape{2, 3});
  CHECK(shape({2, 3, 4}, 4) == xg::Shape{2, 3});
}

TEST_CASE_TEMPLATE("matmul agrees with its definition on every pair of layouts and many sizes", T,
                   float, double) {
  for (const auto& [m, k, n] : {std::array{1, 1, 1},
                                {2, 3, 4},
                                {5, 1, 7},
                                {1, 9, 1},
                                {17, 33, 19},
                                {64, 65, 3},
                                {3, 130, 66}}) {
    const Variable<T> a = xg::uniform<T>({m, k}, -1, 1, 5);
    const Variable<T> b = xg::uniform<T>({k, n}, -1, 1, 6);
    for (test::Layout left : test::kLayouts) {
      for (test::Layout right : test::kLayouts) {
        CAPTURE(test::name(left));
        CAPTURE(test::name(right));
        const Variable<T> x = test::laid_out(a, left);
        const Variable<T> y = test::laid_out(b, right);
        CHECK_CLOSE(matmul(x, y), by_hand(x, y));
      }
    }
  }
}

TEST_CASE_TEMPLATE("matmul of a head split, as attention has it", T, float, double) {
  // [B,N,H,d] seen as [B,H,N,d]: neither contiguous nor one matrix.
  const Variable<T> q =
      transpose(reshape(xg::uniform<T>({2, 3, 8}, -1, 1, 1), {2, 3, 2, 4}), {0, 2, 1, 3});
  const Variable<T> k =
      transpose(reshape(xg::uniform<T>({2, 5, 8}, -1, 1, 2), {2, 5, 2, 4}), {0, 2, 3, 1});
  const Variable<T> scores = matmul(q, k);
  CHECK(scores.shape() == xg::Shape{2, 2, 3, 5});
  CHECK_CLOSE(scores, matmul(q.clone(), k.clone()));
}

TEST_CASE_TEMPLATE("the gradient of a shared matrix is the sum over the batch", T, float, double) {
  SUBCASE("two matrices by one") {  // tensorflow/tfjs#8721
    Variable<T> a({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, true);
    Variable<T> b({{9, 10}, {11, 12}}, true);
    xg::sum(matmul(a, b)).backward();
    CHECK_CLOSE(b.grad(), {{16, 16}, {20, 20}});
    CHECK_CLOSE(a.grad(), {{{19, 23}, {19, 23}}, {{19, 23}, {19, 23}}});
  }
  SUBCASE("a matrix by a vector") {  // harvard-edge/cs249r_book#1781
    Variable<T> a({{1, 2}, {3, 4}, {5, 6}}, true);
    Variable<T> b({10, 20}, true);
    matmul(a, b).backward(xg::ones<T>(3));
    CHECK_CLOSE(a.grad(), {{10, 20}, {10, 20}, {10, 20}});
    CHECK_CLOSE(b.grad(), {9, 12});
  }
  SUBCASE("one matrix on both sides") {
    expect_grad("matmul", [](const auto& x) { return matmul(x[0], x[0]); }, {numbers({3, 3})});
    expect_grad("matmul", [](const auto& x) { return matmul(transpose(x[0]), x[0]); },
                {numbers({2, 3})});
  }
}

TEST_CASE_TEMPLATE("a transposed operand is read as it lies", T, float, double) {
  const Variable<T> a({{0.7, -1.3, 2.1}, {-0.4, 1.9, -3.2}});  // tracel-ai/burn#5304
  CHECK_CLOSE(matmul(transpose(a), xg::ones<T>({2, 2})), {{0.3, 0.3}, {0.6, 0.6}, {-1.1, -1.1}},
              {1e-5, 1e-6});
}

TEST_CASE_TEMPLATE("views of one array multiply as their copies do", T, float, double) {
  // xtensor-blas's dot compares data pointers only, and takes these for one matrix.
  const Variable<T> k = xg::uniform<T>({4, 3}, -1, 1, 1);
  const Variable<T> q = slice(k, 0, 0, 2);
  CHECK_CLOSE(matmul(q, transpose(k)), by_hand(q.clone(), transpose(k).clone()));
  CHECK_CLOSE(matmul(k, transpose(q)), by_hand(k.clone(), transpose(q).clone()));
}

TEST_CASE_TEMPLATE("NaN and inf spread through their rows and columns only", T, float, double) {
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  const Variable<T> y = matmul(Variable<T>({{nan, 1}, {2, 3}}), Variable<T>({{1, 0}, {0, 1}}));
  CHECK(std::isnan(y.at({0, 0})));
  CHECK(std::isnan(y.at({0, 1})));
  CHECK(y.at({1, 0}) == 2);
  CHECK(y.at({1, 1}) == 3);
}

TEST_CASE("S26: operands that do not fit are a ShapeError, and change nothing") {
  const Variable<double> a({{1, 2, 3}, {4, 5, 6}});
  CHECK_ERROR(xg::ShapeError, "matmul", matmul(a, a));
  CHECK_ERROR(xg::ShapeError, "matmul", matmul(a, Variable<double>({1, 2})));
  CHECK_ERROR(xg::ShapeError, "matmul", matmul(Variable<double>(2), a));
  CHECK_ERROR(xg::ShapeError, "matmul", matmul(a, Variable<double>(2)));
  CHECK_ERROR(xg::ShapeError, "matmul",
              matmul(xg::ones<double>({2, 1, 3}), xg::ones<double>({3, 3, 1})));
  CHECK_ERROR(xg::ShapeError, "matmul", matmul(xg::ones<double>({2, 0}), a));
  CHECK_ERROR(xg::GraphError, "matmul", matmul(a, Variable<double>()));
  CHECK_ERROR(xg::GraphError, "matmul", matmul(Variable<double>(), a));
  CHECK_CLOSE(a, {{1, 2, 3}, {4, 5, 6}});
}
