#ifndef XGRAD_AUTOGRAD_GRAD_MODE_HPP
#define XGRAD_AUTOGRAD_GRAD_MODE_HPP

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

/// While it lives, backward checks every gradient for NaN and inf, and names the operation whose
/// rule made it.
class AnomalyMode : detail::ModeGuard {
 public:
  AnomalyMode() noexcept : ModeGuard(Mode::anomaly, true) {}
};

}  // namespace xg

#endif
