// Two operations of your own, one as a class, one as a pair of functions, each checked by
// gradcheck.

#include <iostream>
#include <memory>
#include <vector>

#include <xgrad/xgrad.hpp>

namespace {

using V = xg::Variable<double>;

/// y = x^3. Gradient: 3 g x^2.
class Cube final : public xg::Op<double> {
 public:
  std::string name() const override { return "cube"; }
  // backward reads the input, so nothing else is kept.
  xg::Needs needs() const override { return xg::Needs::inputs({0}); }
  V forward(const std::vector<V>& in) const override { return in[0] * in[0] * in[0]; }
  std::vector<V> backward(const std::vector<V>& in, const V&, V grad_output,
                          const std::vector<bool>&) const override {
    return {grad_output * 3 * in[0] * in[0]};
  }
};

V cube(const V& x) { return xg::apply(std::make_shared<Cube>(), {x}); }

}  // namespace

int main() {
  // y = x / (1 + e^-x). Gradient: g (s + y (1 - s)), with s = 1 / (1 + e^-x).
  const auto swish = xg::custom<double>(
      "swish", [](const std::vector<V>& in) { return in[0] / (1 + xg::exp(-in[0])); },
      [](const std::vector<V>& in, const V& output, V grad_output) {
        const V s = 1 / (1 + xg::exp(-in[0]));
        return std::vector<V>{grad_output * (s + output * (1 - s))};
      });
  // The same with a wrong gradient: the second term is missing.
  const auto wrong = xg::custom<double>(
      "wrong_swish", [](const std::vector<V>& in) { return in[0] / (1 + xg::exp(-in[0])); },
      [](const std::vector<V>& in, const V&, V grad_output) {
        return std::vector<V>{grad_output / (1 + xg::exp(-in[0]))};
      });

  V x({1, 2}, true);
  x.set_name("x");
  V loss = xg::sum(swish(cube(x)));
  loss.backward();
  std::cout << "sum of swish(x^3) at 1, 2: " << loss.item() << "\n"
            << "its gradient: " << x.grad().at(0) << ", " << x.grad().at(1) << "\n";

  const auto of_cube = [](const std::vector<V>& in) { return cube(in[0]); };
  const auto of_swish = [&](const std::vector<V>& in) { return swish(in[0]); };
  const auto of_wrong = [&](const std::vector<V>& in) { return wrong(in[0]); };
  const auto first = xg::gradcheck(of_cube, {x});
  const auto second = xg::gradgradcheck(of_swish, {x});
  const auto third = xg::gradcheck(of_wrong, {x});
  std::cout << first.to_string() << "\n" << second.to_string() << "\n" << third.to_string() << "\n";
  return first && second && !third ? 0 : 1;
}
