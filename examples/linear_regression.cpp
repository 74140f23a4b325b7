// A line through points, by gradient descent: xtensor's arrays in and out, and the whole training
// loop.

#include <iostream>

#include <xgrad/xtensor.hpp>

int main() {
  const xt::xarray<double> inputs = {{0, 2}, {2, 0}, {2, 2}, {4, -2}, {-2, 4}};
  const xt::xarray<double> slopes = {2, -3};
  const xt::xarray<double> targets = {-2.5, 2.5, -0.5, 7.5, -7.5};

  const xg::Variable<double> x(inputs / 2);  // evaluates any xtensor expression
  const xg::Variable<double> y(targets);
  xg::Variable<double> w({0, 0}, true);
  xg::Variable<double> b(0, true);
  for (int step = 0; step <= 200; ++step) {
    w.zero_grad();
    b.zero_grad();
    const auto loss = mean(square(matmul(x, w) + b - y));
    loss.backward();
    if (step % 50 == 0) std::cout << "step " << step << ", loss " << loss.item() << "\n";
    w.update([&](auto& values) { values -= 0.2 * w.grad().value(); });
    b.update([&](auto& values) { values -= 0.2 * b.grad().value(); });
  }
  // value() is an xtensor expression over the same memory.
  std::cout << "largest error of a slope " << xt::amax(xt::abs(w.value() - slopes))() << "\n";
}
