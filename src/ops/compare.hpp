#ifndef XGRAD_OPS_COMPARE_HPP
#define XGRAD_OPS_COMPARE_HPP

#include <xgrad/mha/mask.hpp>
#include <xgrad/ops/arithmetic.hpp>

namespace xg {

/// Elementwise comparisons, broadcasting; no gradient. Every comparison with NaN but != is false.
template <class T>
XGRAD_API Mask less(const Variable<T>& a, const Variable<T>& b);
template <class T>
XGRAD_API Mask less_equal(const Variable<T>& a, const Variable<T>& b);
template <class T>
XGRAD_API Mask equal(const Variable<T>& a, const Variable<T>& b);
template <class T>
XGRAD_API Mask not_equal(const Variable<T>& a, const Variable<T>& b);

#define XGRAD_COMPARISON(SYMBOL, CALL)                               \
  template <class T>                                                 \
  Mask operator SYMBOL(const Variable<T>& a, const Variable<T>& b) { \
    return CALL;                                                     \
  }                                                                  \
  template <class T, class S, detail::if_number<S> = 0>              \
  Mask operator SYMBOL(const Variable<T>& a, S scalar) {             \
    const Variable<T> b(scalar);                                     \
    return CALL;                                                     \
  }                                                                  \
  template <class T, class S, detail::if_number<S> = 0>              \
  Mask operator SYMBOL(S scalar, const Variable<T>& b) {             \
    const Variable<T> a(scalar);                                     \
    return CALL;                                                     \
  }
XGRAD_COMPARISON(<, less(a, b))
XGRAD_COMPARISON(<=, less_equal(a, b))
XGRAD_COMPARISON(>, less(b, a))
XGRAD_COMPARISON(>=, less_equal(b, a))
XGRAD_COMPARISON(==, equal(a, b))
XGRAD_COMPARISON(!=, not_equal(a, b))
#undef XGRAD_COMPARISON

/// y = a where the mask is true, else b; all three broadcast.
/// Gradients: the cotangent where its branch was taken, exactly 0 elsewhere, even if that branch's
/// own derivative is NaN or inf.
/// Throws MaskError for an undefined mask, ShapeError if the shapes do not broadcast.
template <class T>
XGRAD_API Variable<T> where(const Mask& mask, Variable<T> a, Variable<T> b);
template <class T, class S, detail::if_number<S> = 0>
Variable<T> where(const Mask& mask, Variable<T> a, S b) {
  return where(mask, std::move(a), Variable<T>(b));
}
template <class T, class S, detail::if_number<S> = 0>
Variable<T> where(const Mask& mask, S a, Variable<T> b) {
  return where(mask, Variable<T>(a), std::move(b));
}

}  // namespace xg

#endif
