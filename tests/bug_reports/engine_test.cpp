#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <vector>

#include <xgrad/xgrad.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"
#include "../support/small_stack.hpp"

// What users of other engines have reported: the same input, the right answer.

using test::exactly;
using xg::Variable;

namespace {

template <class T>
Variable<T> add_often(const Variable<T>& x, int times) {
  const Variable<T> c(1);
  Variable<T> y = x;
  for (int i = 0; i < times; ++i) y = y + c;
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("pytorch/pytorch#5534: a chain of 1,000,000 nodes is dropped without backward",
                   T, float, double) {
  test::on_small_stack([] { (void)add_often(Variable<T>(1, true), 1000000); });
  CHECK(xg::live_nodes() == 0);
}

TEST_CASE_TEMPLATE("ml-explore/mlx#1764, karpathy/micrograd#90: backward through the same chain", T,
                   float, double) {
  Variable<T> x(1, true);
  test::on_small_stack([&] { add_often(x, 1000000).backward(); });
  CHECK(x.grad().item() == T(1));
}

TEST_CASE_TEMPLATE("ml-explore/mlx#1764: a deep chain of products, and a ladder of two rails", T,
                   float, double) {
  Variable<T> x(1, true);
  test::on_small_stack([&] {
    Variable<T> y = x;
    for (int i = 0; i < 200000; ++i) y = y * x;
    y.backward();
  });
  CHECK(x.grad().item() == T(200001));
  x.set_grad({});
  test::on_small_stack([&] {
    Variable<T> a = x;
    Variable<T> b = x;
    for (int i = 0; i < 100000; ++i) {
      const Variable<T> next = a - b;
      b = a;
      a = next;
    }
    (a + b).backward();
  });
  CHECK(x.grad().defined());
}

TEST_CASE_TEMPLATE("autodiff/autodiff#332: sixty doublings", T, float, double) {
  Variable<T> x(1, true);
  const auto start = std::chrono::steady_clock::now();
  Variable<T> y = x;
  for (int i = 0; i < 60; ++i) y = y + y;
  y.backward();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(x.grad().item() == T(1152921504606846976.0));
  CHECK(took.count() < 0.1);
}

TEST_CASE_TEMPLATE("autodiff/autodiff#332: and twenty squarings, differentiated twice", T, float,
                   double) {
  Variable<T> x(1, true);
  Variable<T> y = x;
  for (int i = 0; i < 20; ++i) y = y * y;
  const auto g = xg::grad(y, x, {}, xg::create_graph)[0];
  CHECK(g.item() == T(1048576));
  CHECK(xg::grad(g, x)[0].item() == T(1048576.0 * 1048575.0));
}

TEST_CASE_TEMPLATE("karpathy/micrograd#53: backward twice over a retained graph", T, float,
                   double) {
  Variable<T> a(3, true);
  Variable<T> b(2, true);
  Variable<T> d(1, true);
  const auto e = (a + b) * d;
  e.backward(xg::retain_graph);
  CHECK(a.grad().item() == T(1));
  CHECK(d.grad().item() == T(5));
  e.backward();
  CHECK(a.grad().item() == T(2));
  CHECK(b.grad().item() == T(2));
  CHECK(d.grad().item() == T(10));
}

TEST_CASE_TEMPLATE("karpathy/micrograd#2: a value used at two depths", T, float, double) {
  Variable<T> x(3, true);
  const auto a = x * x;
  (a * a + a).backward();
  CHECK(x.grad().item() == T(114));
  x.set_grad({});
  const auto c = x * x;
  (c + c * c).backward();  // the other order
  CHECK(x.grad().item() == T(114));
}

TEST_CASE_TEMPLATE("apache/mxnet#17989: a sum of 24 uses of x", T, float, double) {
  Variable<T> x(2, true);
  Variable<T> y(0);
  for (int i = 0; i < 24; ++i) y += x;
  y.backward();
  CHECK(x.grad().item() == T(24));
  x.set_grad({});
  xg::sum(xg::stack(std::vector<Variable<T>>(24, x))).backward();
  CHECK(x.grad().item() == T(24));
}

TEST_CASE_TEMPLATE("Dao-AILab/flash-attention#355: a cotangent that is a broadcast scalar", T,
                   float, double) {
  const auto run = [](const Variable<T>& seed) {
    std::vector<std::vector<T>> out;
    std::vector<Variable<T>> x;
    for (std::size_t i = 0; i < 3; ++i) {
      x.push_back(xg::randn<T>({2, 2, 3, 4}, i));
      x.back().set_requires_grad();
    }
    xg::attention_kernel(x[0], x[1], x[2]).output.backward(seed);
    for (const auto& v : x) out.push_back(v.grad().to_vector());
    return out;
  };
  CHECK(run(xg::broadcast_to(Variable<T>(1), {2, 2, 3, 4})) == run(xg::ones<T>({2, 2, 3, 4})));
}

TEST_CASE_TEMPLATE("NVIDIA/warp#1350: an input overwritten between forward and backward", T, float,
                   double) {
  Variable<T> x(3, true);
  const auto y = x * x;
  SUBCASE("set_value") { x.set_value(Variable<T>(5)); }
  SUBCASE("through another handle") {
    Variable<T> same = x;
    same.set_value(Variable<T>(5));
  }
  y.backward();
  CHECK(x.grad().item() == T(6));
  CHECK(x.item() == T(5));
}

TEST_CASE_TEMPLATE("NVIDIA/warp#1350: an output that a rule reads is overwritten through a view", T,
                   float, double) {
  Variable<T> x({0, 1}, true);
  const auto y = xg::exp(x);
  auto view = xg::reshape(y, {2, 1}).detach();
  view.set_value(Variable<T>({{100}, {100}}));
  xg::sum(y).backward();
  CHECK_CLOSE(x.grad(), Variable<T>({1, std::exp(T(1))}));
}

TEST_CASE_TEMPLATE("Oneflow-Inc/oneflow#9497: an intermediate beside one of its inputs", T, float,
                   double) {
  Variable<T> x(1, true);
  Variable<T> y(3, true);
  const auto z = x + y;
  (x / z).backward();
  CHECK(x.grad().item() == T(0.1875));
  CHECK(y.grad().item() == T(-0.0625));
}

TEST_CASE_TEMPLATE("Oneflow-Inc/oneflow#7685: a hook runs once, on the sum", T, float, double) {
  Variable<T> x(1, true);
  auto y = x + 1;
  std::vector<T> seen;
  y.register_hook([&](const Variable<T>& g) {
    seen.push_back(g.item());
    return g * 2;
  });
  (y * 2 + y * 3).backward();
  CHECK_CLOSE(seen, {5}, exactly);
  CHECK(x.grad().item() == T(10));
}

TEST_CASE_TEMPLATE("pytorch/pytorch#25340: graphs dropped with and without backward, 1000 times", T,
                   float, double) {
  const std::size_t before = xg::live_nodes();
  for (int i = 0; i < 1000; ++i) {
    Variable<T> x({1, 2, 3}, true);
    const auto y = xg::softmax(x);
    if (i % 2 == 0) y.backward(Variable<T>({1, 0, 0}));
    if (i % 3 == 0) xg::grad(xg::sum(xg::softmax(x)), x, {}, xg::create_graph);
  }
  CHECK(xg::live_nodes() == before);
}

TEST_CASE_TEMPLATE("tinygrad/tinygrad#9597: two leaves of one value are two leaves", T, float,
                   double) {
  Variable<T> a(3, true);
  Variable<T> b(3, true);
  (a + b).backward();
  CHECK(a.grad().item() == T(1));
  CHECK(b.grad().item() == T(1));
  const Variable<T> shared(3);  // and two that share memory
  auto c = shared.detach();
  auto d = shared.detach();
  c.set_requires_grad();
  d.set_requires_grad();
  (c * d * 2).backward();
  CHECK(c.grad().item() == T(6));
  CHECK(d.grad().item() == T(6));
}
