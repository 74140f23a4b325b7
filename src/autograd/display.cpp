#include <xgrad/autograd/display.hpp>

#include <ostream>
#include <type_traits>

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/describe.hpp>
#include <xgrad/autograd/escape.hpp>
#include <xgrad/autograd/message.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/autograd/number_text.hpp>

namespace xg {
namespace detail {
namespace {

/// ", from matmul" and the like.
template <class T>
std::string origin(const Variable<T>& x) {
  std::string out;
  if (const Node<T>* node = Access::node(x)) {
    out = node->is_leaf() ? ", requires grad" : ", from " + printable(node->op->name());
  }
  const std::string name = x.name();
  return name.empty() ? out : out + ", named '" + printable(name) + "'";
}

template <class X, class T>
std::string text_of(const X& x, const Array<T>& values) {
  // A gradient rule may see a variable of which only the shape was kept.
  return (values.has_values() ? array_text(values) : "(values not kept)") + " " + type_name(x) +
         facts(x);
}

}  // namespace

template <class T>
std::string type_name(const Variable<T>&) {
  return std::is_same_v<T, float> ? "Variable<float>" : "Variable<double>";
}
std::string type_name(const Mask&) { return "Mask"; }

template <class T>
std::string facts(const Variable<T>& x) {
  return " shape " + text(Access::state(x)->values.shape()) + origin(x);
}
std::string facts(const Mask& mask) { return " shape " + text(Access::values(mask)->shape()); }

template <class T>
std::string display_text(const Variable<T>& x) {
  if (!x.defined()) return type_name(x) + " (undefined)";
  return text_of(x, Access::state(x)->values);
}
std::string display_text(const Mask& mask) {
  if (!mask.defined()) return type_name(mask) + " (undefined)";
  return text_of(mask, *Access::values(mask));
}

}  // namespace detail

template <class T>
std::ostream& operator<<(std::ostream& out, const Variable<T>& x) {
  return out << detail::display_text(x);
}
std::ostream& operator<<(std::ostream& out, const Mask& mask) {
  return out << detail::display_text(mask);
}

#define XGRAD_INSTANTIATE(T)                                            \
  template std::ostream& operator<<(std::ostream&, const Variable<T>&); \
  template std::string detail::type_name(const Variable<T>&);           \
  template std::string detail::facts(const Variable<T>&);               \
  template std::string detail::display_text(const Variable<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
