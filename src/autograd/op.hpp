#ifndef XGRAD_AUTOGRAD_OP_HPP
#define XGRAD_AUTOGRAD_OP_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/variable.hpp>

namespace xg {

/// Which values a gradient rule reads. What it does not read is not kept.
class XGRAD_API Needs {
 public:
  /// Every input and the output: the default.
  static constexpr Needs all() noexcept { return {~std::uint64_t{0}, true}; }
  static constexpr Needs nothing() noexcept { return {0, false}; }
  /// Only these inputs.
  static Needs inputs(std::initializer_list<std::size_t> positions) noexcept {
    std::uint64_t bits = 0;
    for (std::size_t i : positions) bits |= std::uint64_t{1} << (i < kMost ? i : kMost);
    return {bits, false};
  }
  static constexpr Needs output() noexcept { return {0, true}; }
  constexpr Needs operator|(Needs other) const noexcept {
    return {inputs_ | other.inputs_, output_ || other.output_};
  }

  constexpr bool input(std::size_t i) const noexcept {
    return (inputs_ >> (i < kMost ? i : kMost) & 1) != 0;
  }
  constexpr bool needs_output() const noexcept { return output_; }

 private:
  static constexpr std::size_t kMost = 63;  // the last bit stands for all further inputs
  constexpr Needs(std::uint64_t inputs, bool output) noexcept : inputs_(inputs), output_(output) {}
  std::uint64_t inputs_;
  bool output_;
};

/// An operation of your own. Derive from it, then call `apply`.
///
///     struct Cube final : xg::Op<double> {
///       std::string name() const override { return "cube"; }
///       xg::Variable<double> forward(const std::vector<xg::Variable<double>>& in) const override {
///         return in[0] * in[0] * in[0];
///       }
///       std::vector<xg::Variable<double>> backward(
///           const std::vector<xg::Variable<double>>& in, const xg::Variable<double>&,
///           xg::Variable<double> grad_output, const std::vector<bool>&) const override {
///         return {grad_output * 3.0 * in[0] * in[0]};
///       }
///     };
///     auto y = xg::apply(std::make_shared<Cube>(), {x});
template <class T>
class XGRAD_API Op {
 public:
  using value_type = T;
  Op() = default;
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;
  virtual ~Op();

  virtual std::string name() const = 0;
  /// Which values `backward` reads. An input or output that is not named here still has its shape
  /// and its place in the graph there, and throws GraphError when its values are read.
  virtual Needs needs() const;
  /// Computes the output; nothing is recorded inside.
  virtual Variable<T> forward(const std::vector<Variable<T>>& inputs) const = 0;
  /// The gradients of the inputs, in order, each of its input's shape; those not `needed` may be
  /// undefined. Written with xgrad's operations, the rule can itself be differentiated.
  virtual std::vector<Variable<T>> backward(const std::vector<Variable<T>>& inputs,
                                            const Variable<T>& output, Variable<T> grad_output,
                                            const std::vector<bool>& needed) const = 0;
};

namespace detail {
template <class T>
XGRAD_API Variable<T> apply_op(std::shared_ptr<const Op<T>> op, std::vector<Variable<T>> inputs);
}

/// Runs the operation on the inputs and records it.
template <class O, class T = typename O::value_type>
Variable<T> apply(std::shared_ptr<O> op, std::vector<Variable<T>> inputs) {
  return detail::apply_op<T>(std::move(op), std::move(inputs));
}

}  // namespace xg

#endif
