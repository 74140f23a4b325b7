#ifndef XGRAD_XGRAD_HPP
#define XGRAD_XGRAD_HPP

/// The lean umbrella: everything but the bridge to xtensor (<xgrad/xtensor.hpp>), rich display
/// (<xgrad/display.hpp>) and grading (<xgrad/grading.hpp>). Includes no xtensor header.

#include <xgrad/autograd/error.hpp>
#include <xgrad/autograd/grad_mode.hpp>
#include <xgrad/autograd/lists.hpp>
#include <xgrad/autograd/load_library.hpp>
#include <xgrad/autograd/op.hpp>
#include <xgrad/autograd/variable.hpp>
#include <xgrad/mha/attention_kernel.hpp>
#include <xgrad/mha/mask.hpp>
#include <xgrad/mha/multi_head_attention.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/broadcast.hpp>
#include <xgrad/ops/compare.hpp>
#include <xgrad/ops/exponential.hpp>
#include <xgrad/ops/join.hpp>
#include <xgrad/ops/matmul.hpp>
#include <xgrad/ops/reduce.hpp>
#include <xgrad/ops/softmax.hpp>
#include <xgrad/ops/views.hpp>

#endif
