#ifndef XGRAD_AUTOGRAD_THREAD_POOL_HPP
#define XGRAD_AUTOGRAD_THREAD_POOL_HPP

// Private: the one thread pool. It is our own because GNU's OpenMP hangs in a forked child, and
// because ThreadSanitizer cannot follow a library that was not compiled with it.

#include <algorithm>
#include <cstdint>

#include <xgrad/autograd/threads.hpp>

namespace xg::detail {

/// Calls item(context, i) for each i in [0, items), in no order, on the caller and the pool's
/// threads. What an item computes may not depend on who runs it. On one thread, inside an item, and
/// while another thread has the pool, they run here, one after the other. Rethrows the first
/// exception when none runs any more.
void run_items(std::int64_t items, void (*item)(void* context, std::int64_t i), void* context);

template <class F>
void parallel_items(std::int64_t items, F f) {
  run_items(
      items, [](void* context, std::int64_t i) { (*static_cast<F*>(context))(i); }, &f);
}

/// Calls f(begin, end) for ranges of `unit`s that cover [0, n): one range if n < 2 * least, and
/// else a few for each thread, so that one that is held up is helped by the others.
template <class F>
void parallel_ranges(std::int64_t n, std::int64_t least, std::int64_t unit, F f) {
  constexpr std::int64_t kRangesPerThread = 4;
  const std::int64_t threads = num_threads();
  const std::int64_t most = threads == 1 ? 1 : threads * kRangesPerThread;
  const std::int64_t ranges =
      std::max<std::int64_t>(1, std::min(most, n / std::max<std::int64_t>(least, 1)));
  if (ranges == 1) {
    if (n > 0) f(std::int64_t{0}, n);
    return;
  }
  const std::int64_t step = ((n + ranges - 1) / ranges + unit - 1) / unit * unit;
  parallel_items((n + step - 1) / step,
                 [&](std::int64_t i) { f(i * step, std::min(n, (i + 1) * step)); });
}

}  // namespace xg::detail

#endif
