#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <locale>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"

namespace fs = std::filesystem;
using xg::Mask;
using xg::NpyArray;
using xg::Shape;
using xg::Variable;

namespace {

const std::string fixtures = XGRAD_FIXTURES "/npz/";

/// A folder of its own, gone at the end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "xgrad_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string read_bytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  REQUIRE(stream);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

const Variable<double> matrix({{1, -2.5, 3}, {4, 5, 0.1}});

std::string file_error(const std::function<void()>& f) {
  try {
    f();
  } catch (const xg::FileError& error) {
    return error.what();
  }
  return "nothing thrown";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("NumPy's files are read with their dtypes, shapes, orders and names") {
  for (const char* file : {"mixed.npz", "deflated.npz"}) {
    const auto arrays = xg::read_npz(fixtures + file);
    REQUIRE(arrays.size() == 8);
    CHECK(arrays.at("f4").name == "f4");
    CHECK(arrays.at("f4").dtype == "float32");
    CHECK(arrays.at("f4").shape == Shape{2, 3});
    CHECK_CLOSE(arrays.at("f4").to_variable<float>(), {{1, -2.5, 3}, {4, 5, 0.1}}, test::exactly);
    CHECK_CLOSE(arrays.at("f8").to_variable<double>(), matrix, test::exactly);
    CHECK_CLOSE(arrays.at("fortran").to_variable<double>(), matrix, test::exactly);
    CHECK(arrays.at("scalar").to_variable<double>().shape().empty());
    CHECK(arrays.at("scalar").to_variable<double>().item() == 7.5);
    CHECK(arrays.at("empty").to_variable<double>().shape() == Shape{2, 0, 3});
    CHECK(arrays.at("größe").to_variable<double>().item() == 1);
    CHECK(arrays.at("bool").dtype == "bool");
    CHECK(arrays.at("bool").to_mask().shape() == Shape{1, 3});
    CHECK(arrays.at("bool").to_mask().to_vector() == std::vector<bool>{true, false, true});
    const std::vector<double> special = arrays.at("one_axis").to_variable<double>().to_vector();
    CHECK(std::isnan(special[0]));
    CHECK(special[1] == std::numeric_limits<double>::infinity());
    CHECK(special[2] == -std::numeric_limits<double>::infinity());
    CHECK(std::signbit(special[3]));
    CHECK(special[4] == 5e-324);
  }
}

TEST_CASE("every header that the format allows is understood") {
  const auto arrays = xg::load_npz<double>(fixtures + "headers.npz");
  REQUIRE(arrays.size() == 4);
  for (const auto& entry : arrays) {
    CAPTURE(entry.first);
    CHECK_CLOSE(entry.second, matrix, test::exactly);
  }
}

TEST_CASE("a folder of .npy files is read by name") {
  const auto arrays = xg::read_npy_folder(fixtures + "folder");
  REQUIRE(arrays.size() == 2);
  CHECK_CLOSE(arrays.at("w_q").to_variable<float>(), {{1, -2.5, 3}, {4, 5, 0.1}}, test::exactly);
  CHECK(arrays.at("mask").to_mask().to_vector() == std::vector<bool>{true, false, true});
  CHECK(xg::read_npy(fixtures + "folder/w_q.npy").shape == Shape{2, 3});
}

TEST_CASE("what is saved has NumPy's own bytes") {
  for (const auto& entry : xg::read_npz(fixtures + "mixed.npz")) {
    const std::string& name = entry.first;
    const NpyArray& array = entry.second;
    if (name == "fortran") continue;  // saved in C order
    CAPTURE(name);
    const std::string saved = array.dtype == "bool" ? xg::NpzItem(name, array.to_mask()).bytes()
                              : array.dtype == "float32"
                                  ? xg::NpzItem(name, array.to_variable<float>()).bytes()
                                  : xg::NpzItem(name, array.to_variable<double>()).bytes();
    CHECK(saved == array.bytes);
  }
  CHECK(
      xg::NpzItem("w_q", xg::read_npy(fixtures + "folder/w_q.npy").to_variable<float>()).bytes() ==
      read_bytes(fixtures + "folder/w_q.npy"));
}

TEST_CASE_TEMPLATE("save_npz and load_npz are inverse, on any strides", T, float, double) {
  const Folder folder;
  const std::string path = folder / "saved.npz";
  const Variable<T> x = xg::randn<T>({3, 4, 5}, 1);
  const std::map<std::string, Variable<T>> saved{
      {"x", x},
      {"transposed", transpose(x)},
      {"stepped", slice(x, 1, 0, 4, 2)},
      {"reversed", slice(x, 2, xg::end, -100, -1)},
      {"broadcast", broadcast_to(slice(x, 0, 0, 1), {2, 4, 5})},
      {"scalar", Variable<T>(2.5)},
      {"empty", xg::zeros<T>({0, 3})},
      {"größe. 1", x},
      {"wide",
       xg::zeros<T>({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})},
  };
  xg::save_npz(path, saved);
  const auto loaded = xg::load_npz<T>(path);
  REQUIRE(loaded.size() == saved.size());
  for (const auto& entry : saved) {
    CAPTURE(entry.first);
    CHECK_CLOSE(loaded.at(entry.first), entry.second, test::exactly);
  }
  const std::string bytes = read_bytes(path);
  xg::save_npz(path, saved);
  CHECK(read_bytes(path) == bytes);
  CHECK(folder.files() == 1);
}

TEST_CASE("one file holds float, double and masks") {
  const Folder folder;
  const std::string path = folder / "saved.npz";
  const Mask mask{{true, false}};
  xg::save_npz(path, {{"f", Variable<float>({1, 2})}, {"d", matrix}, {"m", mask}});
  const auto arrays = xg::read_npz(path);
  CHECK_CLOSE(arrays.at("f").to_variable<float>(), {1, 2}, test::exactly);
  CHECK_CLOSE(arrays.at("d").to_variable<double>(), matrix, test::exactly);
  CHECK(arrays.at("m").to_mask().to_vector() == mask.to_vector());
  xg::save_npz(path, {{"only", matrix}});
  CHECK(xg::read_npz(path).size() == 1);
}

TEST_CASE("the global locale's number format does not reach files") {
  struct Grouping : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    char do_decimal_point() const override { return ','; }
    std::string do_grouping() const override { return "\3"; }
  };
  const Folder folder;
  const std::string path = folder / "saved.npz";
  const std::locale before = std::locale::global(std::locale(std::locale(), new Grouping));
  xg::save_npz(path, {{"x", xg::ones<double>({1234567})}});
  const Shape shape = xg::load_npz<double>(path).at("x").shape();
  std::locale::global(before);
  CHECK(shape == Shape{1234567});
}

TEST_CASE("damaged files are FileErrors that say what is wrong") {
  struct Case {
    const char* file;
    const char* message;
  };
  for (const Case& c : std::vector<Case>{
           {"bad_truncated.npz", "Not a zip archive"},
           {"bad_garbage.npz", "Not a zip archive"},
           {"missing.npz", "No such file"},
           {"folder", "cannot open"},
           {"bad_lzma.npz", "array 'x'"},
           {"bad_lzma.npz", "got method 14, expected none (0) or deflate (8)"},
           {"bad_encrypted.npz", "is encrypted"},
           {"bad_crc.npz", "CRC error"},
           {"bad_claimed_size.npz", "array 'x'"},
           {"bad_twice.npz", "got 'x' twice"},
           {"bad_folder.npz", "got 'folder/x.npy'"},
           {"bad_no_npy.npz", "got 'x.txt'"},
           {"bad_empty.npz", "holds no arrays"},
           {"bad_lying_shape.npz", "got 48 bytes of values, expected 480000000000"},
           {"bad_overflowing_shape.npz", "fits the address space"},
           {"bad_short_header.npz", "the file is truncated"},
           {"bad_version.npz", "got version 9"},
           {"bad_extra_bytes.npz", "got 52 bytes of values, expected 48"},
       }) {
    CAPTURE(c.file);
    CHECK_ERROR(xg::FileError, "load_npz", xg::load_npz<double>(fixtures + c.file));
    CHECK_ERROR(xg::FileError, "read_npz", xg::read_npz(fixtures + c.file));
    const std::string message = file_error([&] { xg::read_npz(fixtures + c.file); });
    CHECK_MESSAGE(contains(message, c.message), message);
    CHECK(contains(message, c.file));
  }
  CHECK_ERROR(xg::FileError, "read_npy", xg::read_npy(fixtures + "missing.npy"));
  CHECK_ERROR(xg::FileError, "read_npy", xg::read_npy(fixtures + "folder"));
  CHECK_ERROR(xg::FileError, "read_npy", xg::read_npy(fixtures + "mixed.npz"));
  CHECK_ERROR(xg::FileError, "read_npy_folder", xg::read_npy_folder(fixtures + "missing"));
  CHECK_ERROR(xg::FileError, "read_npy_folder", xg::read_npy_folder(fixtures + "mixed.npz"));
  CHECK_ERROR(xg::FileError, "read_npy_folder", xg::read_npy_folder(fixtures));
}

TEST_CASE("no dtype is converted silently") {
  struct Case {
    const char* file;
    const char* dtype;
  };
  for (const Case& c :
       std::vector<Case>{{"dtype_int32.npz", "int32"},
                         {"dtype_float16.npz", "float16"},
                         {"dtype_object.npz", "object"},
                         {"dtype_big_endian.npz", "big-endian float64"},
                         {"dtype_text.npz", "<U2"},
                         {"dtype_fields.npz", "[('a', '<f4'), ('b', '<i4', (2,))]"}}) {
    CAPTURE(c.file);
    const NpyArray array = xg::read_npz(fixtures + c.file).at("x");
    CHECK(array.dtype == c.dtype);
    CHECK_ERROR(xg::FileError, "to_variable", array.to_variable<float>());
    CHECK_ERROR(xg::FileError, "to_variable", array.to_variable<double>());
    CHECK_ERROR(xg::FileError, "to_mask", array.to_mask());
    CHECK_ERROR(xg::FileError, "load_npz", xg::load_npz<double>(fixtures + c.file));
  }
  const std::string message = file_error([] { xg::load_npz<double>(fixtures + "float32.npz"); });
  CHECK(contains(message, "array 'k' has the wrong dtype: got float32, expected float64"));
  CHECK_ERROR(xg::FileError, "load_npz", xg::load_npz<float>(fixtures + "headers.npz"));
  CHECK_ERROR(xg::FileError, "to_mask", xg::read_npz(fixtures + "bool_of_2.npz").at("x").to_mask());
}

TEST_CASE("what cannot be saved is refused before anything is written") {
  const Folder folder;
  const std::string path = folder / "saved.npz";
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("a\\b"),
                                  std::string("a\0b", 3), std::string("\xFF")}) {
    CHECK_ERROR(xg::ArgumentError, "save_npz", xg::save_npz(path, {{name, matrix}}));
  }
  CHECK_ERROR(xg::ArgumentError, "save_npz",
              xg::save_npz(path, {{std::string(65532, 'x'), matrix}}));
  CHECK_ERROR(xg::ArgumentError, "save_npz", xg::save_npz(path, {{"x", matrix}, {"x", matrix}}));
  CHECK_ERROR(xg::ArgumentError, "save_npz", xg::save_npz(path, std::vector<xg::NpzItem>{}));
  CHECK_ERROR(xg::GraphError, "save_npz", xg::save_npz(path, {{"x", Variable<double>()}}));
  CHECK_ERROR(xg::MaskError, "save_npz", xg::save_npz(path, {{"x", Mask()}}));
  CHECK_ERROR(xg::FileError, "save_npz", xg::save_npz(folder / "missing/x.npz", {{"x", matrix}}));
  CHECK_ERROR(xg::FileError, "save_npz", xg::save_npz(folder / "", {{"x", matrix}}));
  const std::string cut = path + std::string("\0.npz", 5);
  CHECK_ERROR(xg::FileError, "save_npz", xg::save_npz(cut, {{"x", matrix}}));
  CHECK_ERROR(xg::FileError, "load_npz", xg::load_npz<double>(cut));
  CHECK(folder.files() == 0);
}

TEST_CASE("a save that fails half-way leaves the old file and nothing else") {
  const Folder folder;
  const std::string path = folder / "saved.npz";
  xg::save_npz(path, {{"x", matrix}});
  const std::string before = read_bytes(path);

  rlimit old_limit{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{65536, old_limit.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const std::string error = test::error_flaw<xg::FileError>("save_npz", [&] {
    xg::save_npz(path, {{"x", xg::zeros<double>({100000})}});
  });
  setrlimit(RLIMIT_FSIZE, &old_limit);
  std::signal(SIGXFSZ, old_handler);

  CHECK_MESSAGE(error.empty(), error);
  CHECK(read_bytes(path) == before);
  CHECK(folder.files() == 1);
}

TEST_CASE("random damage gives a FileError or arrays, never anything else") {
  const Folder folder;
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return std::size_t{random()} % n; };
  const auto damage = [&](std::string bytes) {
    for (std::size_t i = 1 + below(4); i > 0 && !bytes.empty(); --i) {
      const std::size_t at = below(bytes.size());
      switch (below(5)) {
        case 0:
          bytes.resize(at);
          break;
        case 1:
          bytes.insert(at, 1, static_cast<char>(below(256)));
          break;
        case 2:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 3:
          bytes[at] = "0123456789(),'\xFF"[below(15)];
          break;
        default:
          bytes[at] = static_cast<char>(below(256));
      }
    }
    return bytes;
  };
  std::size_t sound = 0;
  const auto use = [&](const NpyArray& array) {
    const auto attempt = [&](auto convert) {
      try {
        convert();
        ++sound;
      } catch (const xg::FileError&) {
      }
    };
    attempt([&] { (void)array.to_variable<float>().to_vector(); });
    attempt([&] { (void)array.to_variable<double>().to_vector(); });
    attempt([&] { (void)array.to_mask().to_vector(); });
  };
  std::vector<std::string> archives;
  std::vector<std::string> files;
  for (const char* name : {"mixed.npz", "deflated.npz", "headers.npz"}) {
    archives.push_back(read_bytes(fixtures + name));
  }
  for (const auto& entry : xg::read_npz(fixtures + "mixed.npz")) {
    files.push_back(entry.second.bytes);
  }
  files.push_back(read_bytes(fixtures + "folder/w_q.npy"));

  const std::string path = folder / "damaged";
  for (int i = 0; i < 3000; ++i) {
    write_bytes(path, damage(archives[below(archives.size())]));
    try {
      for (const auto& entry : xg::read_npz(path)) use(entry.second);
    } catch (const xg::FileError&) {
    }
    write_bytes(path, damage(files[below(files.size())]));
    try {
      use(xg::read_npy(path));
    } catch (const xg::FileError&) {
    }
  }
  CHECK(sound > 100);
}

TEST_CASE("a dtype is read in each of its spellings, and a size that NumPy has not is none") {
  const Folder folder;
  const auto read = [&](const std::string& descr, const std::string& values) {
    const std::string header =
        "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (1,), }\n";
    std::string file("\x93NUMPY\x01\x00", 8);
    file += {static_cast<char>(header.size()), '\0'};
    write_bytes(folder / "x.npy", file + header + values);
    return xg::read_npy(folder / "x.npy");
  };
  const float one = 1;
  const std::string bytes(reinterpret_cast<const char*>(&one), sizeof(one));
  for (const char* descr : {"<f4", "=f4", "|f4"}) {
    CAPTURE(descr);
    CHECK(read(descr, bytes).to_variable<float>().at({0}) == 1);
  }
  for (const char* descr : {"|b1", "<b1", ">b1", "=b1"}) {
    CAPTURE(descr);
    CHECK(read(descr, "\x01").to_mask().at({0}));
  }
  for (const char* descr : {"|b0", "|b2", "<f0", "<f1", "<f3", "<i16", "<c4", "<f", "<f04"}) {
    CAPTURE(descr);
    const NpyArray array = read(descr, bytes);
    CHECK(array.dtype == descr);
    CHECK_ERROR(xg::FileError, "to_mask", array.to_mask());
    CHECK_ERROR(xg::FileError, "to_variable", array.to_variable<float>());
    CHECK_ERROR(xg::FileError, "to_variable", array.to_variable<double>());
  }
}
