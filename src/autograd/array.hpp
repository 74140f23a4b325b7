#ifndef XGRAD_AUTOGRAD_ARRAY_HPP
#define XGRAD_AUTOGRAD_ARRAY_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <xgrad/autograd/lists.hpp>

namespace xg::detail {

/// Drops one of `references`; true if it was the last. Whoever holds the only one needs no atomic
/// update: nobody is left who could copy it.
template <class Count>
bool drop_reference(std::atomic<Count>& references) noexcept {
  return references.load(std::memory_order_acquire) == 1 ||
         references.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

/// Reference-counted memory; the elements follow the header.
struct Buffer {
  std::atomic<std::size_t> references;
  std::size_t bytes;

  static Buffer* create(std::size_t bytes);  // throws AllocationError
  void* data() noexcept;
  void retain() noexcept { references.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (drop_reference(references)) destroy();
  }
  bool unique() const noexcept { return references.load(std::memory_order_acquire) == 1; }

 private:
  void destroy() noexcept;
};

/// Shape and strides (in elements, of any sign) over shared memory. Views share the memory and copy
/// nothing; a writer copies first unless it is the only owner.
template <class T>
class Array {
 public:
  Array() noexcept = default;
  /// Fresh contiguous memory, not initialised. The shape is already checked by `checked_size`.
  explicit Array(Extents shape);
  /// Fresh memory whose axes lie in it in the given order, outermost first.
  Array(Extents shape, const Extents& memory_order);
  /// A view: the same memory under another origin, shape and strides.
  Array(const Array& base, T* origin, Extents shape, Extents strides);
  Array(const Array& other)
      : buffer_(other.buffer_), data_(other.data_), shape_(other.shape_), strides_(other.strides_) {
    if (buffer_ != nullptr) buffer_->retain();
  }
  Array(Array&& other) noexcept
      : buffer_(std::exchange(other.buffer_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        shape_(std::move(other.shape_)),
        strides_(std::move(other.strides_)) {}
  Array& operator=(Array other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(data_, other.data_);
    std::swap(shape_, other.shape_);
    std::swap(strides_, other.strides_);
    return *this;
  }
  ~Array() {
    if (buffer_ != nullptr) buffer_->release();
  }

  /// Takes over one reference to `buffer` (null: an array that has a shape but no values).
  static Array adopt(Buffer* buffer, T* origin, Extents shape, Extents strides) noexcept;

  /// False for an array of which only the shape is known.
  bool has_values() const noexcept { return buffer_ != nullptr; }
  /// True if nobody else can see this memory.
  bool unique() const noexcept { return buffer_ != nullptr && buffer_->unique(); }
  bool contiguous() const noexcept;
  /// True if no two elements share memory because of a stride of zero.
  bool distinct() const noexcept;

  std::size_t dim() const noexcept { return shape_.size(); }
  std::int64_t size() const noexcept;
  const Extents& shape() const noexcept { return shape_; }
  const Extents& strides() const noexcept { return strides_; }
  std::int64_t extent(std::size_t axis) const noexcept { return shape_[axis]; }
  std::int64_t stride(std::size_t axis) const noexcept { return strides_[axis]; }
  const T* data() const noexcept { return data_; }
  T* data() noexcept { return data_; }
  Buffer* buffer() const noexcept { return buffer_; }

  Array copy() const;  // contiguous, memory of its own

 private:
  Buffer* buffer_ = nullptr;
  T* data_ = nullptr;
  Extents shape_;
  Extents strides_;
};

/// The number of elements. Throws ShapeError for a negative extent, AllocationError on overflow.
std::int64_t checked_size(const char* op, const Extents& shape);
std::int64_t size_of(const Extents& shape) noexcept;
Extents contiguous_strides(const Extents& shape);
bool is_contiguous(const Extents& shape, const Extents& strides) noexcept;

}  // namespace xg::detail

#endif
