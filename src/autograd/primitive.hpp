#ifndef XGRAD_AUTOGRAD_PRIMITIVE_HPP
#define XGRAD_AUTOGRAD_PRIMITIVE_HPP

// Private: the lean interface under Op<T>. A built-in operation is a class with `forward` on arrays
// and `backward` on variables next to each other, and a free function that checks and records.

#include <atomic>
#include <cstddef>
#include <string>
#include <utility>

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/memory.hpp>
#include <xgrad/autograd/message.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/variable.hpp>

namespace xg::detail {

template <class T>
class Pullback;

/// The inputs of a forward.
template <class T>
class Inputs {
 public:
  /// `kept` are those that the graph keeps.
  Inputs(Variable<T>* first, std::size_t size, Needs kept) noexcept
      : first_(first), size_(size), kept_(kept) {}
  std::size_t size() const noexcept { return size_; }
  const Array<T>& operator[](std::size_t i) const noexcept;
  const Variable<T>& variable(std::size_t i) const noexcept { return first_[i]; }
  /// Memory for a result of input i's shape: that of the input itself if the caller gave it away,
  /// nobody else can see it, the graph does not keep it and it is contiguous; else fresh.
  Array<T> reuse(std::size_t i) const;

 private:
  Variable<T>* first_;
  std::size_t size_;
  Needs kept_;
};

template <class T>
class Primitive {
 public:
  enum class Lifetime { counted, immortal };
  explicit Primitive(Lifetime lifetime = Lifetime::counted) noexcept
      : immortal_(lifetime == Lifetime::immortal) {}
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;
  virtual ~Primitive() = default;

  virtual const char* name() const noexcept = 0;
  virtual Needs needs() const noexcept = 0;
  virtual Array<T> forward(const Inputs<T>& in) const = 0;
  virtual void backward(Pullback<T>& p) const = 0;

  static void* operator new(std::size_t bytes) { return allocate(bytes); }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    deallocate(memory, bytes);
  }

  void retain() const noexcept {
    if (!immortal_) references_.fetch_add(1, std::memory_order_relaxed);
  }
  void release() const noexcept {
    if (!immortal_ && drop_reference(references_)) delete this;
  }

 private:
  mutable std::atomic<std::uint32_t> references_{1};
  const bool immortal_;
};

template <class T>
class PrimitivePtr {
 public:
  explicit PrimitivePtr(const Primitive<T>* owned) noexcept : op_(owned) {}
  PrimitivePtr(PrimitivePtr&& other) noexcept : op_(std::exchange(other.op_, nullptr)) {}
  PrimitivePtr& operator=(PrimitivePtr&&) = delete;
  ~PrimitivePtr() {
    if (op_ != nullptr) op_->release();
  }
  const Primitive<T>* operator->() const noexcept { return op_; }
  const Primitive<T>* detach() noexcept { return std::exchange(op_, nullptr); }

 private:
  const Primitive<T>* op_;
};

/// An operation without parameters: one for the whole process, never destroyed, since variables of
/// static lifetime may outlive every static of the library.
template <template <class> class O, class T>
PrimitivePtr<T> the() {
  static const auto* const op = new O<T>();
  return PrimitivePtr<T>(op);
}

template <class O, class... A>
auto make(A&&... arguments) {
  return PrimitivePtr<typename O::value_type>(new O(std::forward<A>(arguments)...));
}

/// Base of the operations without parameters.
template <class T>
class Stateless : public Primitive<T> {
 public:
  Stateless() noexcept : Primitive<T>(Primitive<T>::Lifetime::immortal) {}
};

/// Runs the operation and, if some input requires grad, records it.
template <class T>
Variable<T> record(PrimitivePtr<T> op, Variable<T>* inputs, std::size_t count);

template <class T, class... V>
Variable<T> record(PrimitivePtr<T> op, V&&... inputs) {
  Variable<T> list[] = {std::forward<V>(inputs)...};
  return record(std::move(op), list, sizeof...(V));
}

template <class T>
struct Node;

/// What a gradient rule sees: the cotangent, the inputs, the output, and which gradients are
/// needed.
template <class T>
class Pullback {
 public:
  Pullback(Node<T>& node, Variable<T> grad, const bool* wanted, bool record);
  Pullback(const Pullback&) = delete;
  Pullback& operator=(const Pullback&) = delete;
  ~Pullback();

  std::size_t inputs() const noexcept;
  bool needs(std::size_t i) const noexcept { return wanted_[i]; }
  const Variable<T>& grad() const noexcept { return grad_; }
  /// The cotangent, given away so that the rule may write over it.
  Variable<T> take_grad() noexcept { return std::move(grad_); }
  /// As recorded. If its values were not kept, reading them throws.
  Variable<T> input(std::size_t i) const;
  Variable<T> output() const;
  Extents shape(std::size_t i) const;
  void give(std::size_t i, Variable<T> gradient) noexcept { gradients_[i] = std::move(gradient); }
  /// Instead, for the only input of an operation that read a part of it, when nothing is recorded:
  /// the gradient is 0 but in that part, which lies at `offset` with `strides` in row-major memory
  /// of the input's shape. All parts of one input are added into one buffer.
  void give_part(Variable<T> gradient, std::int64_t offset, Extents strides) noexcept {
    part_ = {std::move(gradient), offset, std::move(strides)};
  }
  bool records() const noexcept { return record_; }
  Variable<T>& given(std::size_t i) noexcept { return gradients_[i]; }
  struct Part {
    Variable<T> gradient;
    std::int64_t offset = 0;
    Extents strides;
  };
  const Part& part() const noexcept { return part_; }

 private:
  static constexpr std::size_t kInline = 3;
  Node<T>& node_;
  Variable<T> grad_;
  Variable<T> inline_[kInline];
  Variable<T>* gradients_;
  Part part_;
  const bool* wanted_;
  bool record_;
};

/// The array under a variable. Throws GraphError if the variable is undefined or its values were
/// not kept.
template <class T>
const Array<T>& array(const char* op, const Variable<T>& x);
/// The extents; the values need not have been kept.
template <class T>
const Extents& extents(const char* op, const Variable<T>& x);
template <class T>
Variable<T> from_array(Array<T> values);

}  // namespace xg::detail

#endif
