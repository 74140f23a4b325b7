#include <xgrad/grading/command/diagnostics.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

namespace xg::grading {
namespace {

constexpr std::size_t kMostErrors = 8;
constexpr std::size_t kMostMessage = 300;

struct Error {
  bool own = false;  // in the reader's file
  long line = 0;     // there; 0 if it has no place there
  long column = 0;
  std::string message;
};

/// The line and column after "file:" at the start of the text.
bool place(const std::string& text, const std::string& file, long& line, long& column) {
  if (text.compare(0, file.size(), file) != 0 || text.size() <= file.size() ||
      text[file.size()] != ':') {
    return false;
  }
  char* rest = nullptr;
  line = std::strtol(text.c_str() + file.size() + 1, &rest, 10);
  column = *rest == ':' ? std::strtol(rest + 1, nullptr, 10) : 0;
  return line > 0;
}

std::vector<std::string> lines_of(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

FoldedErrors fold_errors(const std::string& compiler_output, const std::string& file) {
  std::istringstream in(compiler_output);
  const std::vector<std::string> text = lines_of(in);
  std::vector<Error> errors;
  std::size_t total = 0;
  Error led;  // by the last line of the reader's that an instantiation names
  for (const std::string& line : text) {
    long row = 0;
    long column = 0;
    const std::size_t error = line.find(" error: ");
    if (error == std::string::npos) {
      // g++ tells before an error what led to it, clang++ after it.
      if (place(line, file, row, column)) {
        if (line.find("required from") != std::string::npos) {
          led.line = row;
          led.column = column;
        } else if (line.find("note: in instantiation") != std::string::npos && !errors.empty() &&
                   errors.back().line == 0) {
          errors.back().line = row;
          errors.back().column = column;
        }
      }
      continue;
    }
    ++total;
    // It follows from an error before it.
    if (line.find("<expression error>", error) != std::string::npos) continue;
    Error found;
    found.message = line.substr(error + 8, kMostMessage);
    if (place(line, file, row, column)) {
      found.own = true;
      found.line = row;
      found.column = column;
    } else {
      found.line = led.line;
      found.column = led.column;
    }
    led = {};
    errors.push_back(found);
  }

  std::ifstream source_file(file);
  const std::vector<std::string> source = lines_of(source_file);
  std::vector<Error> order;
  for (bool own : {true, false}) {
    std::copy_if(errors.begin(), errors.end(), std::back_inserter(order),
                 [&](const Error& e) { return e.own == own; });
  }
  std::ostringstream out;
  std::vector<long> lines;
  for (const Error& one : order) {
    // One line of the reader's may be behind many errors in the templates it reaches.
    if (std::find(lines.begin(), lines.end(), one.line) != lines.end()) continue;
    if (lines.size() == kMostErrors) break;
    lines.push_back(one.line);
    if (one.line == 0) {
      out << "where the grader uses the file: " << one.message << "\n";
      continue;
    }
    out << file << ":" << one.line << ":" << one.column << ": " << one.message << "\n";
    const auto index = static_cast<std::size_t>(one.line) - 1;
    if (index < source.size()) {
      out << "    " << source[index] << "\n";
      if (one.column > 0) {
        std::string caret(4 + static_cast<std::size_t>(one.column) - 1, ' ');
        for (std::size_t i = 4; i < caret.size() && i - 4 < source[index].size(); ++i) {
          if (source[index][i - 4] == '\t') caret[i] = '\t';
        }
        out << caret << "^\n";
      }
    }
  }
  if (errors.empty()) {
    for (std::size_t i = 0; i < text.size() && i < 10; ++i) out << text[i] << "\n";
  }
  out << "(";
  if (!lines.empty() && lines.size() < total) {
    out << lines.size() << " of " << total << " errors shown; ";
  } else {
    out << total << (total == 1 ? " error; " : " errors; ");
  }
  out << text.size() << " lines of the compiler's are folded)\n";
  const bool in_file =
      std::any_of(errors.begin(), errors.end(), [](const Error& one) { return one.line > 0; });
  return {out.str(), in_file};
}

}  // namespace xg::grading
