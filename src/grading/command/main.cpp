// GCC's false alarm about std::regex under the sanitizers.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// grade FILE.cpp: compiles a submission against the library, runs and grades it in a process of
// its own, and says what is wrong. scripts/grade is the way to call it.

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <xgrad/grading.hpp>
#include <xgrad/grading/command/diagnostics.hpp>
#include <xgrad/grading/command/process.hpp>

namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using xg::GradeReport;
using xg::grading::Finished;
using xg::grading::Limits;

constexpr const char* kUsage =
    "usage: grade FILE.cpp [--exercise NAME] [--html FILE] [--json FILE]\n"
    "\n"
    "Compiles FILE.cpp, runs it in a process of its own and grades it. The exit status is 0 only\n"
    "when every check passes, 1 when one fails, 2 when the command itself is wrong.\n"
    "\n"
    "  --exercise NAME  multi_head_attention, attention_kernel or masked_softmax_rule; otherwise\n"
    "                   the one in whose folder the file lies, or multi_head_attention\n"
    "  --html FILE      a self-contained page with charts\n"
    "  --json FILE      the same for a program\n";

constexpr Limits kCompiling = {60, ~std::size_t{0}, std::size_t{4} << 20};
constexpr Limits kRunning = {5, std::size_t{1} << 30, 4096};

struct Exercise {
  const char* name;
  const char* defines;     // in the namespace exercise
  const char* definition;  // as a regular expression
  const char* grade;       // with T for the type
};
constexpr std::array<Exercise, 3> kExercises = {
    Exercise{"multi_head_attention", "multi_head_attention<T>(query, ...)",
             R"((>|\bauto)\s+multi_head_attention\s*\()",
             "xg::grade<T>(exercise::multi_head_attention<T>)"},
    Exercise{"attention_kernel", "attention_kernel<T>(q, k, v, mask)",
             R"((>|\bauto)\s+attention_kernel\s*\()",
             "xg::grade_attention_kernel<T>(exercise::attention_kernel<T>)"},
    Exercise{"masked_softmax_rule", "MaskedSoftmax<T>(mask)",
             R"(\b(class|struct)\s+MaskedSoftmax\b)",
             "xg::grade_masked_softmax_rule<T>([](const xg::Mask& mask) {"
             " return std::make_shared<exercise::MaskedSoftmax<T>>(mask); })"}};

struct Arguments {
  fs::path file;
  std::string exercise;
  std::string html;
  std::string json;
};

[[noreturn]] void usage(const std::string& problem) {
  std::cerr << "grade: " << problem << "\n\n" << kUsage;
  std::exit(2);
}

const Exercise& exercise_named(const std::string& name) {
  for (const Exercise& one : kExercises) {
    if (name == one.name) return one;
  }
  usage("there is no exercise " + name);
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto value = [&]() -> std::string {
      if (i + 1 == words.size()) usage(words[i] + " needs a value");
      return words[++i];
    };
    if (words[i] == "--help" || words[i] == "-h") {
      std::cout << kUsage;
      std::exit(0);
    } else if (words[i] == "--exercise") {
      arguments.exercise = value();
    } else if (words[i] == "--html") {
      arguments.html = value();
    } else if (words[i] == "--json") {
      arguments.json = value();
    } else if (words[i].size() > 1 && words[i][0] == '-') {
      usage("there is no option " + words[i]);
    } else if (!arguments.file.empty()) {
      usage("one file at a time");
    } else {
      arguments.file = words[i];
    }
  }
  if (arguments.file.empty()) usage("which file?");
  if (!fs::is_regular_file(arguments.file)) usage("no such file: " + arguments.file.string());
  if (arguments.exercise.empty()) {
    arguments.exercise = kExercises[0].name;
    for (const fs::path& folder : fs::absolute(arguments.file).parent_path()) {
      for (const Exercise& one : kExercises) {
        if (folder == one.name) arguments.exercise = one.name;
      }
    }
  }
  return arguments;
}

/// A folder that goes with this.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "xgrad-grade-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

GradeReport failed(const std::string& title, const std::string& check, const std::string& detail) {
  GradeReport report;
  report.title = title;
  report.checks.push_back({"T0", check, false, detail});
  report.notes.emplace_back("nothing else was graded");
  return report;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// What to do about a file that compiles, but not where the grader uses it.
std::string what_to_define(const fs::path& file, const Exercise& exercise) {
  std::ifstream in(file);
  const std::string source{std::istreambuf_iterator<char>(in), {}};
  const auto defines = [&](const Exercise& one) {
    return std::regex_search(source, std::regex(one.definition));
  };
  for (const Exercise& one : kExercises) {
    if (defines(exercise) || !defines(one)) continue;
    return std::string("This looks like ") + one.name + ": add --exercise " + one.name + ".\n";
  }
  return std::string("The file has to define exercise::") + exercise.defines +
         ", as the stub does.\n";
}

/// Nothing if it compiled, else what the compiler says.
std::optional<std::string> compile(const fs::path& file, const Exercise& exercise,
                                   const fs::path& folder, const fs::path& library) {
  const fs::path source = folder / "submission.cpp";
  std::ofstream(source) << "#include " << fs::absolute(file) << "\n"
                        << "#line 1 \"the grader\"\n"
                        << "#include <memory>\n#include <vector>\n#include <xgrad/grading.hpp>\n"
                        << "template <class T>\nxg::GradeReport grade_submission() {\n"
                        << "  return " << exercise.grade << ";\n}\n"
                        << "extern \"C\" __attribute__((visibility(\"default\"))) void "
                        << "xgrad_grade_submission(std::vector<xg::GradeReport>& reports) {\n"
                        << "  reports.push_back(grade_submission<double>());\n"
                        << "  reports.push_back(grade_submission<float>());\n}\n";
  std::vector<std::string> command = words_of(XGRAD_COMPILER);
  for (const std::string& flag :
       {std::string("-std=c++17"), std::string("-O1"), std::string("-Werror=return-type"),
        std::string("-fPIC"), std::string("-shared"), std::string("-I") + XGRAD_INCLUDE,
        source.string(), std::string("-o"), library.string(), std::string(XGRAD_LIBRARY_FILE)}) {
    command.push_back(flag);
  }
  const Finished finished = xg::grading::run(command, kCompiling);
  if (finished.out_of_time) return "it was not compiled within 60 s\n";
  if (WIFEXITED(finished.status) && WEXITSTATUS(finished.status) == 0) return std::nullopt;
  const auto errors = xg::grading::fold_errors(finished.output, fs::absolute(file).string());
  const bool unlike_the_stub =
      !errors.in_file && finished.output.find("the grader:") != std::string::npos;
  return errors.text + (unlike_the_stub ? what_to_define(file, exercise) : "");
}

json to_json(const GradeReport& report) {
  json checks = json::array();
  for (const auto& one : report.checks) {
    checks.push_back(
        {{"level", one.level}, {"name", one.name}, {"passed", one.passed}, {"detail", one.detail}});
  }
  json findings = json::array();
  for (const auto& one : report.findings) {
    findings.push_back({{"id", one.id},
                        {"name", one.name},
                        {"where", one.place},
                        {"evidence", one.evidence},
                        {"hint", one.hint}});
  }
  return {{"title", report.title},   {"passed", report.passed()}, {"checks", checks},
          {"mistakes", findings},    {"notes", report.notes},     {"text", report.to_string()},
          {"html", report.to_html()}};
}

std::string dumped(const json& value, int indent = -1) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

/// In the process of its own: loads and grades, and writes the reports as JSON.
int grade_here(const char* library) {
  void* handle = dlopen(library, RTLD_NOW);
  if (handle == nullptr) {
    std::cerr << dlerror() << "\n";
    return 1;
  }
  using Function = void (*)(std::vector<GradeReport>&);
  const auto grade_all = reinterpret_cast<Function>(dlsym(handle, "xgrad_grade_submission"));
  std::vector<GradeReport> reports;
  grade_all(reports);
  json all = json::array();
  for (const GradeReport& report : reports) all.push_back(to_json(report));
  const std::string text = dumped(all);
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t wrote = write(xg::grading::kResultDescriptor, text.data() + at, text.size() - at);
    if (wrote <= 0) return 1;
    at += static_cast<std::size_t>(wrote);
  }
  std::cout.flush();
  // Not through the submission's destructors, which may do anything.
  _exit(0);
}

std::string end_of(const Finished& finished) {
  if (finished.out_of_time) return "it did not end within 5 s";
  if (finished.out_of_memory) return "it took more than 1 GiB of memory";
  if (WIFSIGNALED(finished.status)) {
    const int signal = WTERMSIG(finished.status);
    if (signal == SIGABRT) {
      return "it was aborted: an exception that nobody could catch, a failed assertion, or abort()";
    }
    return std::string("it crashed: ") + strsignal(signal);
  }
  return "it ended the process with exit status " + std::to_string(WEXITSTATUS(finished.status));
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  if (!out) {
    std::cerr << "grade: cannot write " << path << "\n";
    std::exit(2);
  }
  std::cout << "Report: " << path << "\n";
}

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += "    " + line + "\n";
  return result;
}

int grade_file(const Arguments& arguments) {
  const Exercise& exercise = exercise_named(arguments.exercise);
  const TemporaryFolder folder;
  const fs::path library = folder.path() / "submission.so";

  json reports = json::array();
  std::string printed;
  std::string text;
  const auto errors = compile(arguments.file, exercise, folder.path(), library);
  if (errors) {
    reports.push_back(to_json(failed(exercise.name, "compiles", *errors)));
    text = std::string(exercise.name) + ": FAILED to compile\n\n" + indented(*errors);
  } else {
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    const Finished finished =
        xg::grading::run({"/proc/self/exe", "--grade-here", library.string()}, kRunning);
    reports = json::parse(finished.result, nullptr, false);
    if (reports.is_discarded() || !reports.is_array()) {
      reports = json::array();
      reports.push_back(to_json(failed(exercise.name, "runs to its end", end_of(finished))));
    }
    if (finished.printed > 0) {
      printed = finished.output;
      text = "It printed " + std::to_string(finished.printed) + " bytes" +
             (finished.printed > printed.size()
                  ? ", of which these are the first " + std::to_string(printed.size())
                  : std::string()) +
             ":\n" + indented(printed) + "\n";
    }
    for (const json& report : reports) {
      // A second report that only repeats the first would hide it.
      const bool same = reports.size() > 1 && &report != &reports[0] && !report["passed"] &&
                        report["mistakes"] == reports[0]["mistakes"] && !reports[0]["passed"];
      text += same ? report["title"].get<std::string>() + ": the same\n"
                   : report["text"].get<std::string>() + "\n";
    }
  }
  const bool passed = std::all_of(reports.begin(), reports.end(),
                                  [](const json& report) { return report["passed"].get<bool>(); });
  std::cout << text << (passed ? "passed" : "not passed") << ": " << arguments.file.string()
            << "\n";
  if (!arguments.html.empty()) {
    const auto shown = std::find_if(reports.begin(), reports.end(),
                                    [](const json& report) { return !report["passed"]; });
    write_file(arguments.html,
               (shown == reports.end() ? reports[0] : *shown)["html"].get<std::string>());
  }
  if (!arguments.json.empty()) {
    for (json& report : reports) {
      report.erase("html");
      report.erase("text");
    }
    const json whole = {
        {"file", arguments.file.string()}, {"exercise", exercise.name}, {"passed", passed},
        {"compiled", !errors.has_value()}, {"printed", printed},        {"reports", reports}};
    write_file(arguments.json, dumped(whole, 2) + "\n");
  }
  return passed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 2 && words[0] == "--grade-here") return grade_here(argv[2]);
    return grade_file(parse(words));
  } catch (const std::exception& error) {
    std::cerr << "grade: " << error.what() << "\n";
    return 2;
  }
}
