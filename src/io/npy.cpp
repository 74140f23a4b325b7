// GCC's false alarm about std::regex, which xnpy uses, under the sanitizers.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <xgrad/io/npy.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <streambuf>
#include <string_view>
#include <vector>

#include <xgrad/autograd/array.hpp>
#include <xgrad/autograd/escape.hpp>
#include <xgrad/autograd/message.hpp>
#include <xgrad/autograd/primitive.hpp>
#include <xgrad/xtensor.hpp>
#if __has_include(<xtensor/io/xnpy.hpp>)
#include <xtensor/io/xnpy.hpp>
#else
#include <xtensor/xnpy.hpp>
#endif

namespace xg {

namespace fs = std::filesystem;
using detail::fail;
using detail::text;

namespace detail {
namespace {

// The format: magic, version, header length, header, values. The header is a Python dict:
// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
constexpr std::string_view kMagic("\x93NUMPY", 6);

struct Header {
  std::string descr;
  bool fortran_order = false;
  Extents shape;
  std::size_t size = 0;  // in the file, with magic, version and length
};

/// Where in which file; every error about the file is worded here.
struct Place {
  const char* op;
  const std::string& where;

  [[noreturn]] void damaged(const std::string& got, const std::string& expected) const {
    fail<FileError>(op, where + " is not a sound .npy file", got, expected);
  }
};

class HeaderParser {
 public:
  HeaderParser(const Place& place, std::string_view header) : place_(place), rest_(header) {}

  Header parse() {
    Header header;
    int descrs = 0;
    int orders = 0;
    int shapes = 0;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && descrs++ == 0) {
        header.descr = descr();
      } else if (key == "fortran_order" && orders++ == 0) {
        header.fortran_order = boolean();
      } else if (key == "shape" && shapes++ == 0) {
        header.shape = tuple();
      } else {
        place_.damaged("key '" + printable(key) + "' in the header",
                       "descr, fortran_order and shape, once each");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_spaces();
    if (!rest_.empty() || descrs + orders + shapes != 3) {
      place_.damaged("an incomplete header", "descr, fortran_order and shape");
    }
    return header;
  }

 private:
  void skip_spaces() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool accept(char c) {
    skip_spaces();
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) {
      place_.damaged(rest_.empty() ? "the end of the header" : quote(rest_.substr(0, 1)),
                     quote(std::string_view(&c, 1)) + " in the header");
    }
  }
  static std::string quote(std::string_view s) { return "'" + printable(s) + "'"; }

  std::string quoted() {
    const char mark = accept('"') ? '"' : '\'';
    if (mark == '\'') expect('\'');
    const std::size_t length = rest_.find(mark);
    if (length == std::string_view::npos) place_.damaged("an open string", "a closed one");
    std::string value(rest_.substr(0, length));
    rest_.remove_prefix(length + 1);
    return value;
  }

  /// A string, or the list of fields of a structured dtype, which no caller can use: kept as it is.
  std::string descr() {
    skip_spaces();
    if (rest_.empty() || rest_[0] != '[') return quoted();
    const std::string_view start = rest_;
    int depth = 0;
    do {
      if (rest_.empty()) place_.damaged("an open list", "a closed one");
      depth += rest_[0] == '[' ? 1 : rest_[0] == ']' ? -1 : 0;
      rest_.remove_prefix(1);
    } while (depth > 0);
    return std::string(start.substr(0, start.size() - rest_.size()));
  }

  bool boolean() {
    skip_spaces();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (rest_.substr(0, word.size()) == word) {
        rest_.remove_prefix(word.size());
        return value;
      }
    }
    place_.damaged("another fortran_order", "True or False");
  }

  Extents tuple() {
    Extents shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(number());
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::int64_t number() {
    skip_spaces();
    std::int64_t value = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9'; ++digits) {
      if (digits == 18) place_.damaged("an extent of more than 18 digits", "a smaller one");
      value = 10 * value + (rest_[digits] - '0');
    }
    if (digits == 0) place_.damaged("no number in the shape", "extents of at least 0");
    rest_.remove_prefix(digits);
    return value;
  }

  const Place& place_;
  std::string_view rest_;
};

Header read_header(const Place& place, std::string_view file) {
  const auto byte = [&](std::size_t i) { return std::size_t{static_cast<unsigned char>(file[i])}; };
  if (file.substr(0, kMagic.size()) != kMagic) {
    place.damaged("other first bytes", "\\x93NUMPY");
  }
  if (file.size() < 10) place.damaged(text(file.size()) + " bytes", "a header");
  const std::size_t version = byte(6);
  if (version < 1 || version > 3) {
    place.damaged("version " + text(version), "version 1, 2 or 3");
  }
  const std::size_t start = version == 1 ? 10 : 12;
  if (file.size() < start) place.damaged(text(file.size()) + " bytes", "a header");
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > file.size() - start) {
    place.damaged(text(file.size() - start) + " bytes",
                  "a header of " + text(length) + " bytes: the file is truncated");
  }
  Header header = HeaderParser(place, file.substr(start, length)).parse();
  header.size = start + length;
  return header;
}

struct Dtype {
  std::string name;
  std::string descr;            // as NumPy writes it: '<f4', '|b1'
  std::int64_t item_bytes = 0;  // 0: not numbers, or none that xgrad knows
};

/// '<f4' is float32.
Dtype dtype_of(const std::string& descr) {
  struct Kind {
    char letter;
    const char* name;
    std::vector<std::int64_t> bytes;
  };
  static const std::vector<Kind> kinds{{'b', "bool", {1}},
                                       {'c', "complex", {8, 16, 32}},
                                       {'f', "float", {2, 4, 8, 16}},
                                       {'i', "int", {1, 2, 4, 8}},
                                       {'u', "uint", {1, 2, 4, 8}}};
  if (descr == "|O") return {"object", descr};
  Dtype other{printable(descr), descr};
  if (descr.empty() || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) {
    return other;
  }
  for (const Kind& kind : kinds) {
    for (const std::int64_t bytes : kind.bytes) {
      const std::string suffix = kind.letter + std::to_string(bytes);
      if (descr.substr(1) != suffix) continue;
      const bool big_endian = descr[0] == '>' && bytes > 1;
      const std::string name =
          kind.letter == 'b' ? kind.name : kind.name + std::to_string(8 * bytes);
      return {(big_endian ? "big-endian " : "") + name,
              (bytes == 1   ? "|"
               : big_endian ? ">"
                            : "<") +
                  suffix,
              bytes};
    }
  }
  return other;
}

/// Written here, not by xnpy, whose numbers follow the global locale: "1,000" under many.
std::string write_header(const std::string& descr, bool fortran_order, const Extents& shape) {
  std::string dict = "{'descr': '" + descr +
                     "', 'fortran_order': " + (fortran_order ? "True" : "False") +
                     ", 'shape': " + text(shape) + ", }";
  // NumPy aligns the values to 64 bytes. xnpy reads the length through signed characters: its
  // low byte must stay below 128.
  while ((dict.size() + 11) % 64 != 0 || ((dict.size() + 1) & 0x80) != 0) dict += ' ';
  dict += '\n';
  std::string header(kMagic);
  header += {1, 0, static_cast<char>(dict.size() & 0xFF), static_cast<char>(dict.size() >> 8)};
  return header + dict;
}

template <class T>
std::string write_file(const std::string& descr, const Array<T>& values) {
  const Array<T> row_major = values.contiguous() ? values : values.copy();
  std::string file = write_header(descr, false, values.shape());
  file.append(reinterpret_cast<const char*>(row_major.data()),
              static_cast<std::size_t>(values.size()) * sizeof(T));
  return file;
}

class MemoryStream : private std::streambuf, public std::istream {
 public:
  explicit MemoryStream(const std::string& bytes) : std::istream(this) {
    char* first = const_cast<char*>(bytes.data());  // setg takes no const pointer
    setg(first, first, first + bytes.size());
  }
};

template <class T>
constexpr const char* kDtype = sizeof(T) == 4 ? "float32" : "float64";
template <class T>
constexpr const char* kDescr = sizeof(T) == 4 ? "<f4" : "<f8";

[[noreturn]] void wrong_dtype(const char* op, const NpyArray& array, const char* expected) {
  fail<FileError>(op, "array '" + array.name + "' has the wrong dtype", array.dtype, expected,
                  std::string("in NumPy, x.astype('") + expected + "') converts");
}

}  // namespace

NpyArray parse_npy(const char* op, const std::string& where, std::string name,
                   const std::string& file) {
  const Place place{op, where};
  const Header header = read_header(place, file);
  const Dtype dtype = dtype_of(header.descr);
  NpyArray array{std::move(name), dtype.name, Shape(header.shape.begin(), header.shape.end()), {}};
  if (dtype.item_bytes == 0) return array;
  std::int64_t size = 0;
  try {
    size = checked_size(op, header.shape);
  } catch (const Error&) {
    place.damaged("shape " + text(header.shape), "a shape that fits the address space");
  }
  // A product of checked_size leaves room for items of up to 32 bytes.
  const auto bytes = static_cast<std::size_t>(size) * static_cast<std::size_t>(dtype.item_bytes);
  if (file.size() - header.size != bytes) {
    place.damaged(text(file.size() - header.size) + " bytes of values",
                  text(bytes) + " for " + dtype.name + " of shape " + text(header.shape));
  }
  array.bytes = write_header(dtype.descr, header.fortran_order, header.shape);
  array.bytes.append(file, header.size);
  return array;
}

template <class T>
Variable<T> to_variable(const char* op, const NpyArray& array) {
  if (array.dtype != kDtype<T>) wrong_dtype(op, array, kDtype<T>);
  if (std::find(array.shape.begin(), array.shape.end(), 0U) != array.shape.end()) {
    return zeros<T>(Dims(array.shape));
  }
  MemoryStream stream(array.bytes);
  return Variable<T>(xt::load_npy<T>(stream));
}

template <class T>
std::string npy_file(const char* op, const Variable<T>& x) {
  return write_file(kDescr<T>, array(op, x));
}

std::string npy_file(const char* op, const Mask& mask) {
  return write_file("|b1", array(op, mask));
}

template std::string npy_file(const char*, const Variable<float>&);
template std::string npy_file(const char*, const Variable<double>&);
template Variable<float> to_variable(const char*, const NpyArray&);
template Variable<double> to_variable(const char*, const NpyArray&);

}  // namespace detail

template <class T>
Variable<T> NpyArray::to_variable() const {
  return detail::to_variable<T>("to_variable", *this);
}

template XGRAD_API Variable<float> NpyArray::to_variable() const;
template XGRAD_API Variable<double> NpyArray::to_variable() const;

Mask NpyArray::to_mask() const {
  if (dtype != "bool") detail::wrong_dtype("to_mask", *this, "bool");
  if (std::find(shape.begin(), shape.end(), 0U) != shape.end()) return Mask(Dims(shape), {});
  const std::size_t size =
      static_cast<std::size_t>(detail::checked_size("to_mask", Dims(shape).values()));
  const auto first_value = bytes.end() - static_cast<std::ptrdiff_t>(size);
  if (std::any_of(first_value, bytes.end(), [](char c) { return c != 0 && c != 1; })) {
    fail<FileError>("to_mask", "array '" + name + "' is damaged", "a byte other than 0 and 1",
                    "booleans");
  }
  detail::MemoryStream stream(bytes);
  return Mask(xt::load_npy<bool>(stream));
}

namespace {

NpyArray read_npy_file(const char* op, const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    fail<FileError>(op, "cannot read " + path.string(),
                    fs::exists(path, error) ? "something that is not a file" : "no such file",
                    "a .npy file");
  }
  std::ifstream stream(path, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  if (!stream) {
    fail<FileError>(op, "cannot read " + path.string(), "an error while reading", "a .npy file");
  }
  return detail::parse_npy(op, path.string(), path.stem().string(), file);
}

}  // namespace

NpyArray read_npy(const std::string& path) { return read_npy_file("read_npy", path); }

std::map<std::string, NpyArray> read_npy_folder(const std::string& path) {
  const char* op = "read_npy_folder";
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".npy") files.push_back(at->path());
  }
  if (error) fail<FileError>(op, "cannot read " + path, error.message(), "a folder");
  if (files.empty()) fail<FileError>(op, path + " holds no arrays", "no .npy file", "at least one");
  std::map<std::string, NpyArray> arrays;
  for (const fs::path& file : files) {
    NpyArray array = read_npy_file(op, file);
    std::string name = array.name;
    arrays.emplace(std::move(name), std::move(array));
  }
  return arrays;
}

}  // namespace xg
