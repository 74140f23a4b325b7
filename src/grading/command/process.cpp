#include <xgrad/grading/command/process.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xg::grading {
namespace {

constexpr int kPollMilliseconds = 10;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Both ends are closed on exec.
struct Pipe {
  Pipe() {
    std::array<int, 2> ends = {};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
    read = ends[0];
    write = ends[1];
    fcntl(read, F_SETFL, O_NONBLOCK);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(read);
    close_write();
  }
  void close_write() {
    if (write >= 0) close(write);
    write = -1;
  }
  int read = -1;
  int write = -1;
};

/// Puts a pipe's end at a descriptor that is kept on exec.
void install(int from, int to) {
  if (from == to) {
    fcntl(to, F_SETFD, 0);
  } else {
    dup2(from, to);
  }
}

[[noreturn]] void become(const std::vector<std::string>& argv, int output, int result) {
  setpgid(0, 0);
  std::vector<char*> pointers;
  pointers.reserve(argv.size() + 1);
  for (const std::string& one : argv) pointers.push_back(const_cast<char*>(one.c_str()));
  pointers.push_back(nullptr);
  // Out of the way of the descriptors that are written next.
  output = fcntl(output, F_DUPFD_CLOEXEC, 10);
  result = fcntl(result, F_DUPFD_CLOEXEC, 10);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  install(nothing, STDIN_FILENO);
  install(output, STDOUT_FILENO);
  install(output, STDERR_FILENO);
  install(result, kResultDescriptor);
  execvp(pointers[0], pointers.data());
  _exit(127);
}

/// Appends what can be read now, up to `most` bytes in all; counts the rest. False at the end.
bool drain(int descriptor, std::string& text, std::size_t most, std::size_t& bytes) {
  std::array<char, 65536> buffer;
  // A bounded number of times, so that endless output does not keep the limits from being checked.
  for (int round = 0; round < 64; ++round) {
    const ssize_t got = read(descriptor, buffer.data(), buffer.size());
    if (got == 0) return false;
    if (got < 0) return errno == EAGAIN || errno == EINTR;
    const auto size = static_cast<std::size_t>(got);
    bytes += size;
    text.append(buffer.data(), std::min(size, most - std::min(most, text.size())));
  }
  return true;
}

std::size_t resident_bytes(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return file ? resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

}  // namespace

Finished run(const std::vector<std::string>& argv, const Limits& limits) {
  using Clock = std::chrono::steady_clock;
  Pipe output;
  Pipe result;
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) become(argv, output.write, result.write);
  setpgid(child, child);
  output.close_write();
  result.close_write();

  constexpr std::size_t kMostResult = std::size_t{16} << 20;
  const auto start = Clock::now();
  Finished finished;
  std::size_t result_bytes = 0;
  bool output_open = true;
  bool result_open = true;
  for (bool ended = false; !ended;) {
    std::array<pollfd, 2> ends = {pollfd{output_open ? output.read : -1, POLLIN, 0},
                                  pollfd{result_open ? result.read : -1, POLLIN, 0}};
    poll(ends.data(), ends.size(), kPollMilliseconds);
    ended = waitpid(child, &finished.status, WNOHANG) == child;
    // What it wrote before it ended is in the pipes by now.
    output_open =
        output_open && drain(output.read, finished.output, limits.output_bytes, finished.printed);
    result_open = result_open && drain(result.read, finished.result, kMostResult, result_bytes);
    if (ended) break;
    finished.out_of_time =
        std::chrono::duration<double>(Clock::now() - start).count() > limits.seconds;
    finished.out_of_memory = resident_bytes(child) > limits.bytes;
    if (finished.out_of_time || finished.out_of_memory) {
      kill(-child, SIGKILL);
      waitpid(child, &finished.status, 0);
      ended = true;
    }
  }
  kill(-child, SIGKILL);  // whatever it left running
  return finished;
}

}  // namespace xg::grading
