#include "allocations.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define XGRAD_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define XGRAD_SANITIZED 1
#endif
#endif

namespace test {
namespace {

// Plain data, so that reading it never allocates.
struct Watch {
  std::size_t least;
  std::size_t requests;
  std::size_t bytes;
  std::size_t largest;
  std::size_t countdown;
  bool counting;
  bool failing;
  bool persistent;
  bool reached;
};
thread_local Watch watch;

}  // namespace

bool allocations_watched() noexcept {
#ifdef XGRAD_SANITIZED
  return false;
#else
  return true;
#endif
}

AllocationCount::AllocationCount(std::size_t least) noexcept {
  watch.least = least;
  watch.requests = watch.bytes = watch.largest = 0;
  watch.counting = true;
}
AllocationCount::~AllocationCount() { watch.counting = false; }
std::size_t AllocationCount::requests() const noexcept { return watch.requests; }
std::size_t AllocationCount::bytes() const noexcept { return watch.bytes; }
std::size_t AllocationCount::largest() const noexcept { return watch.largest; }

FailingAllocation::FailingAllocation(std::size_t n, bool persistent) noexcept {
  watch.countdown = n;
  watch.persistent = persistent;
  watch.reached = false;
  watch.failing = true;
}
FailingAllocation::~FailingAllocation() { watch.failing = false; }
bool FailingAllocation::reached() const noexcept { return watch.reached; }

#ifndef XGRAD_SANITIZED
namespace {

bool refused(std::size_t bytes) noexcept {
  if (watch.counting && bytes >= watch.least) {
    ++watch.requests;
    watch.bytes += bytes;
    watch.largest = std::max(watch.largest, bytes);
  }
  if (!watch.failing) return false;
  if (watch.countdown > 0) {
    --watch.countdown;
    return false;
  }
  watch.reached = true;
  watch.failing = watch.persistent;
  errno = ENOMEM;
  return true;
}

}  // namespace
#endif

}  // namespace test

#ifndef XGRAD_SANITIZED
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  return test::refused(bytes) ? nullptr : __libc_malloc(bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return test::refused(bytes) ? nullptr : __libc_memalign(alignment, bytes);
}
}
#endif
