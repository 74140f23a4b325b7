#ifndef XGRAD_AUTOGRAD_MESSAGE_HPP
#define XGRAD_AUTOGRAD_MESSAGE_HPP

// Private: how every error is worded.

#include <string>

#include <xgrad/autograd/error.hpp>
#include <xgrad/autograd/lists.hpp>

namespace xg::detail {

/// "(2, 3)", "(4,)" and "()", as NumPy writes shapes.
std::string text(const Extents& extents);
std::string text(std::int64_t number);
inline std::string text(std::size_t number) { return text(static_cast<std::int64_t>(number)); }
inline std::string text(int number) { return text(std::int64_t{number}); }

/// `[op] what: got ..., expected ... (hint)`
std::string message(const char* op, const std::string& what, const std::string& got,
                    const std::string& expected, const std::string& hint);

template <class E>
[[noreturn]] void fail(const char* op, const std::string& what, const std::string& got,
                       const std::string& expected, const std::string& hint = {}) {
  throw E(message(op, what, got, expected, hint));
}

}  // namespace xg::detail

#endif
