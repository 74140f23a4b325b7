#ifndef XGRAD_BENCH_TORCH_GRAPHS_HPP
#define XGRAD_BENCH_TORCH_GRAPHS_HPP

// libtorch as a peer in the same process. Its headers take half a minute to compile: once, in
// torch_graphs.cpp.

#include <memory>
#include <string>

#include "gemm_bound.hpp"
#include "timing.hpp"

namespace bench {

/// Composed attention, forward + backward with all seven gradients, in float.
Contender libtorch_attention(Size size, int threads);

/// Builds a chain of n nodes of one operation on `shape` ("scalar" or "2x4"), runs backward, and
/// frees it.
Contender libtorch_chain(const std::string& op, const std::string& shape, int n);

/// A chain of n scalar additions, alive as long as what is returned.
std::shared_ptr<void> libtorch_graph(int n);

}  // namespace bench

#endif
