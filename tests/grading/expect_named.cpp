#include "expect_named.hpp"

#include <doctest/doctest.h>

#include <iostream>
#include <map>
#include <set>

#include <xgrad/grading.hpp>

namespace test {
namespace {

/// Below what float resolves, or about double alone.
const std::set<std::string> kDoubleOnly = {"computed-in-float", "grad-in-float", "softmax-epsilon"};

std::string shown(const xg::GradeReport& report) {
  if (report.passed()) return "passed";
  const std::string ids = joined(report.mistakes());
  return ids.empty() ? "not named" : ids;
}

}  // namespace

std::string joined(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += (text.empty() ? "" : ", ") + id;
  return text;
}

void expect_named(const std::string& set, const std::vector<mutants::Mutant>& mutants) {
  std::size_t right = 0;
  std::string table = "| " + set + " | named in double | in float |\n|---|---|---|\n";
  for (const mutants::Mutant& mutant : mutants) {
    const std::string id = mutant.id;
    const auto in_double = xg::grade<double>(mutant.in_double);
    const auto in_float = xg::grade<float>(mutant.in_float);
    {
      INFO(in_double.to_string());
      CHECK_FALSE(in_double.passed());
      CHECK(joined(in_double.mistakes()) == id);
    }
    if (kDoubleOnly.count(id) == 0) {
      INFO(in_float.to_string());
      CHECK_FALSE(in_float.passed());
      CHECK(joined(in_float.mistakes()) == id);
    }
    right += shown(in_double) == id ? 1 : 0;
    table += "| " + id + " | " + (shown(in_double) == id ? "right" : shown(in_double)) + " | " +
             (shown(in_float) == id ? "right" : shown(in_float)) + " |\n";
  }
  std::cout << table << "\n"
            << right << " of " << mutants.size() << " are named right in double.\n\n";
}

}  // namespace test
