#ifndef XGRAD_AUTOGRAD_GRAD_MODE_HPP
#define XGRAD_AUTOGRAD_GRAD_MODE_HPP

#include <cstddef>
#include <functional>

#include <xgrad/autograd/config.hpp>

namespace xg {

namespace detail {

/// Sets one of the thread's switches for as long as it lives.
class XGRAD_API ModeGuard {
 public:
  enum class Mode { grad, anomaly };
  ModeGuard(Mode mode, bool value) noexcept;
  ~ModeGuard();
  ModeGuard(const ModeGuard&) = delete;
  ModeGuard& operator=(const ModeGuard&) = delete;

 private:
  Mode mode_;
  bool before_;
};

bool grad_enabled() noexcept;
bool anomaly_enabled() noexcept;

struct Progress {
  std::function<void(std::size_t)> report;
  std::size_t every;
};
/// The thread's innermost BackwardProgress, or null.
const Progress* backward_progress() noexcept;

}  // namespace detail

/// While it lives, this thread records nothing.
class NoGrad : detail::ModeGuard {
 public:
  NoGrad() noexcept : ModeGuard(Mode::grad, false) {}
};

/// While it lives, this thread records again, inside a NoGrad too.
class EnableGrad : detail::ModeGuard {
 public:
  EnableGrad() noexcept : ModeGuard(Mode::grad, true) {}
};

/// While it lives, operations note what they were recorded from, and backward checks every gradient
/// for NaN and inf, and names the operation whose rule made it and where it was recorded.
class AnomalyMode : detail::ModeGuard {
 public:
  AnomalyMode() noexcept : ModeGuard(Mode::anomaly, true) {}
};

/// While it lives, backward and grad on this thread call `report` with the number of operations
/// differentiated so far, after each `every` of them. If it throws, backward ends as if a hook had
/// thrown: no gradient has changed.
class XGRAD_API BackwardProgress {
 public:
  explicit BackwardProgress(std::function<void(std::size_t)> report, std::size_t every = 10000);
  ~BackwardProgress();
  BackwardProgress(const BackwardProgress&) = delete;
  BackwardProgress& operator=(const BackwardProgress&) = delete;

 private:
  detail::Progress progress_;
  const detail::Progress* before_;
};

}  // namespace xg

#endif
