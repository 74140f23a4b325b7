#include <xgrad/autograd/group.hpp>

#include <atomic>

namespace xg::detail {
namespace {

thread_local std::uint32_t innermost = 0;
std::atomic<std::uint32_t> calls{0};

}  // namespace

Group::Group() noexcept : outer_(innermost) {
  const std::uint32_t number = calls.fetch_add(1, std::memory_order_relaxed);
  innermost = number % ((std::uint32_t{1} << kGroupBits) - 1) + 1;
}

Group::~Group() { innermost = outer_; }

std::uint32_t current_group() noexcept { return innermost; }

}  // namespace xg::detail
