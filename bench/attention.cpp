// Attention, composed and fused, forward + backward with all seven gradients, against the gemm
// bound: both in one process, in turn; the ratio's minimum and median.

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "gemm_bound.hpp"
#include "timing.hpp"

namespace {

template <class T>
class AttentionStep {
 public:
  AttentionStep(bench::Size s, bool masked, bool fused) : heads_(s.H), fused_(fused) {
    const auto leaf = [&](xg::Dims dims, int seed) {
      inputs_.push_back(xg::uniform<T>(dims, -0.5, 0.5, seed));
      inputs_.back().set_requires_grad();
    };
    leaf({s.B, s.Q, s.D}, 1);
    leaf({s.B, s.K, s.D}, 2);
    leaf({s.B, s.K, s.D}, 3);
    for (int i = 4; i < 8; ++i) leaf({s.D, s.D}, i);
    seed_ = xg::uniform<T>({s.B, s.Q, s.D}, -1, 1, 9);
    if (masked) mask_ = xg::causal_mask(s.Q, s.K);
  }
  void run() {
    auto& x = inputs_;
    for (auto& input : x) input.set_grad({});
    if (fused_) {
      xg::multi_head_attention_output(x[0], x[1], x[2], x[3], x[4], x[5], x[6], heads_, mask_)
          .backward(seed_);
    } else {
      const auto attention =
          xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], heads_, mask_);
      attention.output.backward(seed_);
    }
  }

 private:
  int heads_;
  bool fused_;
  std::vector<xg::Variable<T>> inputs_;
  xg::Variable<T> seed_;
  xg::Mask mask_;
};

}  // namespace

extern "C" void openblas_set_num_threads(int);

/// usage: attention [THREADS]
int main(int argc, char** argv) {
  openblas_set_num_threads(1);
  xg::set_num_threads(argc > 1 ? std::atoi(argv[1]) : 1);
  const bench::Size sizes[] = {{1, 2, 3, 4, 2},       {2, 16, 16, 64, 4},
                               {4, 128, 128, 256, 8}, {8, 128, 128, 512, 8},
                               {2, 512, 512, 512, 8}, {1, 2048, 2048, 512, 8}};
  std::printf("B,Q,K,D,H             mask      form  ratio to the gemm bound: min  median  max\n");
  for (const bench::Size& s : sizes) {
    for (const bool masked : {false, true}) {
      for (const bool fused : {false, true}) {
        AttentionStep<float> step(s, masked, fused);
        bench::GemmBound<float> bound(s);
        const auto times = bench::in_turn([&] { step.run(); }, [&] { bound.run(); });
        std::printf("%d,%d,%d,%d,%d  %8s  %8s  %.3f  %.3f  %.3f\n", s.B, s.Q, s.K, s.D, s.H,
                    masked ? "causal" : "none", fused ? "fused" : "composed", times.least_ratio,
                    times.median_ratio, times.largest_ratio);
        std::fflush(stdout);
      }
    }
  }
}
