#include <xgrad/ops/blas_threads.hpp>

#include <mutex>

#include <pthread.h>

extern "C" {
int openblas_get_num_threads(void);
void openblas_set_num_threads(int);
}

namespace xg::detail {
namespace {

class Setting {
 public:
  void enter() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (users_++ > 0) return;
    before_ = openblas_get_num_threads();
    if (before_ != 1) openblas_set_num_threads(1);
  }
  void leave() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--users_ == 0) restore();
  }

  void before_fork() { mutex_.lock(); }
  void in_parent() { mutex_.unlock(); }
  /// Of the threads that were at work, none is left.
  void in_child() {
    if (users_ > 0) restore();
    users_ = 0;
    mutex_.unlock();
  }

 private:
  void restore() const {
    // Unless someone chose another number meanwhile.
    if (before_ != 1 && openblas_get_num_threads() == 1) openblas_set_num_threads(before_);
  }

  std::mutex mutex_;
  int users_ = 0;
  int before_ = 1;
};

Setting& setting() {
  static Setting* const made = [] {
    auto* fresh = new Setting;  // outlives variables of static lifetime
    pthread_atfork([] { setting().before_fork(); }, [] { setting().in_parent(); },
                   [] { setting().in_child(); });
    return fresh;
  }();
  return *made;
}

}  // namespace

BlasOnOneThread::BlasOnOneThread() { setting().enter(); }
BlasOnOneThread::~BlasOnOneThread() { setting().leave(); }

}  // namespace xg::detail
