#ifndef XGRAD_AUTOGRAD_MEMORY_HPP
#define XGRAD_AUTOGRAD_MEMORY_HPP

// Private: the one place where the library asks for memory.

#include <cstddef>

namespace xg::detail {

/// 16-byte aligned, from 512 bytes on 64-byte aligned. Throws AllocationError. Freed memory is kept
/// for reuse: small blocks always, large ones up to an eighth of the machine's memory.
void* allocate(std::size_t bytes);
void deallocate(void* memory, std::size_t bytes) noexcept;

}  // namespace xg::detail

#endif
