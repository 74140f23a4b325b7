#include <xgrad/mha/calls.hpp>

#include <array>
#include <cstddef>

namespace xg::detail {
namespace {

thread_local std::array<std::uint64_t, 2> counts = {};

}  // namespace

void count_call(Called what) noexcept { ++counts[static_cast<std::size_t>(what)]; }

std::uint64_t calls(Called what) noexcept { return counts[static_cast<std::size_t>(what)]; }

}  // namespace xg::detail
