#ifndef XGRAD_BENCH_TIMING_HPP
#define XGRAD_BENCH_TIMING_HPP

// A benchmark is a comparison: absolute times drift on a shared machine, ratios of runs in turn do
// not. Google Benchmark names, filters and reports; one of its iterations is one round.

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

namespace bench {

using Run = std::function<void()>;

struct Contender {
  const char* name;
  Run run;
  Run prepare = {};  // before each round, not timed
};

/// What runs on one thread is measured in the processor time of the whole process, which does not
/// count what other processes do meanwhile; what runs on several, in wall time.
enum class Clock : clockid_t { processor = CLOCK_PROCESS_CPUTIME_ID, wall = CLOCK_MONOTONIC };

inline double seconds(Clock clock) {
  timespec now{};
  clock_gettime(static_cast<clockid_t>(clock), &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class F>
double seconds_per_call(F& f, int calls, Clock clock = Clock::wall) {
  const double start = seconds(clock);
  for (int i = 0; i < calls; ++i) f();
  return (seconds(clock) - start) / calls;
}

/// Times the contenders in turn, each for about `slice` seconds a round. The time reported is the
/// first one's; the counters are its ratio to each of the others: NAME_min, NAME_median and
/// NAME_max.
inline void in_turn(benchmark::State& state, Clock clock, std::vector<Contender> contenders,
                    double slice = 0.01) {
  std::vector<int> calls;
  for (Contender& c : contenders) {
    if (c.prepare) c.prepare();
    c.run();
    calls.push_back(
        std::clamp(static_cast<int>(slice / seconds_per_call(c.run, 1, clock)), 1, 100000));
  }
  std::vector<std::vector<double>> ratios(contenders.size());
  std::vector<double> times(contenders.size());
  for ([[maybe_unused]] auto round : state) {
    for (std::size_t i = 0; i < contenders.size(); ++i) {
      if (contenders[i].prepare) contenders[i].prepare();
      // The threads of another contender's pool spin for a while before they sleep.
      if (clock == Clock::wall) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      times[i] = seconds_per_call(contenders[i].run, calls[i], clock);
      ratios[i].push_back(times[0] / times[i]);
    }
    state.SetIterationTime(times[0]);
  }
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    std::sort(ratios[i].begin(), ratios[i].end());
    const std::string name = contenders[i].name;
    state.counters[name + "_min"] = ratios[i].front();
    state.counters[name + "_median"] = ratios[i][ratios[i].size() / 2];
    state.counters[name + "_max"] = ratios[i].back();
  }
}

/// Registers f(state), in 21 rounds, or as many as XGRAD_BENCH_ROUNDS says.
template <class F>
void add(const std::string& name, F f) {
  const char* rounds = std::getenv("XGRAD_BENCH_ROUNDS");
  benchmark::RegisterBenchmark(name.c_str(), std::move(f))
      ->UseManualTime()
      ->Iterations(rounds == nullptr ? 21 : std::max(1, std::atoi(rounds)));
}

inline int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace bench

#endif
