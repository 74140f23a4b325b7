#ifndef XGRAD_TESTS_SUPPORT_FIXTURES_HPP
#define XGRAD_TESTS_SUPPORT_FIXTURES_HPP

// Reads tests/fixtures/*.json; see tests/fixtures/README.md for the format.

#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <xgrad/xgrad.hpp>

namespace test {

using Json = nlohmann::json;

inline Json load_fixture(const std::string& file) {
  std::ifstream in(XGRAD_FIXTURES "/" + file);
  if (!in) throw std::runtime_error("cannot open " XGRAD_FIXTURES "/" + file);
  return Json::parse(in);
}

/// Numbers that are not finite are strings.
inline double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  if (text == "inf") return inf;
  if (text == "-inf") return -inf;
  throw std::runtime_error("not a number: " + text);
}

template <class T>
xg::Variable<T> tensor(const Json& json) {
  std::vector<T> values;
  for (const Json& value : json.at("data")) values.push_back(static_cast<T>(number(value)));
  return xg::from_data(values.data(), json.at("shape").get<xg::Shape>());
}

template <class T>
std::vector<xg::Variable<T>> tensors(const Json& json) {
  std::vector<xg::Variable<T>> out;
  for (const Json& one : json) out.push_back(tensor<T>(one));
  return out;
}

/// Undefined if the case has none.
inline xg::Mask mask_of(const Json& test_case) {
  if (!test_case.contains("mask")) return {};
  std::vector<bool> values;
  for (const Json& value : test_case["mask"]["data"]) values.push_back(value.get<int>() != 0);
  return xg::Mask(test_case["mask"]["shape"].get<xg::Shape>(), values);
}

}  // namespace test

#endif
