#ifndef XGRAD_AUTOGRAD_CUSTOM_HPP
#define XGRAD_AUTOGRAD_CUSTOM_HPP

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/autograd/op.hpp>

namespace xg {

/// An operation made of two functions, and called like one; cheap to copy.
template <class T>
class Custom {
 public:
  explicit Custom(std::shared_ptr<const Op<T>> op) : op_(std::move(op)) {}
  Variable<T> operator()(std::vector<Variable<T>> inputs) const {
    return detail::apply_op<T>(op_, std::move(inputs));
  }
  template <class... V>
  Variable<T> operator()(const Variable<T>& first, const V&... more) const {
    return (*this)(std::vector<Variable<T>>{first, more...});
  }

 private:
  std::shared_ptr<const Op<T>> op_;
};

/// An operation of your own from two functions, without a class.
///
///     using V = xg::Variable<double>;
///     const auto cube = xg::custom<double>(
///         "cube", [](const std::vector<V>& in) { return in[0] * in[0] * in[0]; },
///         [](const std::vector<V>& in, const V&, V grad_output) {
///           return std::vector<V>{grad_output * 3.0 * in[0] * in[0]};
///         });
///     V y = cube(x);
///
/// forward gets the inputs and computes the output; nothing is recorded inside. backward gets the
/// inputs, the output and its gradient, and returns the gradients of the inputs, in order, each of
/// its input's shape. Written with xgrad's operations, it can itself be differentiated. gradcheck
/// and gradgradcheck tell whether it is right. Derive from Op<T> to keep fewer values or to skip
/// gradients that nobody needs.
/// Throws ArgumentError for an empty function.
template <class T>
XGRAD_API Custom<T> custom(
    std::string name,
    detail::same_t<std::function<Variable<T>(const std::vector<Variable<T>>&)>> forward,
    detail::same_t<std::function<std::vector<Variable<T>>(const std::vector<Variable<T>>&,
                                                          const Variable<T>&, Variable<T>)>>
        backward);

}  // namespace xg

#endif
