// Everything that show() draws in a notebook, here as text. With a folder as its argument, the
// program also writes the pictures there, as HTML.

#include <cmath>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <xgrad/xgrad.hpp>

using Variable = xg::Variable<double>;

namespace {

std::string folder;

void show(const std::string& name, const xg::Picture& picture) {
  std::cout << "--- " << name << "\n" << picture << "\n";
  if (folder.empty()) return;
  std::ofstream file(folder + "/" + name + ".html");
  file << (picture.html.empty() ? picture.svg : picture.html);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) folder = argv[1];

  Variable x({{1, -2, 0.5}, {3, 4, -0.25}}, true);
  x.set_name("x");
  const Variable loss = sum(square(x));
  loss.backward();
  show("variable", picture(x));
  show("graph", xg::graph(loss));

  const xg::Mask mask = xg::causal_mask(6, 6) & xg::padding_mask({5}, 6);
  show("mask", picture(mask));

  const std::vector<std::string> words = {"the", "cat", "sat", "on", "the", "mat"};
  const Variable q = 2.0 * xg::randn<double>({1, 2, 6, 4}, 1);
  const Variable k = xg::randn<double>({1, 2, 6, 4}, 2);
  const auto attention = attention_kernel(q, k, k, xg::causal_mask(6, 6));
  show("heads", heads(attention.weights, words, words));

  std::vector<double> training;
  std::vector<double> validation;
  for (int step = 0; step < 200; ++step) {
    training.push_back(2.3 * std::exp(-step / 40.0) + 0.03 * (1 + std::sin(step)));
    validation.push_back(2.3 * std::exp(-step / 55.0) + 0.2);
  }
  show("plot", xg::plot({{"training", training}, {"validation", validation}}, "cross-entropy"));

  const auto right = [](const auto& in) { return xg::exp(in[0]); };
  const auto wrong = [](const auto& in) { return in[0].detach() * in[0]; };
  show("gradcheck_passed", picture(xg::gradcheck<double>(right, {x})));
  show("gradcheck_failed", picture(xg::gradcheck<double>(wrong, {x})));
}
