#include <iostream>

#include <xgrad/xgrad.hpp>

int main() {
  xg::Variable<double> x({{1, 2}, {3, 4}}, true);
  xg::Variable<double> w({{1, -1}, {0.5, 2}}, true);
  auto weights = xg::softmax(xg::matmul(x, w));
  auto loss = xg::sum(weights * x);
  loss.backward();
  std::cout << "weights " << weights << "\n";
  std::cout << "loss " << loss.item() << "\n";
  std::cout << "d loss / d w " << w.grad() << "\n";
}
