#ifndef XGRAD_MHA_MASK_HPP
#define XGRAD_MHA_MASK_HPP

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <vector>

#include <xgrad/autograd/lists.hpp>
#include <xgrad/autograd/nested.hpp>
#include <xgrad/autograd/variable.hpp>

namespace xg {

/// Booleans of any shape, broadcast as arrays are; in attention true means visible.
///
/// A default Mask is undefined: "no mask". Masks are values: nothing changes one.
class XGRAD_API Mask {
 public:
  Mask() noexcept = default;
  XGRAD_DESTRUCTOR(Mask);
  /// `{{true, false}, {true, true}}`: any depth. Throws ShapeError for a ragged list.
  Mask(std::initializer_list<detail::Nested<bool>> values)
      : Mask(from_list(detail::Nested<bool>(values))) {}
  /// Throws ShapeError unless there are as many values as the shape has elements.
  Mask(const Dims& shape, const std::vector<bool>& values);
  /// Evaluates a boolean xtensor expression; needs <xgrad/xtensor.hpp>.
  template <class D>
  explicit Mask(const xt::xexpression<D>& expression);

  bool defined() const noexcept { return values_ != nullptr; }
  Shape shape() const;
  std::size_t dim() const;
  std::size_t size() const;
  /// One element; an index may count from the end. Throws ShapeError.
  bool at(const Dims& index) const;
  /// All elements in row-major order.
  std::vector<bool> to_vector() const;

 private:
  friend struct detail::Access;
  explicit Mask(std::shared_ptr<const detail::Array<bool>> values) : values_(std::move(values)) {}
  static Mask from_list(const detail::Nested<bool>& values);

  std::shared_ptr<const detail::Array<bool>> values_;
};

/// Broadcasting. Throws MaskError for an undefined mask, ShapeError if the shapes do not broadcast.
XGRAD_API Mask operator&(const Mask& a, const Mask& b);
XGRAD_API Mask operator|(const Mask& a, const Mask& b);
XGRAD_API Mask operator~(const Mask& a);

/// Which corner of a causal mask its diagonal starts from, when Q and K differ.
enum class CausalAlign {
  lower_right,  ///< the last query sees every key: query q sees key k if k <= q + K - Q
  upper_left    ///< the first query sees the first key only: k <= q
};

/// [Q, K]: no query sees a later key. Throws ShapeError for a negative extent.
XGRAD_API Mask causal_mask(std::int64_t queries, std::int64_t keys,
                           CausalAlign align = CausalAlign::lower_right);
/// [B, 1, 1, K]: item b sees its first lengths[b] keys. Throws MaskError unless 0 <= length <= K.
XGRAD_API Mask padding_mask(const Dims& lengths, std::int64_t keys);

namespace detail {
/// The array under a mask. Throws MaskError if it is undefined.
const Array<bool>& array(const char* op, const Mask& mask);
Mask mask_from_array(Array<bool> values);
}  // namespace detail

}  // namespace xg

#endif
