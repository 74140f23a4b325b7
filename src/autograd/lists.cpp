#include <xgrad/autograd/lists.hpp>

#include <algorithm>

namespace xg {

void Extents::grow(std::size_t size) {
  const std::size_t capacity = std::max<std::size_t>(size, 2 * std::size_t{capacity_});
  auto* grown = new std::int64_t[capacity];
  std::copy_n(data(), size_, grown);
  if (capacity_ != kInline) free_heap();
  store_.heap = grown;
  capacity_ = static_cast<std::uint32_t>(capacity);
}

void Extents::copy_heap(const Extents& other) {
  resize(other.size());
  std::copy_n(other.data(), other.size(), data());
}

void Extents::free_heap() noexcept { delete[] store_.heap; }

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

Dims::~Dims() = default;
Axes::~Axes() = default;
Sections::~Sections() = default;

}  // namespace xg
