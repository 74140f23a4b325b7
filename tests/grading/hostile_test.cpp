// Submissions that break, through the program that scripts/grade runs: each gets a report.

#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace {

namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Graded {
  int status;
  double seconds;
  std::string text;
  nlohmann::json json;
};

std::string read(const fs::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

Graded grade(const std::string& file) {
  const fs::path folder = fs::temp_directory_path() / ("xgrad-hostile-" + std::to_string(getpid()));
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
  CHECK(read(folder / "report.html").find("</html>") != std::string::npos);
  fs::remove_all(folder);
  return graded;
}

/// Not passed, and the report says this.
void expect_report(const std::string& name, const std::string& says) {
  const Graded graded = grade(std::string(XGRAD_HOSTILE) + "/" + name + ".cpp");
  INFO(name << "\n" << graded.text);
  CHECK(graded.status == 1);
  CHECK(graded.text.find(says) != std::string::npos);
  REQUIRE(graded.json.is_object());
  CHECK_FALSE(graded.json["passed"].get<bool>());
  CHECK(graded.text.size() < 100000);
  std::printf("%-30s %4.1f s\n", name.c_str(), graded.seconds);
}

}  // namespace

TEST_CASE("a submission that crashes gets a report") {
  expect_report("null_pointer", "crashed: a bad pointer");
  expect_report("division_by_zero", "crashed: integer division by zero");
  expect_report("calls_itself", "crashed");
  expect_report("aborts", "aborted");
  expect_report("thread_throws", "aborted");
}

TEST_CASE("a submission that ends the process gets a report") {
  expect_report("exits", "exit status 0");
  expect_report("exits_quickly", "exit status 0");
}

TEST_CASE("a submission that takes too much gets a report") {
  expect_report("hangs", "did not end within 5 s");
  expect_report("allocates", "more than 1 GiB");
  // AddressSanitizer's `new` ends the process instead.
  if (!kSanitized) expect_report("allocates_too_much", "threw: ");
  expect_report("prints_forever", "did not end within 5 s");
}

TEST_CASE("a submission that throws gets a report") {
  expect_report("throws_number", "threw something that is not a std::exception");
  expect_report("throws_long", "threw: xxx");
}

TEST_CASE("a submission that returns or changes what it should not gets a report") {
  expect_report("undefined_output", "undefined-result");
  expect_report("undefined_both", "undefined-result");
  expect_report("aliased", "FAILED");
  expect_report("changes_inputs", "inputs-changed");
}

TEST_CASE("a submission that calls the library's own attention does not pass") {
  expect_report("calls_the_library", "it calls the library's own attention");
  expect_report("calls_the_library_by_pointer", "it calls the library's own attention");
}

TEST_CASE("a submission that does not compile gets its own lines first") {
  expect_report("does_not_compile", "does_not_compile.cpp:19:");
  expect_report("returns_nothing", "returns_nothing.cpp:");
  expect_report("another_name",
                "has to define exercise::multi_head_attention<T>(query, ...), as the stub does");
}

TEST_CASE("printing megabytes or leaving a thread behind does not hide a right answer") {
  const Graded prints = grade(std::string(XGRAD_HOSTILE) + "/prints.cpp");
  INFO(prints.text);
  CHECK(prints.status == 0);
  CHECK(prints.text.find("bytes, of which these are the first 4096") != std::string::npos);
  // It leaves one at each call: too many beside a grader that a sanitizer slows down.
  if (kSanitized) return;
  const Graded thread = grade(std::string(XGRAD_HOSTILE) + "/thread_left_running.cpp");
  INFO(thread.text);
  CHECK(thread.status == 0);
}

TEST_CASE("the exercises: the stubs fail, the solutions pass, the wrong ones are named") {
  const std::string exercises = XGRAD_EXERCISES;
  for (const char* name : {"multi_head_attention", "attention_kernel", "masked_softmax_rule"}) {
    const fs::path folder = exercises + "/" + name;
    const Graded stub = grade(folder / "stub.cpp");
    INFO(stub.text);
    CHECK(stub.status == 1);
    CHECK(stub.text.find("is not written yet") != std::string::npos);
    const Graded solution = grade(folder / "solution" / (std::string(name) + ".cpp"));
    INFO(solution.text);
    CHECK(solution.status == 0);
    std::printf("%-30s %4.1f s\n", name, solution.seconds);
  }
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"multi_head_attention/wrong/joined_by_reshape.cpp", "[merge-by-reshape]"},
      {"multi_head_attention/wrong/mask_forgotten.cpp", "[mask-ignored]"},
      {"multi_head_attention/wrong/two_mistakes.cpp", "[w-q-for-keys]"},
      {"multi_head_attention/wrong/two_mistakes.cpp", "[no-w-o]"},
      {"attention_kernel/wrong/softmax_over_queries.cpp", "[softmax-over-queries]"},
      {"masked_softmax_rule/wrong/sum_forgotten.cpp", "[grad-softmax-no-row-sum]"}};
  for (const auto& one : wrong) {
    const Graded graded = grade(exercises + "/" + one.first);
    INFO(graded.text);
    CHECK(graded.status == 1);
    CHECK(graded.text.find(one.second) != std::string::npos);
  }
}
