#include <xgrad/autograd/node.hpp>

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>

#include <xgrad/autograd/grad_mode.hpp>
#include <xgrad/autograd/memory.hpp>

namespace xg {
namespace detail {
namespace {

// Counted apart per thread: one shared counter would make threads wait for each other.
constexpr std::size_t kCounters = 16;
struct alignas(64) Counter {
  std::atomic<std::int64_t> nodes{0};
};
Counter counters[kCounters];

std::atomic<std::int64_t>& my_counter() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local Counter* mine = nullptr;
  if (mine == nullptr) {
    mine = &counters[next.fetch_add(1, std::memory_order_relaxed) % kCounters];
  }
  return mine->nodes;
}

std::recursive_mutex& grad_mutex() {
  static auto* const mutex = new std::recursive_mutex;  // outlives variables of static lifetime
  return *mutex;
}

template <class T>
class NodeOwner {
 public:
  explicit NodeOwner(Node<T>* node) noexcept : node_(node) {}
  NodeOwner(const NodeOwner&) = delete;
  NodeOwner& operator=(const NodeOwner&) = delete;
  ~NodeOwner() {
    if (node_ != nullptr) node_->release();
  }
  Node<T>* get() const noexcept { return node_; }
  Node<T>* give() noexcept { return std::exchange(node_, nullptr); }

 private:
  Node<T>* node_;
};

std::size_t round_up(std::size_t bytes) noexcept { return (bytes + 7) / 8 * 8; }

template <class T>
std::size_t fixed_bytes(std::size_t inputs) noexcept {
  return sizeof(Node<T>) + round_up((inputs + 1) * (sizeof(typename Node<T>::Slot) +
                                                    sizeof(typename Node<T>::Layout)));
}

template <class T>
std::size_t words_for(const Array<T>& values, bool save) noexcept {
  return values.dim() * (save && !values.contiguous() ? 2 : 1);
}

}  // namespace

GradLock::GradLock() { grad_mutex().lock(); }
GradLock::~GradLock() { grad_mutex().unlock(); }

template <class T>
Node<T>* Node<T>::allocate_node(std::size_t inputs, std::size_t words) {
  if (inputs > std::numeric_limits<std::uint16_t>::max()) {
    fail<ArgumentError>("record", "too many inputs", text(inputs), "at most 65535");
  }
  auto* node = static_cast<Node*>(allocate(fixed_bytes<T>(inputs) + 8 * words));
  new (&node->references) std::atomic<std::uint32_t>(1);
  node->inputs = static_cast<std::uint16_t>(inputs);
  node->used = false;
  node->op = nullptr;
  node->depth = 0;
  node->group = 0;
  node->extra = nullptr;
  return node;
}

template <class T>
std::int64_t* Node<T>::write(std::size_t slot, const Array<T>& values, bool save,
                             std::int64_t* words) {
  const bool strided = save && !values.contiguous();
  layouts()[slot] = {static_cast<std::uint8_t>(values.dim()), save, strided};
  slots()[slot] = {nullptr, nullptr, nullptr};
  if (save) {
    values.buffer()->retain();
    slots()[slot].buffer = values.buffer();
    slots()[slot].data = const_cast<T*>(values.data());
  }
  words = std::copy(values.shape().begin(), values.shape().end(), words);
  if (strided) words = std::copy(values.strides().begin(), values.strides().end(), words);
  return words;
}

template <class T>
Node<T>* Node<T>::create(PrimitivePtr<T> op, const Variable<T>* in, std::size_t count,
                         const Array<T>& output, Needs needs) {
  std::size_t words = words_for(output, needs.needs_output());
  for (std::size_t i = 0; i < count; ++i) {
    words += words_for(Access::state(in[i])->values, needs.input(i));
  }
  Node* node = allocate_node(count, words);
  auto* at = reinterpret_cast<std::int64_t*>(reinterpret_cast<char*>(node) + fixed_bytes<T>(count));
  for (std::size_t i = 0; i < count; ++i) {
    at = node->write(i, Access::state(in[i])->values, needs.input(i), at);
    if (Node* edge = Access::node(in[i])) {
      edge->retain();
      node->slots()[i].edge = edge;
      if (node->depth <= edge->depth) node->depth = edge->depth + 1;
    }
  }
  node->write(count, output, needs.needs_output(), at);
  node->op = op.detach();
  my_counter().fetch_add(1, std::memory_order_relaxed);
  return node;
}

template <class T>
Node<T>* Node<T>::leaf(const Array<T>& values) {
  auto extra = std::make_unique<NodeExtra<T>>();
  Node* node = allocate_node(0, values.dim());
  auto* at = reinterpret_cast<std::int64_t*>(reinterpret_cast<char*>(node) + fixed_bytes<T>(0));
  node->write(0, values, false, at);
  node->extra = extra.release();
  return node;
}

template <class T>
const std::int64_t* Node<T>::words(std::size_t slot) const noexcept {
  const char* at = reinterpret_cast<const char*>(this) + fixed_bytes<T>(inputs);
  for (std::size_t i = 0; i < slot; ++i) {
    at += 8 * std::size_t{layouts()[i].axes} * (layouts()[i].strided ? 2 : 1);
  }
  return reinterpret_cast<const std::int64_t*>(at);
}

template <class T>
Extents Node<T>::shape(std::size_t slot) const {
  return Extents(words(slot), layouts()[slot].axes);
}

template <class T>
Array<T> Node<T>::values(std::size_t slot) const {
  Extents shape = this->shape(slot);
  const Layout layout = layouts()[slot];
  Extents strides =
      layout.strided ? Extents(words(slot) + layout.axes, layout.axes) : contiguous_strides(shape);
  Buffer* buffer = slots()[slot].buffer;
  if (buffer != nullptr) buffer->retain();
  return Array<T>::adopt(buffer, slots()[slot].data, std::move(shape), std::move(strides));
}

template <class T>
NodeExtra<T>& Node<T>::need_extra() {
  if (extra == nullptr) extra = new NodeExtra<T>;
  return *extra;
}

template <class T>
void Node<T>::forget_values() noexcept {
  for (std::size_t i = 0; i <= inputs; ++i) {
    if (Buffer* buffer = std::exchange(slots()[i].buffer, nullptr)) buffer->release();
  }
}

// A graph can be a million nodes deep: dead nodes wait in a list, so that freeing never recurses.
template <class T>
void Node<T>::destroy() noexcept {
  thread_local Node* dead = nullptr;
  thread_local bool draining = false;
  slots()[inputs].edge = dead;
  dead = this;
  if (draining) return;
  draining = true;
  while (dead != nullptr) {
    Node* node = dead;
    dead = node->slots()[node->inputs].edge;
    node->forget_values();
    for (std::size_t i = 0; i < node->inputs; ++i) {
      if (node->edge(i) != nullptr) node->edge(i)->release();
    }
    std::size_t words = 0;
    for (std::size_t i = 0; i <= node->inputs; ++i) {
      words += std::size_t{node->layouts()[i].axes} * (node->layouts()[i].strided ? 2 : 1);
    }
    if (node->op != nullptr) {
      my_counter().fetch_sub(1, std::memory_order_relaxed);
      node->op->release();
    }
    delete node->extra;
    deallocate(node, fixed_bytes<T>(node->inputs) + 8 * words);
  }
  draining = false;
}

template <class T>
State<T>::~State() {
  if (node == nullptr) return;
  if (node->extra != nullptr && node->extra->keeper == this) {
    const GradLock lock;
    node->extra->keeper = nullptr;
  }
  node->release();
}

template <class T>
void* State<T>::operator new(std::size_t bytes) {
  return allocate(bytes);
}

template <class T>
void State<T>::operator delete(void* memory, std::size_t bytes) noexcept {
  deallocate(memory, bytes);
}

template <class T>
State<T>& state(const char* op, const Variable<T>& x) {
  State<T>* s = Access::state(x);
  if (s == nullptr) {
    fail<GraphError>(op, "undefined variable", "a handle without an array",
                     "one that was given values");
  }
  return *s;
}

template <class T>
const Array<T>& array(const char* op, const Variable<T>& x) {
  const Array<T>& values = state(op, x).values;
  if (!values.has_values()) {
    fail<GraphError>(op, "values that were not kept", "an input or output of a gradient rule",
                     "one that needs() names");
  }
  return values;
}

template <class T>
const Extents& extents(const char* op, const Variable<T>& x) {
  return state(op, x).values.shape();
}

template <class T>
Variable<T> from_array(Array<T> values) {
  return Access::wrap(new State<T>(std::move(values)));
}

template <class T>
Variable<T> alias(const Variable<T>& x, bool in_graph) {
  const State<T>& s = *Access::state(x);
  auto* fresh = new State<T>(s.values);
  if (in_graph && s.node != nullptr) {
    s.node->retain();
    fresh->node = s.node;
  }
  return Access::wrap(fresh);
}

template <class T>
const Array<T>& Inputs<T>::operator[](std::size_t i) const noexcept {
  return Access::state(first_[i])->values;
}

template <class T>
Array<T> Inputs<T>::reuse(std::size_t i) const {
  State<T>* s = Access::state(first_[i]);
  const bool given_away = s->references.load(std::memory_order_acquire) == 1;
  if (given_away && !kept_.input(i) && s->values.unique() && s->values.contiguous()) {
    return s->values;
  }
  return Array<T>(Extents(s->values.shape()));
}

/// "operation 7 from the leaves: div of (2,) from exp and (2,) 'x'".
template <class T>
std::string description(const Node<T>& node) {
  std::string out = "operation " + text(static_cast<std::int64_t>(node.depth)) +
                    " from the leaves: " + node.op->name() + " of ";
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (i > 0) out += i + 1 == node.inputs ? " and " : ", ";
    out += text(node.shape(i));
    const Node<T>* input = node.edge(i);
    if (input == nullptr) {
      out += " constant";
    } else if (input->extra != nullptr && !input->extra->name.empty()) {
      out += " '" + input->extra->name + "'";
    } else {
      out += input->is_leaf() ? " leaf" : std::string(" from ") + input->op->name();
    }
  }
  return out;
}

template <class T>
Variable<T> record(PrimitivePtr<T> op, Variable<T>* inputs, std::size_t count) {
  bool tracked = false;
  for (std::size_t i = 0; i < count; ++i) {
    const State<T>* input = Access::state(inputs[i]);
    if (input == nullptr || !input->values.has_values()) (void)array(op->name(), inputs[i]);
    tracked |= input->node != nullptr;
  }
  const bool recorded = tracked && grad_enabled();
  const Needs needs = recorded ? op->needs() : Needs::nothing();
  Array<T> output = op->forward(Inputs<T>(inputs, count, needs));
  if (!recorded) return from_array(std::move(output));
  NodeOwner<T> node(Node<T>::create(std::move(op), inputs, count, output, needs));
  node.get()->group = current_group();
  if (anomaly_enabled()) {
    node.get()->need_extra().recorded = description(*node.get());
  }
  auto* state = new State<T>(std::move(output));
  state->node = node.give();
  return Access::wrap(state);
}

template struct Node<float>;
template struct Node<double>;
template struct State<float>;
template struct State<double>;
template class Inputs<float>;
template class Inputs<double>;
#define XGRAD_INSTANTIATE(T)                                        \
  template State<T>& state(const char*, const Variable<T>&);        \
  template const Array<T>& array(const char*, const Variable<T>&);  \
  template const Extents& extents(const char*, const Variable<T>&); \
  template Variable<T> from_array(Array<T>);                        \
  template Variable<T> alias(const Variable<T>&, bool);             \
  template Variable<T> record(PrimitivePtr<T>, Variable<T>*, std::size_t);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace detail

std::size_t live_nodes() noexcept {
  std::int64_t sum = 0;
  for (const detail::Counter& counter : detail::counters) {
    sum += counter.nodes.load(std::memory_order_relaxed);
  }
  return static_cast<std::size_t>(sum);
}

}  // namespace xg
