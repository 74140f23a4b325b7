#include "softplus.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include <xgrad/xgrad.hpp>

#include "../support/expect_grad.hpp"

TEST_CASE("softplus: values, gradients and second derivatives on any strides") {
  test::expect_grad("softplus", [](const auto& in) { return xg::softplus(in[0]); },
                    {test::numbers({2, 3})});
}

TEST_CASE("softplus is x for large x, and e^x for large negative x") {
  const xg::Variable<double> y = xg::softplus(xg::Variable<double>({1000, -30}));
  CHECK(y.at({0}) == 1000);
  CHECK(std::abs(y.at({1}) - std::exp(-30.0)) < 1e-25);
}
