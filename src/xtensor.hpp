#ifndef XGRAD_XTENSOR_HPP
#define XGRAD_XTENSOR_HPP

/// The bridge to xtensor: makes the constructors from expressions, `value()`, `update` and masks
/// from boolean expressions usable, with every xtensor from 0.24 on.

// xtensor moved its headers in 0.26. Before that, clang 19 finds two partial specialisations of
// rebind_container for svector ambiguous; one that is more special settles it.
#if __has_include(<xtensor/containers/xarray.hpp>)
#include <xtensor/containers/xadapt.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtensor/core/xeval.hpp>
#include <xtensor/io/xio.hpp>
#else
#include <xtensor/xstorage.hpp>
#if defined(__clang__) && __clang_major__ >= 19
namespace xt {
template <class X, class T, std::size_t N>
struct rebind_container<X, svector<T, N, std::allocator<T>, true>> {
  using type = svector<X, N, std::allocator<X>, true>;
};
}  // namespace xt
#endif
#include <xtensor/xadapt.hpp>
#include <xtensor/xarray.hpp>
#include <xtensor/xeval.hpp>
#include <xtensor/xio.hpp>
#endif

#include <xgrad/xgrad.hpp>

namespace xg {
namespace detail {

// Every template argument is spelled out: xtensor's defaults depend on its macros, and a program
// may set others than the library.
template <class T>
using ReadBuffer = xt::xbuffer_adaptor<const T*, xt::smart_ownership, std::shared_ptr<const T[]>>;
template <class T>
using WriteBuffer = xt::xbuffer_adaptor<T*, xt::no_ownership, std::allocator<T>>;
using ShapeOfExpression = xt::svector<std::size_t, 4, std::allocator<std::size_t>, true>;

template <class T>
struct include_xgrad_xtensor_hpp {
  using read_only = xt::xarray_adaptor<ReadBuffer<T>, xt::layout_type::dynamic, ShapeOfExpression,
                                       xt::xtensor_expression_tag>;
  using nothing = void;
};
template <class T>
using WritableExpression = xt::xarray_adaptor<WriteBuffer<T>, xt::layout_type::dynamic,
                                              ShapeOfExpression, xt::xtensor_expression_tag>;

}  // namespace detail

template <class T>
template <class D>
Variable<T>::Variable(const xt::xexpression<D>& expression, bool requires_grad) {
  const D& source = expression.derived_cast();
  *this = zeros<T>(Shape(source.shape().begin(), source.shape().end()));
  // An expression without elements is not iterated: some of xtensor's iterators read one.
  if (size() > 0) {
    T* to = detail::writable_view(*this).data;
    const auto last = source.template cend<xt::layout_type::row_major>();
    for (auto at = source.template cbegin<xt::layout_type::row_major>(); at != last; ++at) {
      *to++ = static_cast<T>(*at);
    }
  }
  set_requires_grad(requires_grad);
}

template <class T>
template <class U>
typename detail::include_xgrad_xtensor_hpp<U>::read_only Variable<T>::value() const {
  detail::RawView<T> view = detail::raw_view(*this);
  const T* data = view.memory.get();
  return {detail::ReadBuffer<T>(data, size(), std::move(view.memory)),
          detail::ShapeOfExpression(view.shape.begin(), view.shape.end()),
          typename detail::include_xgrad_xtensor_hpp<U>::read_only::strides_type(
              view.strides.begin(), view.strides.end())};
}

template <class T>
template <class F, class U>
typename detail::include_xgrad_xtensor_hpp<U>::nothing Variable<T>::update(F&& f) {
  detail::WritableView<T> view = detail::writable_view(*this);
  const detail::RawView<T> alive = detail::raw_view(*this);  // f may drop or replace this variable
  detail::WritableExpression<U> expression(
      detail::WriteBuffer<T>(view.data, size()),
      detail::ShapeOfExpression(view.shape.begin(), view.shape.end()),
      typename detail::WritableExpression<U>::strides_type(view.strides.begin(),
                                                           view.strides.end()));
  std::forward<F>(f)(expression);
}

template <class D>
Mask::Mask(const xt::xexpression<D>& expression) {
  *this = Variable<float>(expression) != 0;
}

}  // namespace xg

#endif
