#include <xgrad/autograd/thread_pool.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <pthread.h>

namespace xg::detail {
namespace {

// Operations follow each other closely: waiting so long is cheaper than to sleep and be woken.
constexpr auto kPatience = std::chrono::microseconds(20);

thread_local bool inside_item = false;

void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// True as soon as `ready()` is; false if it still is not when patience ends.
template <class F>
bool wait_awake(F ready) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {
    for (int i = 0; i < 64; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

class Pool {
 public:
  void run(std::int64_t items, void (*item)(void*, std::int64_t), void* context, int threads) {
    start(threads - 1);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      item_ = item;
      context_ = context;
      items_ = items;
      next_.store(0, std::memory_order_relaxed);
      error_ = nullptr;
      places_ = std::min<std::int64_t>(threads, items) - 1;
      region_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    work();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      places_ = 0;  // who comes now is late
    }
    const auto finished = [&] { return working_.load(std::memory_order_acquire) == 0; };
    if (!wait_awake(finished)) {
      std::unique_lock<std::mutex> lock(mutex_);
      done_.wait(lock, finished);
    }
    if (error_ != nullptr) std::rethrow_exception(std::exchange(error_, nullptr));
  }

  std::mutex& entrance() noexcept { return entrance_; }

 private:
  void work() {
    inside_item = true;
    for (;;) {
      const std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= items_) break;
      try {
        item_(context_, i);
      } catch (...) {
        next_.store(items_, std::memory_order_relaxed);
        const std::lock_guard<std::mutex> lock(mutex_);
        if (error_ == nullptr) error_ = std::current_exception();
      }
    }
    inside_item = false;
  }

  [[noreturn]] void serve() {
    std::uint64_t seen = 0;
    const auto called = [&] { return region_.load(std::memory_order_acquire) != seen; };
    for (;;) {
      const bool awake = wait_awake(called);
      std::unique_lock<std::mutex> lock(mutex_);
      if (!awake) wake_.wait(lock, called);
      seen = region_.load(std::memory_order_relaxed);
      if (places_ == 0) continue;
      --places_;
      working_.fetch_add(1, std::memory_order_relaxed);
      lock.unlock();
      work();
      lock.lock();
      if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_.notify_one();
    }
  }

  void start(int wanted) {
    if (started_ >= wanted) return;
    // Signals are the business of the program's own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      while (started_ < wanted) {
        std::thread([this] { serve(); }).detach();
        ++started_;
      }
    } catch (const std::system_error&) {
      // Fewer threads do the same items.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  std::mutex entrance_;  // one caller at a time
  int started_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::atomic<std::uint64_t> region_{0};
  std::int64_t places_ = 0;  // how many more threads may join
  std::atomic<int> working_{0};
  std::exception_ptr error_;

  void (*item_)(void*, std::int64_t) = nullptr;
  void* context_ = nullptr;
  std::int64_t items_ = 0;
  std::atomic<std::int64_t> next_{0};
};

/// Never destroyed: its threads never end. A forked child has none of them, so it gets a new one.
std::atomic<Pool*>& pool() {
  static std::atomic<Pool*> current = [] {
    pthread_atfork(nullptr, nullptr, [] { pool().store(new Pool); });
    return new Pool;
  }();
  return current;
}

}  // namespace

void run_items(std::int64_t items, void (*item)(void*, std::int64_t), void* context) {
  const int threads = num_threads();
  if (items > 1 && threads > 1 && !inside_item) {
    Pool& shared = *pool().load(std::memory_order_acquire);
    const std::unique_lock<std::mutex> entered(shared.entrance(), std::try_to_lock);
    if (entered.owns_lock()) return shared.run(items, item, context, threads);
  }
  for (std::int64_t i = 0; i < items; ++i) item(context, i);
}

}  // namespace xg::detail
