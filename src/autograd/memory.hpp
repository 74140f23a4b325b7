#ifndef XGRAD_AUTOGRAD_MEMORY_HPP
#define XGRAD_AUTOGRAD_MEMORY_HPP

// Private: the one place where the library asks for memory.

#include <cstddef>

namespace xg::detail {

/// At least 16-byte aligned, 64-byte aligned from 1 KiB on. Throws AllocationError.
void* allocate(std::size_t bytes);
void deallocate(void* memory, std::size_t bytes) noexcept;

}  // namespace xg::detail

#endif
