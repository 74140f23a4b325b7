#include <xgrad/autograd/threads.hpp>

#include <algorithm>
#include <atomic>
#include <thread>

#include <xgrad/autograd/message.hpp>

namespace xg {
namespace {

constexpr int kMostThreads = 1024;

std::atomic<int>& thread_count() noexcept {
  static std::atomic<int> count{
      std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads)};
  return count;
}

}  // namespace

void set_num_threads(int n) {
  if (n < 1 || n > kMostThreads) {
    detail::fail<ArgumentError>("set_num_threads", "no such number of threads", detail::text(n),
                                "1 to " + detail::text(kMostThreads));
  }
  thread_count().store(n, std::memory_order_relaxed);
}

int num_threads() noexcept { return thread_count().load(std::memory_order_relaxed); }

}  // namespace xg
