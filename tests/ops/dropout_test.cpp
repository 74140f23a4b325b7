#include <algorithm>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

TEST_CASE("dropout has the right gradient") {
  test::exempt("dropout", "PyTorch", "it draws other random numbers");
  for (const xg::Shape& shape : test::shapes()) {
    for (double p : {0.0, 0.4}) {
      expect_grad("dropout", [p](const auto& x) { return dropout(x[0], p, 5); }, {numbers(shape)});
    }
  }
}

TEST_CASE_TEMPLATE("dropout drops about a share of p, and scales the rest", T, float, double) {
  const std::vector<T> y = dropout(xg::ones<T>({100, 100}), 0.25, 1).to_vector();
  const auto dropped = std::count(y.begin(), y.end(), T(0));
  CHECK(dropped > 2300);
  CHECK(dropped < 2700);
  CHECK(std::count(y.begin(), y.end(), T(1) / T(0.75)) == 10000 - dropped);
}

TEST_CASE_TEMPLATE("S18: one seed drops the same elements, another one others", T, float, double) {
  const Variable<T> x = xg::ones<T>({10, 10});
  CHECK_CLOSE(dropout(x, 0.5, 7), dropout(x, 0.5, 7), test::exactly);
  CHECK(dropout(x, 0.5, 7).to_vector() != dropout(x, 0.5, 8).to_vector());
  CHECK_CLOSE(dropout(transpose(x), 0.5, 7), dropout(x, 0.5, 7), test::exactly);
}

TEST_CASE_TEMPLATE("a dropped element is 0, whatever it was", T, float, double) {
  const Variable<T> x = xg::full<T>(100, std::numeric_limits<T>::quiet_NaN());
  const std::vector<T> y = dropout(x, 0.5, 3).to_vector();
  CHECK(std::count(y.begin(), y.end(), T(0)) > 20);
}

TEST_CASE("S26: a share outside [0, 1) is an ArgumentError") {
  const Variable<double> x({1, 2});
  CHECK_ERROR(xg::ArgumentError, "dropout", dropout(x, -0.1, 1));
  CHECK_ERROR(xg::ArgumentError, "dropout", dropout(x, 1, 1));
  CHECK_ERROR(xg::ArgumentError, "dropout",
              dropout(x, std::numeric_limits<double>::quiet_NaN(), 1));
  CHECK_ERROR(xg::GraphError, "dropout", dropout(Variable<double>(), 0.5, 1));
}
