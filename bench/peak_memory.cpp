// Prints how many bytes one thing takes, counted in a process of its own.
//
// usage: peak_memory composed|fused|libtorch  extra peak of one attention step at 1,2048,2048,512,8
//        peak_memory node|libtorch_node       a node of a chain of 10^6 scalar additions, its value
//        too

#include <malloc.h>

#include <cstdio>
#include <fstream>
#include <string>

#include <xgrad/xgrad.hpp>

#include "attention_step.hpp"
#include "torch_graphs.hpp"

namespace {

/// VmRSS or VmHWM in bytes.
double resident(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != field + ":") continue;
    double kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

/// What `run` needs at its peak beyond what lies there before it.
template <class F>
double extra_peak(F run) {
  const double before = resident("VmRSS");
  std::ofstream("/proc/self/clear_refs") << "5";  // the peak starts from now
  run();
  return resident("VmHWM") - before;
}

double allocated() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

template <class V>
double bytes_per_node(V x, V operand) {
  constexpr int kNodes = 1000000;
  V y = x + operand;
  const double before = allocated();
  for (int i = 0; i < kNodes; ++i) y = y + operand;
  return (allocated() - before) / kNodes;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc == 2 ? argv[1] : "";
  constexpr bench::Size kSize{1, 2048, 2048, 512, 8};
  constexpr bench::Size kSmall{1, 128, 128, 512, 8};  // BLAS makes its own buffers once
  xg::set_num_threads(1);
  double bytes = 0;
  if (what == "composed" || what == "fused") {
    const auto form = what == "fused" ? bench::Form::fused : bench::Form::composed;
    bench::AttentionStep<float>(kSmall, false, form).run();
    bench::AttentionStep<float> step(kSize, false, form);
    bytes = extra_peak([&] { step.run(); });
  } else if (what == "node") {
    xg::Variable<float> x(1);
    x.set_requires_grad();
    bytes = bytes_per_node(x, xg::Variable<float>(2));
#if XGRAD_BENCH_TORCH
  } else if (what == "libtorch") {
    bench::libtorch_attention(kSmall, 1).run();
    const bench::Contender step = bench::libtorch_attention(kSize, 1);
    step.prepare();
    bytes = extra_peak(step.run);
  } else if (what == "libtorch_node") {
    const double before = allocated();
    const auto chain = bench::libtorch_graph(1000000);
    bytes = (allocated() - before) / 1000000;
#endif
  } else {
    std::fprintf(stderr, "usage: peak_memory composed|fused|libtorch|node|libtorch_node\n");
    return 2;
  }
  std::printf("%.0f\n", bytes);
}
