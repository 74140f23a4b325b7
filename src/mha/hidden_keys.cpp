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

namespace {

/// Which keys, [B or 1, ..., K, 1] of this rank, some query of their item sees in some head.
Mask seen_keys(const Array<bool>& mask, bool causal, std::size_t rank, std::int64_t keys) {
  Extents shape(4 - mask.dim(), 1);  // [B or 1, H or 1, Q or 1, K or 1]
  for (std::int64_t extent : mask.shape()) shape.push_back(extent);
  const std::int64_t items = shape[0];
  const std::int64_t queries = shape[2];
  const std::int64_t rows = shape[1] * queries;
  causal &= queries > 1;  // one row for all queries holds for the last one, which sees every key
  if (!causal) keys = shape[3];
  Extents seen_shape(rank, 1);
  seen_shape[0] = items;
  seen_shape[rank - 2] = keys;
  Array<bool> seen(std::move(seen_shape));
  std::fill_n(seen.data(), seen.size(), false);
  for (std::int64_t b = 0; b < items; ++b) {
    bool* any = seen.data() + b * keys;
    // From the last one, which in a causal mask sees every key.
    for (std::int64_t i = rows; i-- > 0;) {
      const bool* row = mask.data() + (b * rows + i) * shape[3];  // masks are contiguous
      const std::int64_t reach =
          causal ? std::clamp<std::int64_t>(keys - queries + i % queries + 1, 0, keys) : keys;
      if (shape[3] == 1) {
        if (*row) std::fill_n(any, reach, true);
      } else {
        for (std::int64_t k = 0; k < reach; ++k) any[k] |= row[k];
      }
      if (std::find(any, any + keys, false) == any + keys) break;
    }
  }
  return mask_from_array(std::move(seen));
}

}  // namespace

template <class T>
void zero_hidden_keys(const Mask& mask, bool causal, Variable<T>& key, Variable<T>& value) {
  if (!mask.defined()) return;
  const Extents& shape = extents("mask", key);
  const Mask seen = seen_keys(array("mask", mask), causal, shape.size(), shape[shape.size() - 2]);
  const Array<bool>& all = array("mask", seen);
  if (std::find(all.data(), all.data() + all.size(), false) == all.data() + all.size()) return;
  key = where(seen, key, 0);
  value = where(seen, value, 0);
}

template <class T>
Variable<T> zero_blind_queries(const Mask& mask, Variable<T> output) {
  if (!mask.defined()) return output;
  const Array<bool>& visible = array("mask", mask);
  Extents shape = visible.dim() == 0 ? Extents(1, 1) : visible.shape();
  const std::int64_t keys = shape.back();
  shape.back() = 1;
  Array<bool> sees(std::move(shape));
  bool all = true;
  for (std::int64_t i = 0; i < sees.size(); ++i) {
    const bool* row = visible.data() + i * keys;
    sees.data()[i] = std::find(row, row + keys, true) != row + keys;
    all &= sees.data()[i];
  }
  return all ? output : where(mask_from_array(std::move(sees)), std::move(output), 0);
}

template Variable<float> zero_blind_queries(const Mask&, Variable<float>);
template Variable<double> zero_blind_queries(const Mask&, Variable<double>);
template void zero_hidden_keys(const Mask&, bool, Variable<float>&, Variable<float>&);
template void zero_hidden_keys(const Mask&, bool, Variable<double>&, Variable<double>&);

}  // namespace xg::detail
