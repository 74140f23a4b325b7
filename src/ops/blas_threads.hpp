#ifndef XGRAD_OPS_BLAS_THREADS_HPP
#define XGRAD_OPS_BLAS_THREADS_HPP

// Private: OpenBLAS on one thread inside our own pool's.

namespace xg::detail {

/// While any lives, OpenBLAS runs on one thread in the whole process; then on as many as before.
/// Two pools would spin against each other.
class BlasOnOneThread {
 public:
  BlasOnOneThread();
  ~BlasOnOneThread();
  BlasOnOneThread(const BlasOnOneThread&) = delete;
  BlasOnOneThread& operator=(const BlasOnOneThread&) = delete;
};

}  // namespace xg::detail

#endif
