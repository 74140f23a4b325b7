#include <xgrad/mha/hidden_keys.hpp>

#include <algorithm>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/compare.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg::detail {

void check_mask(const char* op, const Mask& mask, const Extents& scores) {
  if (!mask.defined()) return;
  const Extents& shape = array(op, mask).shape();
  if (!broadcasts_to(shape, scores)) {
    fail<MaskError>(op, "mask does not fit", text(shape),
                    "a shape that broadcasts to [B,H,Q,K] = " + text(scores));
  }
}

template <class T>
Variable<T> zero_hidden_keys(const Variable<T>& x, const Mask& mask) {
  if (!mask.defined()) return x;
  const Array<bool>& shown = array("mask", mask);
  Extents shape(4 - shown.dim(), 1);  // [B or 1, H or 1, Q or 1, K or 1]
  for (std::int64_t extent : shown.shape()) shape.push_back(extent);
  const std::int64_t items = shape[0];
  const std::int64_t keys = shape[3];
  const std::int64_t views = shape[1] * shape[2];
  Extents seen_shape(extents("mask", x).size(), 1);
  seen_shape[0] = items;
  seen_shape[seen_shape.size() - 2] = keys;
  Array<bool> seen(std::move(seen_shape));
  std::fill_n(seen.data(), seen.size(), false);
  for (std::int64_t b = 0; b < items; ++b) {
    for (std::int64_t view = 0; view < views; ++view) {
      const bool* row = shown.data() + (b * views + view) * keys;  // masks are contiguous
      bool* any = seen.data() + b * keys;
      for (std::int64_t k = 0; k < keys; ++k) any[k] |= row[k];
    }
  }
  if (std::find(seen.data(), seen.data() + seen.size(), false) == seen.data() + seen.size()) {
    return x;
  }
  return where(mask_from_array(std::move(seen)), x, 0);
}

template Variable<float> zero_hidden_keys(const Variable<float>&, const Mask&);
template Variable<double> zero_hidden_keys(const Variable<double>&, const Mask&);

}  // namespace xg::detail
