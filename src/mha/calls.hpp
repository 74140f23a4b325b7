#ifndef XGRAD_MHA_CALLS_HPP
#define XGRAD_MHA_CALLS_HPP

// Private: how often the library's own attention was called, so that the grader notices a
// submission that hands it in as its own.

#include <cstdint>

namespace xg::detail {

/// In either form, with weights or fused.
enum class Called { multi_head_attention, attention_kernel };

/// Counts a call on this thread.
void count_call(Called what) noexcept;
std::uint64_t calls(Called what) noexcept;

}  // namespace xg::detail

#endif
