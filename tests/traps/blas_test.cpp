#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <dlfcn.h>

#include <xgrad/xgrad.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"
#include "../support/strided.hpp"

using test::exactly;
using xg::Variable;

namespace {

/// By the definition, one element at a time.
template <class T>
Variable<T> product(const Variable<T>& a, const Variable<T>& b) {
  const auto m = static_cast<std::int64_t>(a.shape()[0]);
  const auto k = static_cast<std::int64_t>(a.shape()[1]);
  const auto n = static_cast<std::int64_t>(b.shape()[1]);
  std::vector<T> out;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += double(a.at({i, l})) * double(b.at({l, j}));
      out.push_back(static_cast<T>(sum));
    }
  }
  return xg::from_data(out.data(), {m, n});
}

}  // namespace

TEST_CASE("OpenBLAS answers") {
  (void)xg::matmul(xg::ones<float>({2, 2}), xg::ones<float>({2, 2}));
  for (const char* name : {"cblas_sgemm", "cblas_dgemm", "openblas_get_config"}) {
    void* const symbol = dlsym(RTLD_DEFAULT, name);
    REQUIRE_MESSAGE(symbol != nullptr, name);
    Dl_info info;
    REQUIRE(dladdr(symbol, &info) != 0);
    CHECK_MESSAGE(std::string(info.dli_fname).find("openblas") != std::string::npos,
                  info.dli_fname);
  }
}

TEST_CASE_TEMPLATE("two views of one buffer are two matrices", T, float, double) {
  const auto k = xg::reshape(xg::arange<T>(0, 12), {4, 3});
  const auto q = xg::slice(k, 0, 0, 2);
  const auto y = xg::matmul(q, xg::transpose(k));
  CHECK_CLOSE(y, {{5, 14, 23, 32}, {14, 50, 86, 122}}, exactly);
  CHECK_CLOSE(xg::matmul(k, xg::transpose(q)), {{5, 14}, {14, 50}, {23, 86}, {32, 122}}, exactly);
}

TEST_CASE_TEMPLATE("a matrix times itself", T, float, double) {
  Variable<T> x({{1, 2}, {3, 4}}, true);
  const auto y = xg::matmul(x, x);
  CHECK_CLOSE(y, {{7, 10}, {15, 22}}, exactly);
  CHECK_CLOSE(xg::matmul(x, xg::transpose(x)), {{5, 11}, {11, 25}}, exactly);
  y.backward(xg::ones<T>({2, 2}));
  CHECK_CLOSE(x.grad(), {{7, 11}, {9, 13}}, exactly);  // g x^T + x^T g
}

TEST_CASE_TEMPLATE("products of head slices, column blocks, steps and reversals", T, float,
                   double) {
  const auto a = xg::randn<T>({6, 5}, 1);
  const auto b = xg::randn<T>({5, 7}, 2);
  const auto want = product(a, b);
  for (const test::Layout left : test::kLayouts) {
    for (const test::Layout right : test::kLayouts) {
      const auto x = test::laid_out(a, left);
      const auto y = test::laid_out(b, right);
      CAPTURE(test::name(left));
      CAPTURE(test::name(right));
      const bool same = left != test::Layout::broadcast && right != test::Layout::broadcast;
      CHECK_CLOSE(xg::matmul(x, y), same ? want : product(x.clone(), y.clone()));
    }
  }
}

TEST_CASE_TEMPLATE("matmul is NumPy's, not its dot", T, float, double) {
  const auto ones = [](const xg::Shape& shape) { return xg::ones<T>(shape); };
  CHECK(xg::matmul(ones({2, 3, 4}), ones({2, 4, 5})).shape() == xg::Shape{2, 3, 5});
  CHECK(xg::matmul(ones({3}), ones({3})).shape().empty());
  CHECK(xg::matmul(ones({3}), ones({3})).item() == T(3));
  CHECK(xg::matmul(ones({2, 3, 4}), ones({4})).shape() == xg::Shape{2, 3});
  CHECK(xg::matmul(ones({4}), ones({2, 4, 5})).shape() == xg::Shape{2, 5});
  CHECK(xg::matmul(ones({7, 1, 3, 4}), ones({2, 4, 5})).shape() == xg::Shape{7, 2, 3, 5});
}

TEST_CASE_TEMPLATE("products with extents of zero and one", T, float, double) {
  for (const xg::Shape& shape : {xg::Shape{0, 3}, {3, 0}, {0, 0}, {1, 3}, {3, 1}, {1, 1}}) {
    const auto x = xg::ones<T>(shape);
    const T inner = static_cast<T>(shape[1]);
    CHECK_CLOSE(xg::matmul(x, xg::transpose(x)), xg::full<T>({shape[0], shape[0]}, inner), exactly);
    CHECK_CLOSE(xg::matmul(x, xg::ones<T>(shape[1])), xg::full<T>(shape[0], inner), exactly);
    CHECK(xg::matmul(xg::ones<T>({2, 5, shape[0]}), x).shape() == xg::Shape{2, 5, shape[1]});
  }
  // A column of a wide matrix, whose stride is no leading dimension of its own.
  const auto wide = xg::reshape(xg::arange<T>(0, 12), {3, 4});
  const auto column = xg::slice(wide, 1, 1, 2);
  CHECK_CLOSE(xg::matmul(column, xg::transpose(column)), {{1, 5, 9}, {5, 25, 45}, {9, 45, 81}},
              exactly);
  CHECK_CLOSE(xg::matmul(xg::transpose(column), column), {{107}}, exactly);
}
