// Runs a workload for callgrind, which is to collect inside counted_run only.
// usage: instructions chain|attention

#include <cstring>

#include "workloads.hpp"

namespace {

void (*run)();

}  // namespace

extern "C" __attribute__((noinline, visibility("default"))) void counted_run() {
  run();
  asm volatile("");  // no tail call: the function ends after the workload
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  xg::set_num_threads(1);
  static counts::Chain chain;
  static counts::Attention attention;
  if (std::strcmp(argv[1], "chain") == 0) {
    run = [] { chain.run(); };
  } else {
    run = [] { attention.run(); };
  }
  run();  // pages, lists of free blocks, the first use of each operation
  counted_run();
}
