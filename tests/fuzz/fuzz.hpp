#ifndef XGRAD_TESTS_FUZZ_FUZZ_HPP
#define XGRAD_TESTS_FUZZ_FUZZ_HPP

// What the fuzz targets share: hostile choices made from a fuzzer's bytes, and what an error may
// be.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <limits>
#include <string>

#include <xgrad/xgrad.hpp>

namespace fuzz {

/// Choices from the input; past its end every choice is 0.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  std::uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *at_++;
  }
  std::size_t below(std::size_t n) { return byte() % n; }
  bool flip() { return (byte() & 1) != 0; }
  /// Mostly near zero, sometimes where arithmetic overflows.
  std::int64_t integer() {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t hostile[] = {most,
                                        most - 1,
                                        most / 2 + 1,
                                        least,
                                        least + 1,
                                        least / 2,
                                        std::int64_t{1} << 31,
                                        -(std::int64_t{1} << 31),
                                        std::int64_t{1} << 32,
                                        1 << 20,
                                        65536,
                                        1000};
    const std::uint8_t choice = byte();
    if (choice >= 256 - std::size(hostile)) return hostile[256 - std::size_t{choice} - 1];
    return choice % 12 - 4;
  }
  double number() {
    constexpr double inf = std::numeric_limits<double>::infinity();
    constexpr double hostile[] = {inf,   -inf,   std::numeric_limits<double>::quiet_NaN(),
                                  -0.0,  1e300,  -1e300,
                                  1e-40, 5e-324, 1e19};
    const std::uint8_t choice = byte();
    if (choice >= 256 - std::size(hostile)) return hostile[256 - std::size_t{choice} - 1];
    return (choice - 100) / 16.0;
  }
  std::string rest_until(char stop) {
    std::string text;
    while (left_ > 0) {
      const char c = static_cast<char>(byte());
      if (c == stop) break;
      text += c;
    }
    return text;
  }

 private:
  const std::uint8_t* at_;
  std::size_t left_;
};

inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::cerr << "fuzz: " << what << std::endl;
  std::abort();
}

/// Runs f, which may throw one of the library's errors and nothing else.
template <class F>
void attempt(F f) {
  try {
    f();
  } catch (const xg::Error& error) {
    const std::string text = error.what();
    require(text[0] == '[' && text.find(": got ") != std::string::npos, "odd message: " + text);
  }
}

}  // namespace fuzz

#endif
