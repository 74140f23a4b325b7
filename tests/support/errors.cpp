#include "errors.hpp"

namespace test {

std::string message_flaw(const std::string& op, const std::string& message) {
  const std::string start = "[" + op + "] ";
  const std::size_t got = message.find(": got ");
  const std::size_t expected = message.find(", expected ");
  const bool well_formed = message.compare(0, start.size(), start) == 0 &&
                           got != std::string::npos && got > start.size() &&
                           expected != std::string::npos && expected > got + 6 &&
                           expected + 11 < message.size();
  return well_formed ? std::string()
                     : "not \"" + start + "what: got ..., expected ...\": " + message;
}

}  // namespace test
