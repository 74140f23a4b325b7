#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <xgrad/io/npz.hpp>
#include <xgrad/xgrad.hpp>

namespace fs = std::filesystem;

namespace {

/// A folder of its own for each test, removed at the end.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "routing_demo_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { fs::remove_all(path); }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

struct Run {
  int status;
  std::string out;
  std::string err;
};

Run demo(const Folder& folder, const std::string& arguments) {
  const std::string command = std::string("\"") + std::getenv("XGRAD_DEMO") + "\" --output \"" +
                              (folder / "result") + "\" " + arguments + " >\"" + (folder / "out") +
                              "\" 2>\"" + (folder / "err") + "\"";
  const int status = std::system(command.c_str());
  REQUIRE(WIFEXITED(status));
  return {WEXITSTATUS(status), read(folder / "out"), read(folder / "err")};
}

bool has(const std::string& text, const std::string& part) {
  CAPTURE(text);
  CAPTURE(part);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

/// Status 1, the reason on stderr, and no file.
void check_refused(const Folder& folder, const std::string& arguments,
                   const std::vector<std::string>& reasons) {
  const Run run = demo(folder, arguments);
  CHECK(run.status == 1);
  for (const auto& reason : reasons) has(run.err, reason);
  CHECK_FALSE(fs::exists(folder / "result"));
}

/// A version 1.0 .npy file of zeros.
void write_npy(const fs::path& path, const std::string& descr, const std::string& shape,
               std::size_t bytes) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  std::string file = "\x93NUMPY";
  file += '\x01';
  file += '\0';
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  write(path, file + header + std::string(bytes, '\0'));
}

template <class T>
std::vector<xg::NpzItem> arrays() {
  return {{"query", xg::randn<T>({2, 3, 4}, 1)}, {"key", xg::randn<T>({2, 5, 4}, 2)},
          {"value", xg::randn<T>({2, 5, 4}, 3)}, {"w_q", xg::randn<T>({4, 4}, 4)},
          {"w_k", xg::randn<T>({4, 4}, 5)},      {"w_v", xg::randn<T>({4, 4}, 6)},
          {"w_o", xg::randn<T>({4, 4}, 7)}};
}

template <class T>
std::string good_file(const Folder& folder) {
  const std::string path = folder / "arrays.npz";
  xg::save_npz(path, arrays<T>());
  return path;
}

}  // namespace

TEST_CASE("without arguments the experiment passes and one page is written") {
  const Folder folder;
  const Run run = demo(folder, "");
  CAPTURE(run.err);
  CHECK(run.status == 0);
  has(run.out, "xg::multi_head_attention: passed");
  for (const char* name : {"query", "key", "value", "w_q", "w_k", "w_v", "w_o"}) {
    has(run.out, std::string("  ") + name + " ");
  }
  has(run.out, folder / "result/xgrad_report.html");
  const std::string page = read(folder / "result/xgrad_report.html");
  has(page, "prefers-color-scheme: dark");
  has(page, "0.844");  // head 0's weight on key 0
  has(page, "multi_head_attention");
  // Nothing is loaded from anywhere.
  for (const char* loads : {"<script", "<link", "<img", "src=", "href=", "url(", "@import"}) {
    CAPTURE(loads);
    CHECK(page.find(loads) == std::string::npos);
  }
}

TEST_CASE_TEMPLATE("a reader's arrays give output, weights and gradients", T, float, double) {
  const Folder folder;
  auto items = arrays<T>();
  const xg::Mask mask = xg::padding_mask({5, 2}, 5);
  items.emplace_back("mask", mask);
  xg::save_npz(folder / "arrays.npz", items);
  const Run run = demo(folder, "--heads 2 --input " + (folder / "arrays.npz"));
  CAPTURE(run.err);
  CHECK(run.status == 0);
  has(run.out, std::is_same_v<T, float> ? "float32" : "float64");

  auto in = xg::load_npz<T>(good_file<T>(folder));
  std::vector<xg::Variable<T>> leaves;
  for (const char* name : {"query", "key", "value", "w_q", "w_k", "w_v", "w_o"}) {
    leaves.push_back(in.at(name).set_requires_grad());
  }
  const auto want = xg::multi_head_attention(leaves[0], leaves[1], leaves[2], leaves[3], leaves[4],
                                             leaves[5], leaves[6], 2, mask);
  const auto gradients = xg::grad(want.output, leaves, xg::ones<T>({2, 3, 4}));
  const auto got = xg::load_npz<T>(folder / "result/xgrad_result.npz");
  CHECK(got.size() == 9);
  CHECK(got.at("output").to_vector() == want.output.to_vector());
  CHECK(got.at("weights").to_vector() == want.weights.to_vector());
  CHECK(got.at("grad_query").to_vector() == gradients[0].to_vector());
  CHECK(got.at("grad_w_o").shape() == xg::Shape{4, 4});
  CHECK(got.at("grad_w_o").to_vector() == gradients[6].to_vector());
  CHECK(fs::exists(folder / "result/xgrad_report.html"));
}

TEST_CASE("the real layer agrees with PyTorch to 1e-5") {
  const Folder folder;
  const std::string data = std::getenv("XGRAD_EXAMPLE_DATA");
  const Run run = demo(folder, "--heads 12 --input " + data + "/minilm_layer0.npz --expected " +
                                   data + "/minilm_layer0_expected.npz");
  CAPTURE(run.err);
  REQUIRE(run.status == 0);
  for (const char* name : {"output ", "weights "}) {
    const auto at = run.out.find(name, run.out.find("Largest difference from"));
    REQUIRE(at != std::string::npos);
    CHECK(std::stod(run.out.substr(at + std::string(name).size())) < 1e-5);
  }
}

TEST_CASE("every wrong or missing array is named at once") {
  const Folder folder;
  fs::create_directory(folder / "in");
  write_npy(folder / "in/query.npy", "<f4", "(2, 3, 4)", 96);
  write_npy(folder / "in/value.npy", "<f8", "(2, 5, 4)", 320);
  write_npy(folder / "in/w_q.npy", "<i8", "(4, 4)", 128);
  write_npy(folder / "in/w_k.npy", "<f4", "(4, 5)", 80);
  write_npy(folder / "in/w_v.npy", "<f4", "(4,)", 16);
  write_npy(folder / "in/mask.npy", "<f4", "(3,)", 12);
  write_npy(folder / "in/keys.npy", "<f4", "(2, 5, 4)", 160);
  check_refused(
      folder, "--heads 3 --input " + (folder / "in"),
      {"key: missing", "w_o: missing", "value: dtype float64, but query has float32",
       "w_q: dtype int64, expected float32 or float64",
       "w_k: shape (4, 5), expected [D,D] = (4, 4)", "w_v: shape (4,), expected [D,D] = (4, 4)",
       "mask: dtype float32, expected bool", "--heads 3: expected a divisor of D = 4",
       "not used: keys", "nothing was written"});
}

TEST_CASE("arrays that do not fit each other are refused") {
  const Folder folder;
  fs::create_directory(folder / "in");
  write_npy(folder / "in/query.npy", "<f4", "(2, 3, 4)", 96);
  write_npy(folder / "in/key.npy", "<f4", "(1, 5, 4)", 80);
  write_npy(folder / "in/value.npy", "<f4", "(2, 5, 4)", 160);
  for (const char* w : {"w_q", "w_k", "w_v", "w_o"}) {
    write_npy(folder / ("in/" + std::string(w) + ".npy"), "<f4", "(4, 4)", 64);
  }
  write_npy(folder / "in/mask.npy", "|b1", "(2, 3)", 6);
  check_refused(
      folder, "--heads 2 --input " + (folder / "in"),
      {"value: shape (2, 5, 4), expected key's (1, 5, 4)",
       "key: shape (1, 5, 4), expected query's B and D: (2, 5, 4)",
       "mask: shape (2, 3), expected a shape that broadcasts to [B,H,Q,K] = (2, 2, 3, 5)"});
  write_npy(folder / "in/key.npy", "<f4", "(2, 0, 4)", 0);
  check_refused(folder, "--heads 2 --input " + (folder / "in"),
                {"key: shape (2, 0, 4), expected no axis of length 0"});
}

TEST_CASE("a damaged or missing file is refused") {
  const Folder folder;
  const std::string file = good_file<float>(folder);
  write(folder / "cut.npz", read(file).substr(0, 300));
  write(folder / "text.npz", "not an archive");
  fs::create_directory(folder / "empty");
  check_refused(folder, "--heads 2 --input " + (folder / "cut.npz"), {"cut.npz"});
  check_refused(folder, "--heads 2 --input " + (folder / "text.npz"), {"text.npz"});
  check_refused(folder, "--heads 2 --input " + (folder / "nothing.npz"), {"nothing.npz"});
  check_refused(folder, "--heads 2 --input " + (folder / "empty"), {"empty"});
  check_refused(folder, "--heads 2 --input " + file + " --expected " + (folder / "cut.npz"),
                {"cut.npz"});
}

TEST_CASE("expected results and tokens that do not fit are refused") {
  const Folder folder;
  const std::string input = "--heads 2 --input " + good_file<float>(folder);
  xg::save_npz(folder / "expected.npz", {{"expected_output", xg::zeros<float>({2, 3, 5})},
                                         {"expected_weights", xg::zeros<float>({2, 2, 5, 3})}});
  check_refused(folder, input + " --expected " + (folder / "expected.npz"),
                {"expected_output: shape (2, 3, 5), expected [B,Q,D] = (2, 3, 4)",
                 "expected_weights: shape (2, 2, 5, 3), expected [B,H,Q,K] = (2, 2, 3, 5)"});
  xg::save_npz(folder / "expected.npz", {{"output", xg::zeros<float>({2, 3, 4})}});
  check_refused(folder, input + " --expected " + (folder / "expected.npz"),
                {"neither expected_output nor expected_weights"});
  write(folder / "tokens", "a b c d e\na b c\n\n");
  check_refused(
      folder, input + " --tokens " + (folder / "tokens"),
      {"3 lines, expected one for each of B = 2 items", "line 2: 3 tokens, expected K = 5"});
  check_refused(folder, input + " --tokens " + (folder / "nowhere"), {"cannot read"});
}

TEST_CASE("a difference from expected results is printed") {
  const Folder folder;
  xg::save_npz(folder / "expected.npz", {{"expected_weights", xg::zeros<float>({2, 2, 3, 5})}});
  const Run run = demo(folder, "--heads 2 --input " + good_file<float>(folder) + " --expected " +
                                   (folder / "expected.npz"));
  CHECK(run.status == 0);
  const auto weights = xg::load_npz<float>(folder / "result/xgrad_result.npz").at("weights");
  const auto at = run.out.find("weights ", run.out.find("Largest difference from"));
  REQUIRE(at != std::string::npos);
  CHECK(std::abs(std::stof(run.out.substr(at + 8)) - xg::max(weights).item()) < 0.06f);
}

TEST_CASE("bad arguments are refused") {
  const Folder folder;
  const std::string input = "--input " + good_file<float>(folder);
  check_refused(folder, input, {"--input needs --heads"});
  check_refused(folder, "--heads 2", {"go with --input"});
  for (const char* heads : {"0", "-1", "two", "2x", "99999999999999999999", "''"}) {
    check_refused(folder, input + " --heads " + heads, {"--heads: got '"});
  }
  check_refused(folder, input + " --heads 3", {"expected a divisor of D = 4"});
  check_refused(folder, input + " --heads", {"--heads needs a value"});
  check_refused(folder, "--inptu x", {"unknown argument '--inptu'"});
}

TEST_CASE("help is printed") {
  const Folder folder;
  const Run run = demo(folder, "--help");
  CHECK(run.status == 0);
  has(run.out, "usage: routing_demo");
}
