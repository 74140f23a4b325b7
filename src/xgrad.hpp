#ifndef XGRAD_XGRAD_HPP
#define XGRAD_XGRAD_HPP

/// The lean umbrella: everything but the bridge to xtensor (<xgrad/xtensor.hpp>), the kernels'
/// mime bundles (<xgrad/display.hpp>) and grading (<xgrad/grading.hpp>). Includes no xtensor header.

#include <xgrad/autograd/custom.hpp>
#include <xgrad/autograd/derivatives.hpp>
#include <xgrad/autograd/display.hpp>
#include <xgrad/autograd/error.hpp>
#include <xgrad/autograd/grad_mode.hpp>
#include <xgrad/autograd/gradcheck.hpp>
#include <xgrad/autograd/graph_picture.hpp>
#include <xgrad/autograd/lists.hpp>
#include <xgrad/autograd/load_library.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/threads.hpp>
#include <xgrad/autograd/variable.hpp>
#include <xgrad/display/charts.hpp>
#include <xgrad/display/picture.hpp>
#include <xgrad/io/npy.hpp>
#include <xgrad/io/npz.hpp>
#include <xgrad/mha/attention_kernel.hpp>
#include <xgrad/mha/mask.hpp>
#include <xgrad/mha/multi_head_attention.hpp>
#include <xgrad/mha/scaled_dot_product_attention.hpp>
#include <xgrad/ops/activations.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/compare.hpp>
#include <xgrad/ops/cumulative.hpp>
#include <xgrad/ops/dropout.hpp>
#include <xgrad/ops/einsum.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/extrema.hpp>
#include <xgrad/ops/indices.hpp>
#include <xgrad/ops/join.hpp>
#include <xgrad/ops/layer_norm.hpp>
#include <xgrad/ops/logsumexp.hpp>
#include <xgrad/ops/losses.hpp>
#include <xgrad/ops/matmul.hpp>
#include <xgrad/ops/powers.hpp>
#include <xgrad/ops/reduce.hpp>
#include <xgrad/ops/softmax.hpp>
#include <xgrad/ops/take.hpp>
#include <xgrad/ops/trigonometric.hpp>
#include <xgrad/ops/views.hpp>

#endif
