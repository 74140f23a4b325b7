#include <xgrad/autograd/array.hpp>

#include <algorithm>
#include <limits>
#include <new>

#include <xgrad/autograd/memory.hpp>
#include <xgrad/autograd/message.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg::detail {
namespace {

constexpr std::size_t kMostAxes = 32;
constexpr std::size_t kCacheLine = 64;

// Elements of large buffers start on a cache line; small ones sit right behind the header.
std::size_t header_bytes(std::size_t bytes) noexcept {
  return bytes < kCacheLine * 8 ? sizeof(Buffer) : kCacheLine;
}

}  // namespace

Buffer* Buffer::create(std::size_t bytes) {
  return new (allocate(bytes + header_bytes(bytes))) Buffer{{1}, bytes};
}

void* Buffer::data() noexcept { return reinterpret_cast<char*>(this) + header_bytes(bytes); }

void Buffer::destroy() noexcept { deallocate(this, bytes + header_bytes(bytes)); }

std::int64_t size_of(const Extents& shape) noexcept {
  std::int64_t size = 1;
  for (std::int64_t extent : shape) size *= extent;
  return size;
}

std::int64_t checked_size(const char* op, const Extents& shape) {
  // Room for the widest element and the header, so that no later byte count can overflow.
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() / 32;
  if (shape.size() > kMostAxes) {
    fail<ShapeError>(op, "too many axes", text(shape.size()), "at most " + text(kMostAxes));
  }
  std::int64_t size = 1;
  bool empty = false;
  for (std::int64_t extent : shape) {
    if (extent < 0) {
      fail<ShapeError>(op, "negative extent", text(shape), "extents of at least 0");
    }
    if (extent == 0) {
      empty = true;
    } else if (size > most / extent) {
      fail<AllocationError>(op, "too many elements", text(shape),
                            "a product of extents that fits the address space");
    } else {
      size *= extent;
    }
  }
  return empty ? 0 : size;
}

Extents contiguous_strides(const Extents& shape) {
  Extents strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<std::int64_t>(shape[i], 1);
  }
  return strides;
}

bool is_contiguous(const Extents& shape, const Extents& strides) noexcept {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != step) return false;
    step *= shape[i];
  }
  return true;
}

template <class T>
Array<T>::Array(Extents shape) : shape_(std::move(shape)), strides_(contiguous_strides(shape_)) {
  buffer_ = Buffer::create(static_cast<std::size_t>(size()) * sizeof(T));
  data_ = static_cast<T*>(buffer_->data());
}

template <class T>
Array<T>::Array(Extents shape, const Extents& memory_order) : Array(std::move(shape)) {
  std::int64_t step = 1;
  for (std::size_t i = memory_order.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(memory_order[i]);
    strides_[axis] = step;
    step *= std::max<std::int64_t>(shape_[axis], 1);
  }
}

template <class T>
Array<T>::Array(const Array& base, T* origin, Extents shape, Extents strides)
    : buffer_(base.buffer_), data_(origin), shape_(std::move(shape)), strides_(std::move(strides)) {
  if (buffer_ != nullptr) buffer_->retain();
}

template <class T>
Array<T> Array<T>::adopt(Buffer* buffer, T* origin, Extents shape, Extents strides) noexcept {
  Array array;
  array.buffer_ = buffer;
  array.data_ = origin;
  array.shape_ = std::move(shape);
  array.strides_ = std::move(strides);
  return array;
}

template <class T>
bool Array<T>::contiguous() const noexcept {
  return is_contiguous(shape_, strides_);
}

template <class T>
bool Array<T>::distinct() const noexcept {
  for (std::size_t i = 0; i < dim(); ++i) {
    if (shape_[i] > 1 && strides_[i] == 0) return false;
  }
  return true;
}

template <class T>
std::int64_t Array<T>::size() const noexcept {
  return size_of(shape_);
}

template <class T>
Array<T> Array<T>::copy() const {
  Array out{Extents(shape_)};
  map(
      out, [](T x) { return x; }, *this);
  return out;
}

template class Array<float>;
template class Array<double>;
template class Array<bool>;
template class Array<std::int64_t>;

}  // namespace xg::detail
