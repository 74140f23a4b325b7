#ifndef XGRAD_TESTS_SUPPORT_COVERAGE_HPP
#define XGRAD_TESTS_SUPPORT_COVERAGE_HPP

#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "strided.hpp"

namespace test {

/// What a gradient test met: "transposed", "size 0", "float", ...
using InputClass = std::string;

/// Every class that each operation must meet.
const std::vector<InputClass>& input_classes();

/// Which operation met which class, in this process.
class Coverage {
 public:
  static Coverage& instance();

  void record(const std::string& op, const InputClass& input_class);
  /// The class makes no sense for the operation.
  void exempt(const std::string& op, const InputClass& input_class, const std::string& reason);

  /// What the operations have not met, or have met though exempt; a line each.
  std::vector<std::string> flaws(const std::vector<std::string>& ops) const;
  std::string table(const std::vector<std::string>& ops) const;

 private:
  std::map<std::string, std::set<InputClass>> met_;
  std::map<std::string, std::map<InputClass, std::string>> exempt_;
};

inline void exempt(const std::string& op, const InputClass& input_class,
                   const std::string& reason) {
  Coverage::instance().exempt(op, input_class, reason);
}

/// The differentiable operations that the headers in `folder` declare for users.
std::vector<std::string> operations_declared_in(const std::string& folder);

}  // namespace test

#endif
