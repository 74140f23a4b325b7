// Submissions that break, through the program that scripts/grade runs: each gets a report.

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <xgrad/grading/command/diagnostics.hpp>

namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Graded {
  int status = -1;
  double seconds = 0;
  std::string text;
  std::string html;
  nlohmann::json json;
};

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Graded grade(const std::string& file, std::size_t number) {
  const fs::path folder = fs::temp_directory_path() / ("xgrad-hostile-" + std::to_string(getpid()) +
                                                       "-" + std::to_string(number));
  fs::create_directory(folder);
  const auto quoted = [](const fs::path& path) { return "'" + path.string() + "'"; };
  const std::string command =
      quoted(XGRAD_GRADE) + " " + quoted(file) + " --json " + quoted(folder / "report.json") +
      " --html " + quoted(folder / "report.html") + " >" + quoted(folder / "report.txt") + " 2>&1";
  const auto start = std::chrono::steady_clock::now();
  const int status = std::system(command.c_str());
  Graded graded;
  graded.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  graded.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  graded.text = read(folder / "report.txt");
  graded.json = nlohmann::json::parse(read(folder / "report.json"), nullptr, false);
  graded.html = read(folder / "report.html");
  fs::remove_all(folder);
  return graded;
}

/// Two at a time: some only wait for their time limit.
std::vector<Graded> grade(const std::vector<std::string>& files) {
  std::vector<Graded> all(files.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < files.size(); i = next++) all[i] = grade(files[i], i);
  };
  std::thread other(work);
  work();
  other.join();
  for (std::size_t i = 0; i < files.size(); ++i) {
    CHECK(all[i].html.find("</html>") != std::string::npos);
    std::printf("%-30s %4.1f s\n", fs::path(files[i]).stem().c_str(), all[i].seconds);
  }
  return all;
}

struct Expected {
  std::string name;
  std::string says;
};

/// Not passed, and the report says this.
void expect_reports(const std::vector<Expected>& expected) {
  std::vector<std::string> files;
  for (const Expected& one : expected) {
    files.push_back(std::string(XGRAD_HOSTILE) + "/" + one.name + ".cpp");
  }
  const std::vector<Graded> all = grade(files);
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(expected[i].name << "\n" << all[i].text);
    CHECK(all[i].status == 1);
    CHECK(all[i].text.find(expected[i].says) != std::string::npos);
    REQUIRE(all[i].json.is_object());
    CHECK_FALSE(all[i].json["passed"].get<bool>());
    CHECK(all[i].text.size() < 100000);
  }
}

}  // namespace

TEST_CASE("a submission that breaks gets a report") {
  expect_reports({// that takes too much
                  {"hangs", "did not end within 5 s"},
                  {"prints_forever", "did not end within 5 s"},
                  {"allocates", "more than 1 GiB"},
                  // AddressSanitizer's `new` ends the process instead.
                  {"allocates_too_much", kSanitized ? "" : "threw: "},
                  // that crashes
                  {"null_pointer", "crashed: a bad pointer"},
                  {"division_by_zero", "crashed: integer division by zero"},
                  {"calls_itself", "crashed"},
                  {"aborts", "aborted"},
                  {"thread_throws", "aborted"},
                  // that ends the process
                  {"exits", "exit status 0"},
                  {"exits_quickly", "exit status 0"},
                  // that throws
                  {"throws_number", "threw something that is not a std::exception"},
                  {"throws_long", "threw: xxx"},
                  // that returns or changes what it should not
                  {"undefined_output", "undefined-result"},
                  {"undefined_both", "undefined-result"},
                  {"aliased", "FAILED"},
                  {"changes_inputs", "inputs-changed"}});
}

TEST_CASE("a submission that calls the library's own attention does not pass") {
  expect_reports({{"calls_the_library", "it calls the library's own attention"},
                  {"calls_the_library_by_pointer", "it calls the library's own attention"}});
}

TEST_CASE("a submission that does not compile gets its own lines first") {
  expect_reports(
      {{"does_not_compile", "does_not_compile.cpp:19:"},
       {"returns_nothing", "returns_nothing.cpp:"},
       {"another_name",
        "has to define exercise::multi_head_attention<T>(query, ...), as the stub does"}});
  const Graded own = grade(std::string(XGRAD_HOSTILE) + "/does_not_compile.cpp", 0);
  CHECK_FALSE(contains(own.text, "has to define"));
  CHECK(contains(own.text, "Report: "));
}

TEST_CASE("another exercise's function is recognised where the folder does not tell") {
  const fs::path copy = fs::temp_directory_path() / ("mine-" + std::to_string(getpid()) + ".cpp");
  fs::copy_file(std::string(XGRAD_EXERCISES) + "/attention_kernel/stub.cpp", copy);
  const std::string text = grade(copy.string(), 0).text;
  fs::remove(copy);
  INFO(text);
  CHECK(contains(text, "This looks like attention_kernel: add --exercise attention_kernel."));
  CHECK_FALSE(contains(text, "has to define"));
}

TEST_CASE("errors that follow from another are left out, and those left out are counted") {
  const std::string file = std::string(XGRAD_HOSTILE) + "/returns_nothing.cpp";
  const auto folded = xg::grading::fold_errors(file + ":3:5: error: 'x' was not declared\n" + file +
                                                   ":4:5: error: no match\n" +
                                                   "array.hpp:7:1: error: <expression error>\n",
                                               file);
  CHECK(contains(folded.text, "(2 of 3 errors shown; 3 lines of the compiler's are folded)"));
  CHECK_FALSE(contains(folded.text, "<expression error>"));
  CHECK(folded.in_file);
  const auto other = xg::grading::fold_errors("the grader:3:5: error: no member\n", file);
  CHECK(contains(other.text, "(1 error; 1 lines of the compiler's are folded)"));
  CHECK_FALSE(other.in_file);
}

TEST_CASE("printing megabytes or leaving a thread behind does not hide a right answer") {
  std::vector<std::string> files = {std::string(XGRAD_HOSTILE) + "/prints.cpp"};
  // It leaves one at each call: too many beside a grader that a sanitizer slows down.
  if (!kSanitized) files.push_back(std::string(XGRAD_HOSTILE) + "/thread_left_running.cpp");
  const auto all = grade(files);
  for (const Graded& one : all) {
    INFO(one.text);
    CHECK(one.status == 0);
  }
  CHECK(all[0].text.find("bytes, of which these are the first 4096") != std::string::npos);
}

TEST_CASE("the exercises: the stubs fail, the solutions pass, the wrong ones are named") {
  const std::string exercises = std::string(XGRAD_EXERCISES) + "/";
  std::vector<std::string> files;
  for (const std::string name :
       {"multi_head_attention", "attention_kernel", "masked_softmax_rule"}) {
    files.push_back(exercises + name + "/stub.cpp");
    files.push_back(exercises + name + "/solution/" + name + ".cpp");
  }
  const auto all = grade(files);
  for (std::size_t i = 0; i < all.size(); ++i) {
    INFO(all[i].text);
    const bool stub = i % 2 == 0;
    CHECK(all[i].status == (stub ? 1 : 0));
    CHECK((all[i].text.find("is not written yet") != std::string::npos) == stub);
  }
  const std::vector<Expected> wrong = {
      {"multi_head_attention/wrong/joined_by_reshape.cpp", "[merge-by-reshape]"},
      {"multi_head_attention/wrong/mask_forgotten.cpp", "[mask-ignored]"},
      {"multi_head_attention/wrong/two_mistakes.cpp", "[w-q-for-keys]"},
      {"multi_head_attention/wrong/two_mistakes.cpp", "[no-w-o]"},
      {"attention_kernel/wrong/softmax_over_queries.cpp", "[softmax-over-queries]"},
      {"masked_softmax_rule/wrong/sum_forgotten.cpp", "[grad-softmax-no-row-sum]"}};
  files.clear();
  for (const Expected& one : wrong) files.push_back(exercises + one.name);
  const auto graded = grade(files);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    INFO(graded[i].text);
    CHECK(graded[i].status == 1);
    CHECK(graded[i].text.find(wrong[i].says) != std::string::npos);
  }
}
