// Composed attention, forward + backward with all seven gradients, against the gemm bound: both in
// one process, in turn; the ratio's minimum and median.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "gemm_bound.hpp"

namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <class T>
class AttentionStep {
 public:
  explicit AttentionStep(bench::Size s, bool masked) : heads_(s.H) {
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
    auto attention =
        xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], heads_, mask_);
    attention.output.backward(seed_);
  }

 private:
  int heads_;
  std::vector<xg::Variable<T>> inputs_;
  xg::Variable<T> seed_;
  xg::Mask mask_;
};

template <class A, class B>
void compare(const char* name, bench::Size s, A a, B b) {
  const auto time = [](auto& f, int repeats) {
    const double start = seconds();
    for (int i = 0; i < repeats; ++i) f();
    return (seconds() - start) / repeats;
  };
  a();
  b();
  const double once = time(b, 1);
  const int repeats = std::max(1, static_cast<int>(0.01 / once));
  std::vector<double> ratios;
  std::vector<double> bound;
  for (int i = 0; i < 21; ++i) {
    const double ta = time(a, repeats);
    const double tb = time(b, repeats);
    ratios.push_back(ta / tb);
    bound.push_back(tb);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(bound.begin(), bound.end());
  std::printf("%-16s %d,%d,%d,%d,%d  ratio min %.3f median %.3f max %.3f  bound %.3g ms\n", name,
              s.B, s.Q, s.K, s.D, s.H, ratios.front(), ratios[10], ratios.back(),
              bound.front() * 1e3);
  std::fflush(stdout);
}

}  // namespace

extern "C" void openblas_set_num_threads(int);

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  openblas_set_num_threads(threads);
  const bench::Size sizes[] = {{1, 2, 3, 4, 2},       {2, 16, 16, 64, 4},
                               {4, 128, 128, 256, 8}, {8, 128, 128, 512, 8},
                               {2, 512, 512, 512, 8}, {1, 2048, 2048, 512, 8}};
  for (const bench::Size& s : sizes) {
    for (bool masked : {false, true}) {
      AttentionStep<float> step(s, masked);
      bench::GemmBound<float> bound(s);
      compare(
          masked ? "composed causal" : "composed", s, [&] { step.run(); }, [&] { bound.run(); });
    }
  }
}
