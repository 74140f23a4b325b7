#include <xgrad/autograd/grad_mode.hpp>

#include <utility>

#include <xgrad/autograd/message.hpp>

namespace xg {
namespace detail {
namespace {

thread_local bool grad_on = true;
thread_local bool anomaly_on = false;
thread_local const Progress* progress = nullptr;

bool& flag(ModeGuard::Mode mode) noexcept {
  return mode == ModeGuard::Mode::grad ? grad_on : anomaly_on;
}

}  // namespace

ModeGuard::ModeGuard(Mode mode, bool value) noexcept : mode_(mode), before_(flag(mode)) {
  flag(mode) = value;
}

ModeGuard::~ModeGuard() { flag(mode_) = before_; }

bool grad_enabled() noexcept { return grad_on; }
bool anomaly_enabled() noexcept { return anomaly_on; }
const Progress* backward_progress() noexcept { return progress; }

}  // namespace detail

BackwardProgress::BackwardProgress(std::function<void(std::size_t)> report, std::size_t every)
    : progress_{std::move(report), every}, before_(detail::progress) {
  if (!progress_.report || every == 0) {
    detail::fail<ArgumentError>("BackwardProgress", "nothing to report",
                                every == 0 ? "every 0 operations" : "an empty function",
                                "a function and a positive number");
  }
  detail::progress = &progress_;
}

BackwardProgress::~BackwardProgress() { detail::progress = before_; }

}  // namespace xg
