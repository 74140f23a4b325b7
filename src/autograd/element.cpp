#include <xgrad/autograd/element.hpp>

#include <xgrad/autograd/message.hpp>

namespace xg::detail {
namespace {

template <class T>
void check_level(const char* op, const Nested<T>& list, std::size_t axis, const Extents& shape) {
  const bool leaf = axis == shape.size();
  const std::string depth = " at depth " + text(axis);
  if (!list.is_list()) {
    if (!leaf) fail<ShapeError>(op, "ragged nested list", "a number" + depth, "a list");
    return;
  }
  const auto length = static_cast<std::int64_t>(list.list().size());
  if (leaf || shape[axis] != length) {
    fail<ShapeError>(op, "ragged nested list", "a list of " + text(length) + depth,
                     leaf ? "a number" : "a list of " + text(shape[axis]));
  }
  for (const auto& item : list.list()) check_level(op, item, axis + 1, shape);
}

template <class T>
T* write_leaves(const Nested<T>& list, T* out) {
  if (!list.is_list()) {
    *out = list.value();
    return out + 1;
  }
  for (const auto& item : list.list()) out = write_leaves(item, out);
  return out;
}

}  // namespace

template <class T>
Array<T> array_from_list(const char* op, const Nested<T>& values) {
  Extents shape;
  for (const Nested<T>* level = &values; level->is_list(); level = level->list().begin()) {
    shape.push_back(static_cast<std::int64_t>(level->list().size()));
    if (level->list().size() == 0) break;
  }
  check_level(op, values, 0, shape);
  Array<T> out(std::move(shape));
  write_leaves(values, out.data());
  return out;
}

template Array<float> array_from_list(const char*, const Nested<float>&);
template Array<double> array_from_list(const char*, const Nested<double>&);
template Array<bool> array_from_list(const char*, const Nested<bool>&);
template Array<std::int64_t> array_from_list(const char*, const Nested<std::int64_t>&);

std::int64_t element_offset(const char* op, const Extents& shape, const Extents& strides,
                            const Dims& index) {
  if (index.size() != shape.size()) {
    fail<ShapeError>(op, "wrong number of indices", text(index.size()),
                     text(shape.size()) + ", one for each axis of shape " + text(shape));
  }
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t from_front = index[i] < 0 ? index[i] + shape[i] : index[i];
    if (from_front < 0 || from_front >= shape[i]) {
      fail<ShapeError>(op, "index out of range",
                       text(index[i]) + " on axis " + text(i) + " of shape " + text(shape),
                       text(-shape[i]) + " to " + text(shape[i] - 1));
    }
    offset += from_front * strides[i];
  }
  return offset;
}

}  // namespace xg::detail
