#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "fuzz.hpp"

// The input is an equation, a line break, and the extents of the operands. An operand has as many
// axes as its term has letters, unless its first byte asks for another number.

namespace {

std::vector<std::string> terms(const std::string& equation) {
  std::vector<std::string> out(1);
  for (char c : equation.substr(0, equation.find("->"))) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

template <class T>
void run(const std::string& equation, fuzz::Bytes bytes) {
  // Many letters of extent 3 would be a large amount of work, not a fault.
  const bool many = std::set<char>(equation.begin(), equation.end()).size() > 10;
  std::vector<xg::Variable<T>> operands;
  std::map<char, std::int64_t> extents;
  for (const std::string& term : terms(equation)) {
    if (operands.size() == 8) break;
    const std::uint8_t odd = bytes.byte();
    std::vector<std::int64_t> shape;
    for (char c : term) {
      if (!is_letter(c) || shape.size() > 12) continue;
      if (extents.count(c) == 0) {
        extents[c] = static_cast<std::int64_t>(many ? 1 - (bytes.byte() == 7) : bytes.below(4));
      }
      shape.push_back(extents[c]);
    }
    if (odd >= 250) shape.resize(odd - 250, 2);
    if (odd >= 200 && odd < 250 && !shape.empty()) shape[0] = 1;
    if (term.find("...") != std::string::npos) shape.insert(shape.begin(), odd % 3 + 0L);
    operands.push_back(xg::uniform<T>(shape, -1, 1, odd).set_requires_grad());
  }
  fuzz::attempt([&] {
    const auto y = xg::einsum(equation, operands);
    const auto gradients = xg::grad(y, operands, xg::ones<T>(xg::Dims(y.shape())));
    for (std::size_t i = 0; i < operands.size(); ++i) {
      fuzz::require(gradients[i].shape() == operands[i].shape(), "gradient of another shape");
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes bytes(data, size);
  const std::string equation = bytes.rest_until('\n');
  run<double>(equation, bytes);
  run<float>(equation, bytes);
  fuzz::require(xg::live_nodes() == 0, "nodes are left");
  return 0;
}
