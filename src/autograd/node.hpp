#ifndef XGRAD_AUTOGRAD_NODE_HPP
#define XGRAD_AUTOGRAD_NODE_HPP

// Private: the graph. A node owns its operation, the arrays its rule reads, and its inputs' nodes;
// nothing owns its outputs, so no cycle can form.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/group.hpp>
#include <xgrad/autograd/primitive.hpp>
#include <xgrad/mha/mask.hpp>

namespace xg::detail {

/// What few nodes have. A leaf always has one.
template <class T>
struct NodeExtra {
  // Whose `.grad` this node fills; not owned: the handle may be gone. Cleared under the GradLock.
  std::atomic<State<T>*> keeper{nullptr};
  std::string name;
  std::string recorded;  // in AnomalyMode: from what it was recorded
  std::vector<std::pair<std::uint64_t, std::function<Variable<T>(const Variable<T>&)>>> hooks;
  std::uint64_t next_hook = 0;
};

/// One allocation: this header, a slot per input and one for the output, then the shapes (and the
/// strides of arrays that are not contiguous), so that a scalar operation costs under 100 bytes.
template <class T>
struct Node {
  struct Slot {
    Node* edge;      // the input's node, or null; in the output's slot: the next node to free
    Buffer* buffer;  // the values, if the rule reads them
    T* data;
  };
  struct Layout {
    std::uint8_t axes : 6;
    bool saved : 1;
    bool strided : 1;
  };

  std::atomic<std::uint32_t> references;
  std::uint16_t inputs;
  bool used;                              // by a backward that did not retain the graph
  const Primitive<T>* op;                 // null for a leaf
  std::uint64_t depth : 64 - kGroupBits;  // 1 + the largest depth among the inputs
  std::uint64_t group : kGroupBits;       // see Group
  NodeExtra<T>* extra;

  static Node* create(PrimitivePtr<T> op, const Variable<T>* in, std::size_t count,
                      const Array<T>& output, Needs needs);
  static Node* leaf(const Array<T>& values);

  bool is_leaf() const noexcept { return op == nullptr; }
  Slot* slots() noexcept { return reinterpret_cast<Slot*>(this + 1); }
  const Slot* slots() const noexcept { return reinterpret_cast<const Slot*>(this + 1); }
  Node* edge(std::size_t i) const noexcept { return slots()[i].edge; }
  Extents shape(std::size_t slot) const;
  /// The values of a slot, or an array without values.
  Array<T> values(std::size_t slot) const;
  NodeExtra<T>& need_extra();

  void retain() noexcept { references.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (drop_reference(references)) destroy();
  }
  /// Drops the saved arrays. Edges stay, for pictures of the graph.
  void forget_values() noexcept;

 private:
  static Node* allocate_node(std::size_t inputs, std::size_t words);
  Layout* layouts() noexcept { return reinterpret_cast<Layout*>(slots() + inputs + 1); }
  const Layout* layouts() const noexcept {
    return reinterpret_cast<const Layout*>(slots() + inputs + 1);
  }
  const std::int64_t* words(std::size_t slot) const noexcept;
  std::int64_t* write(std::size_t slot, const Array<T>& values, bool save, std::int64_t* words);
  void destroy() noexcept;
};

/// What the handles of one variable share.
template <class T>
struct State {
  explicit State(Array<T> values_, Node<T>* owned = nullptr) noexcept
      : values(std::move(values_)), node(owned) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  struct Own {
    std::string name;
    Variable<T> grad;
    bool zeroed = false;  // the gradient is zero, whatever `grad` holds
  };
  Own& need_own() {
    if (own == nullptr) own = std::make_unique<Own>();
    return *own;
  }

  std::atomic<std::uint32_t> references{1};
  Array<T> values;
  Node<T>* node;  // null unless it requires grad
  std::unique_ptr<Own> own;

  static void* operator new(std::size_t bytes);
  static void operator delete(void* memory, std::size_t bytes) noexcept;
};

/// Where the library reaches through a handle.
struct Access {
  template <class T>
  static State<T>* state(const Variable<T>& x) noexcept {
    return x.state_;
  }
  template <class T>
  static Variable<T> wrap(State<T>* owned) noexcept {
    return Variable<T>(typename Variable<T>::Owned(), owned);
  }
  template <class T>
  static Node<T>* node(const Variable<T>& x) noexcept {
    return x.state_ == nullptr ? nullptr : x.state_->node;
  }
  static const std::shared_ptr<const Array<bool>>& values(const Mask& mask) noexcept {
    return mask.values_;
  }
  static Mask wrap(std::shared_ptr<const Array<bool>> values) noexcept {
    return Mask(std::move(values));
  }
};

/// Throws GraphError for an undefined handle.
template <class T>
State<T>& state(const char* op, const Variable<T>& x);

/// Another variable over the same memory and, if `in_graph`, in the same place in the graph. What
/// user code is handed or hands in is always another one, so that no write of its can reach ours.
template <class T>
Variable<T> alias(const Variable<T>& x, bool in_graph);

/// Guards every `.grad` and every `keeper` in the process; held for the commit of a backward only.
class GradLock {
 public:
  GradLock();
  ~GradLock();
  GradLock(const GradLock&) = delete;
  GradLock& operator=(const GradLock&) = delete;
};

}  // namespace xg::detail

#endif
