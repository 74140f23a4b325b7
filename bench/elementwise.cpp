// Every operation under NoGrad, one thread, against xtensor's own expression into a fresh container
// and, where it is installed, libtorch: in one process, in turn. The ratios are those of medians.
//
// usage: elementwise [--benchmark_filter=REGEX] [--benchmark_out=FILE --benchmark_out_format=json]

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include <xgrad/xgrad.hpp>
#include <xgrad/xtensor.hpp>
#include <xtensor/xadapt.hpp>

#include "peers.hpp"
#include "timing.hpp"

namespace {

using xg::Variable;

template <class T>
using Operation = std::pair<std::string, std::function<Variable<T>()>>;

template <class T>
Variable<T> keep(const xg::Mask& mask) {
  benchmark::DoNotOptimize(mask);
  return {};
}

template <class T>
std::vector<Operation<T>> operations(std::int64_t n) {
  std::vector<T> first;
  std::vector<T> second;
  for (std::int64_t i = 0; i < n; ++i) {
    first.push_back(static_cast<T>(bench::first_value(i)));
    second.push_back(static_cast<T>(bench::second_value(i)));
  }
  const std::int64_t columns = bench::kColumns;
  const std::int64_t rows = n / columns;
  const Variable<T> a(xt::adapt(first));
  const Variable<T> b(xt::adapt(second));
  const xg::Mask mask = a < b;
  const Variable<T> m = reshape(a, {rows, columns});
  const Variable<T> other = transpose(reshape(b, {columns, rows}));
  const Variable<T> row = slice(b, 0, 0, columns);
  const Variable<T> column = reshape(slice(b, 0, 0, rows), {rows, 1});
  return {
      {"add", [=] { return a + b; }},
      {"sub", [=] { return a - b; }},
      {"mul", [=] { return a * b; }},
      {"div", [=] { return a / b; }},
      {"add scalar", [=] { return a + 3; }},
      {"mul scalar", [=] { return a * 3; }},
      {"add row", [=] { return m + row; }},
      {"mul column", [=] { return m * column; }},
      {"add transposed", [=] { return m + other; }},
      {"neg", [=] { return -a; }},
      {"abs", [=] { return abs(a); }},
      {"square", [=] { return square(a); }},
      {"sqrt", [=] { return sqrt(b); }},
      {"exp", [=] { return exp(a); }},
      {"log", [=] { return log(b); }},
      {"sin", [=] { return sin(a); }},
      {"cos", [=] { return cos(a); }},
      {"tanh", [=] { return tanh(a); }},
      {"sigmoid", [=] { return sigmoid(a); }},
      {"erf", [=] { return erf(a); }},
      {"gelu", [=] { return gelu(a); }},
      {"relu", [=] { return relu(a); }},
      {"pow", [=] { return pow(b, a); }},
      {"pow 3", [=] { return pow(b, Variable<T>(3)); }},
      {"maximum", [=] { return maximum(a, b); }},
      {"clip", [=] { return clip(a, -1, 1); }},
      {"where", [=] { return where(mask, a, b); }},
      {"less", [=] { return keep<T>(a < b); }},
      {"sum", [=] { return sum(a); }},
      {"mean", [=] { return mean(a); }},
      {"max", [=] { return max(a); }},
      {"prod", [=] { return prod(a); }},
      {"var", [=] { return var(a); }},
      {"sum rows", [=] { return sum(m, 1); }},
      {"sum columns", [=] { return sum(m, 0); }},
      {"max rows", [=] { return max(m, 1); }},
      {"max columns", [=] { return max(m, 0); }},
      {"cumsum", [=] { return cumsum(a, 0); }},
      {"softmax", [=] { return softmax(m, 1); }},
      {"softmax columns", [=] { return softmax(m, 0); }},
      {"log_softmax", [=] { return log_softmax(m, 1); }},
      {"logsumexp", [=] { return logsumexp(m, 1); }},
      {"layer_norm", [=] { return layer_norm(m, row, row); }},
  };
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Line {
  std::string name;
  double nanoseconds;
  std::map<std::string, double> ratios;
};
std::vector<Line> lines;

const char* const kPeers[] = {"xtensor", "xtensor AVX2", "libtorch"};

template <class T>
void measure(benchmark::State& state, const std::string& op, std::int64_t n) {
  const xg::NoGrad guard;
  const auto all = operations<T>(n);
  const auto& run =
      std::find_if(all.begin(), all.end(), [&](auto& o) { return o.first == op; })->second;
  std::vector<std::pair<const char*, bench::Run>> peers;
  peers.emplace_back("xgrad", [&run] { benchmark::DoNotOptimize(run()); });
  peers.emplace_back(kPeers[0], bench::xtensor_run(op, n, T()));
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    peers.emplace_back(kPeers[1], bench::xtensor_avx2_run(op, n, T()));
  }
#endif
#if XGRAD_BENCH_TORCH
  peers.emplace_back(kPeers[2], bench::torch_run(op, n, T()));
#endif
  std::vector<std::vector<double>> seconds(peers.size());
  std::vector<int> calls(peers.size());
  for (std::size_t k = 0; k < peers.size(); ++k) {
    if (!peers[k].second) continue;
    double once = 1;
    for (int i = 0; i < 5; ++i) once = std::min(once, bench::seconds_per_call(peers[k].second, 1));
    calls[k] = std::clamp(static_cast<int>(2e-4 / once), 1, 10000);
  }
  for ([[maybe_unused]] auto round : state) {
    for (std::size_t k = 0; k < peers.size(); ++k) {
      if (peers[k].second) seconds[k].push_back(bench::seconds_per_call(peers[k].second, calls[k]));
    }
    state.SetIterationTime(seconds[0].back());
  }
  Line line{op + "/" + (sizeof(T) == 4 ? "float" : "double") + "/" + std::to_string(n),
            median(seconds[0]) * 1e9,
            {}};
  for (std::size_t k = 1; k < peers.size(); ++k) {
    if (!peers[k].second) continue;
    line.ratios[peers[k].first] = median(seconds[0]) / median(seconds[k]);
    state.counters[peers[k].first] = line.ratios[peers[k].first];
  }
  lines.push_back(line);
}

template <class T>
void add_benchmarks() {
  constexpr int kRounds = 51;
  for (const std::int64_t n : {1000, 10000, 100000, 1000000, 10000000}) {
    for (const auto& operation : operations<T>(bench::kColumns)) {
      const std::string op = operation.first;
      const std::string name =
          op + "/" + (sizeof(T) == 4 ? "float" : "double") + "/" + std::to_string(n);
      benchmark::RegisterBenchmark(name.c_str(),
                                   [=](benchmark::State& state) { measure<T>(state, op, n); })
          ->UseManualTime()
          ->Iterations(kRounds);
    }
  }
}

/// The goal is a ratio of at most 1 to the faster peer at 10^4 elements and more.
void print_table() {
  std::printf("\n%-32s %12s", "operation/type/elements", "xgrad ns");
  for (const char* peer : kPeers) std::printf(" %13s", peer);
  std::printf("\n");
  for (const Line& line : lines) {
    std::printf("%-32s %12.0f", line.name.c_str(), line.nanoseconds);
    double most = 0;
    for (const char* peer : kPeers) {
      const auto found = line.ratios.find(peer);
      if (found == line.ratios.end()) {
        std::printf(" %13s", "-");
      } else {
        std::printf(" %13.2f", found->second);
        if (peer != kPeers[1]) most = std::max(most, found->second);
      }
    }
    std::printf("%s\n", most > 1 ? "  above 1" : "");
  }
}

}  // namespace

int main(int argc, char** argv) {
  const xg::NoGrad guard;
  add_benchmarks<float>();
  add_benchmarks<double>();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  print_table();
  benchmark::Shutdown();
}
