#include <xgrad/ops/indices.hpp>

#include <algorithm>

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/element.hpp>
#include <xgrad/autograd/message.hpp>

namespace xg {

using detail::array;
using detail::Array;
using detail::text;

const Array<std::int64_t>& detail::array(const Indices& indices) noexcept {
  return *indices.values_;
}

Indices::~Indices() = default;

Indices::Indices(const detail::Nested<std::int64_t>& values)
    : values_(
          std::make_shared<const Array<std::int64_t>>(detail::array_from_list("Indices", values))) {
}

Indices::Indices(const Dims& shape, const std::vector<std::int64_t>& values) {
  const std::int64_t size = detail::checked_size("Indices", shape.values());
  if (static_cast<std::size_t>(size) != values.size()) {
    detail::fail<ShapeError>("Indices", "wrong number of values", text(values.size()),
                             text(size) + " for shape " + text(shape.values()));
  }
  Array<std::int64_t> out{Extents(shape.values())};
  std::copy(values.begin(), values.end(), out.data());
  values_ = std::make_shared<const Array<std::int64_t>>(std::move(out));
}

Shape Indices::shape() const {
  const Extents& shape = array(*this).shape();
  return Shape(shape.begin(), shape.end());
}

std::size_t Indices::dim() const { return array(*this).dim(); }

std::size_t Indices::size() const { return static_cast<std::size_t>(array(*this).size()); }

std::int64_t Indices::at(const Dims& index) const {
  const Array<std::int64_t>& values = array(*this);
  return values.data()[detail::element_offset("at", values.shape(), values.strides(), index)];
}

std::vector<std::int64_t> Indices::to_vector() const {
  const Array<std::int64_t>& values = array(*this);
  return std::vector<std::int64_t>(values.data(), values.data() + values.size());
}

}  // namespace xg
