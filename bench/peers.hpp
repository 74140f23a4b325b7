#ifndef XGRAD_BENCH_PEERS_HPP
#define XGRAD_BENCH_PEERS_HPP

// What elementwise.cpp measures against. Each peer is a library of its own: they are compiled for
// different processors.

#include <cstdint>
#include <functional>
#include <string>

namespace bench {

/// Runs an operation once, into fresh memory. Empty if the peer has no such operation.
using Run = std::function<void()>;

/// Elements of the rows that softmax and its like run along, and that sums along an axis see.
constexpr std::int64_t kColumns = 250;

/// The i-th element of the first operand and of the second, of all peers.
inline double first_value(std::int64_t i) { return static_cast<double>(i * 37 % 1999) / 500 - 2; }
inline double second_value(std::int64_t i) { return static_cast<double>(i * 53 % 997) / 500 + 0.1; }

#define XGRAD_BENCH_PEER(NAME)                                  \
  __attribute__((visibility("default")))                        \
  Run NAME##_run(const std::string& op, std::int64_t n, float); \
  __attribute__((visibility("default")))                        \
  Run NAME##_run(const std::string& op, std::int64_t n, double);
XGRAD_BENCH_PEER(xtensor)       // compiled as the library is: -O3
XGRAD_BENCH_PEER(xtensor_avx2)  // with XTENSOR_USE_XSIMD, for AVX2
XGRAD_BENCH_PEER(torch)
#undef XGRAD_BENCH_PEER

}  // namespace bench

#endif
