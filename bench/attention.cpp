// Attention against the gemm bound and, where it is installed, libtorch.
//
// Names: FORM/PASS/TYPE/MASK/threads:N/B,Q,K,D,H; a step is forward + backward with all seven
// gradients.

#include <string>
#include <utility>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "attention_step.hpp"
#include "gemm_bound.hpp"
#include "timing.hpp"
#include "torch_graphs.hpp"

extern "C" void openblas_set_num_threads(int);

namespace {

using bench::Form;
using bench::Size;

template <class T>
void add(Form form, bool whole_step, bool masked, int threads, Size s) {
  const bool is_float = sizeof(T) == sizeof(float);
  std::string name = form == Form::fused ? "fused" : "composed";
  name += whole_step ? "/step" : "/forward";
  name += is_float ? "/float" : "/double";
  name += masked ? "/causal" : "/none";
  name += "/threads:" + std::to_string(threads) + "/";
  for (const int n : {s.B, s.Q, s.K, s.D}) name += std::to_string(n) + ",";
  name += std::to_string(s.H);
  bench::add(name, [=](benchmark::State& state) {
    xg::set_num_threads(threads);
    bench::AttentionStep<T> step(s, masked, form);
    bench::GemmBound<T> bound(s);
    const auto one_blas_thread = [] { openblas_set_num_threads(1); };
    std::vector<bench::Contender> contenders;
    if (whole_step) {
      contenders.push_back({"xgrad", [&] { step.run(); }, one_blas_thread});
      contenders.push_back({"bound", [&] { bound.run(); }, one_blas_thread});
    } else {
      contenders.push_back({"xgrad", [&] { step.forward(); }, one_blas_thread});
      contenders.push_back({"bound", [&] { bound.run_forward(); }, one_blas_thread});
    }
#if XGRAD_BENCH_TORCH
    if (is_float && whole_step && !masked && form == Form::composed) {
      contenders.push_back(bench::libtorch_attention(s, threads));
    }
#endif
    const bench::Clock clock = threads == 1 ? bench::Clock::processor : bench::Clock::wall;
    bench::in_turn(state, clock, std::move(contenders));
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> threads = {1};
  if (xg::num_threads() > 1) threads.push_back(xg::num_threads());
  const Size sizes[] = {{1, 2, 3, 4, 2},       {2, 16, 16, 64, 4},    {4, 128, 128, 256, 8},
                        {8, 128, 128, 512, 8}, {2, 512, 512, 512, 8}, {1, 2048, 2048, 512, 8}};
  for (const Form form : {Form::composed, Form::fused}) {
    for (const int n : threads) {
      for (const bool masked : {false, true}) {
        for (const Size& s : sizes) {
          add<float>(form, true, masked, n, s);
          add<float>(form, false, masked, n, s);
          add<double>(form, true, masked, n, s);
          add<double>(form, false, masked, n, s);
        }
      }
    }
  }
  return bench::run(argc, argv);
}
