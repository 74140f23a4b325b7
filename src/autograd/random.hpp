#ifndef XGRAD_AUTOGRAD_RANDOM_HPP
#define XGRAD_AUTOGRAD_RANDOM_HPP

// Private: the generator under randn, uniform, dropout and the gradient check.

#include <cstdint>

namespace xg::detail {

/// SplitMix64 (Steele, Lea and Flood 2014): the same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
  /// In [0, 1), with 53 random bits.
  double next() noexcept {
    state_ += 0x9E3779B97F4A7C15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

}  // namespace xg::detail

#endif
