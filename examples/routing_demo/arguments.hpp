#ifndef ROUTING_DEMO_ARGUMENTS_HPP
#define ROUTING_DEMO_ARGUMENTS_HPP

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <xgrad/io/npz.hpp>
#include <xgrad/xgrad.hpp>

constexpr std::array<const char*, 7> kNames = {"query", "key", "value", "w_q", "w_k", "w_v", "w_o"};

/// What multi_head_attention is called with.
template <class T>
struct Arguments {
  std::vector<xg::Variable<T>> arrays;  // in the order of kNames
  std::int64_t heads;
  xg::Mask mask;
};

template <class T>
xg::Attention<T> attend(const Arguments<T>& x) {
  const auto& a = x.arrays;
  return xg::multi_head_attention(a[0], a[1], a[2], a[3], a[4], a[5], a[6], x.heads, x.mask);
}

using Arrays = std::map<std::string, xg::NpyArray>;

/// The arrays of an .npz file or of a folder of .npy files. Throws xg::FileError.
Arrays read_arrays(const std::string& path);

/// Everything that keeps these arrays from being attention's arguments, one sentence each.
std::vector<std::string> problems_of(const Arrays& arrays, std::int64_t heads);
/// The same for expected results, given arrays without problems.
std::vector<std::string> problems_of_expected(const Arrays& expected, const Arrays& arrays,
                                              std::int64_t heads);

template <class T>
Arguments<T> arguments_from(const Arrays& arrays, std::int64_t heads) {
  Arguments<T> result{{}, heads, {}};
  for (const char* name : kNames) {
    result.arrays.push_back(arrays.at(name).to_variable<T>());
    result.arrays.back().set_name(name);
  }
  if (const auto mask = arrays.find("mask"); mask != arrays.end()) {
    result.mask = mask->second.to_mask();
  }
  return result;
}

/// "(2, 3)", as NumPy writes shapes.
std::string shape_text(const xg::Shape& shape);

#endif
