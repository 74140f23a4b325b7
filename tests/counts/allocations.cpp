// Prints what a workload asks malloc for, linked to a library without a memory pool.

#include <cstdio>

#include "../support/allocations.hpp"
#include "workloads.hpp"

namespace {

template <class Workload>
void count(const char* name) {
  Workload workload;
  workload.run();
  const test::AllocationCount counted;
  workload.run();
  const std::size_t requests = counted.requests();
  const std::size_t bytes = counted.bytes();
  std::printf("%s_allocations %zu\n%s_bytes %zu\n", name, requests, name, bytes);
}

}  // namespace

int main() {
  if (!test::allocations_watched()) {
    std::puts("a sanitizer has the allocator");
    return 77;
  }
  xg::set_num_threads(1);
  count<counts::Chain>("chain");
  count<counts::Attention>("attention");
}
