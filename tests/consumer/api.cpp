// Uses every public name once, compiled outside the tree against the installed library.

#include <iostream>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include <xgrad/xtensor.hpp>

namespace {

int failures = 0;

void expect(bool condition, const char* what) {
  if (condition) return;
  ++failures;
  std::cout << "failed: " << what << "\n";
}

template <class E, class F>
void expect_error(F f, const char* what) {
  try {
    f();
  } catch (const E& error) {
    expect(std::string(error.what()).find("expected") != std::string::npos, error.what());
    return;
  }
  expect(false, what);
}

template <class T>
struct Twice final : xg::Op<T> {
  std::string name() const override { return "twice"; }
  xg::Needs needs() const override { return xg::Needs::nothing(); }
  xg::Variable<T> forward(const std::vector<xg::Variable<T>>& in) const override {
    return in[0] * 2;
  }
  std::vector<xg::Variable<T>> backward(const std::vector<xg::Variable<T>>&, const xg::Variable<T>&,
                                        xg::Variable<T> grad_output,
                                        const std::vector<bool>&) const override {
    return {grad_output * 2};
  }
};

template <class T>
void use_variables() {
  using V = xg::Variable<T>;
  const V undefined;
  V scalar(2);
  V x({{1, 2}, {3, 4}}, true);
  const V column({{1}, {2}, {3}});
  const V one({{1}});
  expect(!undefined.defined() && scalar.dim() == 0 && x.shape() == xg::Shape{2, 2}, "shapes");
  expect(column.shape() == xg::Shape{3, 1} && one.shape() == xg::Shape{1, 1}, "nested lists");
  const xt::xarray<T> expression = {{1, 2}, {3, 4}};
  V from_expression(expression * T(2), true);
  const std::vector<T> data = {1, 2, 3, 4, 5, 6};
  const int B = 2;
  expect(xg::from_data<T>(data.data(), {B, 3}).at({-1, 0}) == T(4), "from_data");
  expect(xg::zeros<T>({x.shape()[0], 3}).size() == 6 && xg::ones<T>({2}).at({1}) == T(1), "fill");
  expect(xg::full<T>({2}, 7).at({0}) == T(7) && xg::arange<T>(0, 5, 2).size() == 3, "arange");
  expect(xg::randn<T>({4}, 1).size() == 4 && xg::uniform<T>({4}, 0, 1, 1).size() == 4, "random");
  expect(x.size() == 4 && x.strides().size() == 2 && x.is_contiguous() && x.requires_grad() &&
             x.is_leaf(),
         "properties");
  x.set_name("query");
  expect(x.name() == "query" && scalar.item() == T(2) && x.to_vector().size() == 4, "reading");
  expect(x.value()(1, 0) == T(3), "value");
  x.set_value(V({{1, 2}, {3, 5}}));
  x.set_value(expression);
  x.update([](auto& e) { e(0, 0) = T(1); });

  auto y = xg::sum(x * x);
  auto hook = x.register_hook([](const V& g) { return g * 1; });
  y.backward();
  hook.remove();
  expect(x.grad().at({1, 1}) == T(8), "backward");
  x.zero_grad();
  x.set_grad(xg::ones<T>({2, 2}));
  V z = x * 2;
  z.retain_grad();
  z.backward(xg::ones<T>({2, 2}), xg::retain_graph | xg::create_graph);
  expect(z.grad().defined() && x.detach().is_leaf() && x.clone().size() == 4, "retain_grad");
  V total(0);
  total += x;
  expect(total.shape() == x.shape(), "+=");
  const auto gradients = xg::grad(xg::sum(x * x * x), {x}, {}, xg::create_graph);
  expect(gradients[0].requires_grad(), "grad with a graph");
  expect(!xg::grad(xg::sum(x), {x, from_expression}, {}, xg::allow_unused)[1].defined(), "unused");
  {
    const xg::NoGrad guard;
    expect(!(x * x).requires_grad(), "NoGrad");
    const xg::EnableGrad again;
    const xg::AnomalyMode anomaly;
    expect((x * x).requires_grad(), "EnableGrad");
  }
  const std::size_t before = xg::live_nodes();
  {
    const V kept = x * x;
    expect(xg::live_nodes() == before + 1, "live_nodes");
  }
  expect(xg::live_nodes() == before, "live_nodes afterwards");
}

template <class T>
void use_operations() {
  using V = xg::Variable<T>;
  const V a({{1, 2}, {3, 4}}, true);
  const V b({{0.5, 1}, {1.5, 2}}, true);
  expect((a + b - a * b / a + 1 - 2.0 * a / 3.0F + (-b)).shape() == a.shape(), "arithmetic");
  static_assert(std::is_same_v<decltype(a + 1.0), V>, "a scalar of any type keeps T");
  expect((a < b).defined() && (a <= 1).defined() && (a > b).defined() && (a >= b).defined() &&
             (a == b).defined(),
         "comparisons");
  expect(xg::where(a > b, a, b).shape() == a.shape(), "where");
  expect(xg::exp(xg::log(xg::sqrt(a))).shape() == a.shape(), "exponential");
  expect(xg::matmul(a, b).at({0, 0}) == T(3.5), "matmul");
  expect(xg::reshape(a, {4, -1}).dim() == 2 && xg::flatten(a).dim() == 1, "reshape");
  expect(xg::transpose(a).at({0, 1}) == T(3) && xg::swapaxes(a, 0, -1).at({0, 1}) == T(3) &&
             xg::transpose(a, {1, 0}).at({0, 1}) == T(3),
         "transpose");
  expect(xg::squeeze(xg::unsqueeze(a, 0)).dim() == 2 && xg::flip(a, {0}).at({0, 0}) == T(3),
         "axes");
  expect(xg::broadcast_to(a, {3, 2, 2}).dim() == 3, "broadcast_to");
  expect(xg::concat({a, b}, 1).shape()[1] == 4 && xg::stack({a, b}, 0).dim() == 3, "join");
  expect(xg::split(a, 2, 0).size() == 2 && xg::split(a, {1}, 1).size() == 2, "split");
  expect(xg::slice(a, 1, 0, xg::end, 2).shape()[1] == 1, "slice");
  expect(xg::sum(a, {0, 1}, true).dim() == 2 && xg::mean(a).dim() == 0, "reductions");
  expect(xg::softmax(a).dim() == 2 && xg::log_softmax(a, 0).dim() == 2, "softmax");
  expect(xg::masked_softmax(a, {{true, false}, {true, true}}).at({0, 1}) == T(0), "masked_softmax");
  expect(xg::apply(std::make_shared<Twice<T>>(), {a}).at({0, 0}) == T(2), "apply");
  std::ostringstream text;
  text << a;
  expect(text.str().find("2") != std::string::npos, "operator<<");
}

template <class T>
void use_attention() {
  const auto q = xg::randn<T>({2, 3, 4}, 1);
  const auto k = xg::randn<T>({2, 5, 4}, 2);
  auto w = xg::randn<T>({4, 4}, 3);
  w.set_requires_grad();
  const xg::Mask none;
  const xg::Mask padding = xg::padding_mask({5, 2}, 5);
  const xg::Mask causal = xg::causal_mask(3, 5, xg::CausalAlign::lower_right);
  const xg::Mask both = (padding & causal) | ~(padding | xg::Mask({true, true, true, true, true}));
  expect(!none.defined() && both.shape() == xg::Shape{2, 1, 3, 5} && padding.at({0, 0, 0, -1}),
         "masks");
  expect(xg::Mask({2}, {true, false}).at({0}) && xg::Mask(xt::xarray<int>{1, 2} > 1).at({1}),
         "mask constructors");
  auto [output, weights] = xg::multi_head_attention(q, k, k, w, w, w, w, 2, both);
  expect(output.shape() == xg::Shape{2, 3, 4} && weights.shape() == xg::Shape{2, 2, 3, 5},
         "multi_head_attention");
  xg::sum(output).backward();
  expect(w.grad().defined(), "its gradient");
  const xg::Attention<T> kernel =
      xg::attention_kernel(xg::unsqueeze(q, 1), xg::unsqueeze(k, 1), xg::unsqueeze(k, 1));
  expect(kernel.output.shape() == xg::Shape{2, 1, 3, 4}, "attention_kernel");
  const auto fused = xg::scaled_dot_product_attention(
      xg::unsqueeze(q, 1), xg::unsqueeze(k, 1), xg::unsqueeze(k, 1), padding,
      xg::AttentionOptions{true, 0.5});
  expect(fused.shape() == xg::Shape{2, 1, 3, 4}, "scaled_dot_product_attention");
  const auto output = xg::multi_head_attention_output(q, k, k, w, w, w, w, 2, both);
  expect(output.shape() == xg::Shape{2, 3, 4}, "multi_head_attention_output");
}

void use_errors() {
  using V = xg::Variable<double>;
  expect_error<xg::ShapeError>([] { xg::matmul(V({1, 2}), V({1, 2, 3})); }, "ShapeError");
  expect_error<xg::MaskError>([] { xg::Mask().shape(); }, "MaskError");
  expect_error<xg::GraphError>([] { V().shape(); }, "GraphError");
  expect_error<xg::ArgumentError>([] { xg::arange<double>(0, 1, 0); }, "ArgumentError");
  expect_error<xg::AllocationError>(
      [] {
        xg::zeros<double>({1L << 40, 1L << 40});
      },
      "AllocationError");
  static_assert(std::is_base_of_v<std::runtime_error, xg::Error> &&
                std::is_base_of_v<xg::Error, xg::GradcheckError> &&
                std::is_base_of_v<xg::Error, xg::FileError>);
}

}  // namespace

int main() {
  expect(std::string(xg::version()) == XGRAD_VERSION, "version");
  use_variables<float>();
  use_variables<double>();
  use_operations<float>();
  use_operations<double>();
  use_attention<float>();
  use_attention<double>();
  use_errors();
  std::cout << (failures == 0 ? "every public name works\n" : "");
  return failures == 0 ? 0 : 1;
}
