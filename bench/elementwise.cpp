// Every operation under NoGrad, one thread, against xtensor's own expression into a fresh container
// and, where it is installed, libtorch.
//
// Names: OPERATION/TYPE/ELEMENTS.

#include <algorithm>
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

template <class T>
void measure(benchmark::State& state, const std::string& op, std::int64_t n) {
  const auto all = operations<T>(n);
  const auto& run =
      std::find_if(all.begin(), all.end(), [&](auto& o) { return o.first == op; })->second;
  std::vector<bench::Contender> contenders = {
      {"xgrad", [&run] { benchmark::DoNotOptimize(run()); }}};
  const auto add_peer = [&](const char* name, bench::Run peer) {
    if (peer) contenders.push_back({name, std::move(peer)});
  };
  add_peer("xtensor", bench::xtensor_run(op, n, T()));
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    add_peer("xtensor_avx2", bench::xtensor_avx2_run(op, n, T()));
  }
#endif
#if XGRAD_BENCH_TORCH
  add_peer("libtorch", bench::torch_run(op, n, T()));
#endif
  constexpr double kSlice = 1e-3;
  bench::in_turn(state, bench::Clock::processor, contenders, kSlice);
}

template <class T>
void add_benchmarks() {
  for (const std::int64_t n : {1000, 10000, 100000, 1000000, 10000000}) {
    for (const auto& operation : operations<T>(bench::kColumns)) {
      const std::string op = operation.first;
      const char* type = sizeof(T) == sizeof(float) ? "/float/" : "/double/";
      bench::add(op + type + std::to_string(n),
                 [=](benchmark::State& state) { measure<T>(state, op, n); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const xg::NoGrad guard;
  xg::set_num_threads(1);
  add_benchmarks<float>();
  add_benchmarks<double>();
  return bench::run(argc, argv);
}
