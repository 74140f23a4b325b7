#ifndef XGRAD_GRADING_COMMAND_PROCESS_HPP
#define XGRAD_GRADING_COMMAND_PROCESS_HPP

// Private: a program in a process group of its own, with limits.

#include <cstddef>
#include <string>
#include <vector>

namespace xg::grading {

struct Limits {
  double seconds;
  std::size_t bytes;         // of resident memory of the process itself
  std::size_t output_bytes;  // of what it prints that is kept
};

struct Finished {
  int status = 0;  // as waitpid gives it
  bool out_of_time = false;
  bool out_of_memory = false;
  std::string output;       // stdout and stderr, the first bytes
  std::size_t printed = 0;  // bytes
  std::string result;       // what it wrote to kResultDescriptor
};

constexpr int kResultDescriptor = 3;

/// Runs argv[0], found along PATH, without standard input, and ends whatever it leaves running.
/// Throws std::system_error if it cannot be started.
Finished run(const std::vector<std::string>& argv, const Limits& limits);

}  // namespace xg::grading

#endif
