#ifndef XGRAD_TESTS_SUPPORT_ALLOCATIONS_HPP
#define XGRAD_TESTS_SUPPORT_ALLOCATIONS_HPP

// The executable's own malloc and aligned_alloc stand before the C library's, for the library's
// calls too: they count this thread's requests, and fail one on demand. Sanitizers bring their own
// allocator, so there is no watching under them.

#include <cstddef>

namespace test {

/// False under a sanitizer.
bool allocations_watched() noexcept;

/// Counts this thread's requests for at least so many bytes while it lives.
class AllocationCount {
 public:
  explicit AllocationCount(std::size_t least = 0) noexcept;
  ~AllocationCount();
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;
  std::size_t requests() const noexcept;
  std::size_t bytes() const noexcept;
  std::size_t largest() const noexcept;
};

/// Lets this thread's n-th request from now on fail (the first is 0), and all later ones too if
/// `persistent`, while it lives.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::size_t n, bool persistent = false) noexcept;
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;
  /// Whether the request came.
  bool reached() const noexcept;
};

}  // namespace test

#endif
