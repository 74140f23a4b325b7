#ifndef XGRAD_AUTOGRAD_THREADS_HPP
#define XGRAD_AUTOGRAD_THREADS_HPP

#include <xgrad/autograd/config.hpp>

namespace xg {

/// How many threads a large operation may use, the caller's included; the default is one for each
/// processor that the process may run on. The same inputs give the same bits at the same number.
/// Throws ArgumentError unless 1 <= n <= 1024.
XGRAD_API void set_num_threads(int n);
XGRAD_API int num_threads() noexcept;

}  // namespace xg

#endif
