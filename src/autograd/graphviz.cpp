#include <xgrad/autograd/graphviz.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace xg::detail {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

bool exits_well(pid_t child, std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  bool killed = false;
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(child, &status, killed ? 0 : WNOHANG);
    if (ended == child) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0 && errno != EINTR) return false;
    if (ended == 0 && std::chrono::steady_clock::now() > deadline) {
      killed = true;
      kill(child, SIGKILL);
    } else if (ended == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
}

}  // namespace

// Files, not pipes: neither side can block, and no SIGPIPE can end the process.
std::string run_dot(const std::string& dot) {
  const File in(std::tmpfile());
  const File out(std::tmpfile());
  if (in == nullptr || out == nullptr) return {};
  if (std::fwrite(dot.data(), 1, dot.size(), in.get()) != dot.size()) return {};
  if (std::fflush(in.get()) != 0) return {};
  std::rewind(in.get());

  posix_spawn_file_actions_t files;
  if (posix_spawn_file_actions_init(&files) != 0) return {};
  posix_spawn_file_actions_adddup2(&files, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  char program[] = "dot";
  char format[] = "-Tsvg";
  char* arguments[] = {program, format, nullptr};
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program, &files, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0 || !exits_well(child, std::chrono::seconds(10))) return {};

  std::rewind(out.get());
  std::string svg;
  char chunk[4096];
  while (const std::size_t got = std::fread(chunk, 1, sizeof chunk, out.get())) {
    svg.append(chunk, got);
  }
  const std::size_t start = svg.find("<svg");  // behind the XML prolog, which no HTML page takes
  return start == std::string::npos ? std::string() : svg.substr(start);
}

}  // namespace xg::detail
