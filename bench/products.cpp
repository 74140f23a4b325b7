// Small matrix products against OpenBLAS's: where the crossover lies that src/ops/gemm.cpp has as
// kMostSmallWork. The kernels are those that the library chooses on this processor.
//
// Names: product/M,N,K/TYPE/plain|transposed (is b).

#include <string>
#include <vector>

#include <cblas.h>

#include <xgrad/ops/kernels/kernels.hpp>

#include "timing.hpp"

extern "C" void openblas_set_num_threads(int);

namespace {

void blas(CBLAS_TRANSPOSE b_is, int m, int n, int k, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, b_is, m, n, k, 1, a, k, b, b_is == CblasTrans ? k : n, 0,
              c, n);
}
void blas(CBLAS_TRANSPOSE b_is, int m, int n, int k, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, b_is, m, n, k, 1, a, k, b, b_is == CblasTrans ? k : n, 0,
              c, n);
}

template <class T>
void product(benchmark::State& state, int m, int n, int k, bool transposed) {
  const std::vector<T> a(static_cast<std::size_t>(m) * k, T(0.5));
  const std::vector<T> b(static_cast<std::size_t>(k) * n, T(0.25));
  std::vector<T> c(static_cast<std::size_t>(m) * n);
  const auto ours = [&] {
    // What gemm does: a transposed b is copied.
    std::vector<T> copied;
    const T* rows = b.data();
    if (transposed) {
      copied.resize(b.size());
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < k; ++i) copied[i * n + j] = b[j * k + i];
      }
      rows = copied.data();
    }
    xg::detail::kernels<T>().product({m, n, k, T(1), a.data(), k, 1, rows, n, false, c.data(), n});
  };
  const auto theirs = [&] {
    blas(transposed ? CblasTrans : CblasNoTrans, m, n, k, a.data(), b.data(), c.data());
  };
  bench::in_turn(state, bench::Clock::processor, {{"ours", ours}, {"openblas", theirs}}, 0.002);
}

template <class T>
void add_type(const std::string& type) {
  const int sizes[][3] = {{2, 2, 2},    {4, 4, 4},       {8, 8, 8},      {16, 16, 16},
                          {32, 32, 32}, {64, 64, 64},    {128, 128, 32}, {128, 32, 128},
                          {96, 96, 96}, {128, 128, 128}, {192, 192, 192}};
  for (const auto& s : sizes) {
    for (const bool transposed : {false, true}) {
      const std::string name = "product/" + std::to_string(s[0]) + "," + std::to_string(s[1]) +
                               "," + std::to_string(s[2]) + "/" + type +
                               (transposed ? "/transposed" : "/plain");
      bench::add(name,
                 [=](benchmark::State& state) { product<T>(state, s[0], s[1], s[2], transposed); });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  openblas_set_num_threads(1);
  add_type<float>("float");
  add_type<double>("double");
  return bench::run(argc, argv);
}
