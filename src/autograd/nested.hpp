#ifndef XGRAD_AUTOGRAD_NESTED_HPP
#define XGRAD_AUTOGRAD_NESTED_HPP

#include <initializer_list>
#include <type_traits>

#include <xgrad/autograd/lists.hpp>

namespace xg::detail {

template <class A>
constexpr bool is_number = std::is_arithmetic_v<A> && !std::is_same_v<A, bool>;

/// May an A stand in a list of T? A bool among numbers may not, so that `{2.0, true}` cannot become
/// a list by accident; nor may a fraction among integers.
template <class T, class A>
constexpr bool fits_list = std::is_same_v<T, bool>
                               ? std::is_same_v<A, bool>
                               : is_number<A> && (std::is_integral_v<A> || !std::is_integral_v<T>);

/// One level of a nested list of numbers (or of bools for a Mask), as in `{{1, 2}, {3, 4}}`.
template <class T>
class Nested {
 public:
  template <class A, std::enable_if_t<fits_list<T, A>, int> = 0>
  Nested(A number) noexcept : value_(convert(number)) {}  // NOLINT(google-explicit-constructor)
  Nested(std::initializer_list<Nested> list) noexcept : list_(list), is_list_(true) {}

  bool is_list() const noexcept { return is_list_; }
  std::initializer_list<Nested> list() const noexcept { return list_; }
  T value() const noexcept { return value_; }

 private:
  template <class A>
  static T convert(A number) noexcept {
    if constexpr (std::is_same_v<T, std::int64_t>) return to_signed(number);
    return static_cast<T>(number);
  }

  std::initializer_list<Nested> list_;
  T value_{};
  bool is_list_ = false;
};

}  // namespace xg::detail

#endif
