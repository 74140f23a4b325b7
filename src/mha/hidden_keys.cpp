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
Variable<T> zero_hidden_keys(const Variable<T>& x, const Mask& mask, bool causal) {
  if (!mask.defined()) return x;  // the last query sees every key, causal or not
  const Array<bool>& shown = array("mask", mask);
  Extents shape(4 - shown.dim(), 1);  // [B or 1, H or 1, Q or 1, K or 1]
  for (std::int64_t extent : shown.shape()) shape.push_back(extent);
  const Extents& arrays = extents("mask", x);
  const std::int64_t items = shape[0];
  const std::int64_t queries = shape[2];
  causal &= queries > 1;  // one row for all queries holds for the last one
  const std::int64_t keys = causal ? arrays[arrays.size() - 2] : shape[3];
  const std::int64_t step = shape[3] == 1 ? 0 : 1;
  Extents seen_shape(arrays.size(), 1);
  seen_shape[0] = items;
  seen_shape[seen_shape.size() - 2] = keys;
  Array<bool> seen(std::move(seen_shape));
  std::fill_n(seen.data(), seen.size(), false);
  const bool* row = shown.data();  // masks are contiguous
  for (std::int64_t b = 0; b < items; ++b) {
    bool* any = seen.data() + b * keys;
    for (std::int64_t view = 0; view < shape[1] * queries; ++view, row += shape[3]) {
      const std::int64_t query = view % queries;
      const std::int64_t reach =
          causal ? std::max<std::int64_t>(keys - queries + query + 1, 0) : keys;
      for (std::int64_t k = 0; k < reach; ++k) any[k] |= row[k * step];
    }
  }
  if (std::find(seen.data(), seen.data() + seen.size(), false) == seen.data() + seen.size()) {
    return x;
  }
  return where(mask_from_array(std::move(seen)), x, 0);
}

template Variable<float> zero_hidden_keys(const Variable<float>&, const Mask&, bool);
template Variable<double> zero_hidden_keys(const Variable<double>&, const Mask&, bool);

}  // namespace xg::detail
