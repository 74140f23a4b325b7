#include <xgrad/autograd/grad_mode.hpp>

namespace xg::detail {
namespace {

thread_local bool grad_on = true;
thread_local bool anomaly_on = false;

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

}  // namespace xg::detail
