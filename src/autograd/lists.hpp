#ifndef XGRAD_AUTOGRAD_LISTS_HPP
#define XGRAD_AUTOGRAD_LISTS_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <type_traits>
#include <vector>

#include <xgrad/autograd/config.hpp>

namespace xg {

/// What shape() returns: extents, outermost first.
using Shape = std::vector<std::size_t>;

/// A short list of integers that needs no heap memory up to four of them.
class XGRAD_API Extents {
 public:
  Extents() noexcept = default;
  explicit Extents(std::size_t size, std::int64_t value = 0) {
    resize(size);
    for (std::int64_t& element : *this) element = value;
  }
  Extents(const std::int64_t* first, std::size_t size) {
    resize(size);
    for (std::size_t i = 0; i < size; ++i) data()[i] = first[i];
  }
  Extents(const Extents& other) {
    if (other.capacity_ == kInline) {
      take(other);
    } else {
      copy_heap(other);
    }
  }
  Extents(Extents&& other) noexcept {
    take(other);
    other.size_ = 0;
    other.capacity_ = kInline;
  }
  Extents& operator=(const Extents& other) { return *this = Extents(other); }
  Extents& operator=(Extents&& other) noexcept {
    if (capacity_ != kInline) free_heap();
    take(other);
    other.size_ = 0;
    other.capacity_ = kInline;
    return *this;
  }
  ~Extents() {
    if (capacity_ != kInline) free_heap();
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  std::int64_t* data() noexcept { return capacity_ == kInline ? store_.inside : store_.heap; }
  const std::int64_t* data() const noexcept {
    return capacity_ == kInline ? store_.inside : store_.heap;
  }
  std::int64_t* begin() noexcept { return data(); }
  std::int64_t* end() noexcept { return data() + size_; }
  const std::int64_t* begin() const noexcept { return data(); }
  const std::int64_t* end() const noexcept { return data() + size_; }
  std::int64_t& operator[](std::size_t i) noexcept { return data()[i]; }
  std::int64_t operator[](std::size_t i) const noexcept { return data()[i]; }
  std::int64_t& back() noexcept { return data()[size_ - 1]; }
  std::int64_t back() const noexcept { return data()[size_ - 1]; }
  void push_back(std::int64_t value) {
    if (size_ == capacity_) grow(size_ + 1);
    data()[size_++] = value;
  }
  void insert(std::size_t position, std::int64_t value);
  void erase(std::size_t position) noexcept;

  friend bool operator==(const Extents& a, const Extents& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }
  friend bool operator!=(const Extents& a, const Extents& b) noexcept { return !(a == b); }

 private:
  static constexpr std::uint32_t kInline = 4;
  union Store {
    std::int64_t inside[kInline];
    std::int64_t* heap;
  };

  void take(const Extents& other) noexcept {
    size_ = other.size_;
    capacity_ = other.capacity_;
    store_ = other.store_;
  }
  void resize(std::size_t size) {
    if (size > kInline) grow(size);
    size_ = static_cast<std::uint32_t>(size);
  }
  void grow(std::size_t size);
  void copy_heap(const Extents& other);
  void free_heap() noexcept;

  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;
  Store store_ = {};
};

namespace detail {

template <class I>
using if_integer = std::enable_if_t<std::is_integral_v<I> && !std::is_same_v<I, bool>, int>;

/// An unsigned value above the signed range becomes the largest one, which every check refuses.
template <class I>
constexpr std::int64_t to_signed(I value) noexcept {
  if constexpr (std::is_unsigned_v<I> && sizeof(I) >= sizeof(std::int64_t)) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    return value > static_cast<I>(most) ? most : static_cast<std::int64_t>(value);
  } else {
    return static_cast<std::int64_t>(value);
  }
}

/// An element of a list: made from any integer type but bool.
struct Integer {
  template <class I, if_integer<I> = 0>
  Integer(I number) noexcept : value(to_signed(number)) {}  // NOLINT(google-explicit-constructor)
  std::int64_t value;
};

/// What Dims, Axes and Sections share: `{2, n, -1}`, a vector of integers, or one integer.
class XGRAD_API IntegerList {
 public:
  IntegerList() = default;
  IntegerList(std::initializer_list<Integer> list);
  IntegerList(const Extents& values) : values_(values) {}  // NOLINT(google-explicit-constructor)
  template <class I, if_integer<I> = 0>
  IntegerList(I one) : values_(1, to_signed(one)), single_(true) {}  // NOLINT
  template <class I, if_integer<I> = 0>
  IntegerList(const std::vector<I>& list) {  // NOLINT(google-explicit-constructor)
    for (I value : list) values_.push_back(to_signed(value));
  }

  const Extents& values() const noexcept { return values_; }
  std::size_t size() const noexcept { return values_.size(); }
  bool empty() const noexcept { return values_.empty(); }
  std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  /// True if this was made from one integer, not from a list that holds one.
  bool single() const noexcept { return single_; }

 private:
  Extents values_;
  bool single_ = false;
};

}  // namespace detail

/// Extents or indices: `{2, 3}`, `{x.shape()[0], -1}`, a vector, or one integer.
class XGRAD_API Dims : public detail::IntegerList {
 public:
  using IntegerList::IntegerList;
  Dims() = default;
  XGRAD_DESTRUCTOR(Dims);
};

/// Axes: `{0, -1}`, a vector, or one integer; `{}` means all of them.
class XGRAD_API Axes : public detail::IntegerList {
 public:
  using IntegerList::IntegerList;
  Axes() = default;
  XGRAD_DESTRUCTOR(Axes);
};

/// How to split: one integer is a number of equal parts, a list holds the cut points.
class XGRAD_API Sections : public detail::IntegerList {
 public:
  using IntegerList::IntegerList;
  Sections() = default;
  XGRAD_DESTRUCTOR(Sections);
};

}  // namespace xg

#endif
