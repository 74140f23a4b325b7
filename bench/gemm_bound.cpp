// The gemm bound for programs in other languages, in float.

#include "gemm_bound.hpp"

extern "C" void openblas_set_num_threads(int);

#define XGRAD_BENCH_API __attribute__((visibility("default")))

extern "C" {

XGRAD_BENCH_API void* gemm_bound_make(int threads, int B, int Q, int K, int D, int H) {
  openblas_set_num_threads(1);
  xg::set_num_threads(threads);
  return new bench::GemmBound<float>(bench::Size{B, Q, K, D, H});
}
XGRAD_BENCH_API void gemm_bound_run(void* bound) {
  static_cast<bench::GemmBound<float>*>(bound)->run();
}
XGRAD_BENCH_API void gemm_bound_free(void* bound) {
  delete static_cast<bench::GemmBound<float>*>(bound);
}
}
