#ifndef XGRAD_BENCH_TIMING_HPP
#define XGRAD_BENCH_TIMING_HPP

#include <algorithm>
#include <chrono>
#include <vector>

namespace bench {

/// Absolute times drift on a shared machine; ratios of runs in turn do not.
struct InTurn {
  double first_seconds;   // the fastest run
  double second_seconds;  // the fastest run
  double least_ratio;
  double median_ratio;
  double largest_ratio;
};

template <class F>
double seconds_per_call(F& f, int calls) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

/// Times two functions in turn, 21 times, each for about 10 ms.
template <class First, class Second>
InTurn in_turn(First first, Second second) {
  constexpr int kRounds = 21;
  first();
  second();
  const double once = seconds_per_call(second, 1);
  const int calls = std::clamp(static_cast<int>(0.01 / once), 1, 100000);
  std::vector<double> ratios;
  InTurn result{1e9, 1e9, 0, 0, 0};
  for (int i = 0; i < kRounds; ++i) {
    const double a = seconds_per_call(first, calls);
    const double b = seconds_per_call(second, calls);
    result.first_seconds = std::min(result.first_seconds, a);
    result.second_seconds = std::min(result.second_seconds, b);
    ratios.push_back(a / b);
  }
  std::sort(ratios.begin(), ratios.end());
  result.least_ratio = ratios.front();
  result.median_ratio = ratios[kRounds / 2];
  result.largest_ratio = ratios.back();
  return result;
}

}  // namespace bench

#endif
