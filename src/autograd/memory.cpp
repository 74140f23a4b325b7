#include <xgrad/autograd/memory.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>
#include <utility>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xgrad/autograd/message.hpp>

// A pool hides from a sanitizer what it is there to find.
#if defined(__SANITIZE_ADDRESS__)
#define XGRAD_POOL 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define XGRAD_POOL 0
#endif
#endif
#ifndef XGRAD_POOL
#define XGRAD_POOL 1
#endif

namespace xg::detail {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

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

std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

void* from_system(std::size_t bytes) noexcept {
  if (bytes > physical_memory()) return nullptr;
  const bool huge = bytes >= 2 * kHugePage;
  const std::size_t alignment = huge ? kHugePage : kAlignment;
  void* memory = std::aligned_alloc(alignment, round_up(bytes, alignment));
  if (huge && memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

[[noreturn]] void out_of_memory(std::size_t bytes) {
  fail<AllocationError>("allocate", "out of memory", std::to_string(bytes) + " bytes",
                        "at most what this machine has left");
}

struct FreeBlock {
  FreeBlock* next;
};

/// A stack of free blocks of one size.
struct FreeList {
  FreeBlock* first = nullptr;
  std::uint32_t count = 0;

  void push(void* memory) noexcept {
    first = new (memory) FreeBlock{first};
    ++count;
  }
  void* pop() noexcept {
    FreeBlock* block = first;
    if (block == nullptr) return nullptr;
    first = block->next;
    --count;
    return block;
  }
};

// Small blocks: nodes, handles, scalars. Each thread keeps lists of its own and trades whole chains
// with those that all threads share, without walking along them: what lay together stays together.
constexpr std::size_t kSmallUnit = 16;
constexpr std::size_t kSmallest = 32;
constexpr std::size_t kMostSmall = 512;
constexpr std::size_t kSmallClasses = kMostSmall / kSmallUnit + 1;
constexpr std::uint32_t kChain = 64;
constexpr std::size_t kChunk = std::size_t{64} << 10;

/// In the memory of its first block.
struct Chain {
  FreeBlock* next_block;
  Chain* next;
  std::uint32_t count;
};

// Large blocks: eight sizes to each power of two, kept for reuse up to a share of the machine's
// memory. A fresh page costs more than all the work an elementwise operation does on it. Each
// thread keeps some of the less large ones for itself, since threads would wait for each other.
constexpr std::size_t kLargeClasses = 512;
constexpr std::size_t kMostOwn = std::size_t{64} << 10;
constexpr std::size_t kOwnClasses = 16 * 8 + 1;            // up to that size
constexpr std::size_t kOwnBytes = std::size_t{256} << 10;  // of each

struct LargeClass {
  std::size_t index;
  std::size_t bytes;
};

LargeClass large_class(std::size_t bytes) noexcept {
  const auto log2 = static_cast<std::size_t>(63 - __builtin_clzll(bytes));
  const std::size_t step = std::max<std::size_t>(std::size_t{1} << (log2 - 3), kAlignment);
  const std::size_t rounded = round_up(bytes, step);
  const auto rounded_log2 = static_cast<std::size_t>(63 - __builtin_clzll(rounded));
  return {rounded_log2 * 8 + ((rounded >> (rounded_log2 - 3)) & 7), rounded};
}

struct Shared {
  std::mutex mutex;
  std::array<Chain*, kSmallClasses> small{};
  std::array<FreeList, kLargeClasses> large;
  std::size_t large_bytes = 0;

  void give(FreeList chain, std::size_t size_class) noexcept {
    if (chain.first == nullptr) return;
    small[size_class] = new (chain.first) Chain{chain.first->next, small[size_class], chain.count};
  }
  void give_large(void* memory, LargeClass size) noexcept {
    if (large_bytes + size.bytes > physical_memory() / 8) return std::free(memory);
    large[size.index].push(memory);
    large_bytes += size.bytes;
  }
  FreeList take(std::size_t size_class) noexcept {
    Chain* chain = small[size_class];
    if (chain == nullptr) return {};
    small[size_class] = chain->next;
    const std::uint32_t count = chain->count;
    return {new (chain) FreeBlock{chain->next_block}, count};
  }
};

Shared& shared() {
  static Shared* const pool = [] {
    auto* made = new Shared;  // outlives variables of static lifetime
    pthread_atfork([] { shared().mutex.lock(); }, [] { shared().mutex.unlock(); },
                   [] { shared().mutex.unlock(); });
    return made;
  }();
  return *pool;
}

/// A thread's blocks of one size. Two chains, so that a thread that frees and allocates at the end
/// of one does not trade each time.
struct Stock {
  FreeList open;
  FreeList full;
};
/// On the heap: memory in the thread's own block is scarce in a library that a notebook loads.
struct ThreadCache {
  Stock stocks[kSmallClasses];
  FreeList large[kOwnClasses];
};
thread_local ThreadCache* cache = nullptr;
thread_local bool cache_closed = false;  // the thread is ending: nothing may be kept any more

/// Hands a thread's blocks on when the thread ends.
struct CloseAtExit {
  CloseAtExit() noexcept = default;
  CloseAtExit(const CloseAtExit&) = delete;
  CloseAtExit& operator=(const CloseAtExit&) = delete;
  ~CloseAtExit() {
    cache_closed = true;
    if (cache == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(shared().mutex);
      for (std::size_t i = 0; i < kSmallClasses; ++i) {
        shared().give(cache->stocks[i].open, i);
        shared().give(cache->stocks[i].full, i);
      }
      for (std::size_t i = 0; i < kOwnClasses; ++i) {
        while (void* memory = cache->large[i].pop()) {
          shared().give_large(memory, {i, (8 + i % 8) << (i / 8 - 3)});
        }
      }
    }
    delete cache;
    cache = nullptr;
  }
  void touch() const noexcept {}
};

/// Null if the thread is ending, or out of memory.
ThreadCache* open_cache() noexcept {
  thread_local const CloseAtExit close_at_exit;
  close_at_exit.touch();
  if (cache == nullptr && !cache_closed) cache = new (std::nothrow) ThreadCache;
  return cache;
}

FreeList fresh_blocks(std::size_t size_class) {
  auto* chunk = static_cast<char*>(std::malloc(kChunk));
  if (chunk == nullptr) out_of_memory(kChunk);
  const std::size_t size = size_class * kSmallUnit;
  FreeList list;
  // Pushed from the back, so that blocks are handed out in ascending order.
  for (std::size_t i = kChunk / size; i-- > 0;) list.push(chunk + i * size);
  return list;
}

[[gnu::noinline]] void* allocate_small_slowly(std::size_t size_class) {
  ThreadCache* mine = open_cache();
  if (mine == nullptr) {
    void* memory = std::malloc(size_class * kSmallUnit);
    if (memory == nullptr) out_of_memory(size_class * kSmallUnit);
    return memory;
  }
  Stock& stock = mine->stocks[size_class];
  stock.open = std::exchange(stock.full, FreeList());
  if (stock.open.first == nullptr) {
    const std::lock_guard<std::mutex> lock(shared().mutex);
    stock.open = shared().take(size_class);
  }
  if (stock.open.first == nullptr) stock.open = fresh_blocks(size_class);
  return stock.open.pop();
}

void* allocate_small(std::size_t size_class) {
  if (cache != nullptr) {
    if (void* memory = cache->stocks[size_class].open.pop()) return memory;
  }
  return allocate_small_slowly(size_class);
}

[[gnu::noinline]] void deallocate_small_slowly(void* memory, std::size_t size_class) noexcept {
  FreeList chain;
  if (ThreadCache* mine = open_cache()) {
    Stock& stock = mine->stocks[size_class];
    chain = std::exchange(stock.full, std::exchange(stock.open, FreeList()));
    stock.open.push(memory);
  } else {
    chain.push(memory);
  }
  const std::lock_guard<std::mutex> lock(shared().mutex);
  shared().give(chain, size_class);
}

void deallocate_small(void* memory, std::size_t size_class) noexcept {
  if (cache != nullptr) {
    FreeList& open = cache->stocks[size_class].open;
    if (open.count < kChain) return open.push(memory);
  }
  deallocate_small_slowly(memory, size_class);
}

void* allocate_large(std::size_t bytes) {
  if (bytes > physical_memory()) out_of_memory(bytes);
  const LargeClass size = large_class(bytes);
  if (size.bytes <= kMostOwn && cache != nullptr) {
    if (void* memory = cache->large[size.index].pop()) return memory;
  }
  Shared& pool = shared();
  {
    const std::lock_guard<std::mutex> lock(pool.mutex);
    if (void* memory = pool.large[size.index].pop()) {
      pool.large_bytes -= size.bytes;
      return memory;
    }
  }
  void* memory = from_system(size.bytes);
  if (memory != nullptr) return memory;
  {
    const std::lock_guard<std::mutex> lock(pool.mutex);
    for (FreeList& list : pool.large) {
      while (list.first != nullptr) std::free(list.pop());
    }
    pool.large_bytes = 0;
  }
  memory = from_system(size.bytes);
  if (memory == nullptr) out_of_memory(bytes);
  return memory;
}

void deallocate_large(void* memory, std::size_t bytes) noexcept {
  const LargeClass size = large_class(bytes);
  if (size.bytes <= kMostOwn) {
    ThreadCache* mine = cache != nullptr ? cache : open_cache();
    if (mine != nullptr && mine->large[size.index].count * size.bytes < kOwnBytes) {
      return mine->large[size.index].push(memory);
    }
  }
  Shared& pool = shared();
  const std::lock_guard<std::mutex> lock(pool.mutex);
  pool.give_large(memory, size);
}

std::size_t small_class(std::size_t bytes) noexcept {
  return round_up(std::max(bytes, kSmallest), kSmallUnit) / kSmallUnit;
}

}  // namespace

void* allocate(std::size_t bytes) {
  if (XGRAD_POOL == 0) {
    void* memory = from_system(std::max(bytes, kSmallest));
    if (memory == nullptr) out_of_memory(bytes);
    return memory;
  }
  return bytes <= kMostSmall ? allocate_small(small_class(bytes)) : allocate_large(bytes);
}

void deallocate(void* memory, std::size_t bytes) noexcept {
  if (XGRAD_POOL == 0) {
    std::free(memory);
  } else if (bytes <= kMostSmall) {
    deallocate_small(memory, small_class(bytes));
  } else {
    deallocate_large(memory, bytes);
  }
}

}  // namespace xg::detail
