#include <xgrad/autograd/lists.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace xg {

Extents::Extents(std::size_t size, std::int64_t value) : Extents() {
  reserve(size);
  size_ = static_cast<std::uint32_t>(size);
  std::fill(begin(), end(), value);
}

Extents::Extents(const std::int64_t* first, std::size_t size) : Extents() {
  reserve(size);
  size_ = static_cast<std::uint32_t>(size);
  std::copy_n(first, size, data());
}

Extents::Extents(Extents&& other) noexcept : size_(other.size_), capacity_(other.capacity_) {
  if (capacity_ == kInline) {
    std::copy_n(other.inline_, size_, inline_);
  } else {
    heap_ = std::exchange(other.heap_, nullptr);
    other.capacity_ = kInline;
  }
  other.size_ = 0;
}

Extents& Extents::operator=(Extents other) noexcept {
  this->~Extents();
  return *new (this) Extents(std::move(other));
}

void Extents::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return;
  auto* grown = new std::int64_t[capacity];
  std::copy_n(data(), size_, grown);
  if (capacity_ != kInline) delete[] heap_;
  heap_ = grown;
  capacity_ = static_cast<std::uint32_t>(capacity);
}

void Extents::push_back(std::int64_t value) {
  if (size_ == capacity_) reserve(2 * std::size_t{capacity_});
  data()[size_++] = value;
}

void Extents::insert(std::size_t position, std::int64_t value) {
  push_back(value);
  std::rotate(begin() + position, end() - 1, end());
}

void Extents::erase(std::size_t position) noexcept {
  std::copy(begin() + position + 1, end(), begin() + position);
  --size_;
}

namespace detail {

IntegerList::IntegerList(std::initializer_list<Integer> list) {
  for (Integer number : list) values_.push_back(number.value);
}

}  // namespace detail
}  // namespace xg
