#include <xgrad/autograd/variable.hpp>

#include <algorithm>
#include <cmath>

#include <xgrad/autograd/element.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/autograd/random.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/copy.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg {

using detail::Access;
using detail::Array;
using detail::array;
using detail::extents;
using detail::fail;
using detail::from_array;
using detail::GradLock;
using detail::Node;
using detail::state;
using detail::State;
using detail::text;

namespace detail {

template <class T>
RawView<T> raw_view(const Variable<T>& x) {
  const Array<T>& values = array("value", x);
  Buffer* buffer = values.buffer();
  buffer->retain();
  std::shared_ptr<const T[]> memory(values.data(), [buffer](const T*) { buffer->release(); });
  return {std::move(memory), x.shape(), x.strides()};
}

namespace {

template <class T>
State<T>& writable_leaf(const char* op, const Variable<T>& x) {
  State<T>& s = state(op, x);
  (void)array(op, x);
  if (s.node != nullptr && !s.node->is_leaf()) {
    fail<GraphError>(op, "write to a result", std::string("the output of ") + s.node->op->name(),
                     "a leaf", "detach() gives one");
  }
  return s;
}

}  // namespace

template <class T>
WritableView<T> writable_view(Variable<T>& x) {
  State<T>& s = writable_leaf("update", x);
  if (!s.values.unique() || !s.values.distinct()) s.values = s.values.copy();
  return {s.values.data(), x.shape(), x.strides()};
}

#define XGRAD_INSTANTIATE(T)                        \
  template RawView<T> raw_view(const Variable<T>&); \
  template WritableView<T> writable_view(Variable<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace detail

template <class T>
Variable<T>::Variable(const Variable& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) state_->references.fetch_add(1, std::memory_order_relaxed);
}

template <class T>
void Variable<T>::release() noexcept {
  // Null again, for Cling: see finished.hpp.
  State<T>* const state = std::exchange(state_, nullptr);
  if (detail::drop_reference(state->references)) delete state;
}

template <class T>
Variable<T> Variable<T>::from_scalar(T scalar, bool requires_grad) {
  Array<T> values{Extents()};
  *values.data() = scalar;
  Variable out = from_array(std::move(values));
  if (requires_grad) out.set_requires_grad();
  return out;
}

template <class T>
Variable<T> Variable<T>::from_list(const detail::Nested<T>& values, bool requires_grad) {
  Variable out = from_array(detail::array_from_list("Variable", values));
  if (requires_grad) out.set_requires_grad();
  return out;
}

template <class T>
Shape Variable<T>::shape() const {
  const Extents& e = extents("shape", *this);
  return Shape(e.begin(), e.end());
}

template <class T>
std::size_t Variable<T>::dim() const {
  return extents("dim", *this).size();
}

template <class T>
std::size_t Variable<T>::size() const {
  return static_cast<std::size_t>(detail::size_of(extents("size", *this)));
}

template <class T>
std::vector<std::ptrdiff_t> Variable<T>::strides() const {
  const Extents& s = state("strides", *this).values.strides();
  return std::vector<std::ptrdiff_t>(s.begin(), s.end());
}

template <class T>
bool Variable<T>::is_contiguous() const {
  return state("is_contiguous", *this).values.contiguous();
}

template <class T>
bool Variable<T>::requires_grad() const {
  return state("requires_grad", *this).node != nullptr;
}

template <class T>
bool Variable<T>::is_leaf() const {
  const Node<T>* node = state("is_leaf", *this).node;
  return node == nullptr || node->is_leaf();
}

template <class T>
Variable<T>& Variable<T>::set_requires_grad(bool requires_grad) {
  State<T>& s = state("set_requires_grad", *this);
  if (s.node != nullptr && !s.node->is_leaf()) {
    if (requires_grad) return *this;
    fail<GraphError>("set_requires_grad", "change of a result",
                     std::string("the output of ") + s.node->op->name(), "a leaf",
                     "detach() leaves the graph");
  }
  if (requires_grad && s.node == nullptr) {
    s.node = Node<T>::leaf(s.values);
    s.node->extra->keeper = &s;
    if (s.own != nullptr) s.node->extra->name = s.own->name;
  } else if (!requires_grad && s.node != nullptr) {
    const GradLock lock;
    if (s.node->extra->keeper == &s) s.node->extra->keeper = nullptr;
    std::exchange(s.node, nullptr)->release();
  }
  return *this;
}

template <class T>
Variable<T>& Variable<T>::set_name(const std::string& name) {
  State<T>& s = state("set_name", *this);
  const GradLock lock;
  s.need_own().name = name;
  if (s.node != nullptr) s.node->need_extra().name = name;
  return *this;
}

template <class T>
std::string Variable<T>::name() const {
  const State<T>& s = state("name", *this);
  const GradLock lock;
  return s.own == nullptr ? std::string() : s.own->name;
}

template <class T>
T Variable<T>::item() const {
  const Array<T>& values = array("item", *this);
  if (values.size() != 1) {
    fail<ShapeError>("item", "not exactly one element", "shape " + text(values.shape()),
                     "one element");
  }
  return *values.data();
}

template <class T>
T Variable<T>::at(const Dims& index) const {
  const Array<T>& values = array("at", *this);
  return values.data()[detail::element_offset("at", values.shape(), values.strides(), index)];
}

template <class T>
std::vector<T> Variable<T>::to_vector() const {
  const Array<T>& values = array("to_vector", *this);
  const Array<T> row_major = values.contiguous() ? values : values.copy();
  return std::vector<T>(row_major.data(), row_major.data() + row_major.size());
}

template <class T>
void Variable<T>::set_value(const Variable& values) {
  State<T>& s = detail::writable_leaf("set_value", *this);
  const Array<T>& from = array("set_value", values);
  if (from.shape() != s.values.shape()) {
    fail<ShapeError>("set_value", "another shape", text(from.shape()), text(s.values.shape()));
  }
  if (s.values.unique() && s.values.distinct()) {
    detail::map(
        s.values, [](T x) { return x; }, from);
  } else {
    s.values = from.copy();
  }
}

template <class T>
Variable<T> Variable<T>::grad() const {
  const State<T>& s = state("grad", *this);
  const GradLock lock;
  if (s.own == nullptr || !s.own->grad.defined()) return {};
  if (s.own->zeroed) return zeros<T>(Dims(s.values.shape()));
  return detail::alias(s.own->grad, true);
}

template <class T>
void Variable<T>::set_grad(const Variable& gradient) {
  State<T>& s = state("set_grad", *this);
  if (gradient.defined() && extents("set_grad", gradient) != s.values.shape()) {
    fail<ShapeError>("set_grad", "another shape", text(extents("set_grad", gradient)),
                     text(s.values.shape()));
  }
  Variable fresh = gradient.defined() ? gradient.detach() : Variable();
  const GradLock lock;
  auto& own = s.need_own();
  std::swap(own.grad, fresh);
  own.zeroed = false;
}

template <class T>
void Variable<T>::zero_grad() {
  State<T>& s = state("zero_grad", *this);
  const GradLock lock;
  if (s.own != nullptr && s.own->grad.defined()) s.own->zeroed = true;
}

template <class T>
Variable<T> Variable<T>::detach() const {
  return from_array(array("detach", *this));
}

template <class T>
Variable<T> Variable<T>::clone() const {
  return detail::copy(*this);
}

template <class T>
void Variable<T>::retain_grad() {
  State<T>& s = state("retain_grad", *this);
  if (s.node == nullptr) {
    fail<GraphError>("retain_grad", "nothing to retain", "a variable that does not require grad",
                     "one that does");
  }
  auto& extra = s.node->need_extra();
  const GradLock lock;
  if (extra.keeper == nullptr) extra.keeper = &s;
}

template <class T>
Hook Variable<T>::register_hook(std::function<Variable(const Variable&)> f) {
  State<T>& s = state("register_hook", *this);
  if (s.node == nullptr) {
    fail<GraphError>("register_hook", "no gradient to hook",
                     "a variable that does not require grad", "one that does");
  }
  if (!f) fail<ArgumentError>("register_hook", "empty function", "nothing to call", "a function");
  auto& extra = s.node->need_extra();
  const std::uint64_t id = extra.next_hook++;
  extra.hooks.emplace_back(id, std::move(f));
  s.node->retain();
  const std::shared_ptr<Node<T>> node(s.node, [](Node<T>* n) { n->release(); });
  return Hook([node, id] {
    auto& hooks = node->extra->hooks;
    hooks.erase(std::remove_if(hooks.begin(), hooks.end(),
                               [id](const auto& hook) { return hook.first == id; }),
                hooks.end());
  });
}

template <class T>
Variable<T>& Variable<T>::operator+=(const Variable& other) {
  return *this = add(*this, other);
}

template <class T>
Variable<T>& Variable<T>::operator-=(const Variable& other) {
  return *this = sub(*this, other);
}

template <class T>
Variable<T>& Variable<T>::operator*=(const Variable& other) {
  return *this = mul(*this, other);
}

template <class T>
Variable<T>& Variable<T>::operator/=(const Variable& other) {
  return *this = div(*this, other);
}

namespace {

template <class T, class F>
Variable<T> generate(const char* op, const Dims& shape, F next) {
  (void)detail::checked_size(op, shape.values());
  Array<T> out{Extents(shape.values())};
  std::generate_n(out.data(), out.size(), next);
  return from_array(std::move(out));
}

}  // namespace

template <class T>
Variable<T> from_data(const T* data, const Dims& shape, bool requires_grad) {
  const std::int64_t size = detail::checked_size("from_data", shape.values());
  if (data == nullptr && size > 0) {
    fail<ArgumentError>("from_data", "no data", "a null pointer", text(size) + " elements");
  }
  Variable<T> out = generate<T>("from_data", shape, [data]() mutable { return *data++; });
  if (requires_grad) out.set_requires_grad();
  return out;
}

template <class T>
Variable<T> full(const Dims& shape, detail::same_t<T> value) {
  return generate<T>("full", shape, [value] { return value; });
}

template <class T>
Variable<T> zeros(const Dims& shape) {
  return generate<T>("zeros", shape, [] { return T(0); });
}

template <class T>
Variable<T> ones(const Dims& shape) {
  return generate<T>("ones", shape, [] { return T(1); });
}

template <class T>
Variable<T> arange(detail::same_t<T> start, detail::same_t<T> stop, detail::same_t<T> step) {
  if (step == 0 || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step)) {
    fail<ArgumentError>(
        "arange", "no such range",
        std::to_string(start) + " to " + std::to_string(stop) + " by " + std::to_string(step),
        "finite bounds and a step other than 0");
  }
  const double count = std::ceil((double(stop) - double(start)) / double(step));
  if (count > 1e15) {
    fail<AllocationError>("arange", "too many elements", std::to_string(count), "at most 1e15");
  }
  std::int64_t i = 0;
  return generate<T>("arange", Dims(static_cast<std::int64_t>(std::max(count, 0.0))),
                     [&] { return static_cast<T>(double(start) + double(i++) * double(step)); });
}

template <class T>
Variable<T> uniform(const Dims& shape, detail::same_t<T> low, detail::same_t<T> high,
                    std::uint64_t seed) {
  if (!(low <= high) || !std::isfinite(low) || !std::isfinite(high)) {
    fail<ArgumentError>("uniform", "no such interval",
                        std::to_string(low) + " to " + std::to_string(high),
                        "finite bounds, low <= high");
  }
  detail::Random random(seed);
  return generate<T>("uniform", shape, [&] {
    const double u = random.next();  // high - low could overflow
    const T x = static_cast<T>(double(low) * (1 - u) + double(high) * u);
    return x < high ? x : low;  // rounding to T can reach the open end
  });
}

template <class T>
Variable<T> randn(const Dims& shape, std::uint64_t seed) {
  detail::Random random(seed);
  // Box and Muller: two uniform numbers give two independent normal ones.
  double spare = 0;
  bool have_spare = false;
  return generate<T>("randn", shape, [&] {
    if (have_spare) {
      have_spare = false;
      return static_cast<T>(spare);
    }
    const double radius = std::sqrt(-2.0 * std::log(1.0 - random.next()));
    const double angle = 6.283185307179586 * random.next();
    spare = radius * std::sin(angle);
    have_spare = true;
    return static_cast<T>(radius * std::cos(angle));
  });
}

namespace detail {
template <class T>
VariableList<T>::~VariableList() = default;
}  // namespace detail

#define XGRAD_INSTANTIATE(T)                                         \
  template class Variable<T>;                                        \
  template struct detail::VariableList<T>;                           \
  template Variable<T> from_data(const T*, const Dims&, bool);       \
  template Variable<T> full<T>(const Dims&, T);                      \
  template Variable<T> zeros<T>(const Dims&);                        \
  template Variable<T> ones<T>(const Dims&);                         \
  template Variable<T> arange<T>(T, T, T);                           \
  template Variable<T> uniform<T>(const Dims&, T, T, std::uint64_t); \
  template Variable<T> randn<T>(const Dims&, std::uint64_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
