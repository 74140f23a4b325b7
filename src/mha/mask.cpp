#include <xgrad/mha/mask.hpp>

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/element.hpp>
#include <xgrad/autograd/message.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg {
namespace detail {

const Array<bool>& array(const char* op, const Mask& mask) {
  if (!mask.defined()) {
    fail<MaskError>(op, "undefined mask", "Mask()", "one that was given values");
  }
  return *Access::values(mask);
}

Mask mask_from_array(Array<bool> values) {
  return Access::wrap(std::make_shared<const Array<bool>>(std::move(values)));
}

}  // namespace detail

using detail::array;
using detail::Array;
using detail::fail;
using detail::text;

Mask::~Mask() = default;

Mask Mask::from_list(const detail::Nested<bool>& values) {
  return detail::mask_from_array(detail::array_from_list("Mask", values));
}

Mask::Mask(const Dims& shape, const std::vector<bool>& values) {
  const std::int64_t size = detail::checked_size("Mask", shape.values());
  if (static_cast<std::size_t>(size) != values.size()) {
    fail<ShapeError>("Mask", "wrong number of values", text(values.size()),
                     text(size) + " for shape " + text(shape.values()));
  }
  Array<bool> out{Extents(shape.values())};
  std::copy(values.begin(), values.end(), out.data());
  *this = detail::mask_from_array(std::move(out));
}

Shape Mask::shape() const {
  const Extents& shape = array("shape", *this).shape();
  return Shape(shape.begin(), shape.end());
}

std::size_t Mask::dim() const { return array("dim", *this).dim(); }

std::size_t Mask::size() const { return static_cast<std::size_t>(array("size", *this).size()); }

bool Mask::at(const Dims& index) const {
  const Array<bool>& values = array("at", *this);
  return values.data()[detail::element_offset("at", values.shape(), values.strides(), index)];
}

std::vector<bool> Mask::to_vector() const {
  const Array<bool>& values = array("to_vector", *this);  // always contiguous
  return std::vector<bool>(values.data(), values.data() + values.size());
}

namespace {

template <class F>
Mask combine(const char* op, const Mask& a, const Mask& b, F f) {
  const Array<bool>& x = array(op, a);
  const Array<bool>& y = array(op, b);
  Array<bool> out(detail::broadcast_shape(op, x.shape(), y.shape()));
  detail::map(out, f, x, y);
  return detail::mask_from_array(std::move(out));
}

}  // namespace

Mask operator&(const Mask& a, const Mask& b) {
  return combine("&", a, b, [](bool x, bool y) { return x && y; });
}

Mask operator|(const Mask& a, const Mask& b) {
  return combine("|", a, b, [](bool x, bool y) { return x || y; });
}

Mask operator~(const Mask& a) {
  const Array<bool>& x = array("~", a);
  Array<bool> out{Extents(x.shape())};
  detail::map(
      out, [](bool v) { return !v; }, x);
  return detail::mask_from_array(std::move(out));
}

Mask causal_mask(std::int64_t queries, std::int64_t keys, CausalAlign align) {
  Extents shape;
  shape.push_back(queries);
  shape.push_back(keys);
  (void)detail::checked_size("causal_mask", shape);
  Array<bool> out(std::move(shape));
  const std::int64_t shift = align == CausalAlign::lower_right ? keys - queries : 0;
  for (std::int64_t q = 0; q < queries; ++q) {
    for (std::int64_t k = 0; k < keys; ++k) out.data()[q * keys + k] = k <= q + shift;
  }
  return detail::mask_from_array(std::move(out));
}

Mask padding_mask(const Dims& lengths, std::int64_t keys) {
  Extents shape(4, 1);
  shape[0] = static_cast<std::int64_t>(lengths.size());
  shape[3] = keys;
  (void)detail::checked_size("padding_mask", shape);
  for (std::int64_t length : lengths.values()) {
    if (length < 0 || length > keys) {
      fail<MaskError>("padding_mask", "length out of range", text(length), "0 to " + text(keys));
    }
  }
  Array<bool> out(std::move(shape));
  for (std::size_t b = 0; b < lengths.size(); ++b) {
    for (std::int64_t k = 0; k < keys; ++k) {
      out.data()[static_cast<std::int64_t>(b) * keys + k] = k < lengths[b];
    }
  }
  return detail::mask_from_array(std::move(out));
}

}  // namespace xg
