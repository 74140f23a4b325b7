#include <xgrad/ops/loops.hpp>

namespace xg::detail {

Extents broadcast_strides(const Extents& own_shape, const Extents& own_strides,
                          const Extents& shape) {
  Extents strides(shape.size(), 0);
  const std::size_t offset = shape.size() - own_shape.size();
  for (std::size_t i = 0; i < own_shape.size(); ++i) {
    if (own_shape[i] == shape[offset + i]) strides[offset + i] = own_strides[i];
  }
  return strides;
}

}  // namespace xg::detail
