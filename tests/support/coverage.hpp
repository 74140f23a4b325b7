#ifndef XGRAD_TESTS_SUPPORT_COVERAGE_HPP
#define XGRAD_TESTS_SUPPORT_COVERAGE_HPP

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "strided.hpp"

namespace test {

/// What a test met or compared: "transposed", "size 0", "float", "second derivative", ...
using Aspect = std::string;

/// What each operation must have met.
const std::vector<Aspect>& aspects();

/// Which operation met what, in this process.
class Coverage {
 public:
  static Coverage& instance();

  void record(const std::string& op, const Aspect& aspect);
  /// It makes no sense for the operation.
  void exempt(const std::string& op, const Aspect& aspect, const std::string& reason);

  /// What the operations have not met, or have met though exempt; a line each.
  std::vector<std::string> flaws(const std::vector<std::string>& ops) const;
  std::string table(const std::vector<std::string>& ops) const;
  /// The same in few columns, for docs/operations.md.
  std::string markdown(const std::vector<std::string>& ops) const;

 private:
  std::map<std::string, std::set<Aspect>> met_;
  std::map<std::string, std::map<Aspect, std::string>> exempt_;
};

inline void exempt(const std::string& op, const Aspect& aspect, const std::string& reason) {
  Coverage::instance().exempt(op, aspect, reason);
}

/// The differentiable operations that the headers in `folder` declare for users.
std::vector<std::string> operations_declared_in(const std::string& folder);

}  // namespace test

#endif
