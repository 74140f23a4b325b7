#include "arguments.hpp"

#include <algorithm>
#include <filesystem>

namespace {

bool is_float(const xg::NpyArray& array) {
  return array.dtype == "float32" || array.dtype == "float64";
}

bool broadcasts(const xg::Shape& from, const xg::Shape& to) {
  return from.size() <= to.size() &&
         std::equal(from.rbegin(), from.rend(), to.rbegin(),
                    [](std::size_t f, std::size_t t) { return f == 1 || f == t; });
}

/// The array if it is there and three-dimensional.
const xg::NpyArray* sequence(const Arrays& arrays, const char* name) {
  const auto found = arrays.find(name);
  return found != arrays.end() && found->second.shape.size() == 3 ? &found->second : nullptr;
}

std::vector<std::string> problems_of_dtypes(const Arrays& arrays) {
  std::vector<std::string> problems;
  const xg::NpyArray* first = nullptr;
  for (const std::string name : kNames) {
    const auto found = arrays.find(name);
    if (found == arrays.end()) {
      problems.push_back(name + ": missing");
    } else if (const xg::NpyArray& array = found->second; !is_float(array)) {
      problems.push_back(name + ": dtype " + array.dtype + ", expected float32 or float64");
    } else if (first == nullptr) {
      first = &array;
    } else if (array.dtype != first->dtype) {
      problems.push_back(name + ": dtype " + array.dtype + ", but " + first->name + " has " +
                         first->dtype);
    }
  }
  if (const auto mask = arrays.find("mask"); mask != arrays.end() && mask->second.dtype != "bool") {
    problems.push_back("mask: dtype " + mask->second.dtype + ", expected bool (true = visible)");
  }
  return problems;
}

std::string wrong_shape(const std::string& name, const xg::Shape& got,
                        const std::string& expected) {
  return name + ": shape " + shape_text(got) + ", expected " + expected;
}

}  // namespace

std::string shape_text(const xg::Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + (shape.size() == 1 ? ",)" : ")");
}

Arrays read_arrays(const std::string& path) {
  return std::filesystem::is_directory(path) ? xg::read_npy_folder(path) : xg::read_npz(path);
}

std::vector<std::string> problems_of(const Arrays& arrays, std::int64_t heads) {
  std::vector<std::string> problems = problems_of_dtypes(arrays);
  const auto wrong = [&](const std::string& name, const xg::Shape& got,
                         const std::string& expected) {
    problems.push_back(wrong_shape(name, got, expected));
  };
  for (const auto& [name, array] : arrays) {
    const auto known = std::find(kNames.begin(), kNames.end(), name) != kNames.end();
    if (known && std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end()) {
      wrong(name, array.shape, "no axis of length 0");
    }
  }

  for (const char* name : {"query", "key", "value"}) {
    const auto found = arrays.find(name);
    if (found != arrays.end() && found->second.shape.size() != 3) {
      wrong(name, found->second.shape,
            name == std::string("query") ? "three axes [B,Q,D]" : "three axes [B,K,D]");
    }
  }
  const xg::NpyArray* query = sequence(arrays, "query");
  const xg::NpyArray* key = sequence(arrays, "key");
  const xg::NpyArray* value = sequence(arrays, "value");
  if (key != nullptr && value != nullptr && key->shape != value->shape) {
    wrong("value", value->shape, "key's " + shape_text(key->shape));
  }
  if (query != nullptr) {
    const std::size_t B = query->shape[0];
    const std::size_t D = query->shape[2];
    if (key != nullptr && (key->shape[0] != B || key->shape[2] != D)) {
      wrong("key", key->shape, "query's B and D: " + shape_text({B, key->shape[1], D}));
    }
    for (const char* name : {"w_q", "w_k", "w_v", "w_o"}) {
      const auto found = arrays.find(name);
      if (found != arrays.end() && found->second.shape != xg::Shape{D, D}) {
        wrong(name, found->second.shape, "[D,D] = " + shape_text({D, D}));
      }
    }
    if (heads > 0 && D % static_cast<std::size_t>(heads) != 0) {
      problems.push_back("--heads " + std::to_string(heads) +
                         ": expected a divisor of D = " + std::to_string(D));
    } else if (const auto mask = arrays.find("mask"); key != nullptr && mask != arrays.end()) {
      const xg::Shape scores = {B, static_cast<std::size_t>(heads), query->shape[1], key->shape[1]};
      if (!broadcasts(mask->second.shape, scores)) {
        wrong("mask", mask->second.shape,
              "a shape that broadcasts to [B,H,Q,K] = " + shape_text(scores));
      }
    }
  }

  std::string unused;
  for (const auto& [name, array] : arrays) {
    if (name != "mask" && std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
      unused += (unused.empty() ? "" : ", ") + name;
    }
  }
  if (!problems.empty() && !unused.empty()) problems.push_back("not used: " + unused);
  return problems;
}

std::vector<std::string> problems_of_expected(const Arrays& expected, const Arrays& arrays,
                                              std::int64_t heads) {
  const xg::Shape& query = arrays.at("query").shape;
  const xg::Shape weights = {query[0], static_cast<std::size_t>(heads), query[1],
                             arrays.at("key").shape[1]};
  std::vector<std::string> problems;
  for (const char* name : {"expected_output", "expected_weights"}) {
    const auto found = expected.find(name);
    if (found == expected.end()) continue;
    const xg::NpyArray& array = found->second;
    if (!is_float(array)) {
      problems.push_back(array.name + ": dtype " + array.dtype + ", expected float32 or float64");
    }
    if (name == std::string("expected_weights") && array.shape != weights) {
      problems.push_back(wrong_shape(name, array.shape, "[B,H,Q,K] = " + shape_text(weights)));
    }
    if (name == std::string("expected_output") &&
        (array.shape.size() != 3 || array.shape[0] != query[0] || array.shape[1] != query[1] ||
         array.shape[2] == 0 || array.shape[2] > query[2])) {
      problems.push_back(wrong_shape(name, array.shape,
                                     "[B,Q,D] = " + shape_text(query) + " or its first features"));
    }
  }
  if (expected.count("expected_output") + expected.count("expected_weights") == 0) {
    problems.push_back("neither expected_output nor expected_weights is there");
  }
  return problems;
}
