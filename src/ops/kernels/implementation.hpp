// Included by one source file for each instruction set, inside an anonymous namespace and after
// xsimd. Only raw pointers and xsimd here: an inline function of the standard library compiled with
// these flags could be the copy that the linker keeps for every caller.

#include <xgrad/ops/kernels/vector.hpp>

#include <xgrad/ops/kernels/math.hpp>

#include <xgrad/ops/kernels/elementwise.hpp>

#include <xgrad/ops/kernels/reductions.hpp>

#include <xgrad/ops/kernels/product.hpp>

#include <xgrad/ops/kernels/transpose.hpp>

#include <xgrad/ops/kernels/softmax.hpp>

#include <xgrad/ops/kernels/layer_norm.hpp>

template <class T>
constexpr Kernels<T> table() {
  Kernels<T> t{};
  t.neg = unary_kernel<T, Neg>;
  t.abs = unary_kernel<T, Abs>;
  t.square = unary_kernel<T, Square>;
  t.sqrt = unary_kernel<T, Sqrt>;
  t.relu = unary_kernel<T, Relu>;
  t.exp = unary_kernel<T, Exp>;
  t.log = unary_kernel<T, Log>;
  t.sigmoid = unary_kernel<T, Sigmoid>;
  t.tanh = unary_kernel<T, Tanh>;
  t.erf = unary_kernel<T, Erf>;
  t.gelu = unary_kernel<T, Gelu>;
  t.gelu_slope = unary_kernel<T, GeluSlope>;
  t.sin = InDouble<T, Sin>::unary;
  t.cos = InDouble<T, Cos>::unary;
  t.add = binary_kernel<T, Add>;
  t.sub = binary_kernel<T, Sub>;
  t.mul = binary_kernel<T, Mul>;
  t.div = binary_kernel<T, Div>;
  t.pow = pow_kernel;
  t.chain = binary_kernel<T, Chain>;
  t.maximum = binary_kernel<T, Maximum>;
  t.minimum = binary_kernel<T, Minimum>;
  t.shift = binary_kernel<T, Shift>;
  t.exp_shift = binary_kernel<T, ExpShift>;
  t.sum = fold<T, Plain<T, Sums>>();
  t.prod = fold<T, Plain<T, Products>>();
  t.max = fold<T, Plain<T, Maxima>>();
  t.min = fold<T, Plain<T, Minima>>();
  t.sum_centred = fold<T, SumCentred<T>>();
  t.sum_squares = fold<T, SumSquares<T>>();
  t.sum_exp = fold<T, SumExp<T>>();
  t.less = compare_kernel<T, Less>;
  t.less_equal = compare_kernel<T, LessEqual>;
  t.equal = compare_kernel<T, Equal>;
  t.not_equal = compare_kernel<T, NotEqual>;
  t.clip = clip_kernel<T>;
  t.where = where_kernel<T>;
  t.softmax = softmax_kernel<T>;
  t.log_softmax = log_softmax_kernel<T>;
  t.softmax_backward = softmax_backward_kernel<T>;
  t.product = product_kernel<T>;
  t.transpose = transpose_kernel<T>;
  t.layer_norm = layer_norm_kernel<T>;
  t.layer_norm_backward = layer_norm_backward_kernel<T>;
  t.layer_norm_weight_gradient = layer_norm_weight_gradient_kernel<T>;
  return t;
}

template <class T>
constexpr Kernels<T> kTable = table<T>();
