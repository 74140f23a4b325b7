#include <xgrad/autograd/message.hpp>

namespace xg::detail {

std::string text(std::int64_t number) { return std::to_string(number); }

std::string text(const Extents& extents) {
  std::string out = "(";
  for (std::size_t i = 0; i < extents.size(); ++i) {
    if (i > 0) out += ", ";
    out += text(extents[i]);
  }
  if (extents.size() == 1) out += ",";
  return out + ")";
}

std::string message(const char* op, const std::string& what, const std::string& got,
                    const std::string& expected, const std::string& hint) {
  std::string out = std::string("[") + op + "] " + what + ": got " + got + ", expected " + expected;
  if (!hint.empty()) out += " (" + hint + ")";
  return out;
}

}  // namespace xg::detail
