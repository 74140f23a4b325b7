#ifndef XGRAD_AUTOGRAD_VARIABLE_HPP
#define XGRAD_AUTOGRAD_VARIABLE_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <xgrad/autograd/error.hpp>
#include <xgrad/autograd/lists.hpp>
#include <xgrad/autograd/nested.hpp>

namespace xt {
template <class D>
class xexpression;
}

namespace xg {

namespace detail {
template <class T>
struct State;
template <class T>
class Array;
struct Access;
// Compilers quote this name where value() or update() lacks the header that completes it.
template <class T>
struct include_xgrad_xtensor_hpp;
}  // namespace detail

/// Choices for backward and grad, joined with `|`.
enum class GradFlags : unsigned { none = 0, retain_graph = 1, create_graph = 2, allow_unused = 4 };
constexpr GradFlags operator|(GradFlags a, GradFlags b) noexcept {
  return static_cast<GradFlags>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
constexpr bool has(GradFlags flags, GradFlags flag) noexcept {
  return (static_cast<unsigned>(flags) & static_cast<unsigned>(flag)) != 0;
}
/// Keep what the graph saved, so that backward can run again.
constexpr GradFlags retain_graph = GradFlags::retain_graph;
/// Record the gradient rules, so that gradients can be differentiated; implies retain_graph.
constexpr GradFlags create_graph = GradFlags::create_graph;
/// An input that the outputs do not depend on gets an undefined gradient instead of a GraphError.
constexpr GradFlags allow_unused = GradFlags::allow_unused;

/// A registered hook; remove() takes it away. Dropping the handle leaves the hook in place.
class XGRAD_API Hook {
 public:
  Hook() = default;
  explicit Hook(std::function<void()> remover) : remover_(std::move(remover)) {}
  void remove() {
    if (remover_) std::exchange(remover_, nullptr)();
  }

 private:
  std::function<void()> remover_;
};

/// An array with a place in a computation graph.
///
/// A Variable is a handle: cheap to copy, and copies share value and gradient. Operations on
/// variables that require grad record themselves; `backward()` then fills `grad()` of the leaves.
///
///     xg::Variable<double> x({{1, 2}, {3, 4}}, true);
///     auto y = xg::sum(x * x);
///     y.backward();
///     std::cout << y.item() << "\n";              // 30
///     std::cout << x.grad().at({1, 0}) << "\n";   // 6
///
/// T is float or double. Every use of an undefined handle but `defined()` throws GraphError.
template <class T>
class XGRAD_API Variable {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>,
                "xg::Variable holds float or double");

 public:
  using value_type = T;

  /// Undefined: no array, no gradient.
  Variable() noexcept = default;
  /// 0-D.
  template <class A, std::enable_if_t<detail::is_number<A>, int> = 0>
  explicit Variable(A scalar, bool requires_grad = false)
      : Variable(from_scalar(static_cast<T>(scalar), requires_grad)) {}
  /// `{{1, 2}, {3, 4}}`: any depth. Throws ShapeError for a ragged list.
  Variable(std::initializer_list<detail::Nested<T>> values, bool requires_grad = false)
      : Variable(from_list(detail::Nested<T>(values), requires_grad)) {}
  /// Evaluates an xtensor expression into memory of its own; needs <xgrad/xtensor.hpp>.
  template <class D>
  explicit Variable(const xt::xexpression<D>& expression, bool requires_grad = false);

  Variable(const Variable& other) noexcept;
  Variable(Variable&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Variable& operator=(Variable other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Variable() {
    if (state_ != nullptr) release();
  }

  bool defined() const noexcept { return state_ != nullptr; }
  Shape shape() const;
  std::size_t dim() const;
  std::size_t size() const;
  /// In elements, of any sign.
  std::vector<std::ptrdiff_t> strides() const;
  bool is_contiguous() const;

  bool requires_grad() const;
  /// Throws GraphError for a result, which takes this from its inputs.
  Variable& set_requires_grad(bool requires_grad = true);
  bool is_leaf() const;
  Variable& set_name(const std::string& name);
  std::string name() const;

  /// The one element. Throws ShapeError if there is not exactly one.
  T item() const;
  /// One element; an index may count from the end. Throws ShapeError.
  T at(const Dims& index) const;
  /// All elements in row-major order, whatever the strides are.
  std::vector<T> to_vector() const;
  /// A read-only xtensor expression over the same memory, which it keeps alive; later writes to
  /// this Variable do not show in it. Needs <xgrad/xtensor.hpp>.
  template <class U = T>
  typename detail::include_xgrad_xtensor_hpp<U>::read_only value() const;

  /// Replaces the values of a leaf; all or nothing. Throws GraphError for a result, ShapeError for
  /// another shape.
  void set_value(const Variable& values);
  template <class D>
  void set_value(const xt::xexpression<D>& expression) {
    set_value(Variable(expression));
  }
  /// Calls f with a writable xtensor expression over a leaf's values: in place when nobody else
  /// holds the memory, else on a fresh copy. Needs <xgrad/xtensor.hpp>.
  template <class F, class U = T>
  typename detail::include_xgrad_xtensor_hpp<U>::nothing update(F&& f);

  /// The gradient as it is now; undefined before the first backward.
  Variable grad() const;
  /// Replaces the gradient of a leaf; an undefined one clears it. Throws ShapeError.
  void set_grad(const Variable& gradient);
  /// Sets the gradient, if there is one, to zero.
  void zero_grad();

  /// The same values outside the graph; shares memory.
  Variable detach() const;
  /// A differentiable copy in contiguous memory of its own.
  Variable clone() const;
  /// Makes a result keep its gradient as a leaf does.
  void retain_grad();
  /// f runs once in each backward, on the fully accumulated gradient. What it returns replaces the
  /// gradient; an undefined Variable leaves it.
  Hook register_hook(std::function<Variable(const Variable&)> f);

  /// Rebinds this handle to a new result; other handles keep the old one.
  Variable& operator+=(const Variable& other);
  Variable& operator-=(const Variable& other);
  Variable& operator*=(const Variable& other);
  Variable& operator/=(const Variable& other);

  /// Adds d(this)/d(leaf) to the gradient of every leaf. Throws GraphError unless this has exactly
  /// one element and requires grad, and when the graph was used already.
  void backward(GradFlags flags = GradFlags::none) const;
  /// The same for the product of `seed` (of this shape exactly) and the Jacobian.
  void backward(const Variable& seed, GradFlags flags = GradFlags::none) const;

 private:
  friend struct detail::Access;
  // Tagged: a list that holds a 0 must not become a null state.
  struct Owned {};
  Variable(Owned, detail::State<T>* state) noexcept : state_(state) {}
  static Variable from_scalar(T scalar, bool requires_grad);
  static Variable from_list(const detail::Nested<T>& values, bool requires_grad);
  void release() noexcept;

  detail::State<T>* state_ = nullptr;
};

namespace detail {

template <class T>
struct same {
  using type = T;
};
/// A parameter type from which T is not deduced.
template <class T>
using same_t = typename same<T>::type;

/// One Variable, `{a, b}` or a vector.
template <class T>
struct XGRAD_API VariableList {
  VariableList() = default;
  XGRAD_DESTRUCTOR(VariableList);
  VariableList(Variable<T> one) : items{std::move(one)} {}  // NOLINT
  VariableList(std::initializer_list<Variable<T>> list) : items(list) {}
  VariableList(std::vector<Variable<T>> list) : items(std::move(list)) {}  // NOLINT
  std::vector<Variable<T>> items;
};

/// What the templates of <xgrad/xtensor.hpp> see of an array.
template <class T>
struct RawView {
  std::shared_ptr<const T[]> memory;  // at the first logical element; owns a share
  std::vector<std::size_t> shape;
  std::vector<std::ptrdiff_t> strides;
};
template <class T>
struct WritableView {
  T* data;
  std::vector<std::size_t> shape;
  std::vector<std::ptrdiff_t> strides;
};
template <class T>
XGRAD_API RawView<T> raw_view(const Variable<T>& x);
/// Readies a leaf for writing: copies first if somebody else holds the memory.
template <class T>
XGRAD_API WritableView<T> writable_view(Variable<T>& x);

}  // namespace detail

/// Copies `data` (row-major, as many elements as the shape has).
template <class T>
XGRAD_API Variable<T> from_data(const T* data, const Dims& shape, bool requires_grad = false);
template <class T>
XGRAD_API Variable<T> zeros(const Dims& shape);
template <class T>
XGRAD_API Variable<T> ones(const Dims& shape);
template <class T>
XGRAD_API Variable<T> full(const Dims& shape, detail::same_t<T> value);
/// start, start + step, ... below stop (above it for a negative step). Throws ArgumentError for a
/// step of zero or bounds that are not finite.
template <class T>
XGRAD_API Variable<T> arange(detail::same_t<T> start, detail::same_t<T> stop,
                             detail::same_t<T> step = 1);
/// Standard normal numbers; the same seed gives the same numbers on every machine.
template <class T>
XGRAD_API Variable<T> randn(const Dims& shape, std::uint64_t seed);
/// Uniform numbers in [low, high). Throws ArgumentError unless low <= high, both finite.
template <class T>
XGRAD_API Variable<T> uniform(const Dims& shape, detail::same_t<T> low, detail::same_t<T> high,
                              std::uint64_t seed);

/// d(sum of outputs, weighted by seeds)/d(inputs), without touching any `.grad()`.
///
/// outputs, inputs and seeds are each one Variable, `{a, b}` or a vector; without seeds every
/// output needs exactly one element. Throws GraphError if an input is not part of the graph (see
/// allow_unused).
template <class T>
XGRAD_API std::vector<Variable<T>> grad(const std::vector<Variable<T>>& outputs,
                                        detail::same_t<detail::VariableList<T>> inputs,
                                        detail::same_t<detail::VariableList<T>> seeds = {},
                                        GradFlags flags = GradFlags::none);
template <class T>
std::vector<Variable<T>> grad(const Variable<T>& output,
                              detail::same_t<detail::VariableList<T>> inputs,
                              detail::same_t<detail::VariableList<T>> seeds = {},
                              GradFlags flags = GradFlags::none) {
  return grad(std::vector<Variable<T>>{output}, std::move(inputs), std::move(seeds), flags);
}
template <class T>
std::vector<Variable<T>> grad(std::initializer_list<Variable<T>> outputs,
                              detail::same_t<detail::VariableList<T>> inputs,
                              detail::same_t<detail::VariableList<T>> seeds = {},
                              GradFlags flags = GradFlags::none) {
  return grad(std::vector<Variable<T>>(outputs), std::move(inputs), std::move(seeds), flags);
}

/// Graph nodes (recorded operations) alive in the process.
XGRAD_API std::size_t live_nodes() noexcept;

}  // namespace xg

#endif
