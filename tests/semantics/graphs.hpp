#ifndef XGRAD_TESTS_SEMANTICS_GRAPHS_HPP
#define XGRAD_TESTS_SEMANTICS_GRAPHS_HPP

// Graphs whose rules can be told to misbehave.

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/xgrad.hpp>

namespace test {

using xg::Variable;

/// y = x, with a rule of the test's own.
template <class T>
class Identity : public xg::Op<T> {
 public:
  using V = Variable<T>;
  explicit Identity(std::function<std::vector<V>(V)> rule) : rule_(std::move(rule)) {}
  std::string name() const override { return "identity"; }
  V forward(const std::vector<V>& inputs) const override { return inputs[0].clone(); }
  std::vector<V> backward(const std::vector<V>&, const V&, V grad,
                          const std::vector<bool>&) const override {
    return rule_(std::move(grad));
  }

 private:
  std::function<std::vector<V>(V)> rule_;
};

template <class T>
Variable<T> with_rule(Variable<T> x, std::function<std::vector<Variable<T>>(Variable<T>)> rule) {
  return xg::apply(std::make_shared<Identity<T>>(std::move(rule)), {std::move(x)});
}

template <class T>
struct Attending {
  static constexpr std::size_t leaves = 7;
  Variable<T> leaf[leaves];
  Variable<T> loss;
  int rules = 0;
  int fail_at = -1;

  /// Every value passes through a rule that counts, and throws at `fail_at`.
  Variable<T> watched(Variable<T> x) {
    return with_rule<T>(std::move(x), [this](Variable<T> g) {
      if (rules++ == fail_at) throw std::runtime_error("rule");
      return std::vector<Variable<T>>{std::move(g)};
    });
  }

  Attending() {
    for (std::size_t i = 0; i < leaves; ++i) {
      leaf[i] = xg::randn<T>(i < 3 ? xg::Dims{2, 3, 4} : xg::Dims{4, 4}, i);
      leaf[i].set_requires_grad();
    }
    build();
  }
  void build() {
    Variable<T> in[leaves];
    for (std::size_t i = 0; i < leaves; ++i) in[i] = watched(leaf[i]);
    auto [output, weights] = xg::multi_head_attention(in[0], in[1], in[2], in[3], in[4], in[5],
                                                      in[6], 2, xg::causal_mask(3, 3));
    loss = watched(xg::sum(watched(output))) + xg::sum(watched(weights * weights));
  }

  std::vector<std::vector<T>> gradients() const {
    std::vector<std::vector<T>> out;
    for (const auto& x : leaf) {
      out.push_back(x.grad().defined() ? x.grad().to_vector() : std::vector<T>());
    }
    return out;
  }
};

template <class T>
std::vector<std::vector<T>> sum_of(std::vector<std::vector<T>> a,
                                   const std::vector<std::vector<T>>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a[i].size(); ++k) a[i][k] += b[i][k];
  }
  return a;
}

}  // namespace test

#endif
