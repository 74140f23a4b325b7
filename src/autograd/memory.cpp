#include <xgrad/autograd/memory.hpp>

#include <cstdlib>
#include <limits>

#include <unistd.h>

#include <xgrad/autograd/message.hpp>

namespace xg::detail {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kAlignFrom = 1024;

// Above this, an optimistic kernel would grant the memory and kill the process at the first write.
std::size_t physical_memory() noexcept {
  static const std::size_t bytes = [] {
    const long pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0) return std::numeric_limits<std::size_t>::max();
    return static_cast<std::size_t>(pages) * static_cast<std::size_t>(page);
  }();
  return bytes;
}

}  // namespace

void* allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes < kAlignFrom) {
    memory = std::malloc(bytes);
  } else if (bytes <= physical_memory()) {
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    memory = std::aligned_alloc(kAlignment, rounded);
  }
  if (memory == nullptr) {
    fail<AllocationError>("allocate", "out of memory", std::to_string(bytes) + " bytes",
                          "at most what this machine has left");
  }
  return memory;
}

void deallocate(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }

}  // namespace xg::detail
