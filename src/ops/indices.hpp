#ifndef XGRAD_OPS_INDICES_HPP
#define XGRAD_OPS_INDICES_HPP

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include <xgrad/autograd/lists.hpp>
#include <xgrad/autograd/nested.hpp>
#include <xgrad/autograd/variable.hpp>

namespace xg {

class Indices;

namespace detail {
const Array<std::int64_t>& array(const Indices& indices) noexcept;  // contiguous
}

/// Integers of any shape: which elements to take, or the class of each row. Indices are values:
/// nothing changes them.
class XGRAD_API Indices {
 public:
  /// 0-D.
  template <class I, detail::if_integer<I> = 0>
  Indices(I one) : Indices(detail::Nested<std::int64_t>(one)) {}  // NOLINT
  /// `{{0, 2}, {1, 1}}`: any depth. Throws ShapeError for a ragged list.
  Indices(std::initializer_list<detail::Nested<std::int64_t>> values)
      : Indices(detail::Nested<std::int64_t>(values)) {}
  /// 1-D.
  template <class I, detail::if_integer<I> = 0>
  Indices(const std::vector<I>& values)  // NOLINT(google-explicit-constructor)
      : Indices(values.size(), values) {}
  XGRAD_DESTRUCTOR(Indices);
  /// Throws ShapeError unless there are as many values as the shape has elements.
  Indices(const Dims& shape, const std::vector<std::int64_t>& values);
  template <class I, detail::if_integer<I> = 0>
  Indices(const Dims& shape, const std::vector<I>& values) : Indices(shape, converted(values)) {}

  Shape shape() const;
  std::size_t dim() const;
  std::size_t size() const;
  /// One element; an index may count from the end. Throws ShapeError.
  std::int64_t at(const Dims& index) const;
  /// All elements in row-major order.
  std::vector<std::int64_t> to_vector() const;

 private:
  friend const detail::Array<std::int64_t>& detail::array(const Indices& indices) noexcept;
  explicit Indices(const detail::Nested<std::int64_t>& values);
  template <class I>
  static std::vector<std::int64_t> converted(const std::vector<I>& values) {
    std::vector<std::int64_t> out;
    out.reserve(values.size());
    for (I value : values) out.push_back(detail::to_signed(value));
    return out;
  }

  std::shared_ptr<const detail::Array<std::int64_t>> values_;
};

}  // namespace xg

#endif
