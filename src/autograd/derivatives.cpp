#include <xgrad/autograd/derivatives.hpp>

#include <algorithm>
#include <utility>

#include <xgrad/autograd/finished.hpp>
#include <xgrad/autograd/grad_mode.hpp>
#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg {
namespace detail {
namespace {

template <class F>
void check_function(const char* op, const F& f) {
  if (!f) fail<ArgumentError>(op, "empty function", "nothing to call", "a function");
}

template <class T>
Variable<T> leaf(const Variable<T>& x) {
  Variable<T> out = x.detach();
  out.set_requires_grad();
  return out;
}

template <class T>
std::vector<Variable<T>> leaves(const std::vector<Variable<T>>& inputs) {
  std::vector<Variable<T>> out;
  out.reserve(inputs.size());
  for (const Variable<T>& x : inputs) out.push_back(leaf(x));
  return out;
}

/// Can the result of f be differentiated at all? Throws GraphError if it is undefined.
template <class T>
bool depends(const char* op, const Variable<T>& y) {
  (void)array(op, y);
  return y.requires_grad();
}

template <class T>
Variable<T> outside(const Variable<T>& gradient, const Variable<T>& like) {
  return gradient.defined() ? gradient.detach() : zeros<T>(Dims(like.shape()));
}

template <class T>
Variable<T> jacobian(const char* op, const FunctionOfOne<T>& f, const Variable<T>& at) {
  const EnableGrad guard;
  const Variable<T> x = leaf(at);
  const Variable<T> y = f(x);
  const bool dependent = depends(op, y);
  const Extents y_shape = extents(op, y);
  Extents shape = y_shape;
  for (std::int64_t extent : extents(op, x)) shape.push_back(extent);
  (void)checked_size(op, shape);
  Array<T> out(std::move(shape));
  std::fill_n(out.data(), out.size(), T(0));
  const std::int64_t rows = size_of(y_shape);
  for (std::int64_t i = 0; i < rows && dependent; ++i) {
    Array<T> seed{Extents(y_shape)};
    std::fill_n(seed.data(), rows, T(0));
    seed.data()[i] = 1;
    const Variable<T> gradient =
        grad(y, x, from_array(std::move(seed)), retain_graph | allow_unused)[0];
    if (!gradient.defined()) break;
    const Array<T>& values = array(op, gradient);
    Array<T> row(out, out.data() + i * values.size(), values.shape(),
                 contiguous_strides(values.shape()));
    map(
        row, [](T v) { return v; }, values);
  }
  return from_array(std::move(out));
}

}  // namespace
}  // namespace detail

template <class T>
Variable<T> jacobian(detail::same_t<detail::FunctionOfOne<T>> f, const Variable<T>& x) {
  detail::check_function("jacobian", f);
  return detail::jacobian("jacobian", f, x);
}

template <class T>
Variable<T> hessian(detail::same_t<detail::FunctionOfOne<T>> f, const Variable<T>& x) {
  detail::check_function("hessian", f);
  const detail::FunctionOfOne<T> gradient = [&f](const Variable<T>& at) {
    const Variable<T> y = f(at);
    if (detail::size_of(detail::extents("hessian", y)) != 1) {
      detail::fail<ShapeError>("hessian", "not a scalar function",
                               "shape " + detail::text(detail::extents("hessian", y)),
                               "one element", "jacobian differentiates functions of any shape");
    }
    Variable<T> dx;
    if (detail::depends("hessian", y)) dx = grad(y, at, {}, create_graph | allow_unused)[0];
    return dx.defined() ? dx : zeros<T>(Dims(at.shape()));
  };
  return detail::jacobian("hessian", gradient, x);
}

template <class T>
std::vector<Variable<T>> vjp(detail::same_t<detail::FunctionOfMany<T>> f,
                             const std::vector<Variable<T>>& inputs, const Variable<T>& cotangent) {
  detail::check_function("vjp", f);
  const EnableGrad guard;
  const std::vector<Variable<T>> x = detail::leaves(inputs);
  const Variable<T> y = f(x);
  const bool dependent = detail::depends("vjp", y);
  if (detail::array("vjp", cotangent).shape() != detail::extents("vjp", y)) {
    detail::fail<ShapeError>("vjp", "wrong cotangent",
                             "shape " + detail::text(detail::extents("vjp", cotangent)),
                             "shape " + detail::text(detail::extents("vjp", y)));
  }
  std::vector<Variable<T>> gradients(x.size());
  if (dependent && !x.empty()) gradients = grad(y, x, cotangent, allow_unused);
  for (std::size_t i = 0; i < x.size(); ++i) gradients[i] = detail::outside(gradients[i], x[i]);
  return detail::finished(std::move(gradients));
}

template <class T>
Variable<T> jvp(detail::same_t<detail::FunctionOfMany<T>> f, const std::vector<Variable<T>>& inputs,
                const std::vector<Variable<T>>& tangents) {
  detail::check_function("jvp", f);
  if (tangents.size() != inputs.size()) {
    detail::fail<ArgumentError>("jvp", "wrong number of tangents", detail::text(tangents.size()),
                                detail::text(inputs.size()) + ", one for each input");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (detail::array("jvp", tangents[i]).shape() != detail::extents("jvp", inputs[i])) {
      detail::fail<ShapeError>("jvp", "wrong tangent " + detail::text(i),
                               "shape " + detail::text(detail::extents("jvp", tangents[i])),
                               "shape " + detail::text(detail::extents("jvp", inputs[i])));
    }
  }
  const EnableGrad guard;
  const std::vector<Variable<T>> x = detail::leaves(inputs);
  const Variable<T> y = f(x);
  if (!detail::depends("jvp", y)) return zeros<T>(Dims(y.shape()));
  const Variable<T> cotangent = detail::leaf(zeros<T>(Dims(y.shape())));
  const auto gradients = grad(y, x, cotangent, create_graph | allow_unused);
  std::vector<Variable<T>> outputs;
  std::vector<Variable<T>> seeds;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!gradients[i].defined() || !gradients[i].requires_grad()) continue;
    outputs.push_back(gradients[i]);
    seeds.push_back(tangents[i]);
  }
  Variable<T> out;
  if (!outputs.empty()) out = grad(outputs, cotangent, seeds, allow_unused)[0];
  return detail::outside(out, cotangent);
}

#define XGRAD_INSTANTIATE(T)                                                                  \
  template Variable<T> jacobian(detail::FunctionOfOne<T>, const Variable<T>&);                \
  template Variable<T> hessian(detail::FunctionOfOne<T>, const Variable<T>&);                 \
  template std::vector<Variable<T>> vjp(detail::FunctionOfMany<T>,                            \
                                        const std::vector<Variable<T>>&, const Variable<T>&); \
  template Variable<T> jvp(detail::FunctionOfMany<T>, const std::vector<Variable<T>>&,        \
                           const std::vector<Variable<T>>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
