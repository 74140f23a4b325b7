#ifndef XGRAD_TESTS_SUPPORT_ERRORS_HPP
#define XGRAD_TESTS_SUPPORT_ERRORS_HPP

#include <doctest/doctest.h>

#include <exception>
#include <string>
#include <typeinfo>

namespace test {

/// Empty if `message` reads "[op] what: got ..., expected ...", else what is wrong with it.
std::string message_flaw(const std::string& op, const std::string& message);

/// Empty if f throws an E, no other class, with a well-formed message of `op`.
template <class E, class F>
std::string error_flaw(const std::string& op, F f) {
  try {
    f();
  } catch (const std::exception& error) {
    if (typeid(error) != typeid(E)) {
      return std::string("thrown as ") + typeid(error).name() + ": " + error.what();
    }
    return message_flaw(op, error.what());
  }
  return "nothing thrown";
}

}  // namespace test

/// CHECK_ERROR(xg::ShapeError, "reshape", expression)
#define CHECK_ERROR(ERROR, OP, ...)                                                           \
  do {                                                                                        \
    const std::string xgrad_flaw = test::error_flaw<ERROR>(OP, [&] { (void)(__VA_ARGS__); }); \
    CHECK_MESSAGE(xgrad_flaw.empty(), #__VA_ARGS__ ": ", xgrad_flaw);                         \
  } while (false)

#endif
