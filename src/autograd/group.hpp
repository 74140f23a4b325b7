#ifndef XGRAD_AUTOGRAD_GROUP_HPP
#define XGRAD_AUTOGRAD_GROUP_HPP

// Private: which operations belong together in a picture of the graph.

#include <cstdint>

namespace xg::detail {

/// What this thread records while it lives is one call of multi_head_attention.
class Group {
 public:
  Group() noexcept;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

 private:
  const std::uint32_t outer_;
};

constexpr unsigned kGroupBits = 24;

/// The number of the innermost group, another one for each call (modulo 2^24); 0 outside of any.
std::uint32_t current_group() noexcept;

}  // namespace xg::detail

#endif
