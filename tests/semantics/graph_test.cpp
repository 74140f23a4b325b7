#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <xgrad/xtensor.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"
#include "../support/small_stack.hpp"
#include "graphs.hpp"

using test::Attending;
using test::exactly;
using test::sum_of;
using test::with_rule;
using xg::Variable;

namespace {

/// y = x; its rule and its destruction touch the variables it holds.
template <class T>
class Holder final : public xg::Op<T> {
 public:
  using V = Variable<T>;
  explicit Holder(V held) : held_(std::move(held)) {}
  std::string name() const override { return "holder"; }
  xg::Needs needs() const override { return xg::Needs::nothing(); }
  V forward(const std::vector<V>& inputs) const override { return inputs[0]; }
  std::vector<V> backward(const std::vector<V>&, const V&, V grad,
                          const std::vector<bool>&) const override {
    return {std::move(grad)};
  }

 private:
  V held_;
};

template <class T>
Variable<T> chain_of(const Variable<T>& x, int nodes) {
  const Variable<T> c(1);
  Variable<T> y = x;
  for (int i = 0; i < nodes; ++i) y = y + c;
  return y;
}

}  // namespace

TEST_CASE_TEMPLATE("S1: copies of a handle share value and gradient", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  V same = x;
  same.set_value(V({3, 4}));
  CHECK_CLOSE(x, {3, 4}, exactly);
  xg::sum(x * x).backward();
  CHECK_CLOSE(same.grad(), {6, 8}, exactly);
  same.set_name("weights");
  CHECK(x.name() == "weights");
}

TEST_CASE_TEMPLATE("S1: what a graph records of an input is a snapshot, not the handle", T, float,
                   double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  V y = xg::sum(x * x);
  SUBCASE("the handle may be rebound") {
    const V first = x;
    x = V({5, 5}, true);
    y.backward();
    CHECK_CLOSE(first.grad(), {2, 4}, exactly);
    CHECK_FALSE(x.grad().defined());
  }
  SUBCASE("the handle may be dropped") {
    x = V();
    y.backward();
    CHECK(y.item() == T(5));
  }
  SUBCASE("the value may change") {
    x.set_value(V({9, 9}));
    y.backward();
    CHECK_CLOSE(x.grad(), {2, 4}, exactly);
  }
}

TEST_CASE_TEMPLATE("S1: an operation that returns its input's values gives a variable of its own",
                   T, float, double) {
  using V = Variable<T>;
  V x({{1, 2}});
  const V scalar(7);
  V results[] = {xg::broadcast_to(x, {1, 2}),
                 xg::reshape(x, {1, 2}),
                 xg::transpose(x, {0, 1}),
                 xg::squeeze(x, 0),
                 xg::slice(x, 0, 0, 1),
                 xg::sum(x, {}, true),
                 xg::flip(scalar),
                 xg::squeeze(scalar)};
  for (V& y : results) {
    const auto before = x.to_vector();
    y.set_name("result");
    y.update([](auto& values) { values.fill(9); });
    CHECK(x.to_vector() == before);
    CHECK(x.name().empty());
    CHECK(scalar.item() == T(7));
    CHECK(scalar.name().empty());
  }
}

TEST_CASE_TEMPLATE("S2: only leaves that require grad keep a gradient, and it accumulates", T,
                   float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  const V constant({3, 4});
  const V y = x * constant;
  const V z = xg::sum(y);
  z.backward(xg::retain_graph);
  CHECK_CLOSE(x.grad(), {3, 4}, exactly);
  z.backward();
  CHECK_CLOSE(x.grad(), {6, 8}, exactly);
  CHECK_FALSE(constant.grad().defined());
  CHECK_FALSE(y.grad().defined());
  CHECK_FALSE(z.grad().defined());
  x.zero_grad();
  CHECK_CLOSE(x.grad(), {0, 0}, exactly);
  xg::sum(x).backward();
  CHECK_CLOSE(x.grad(), {1, 1}, exactly);
}

TEST_CASE_TEMPLATE("S2: a result keeps its gradient after retain_grad", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  V y = x * x;
  y.retain_grad();
  xg::sum(y * y).backward();
  CHECK_CLOSE(y.grad(), {2, 8}, exactly);
  CHECK_CLOSE(x.grad(), {4, 32}, exactly);
  CHECK_ERROR(xg::GraphError, "retain_grad", V({1}).retain_grad());
}

TEST_CASE_TEMPLATE("S2: retain_grad on a leaf's snapshot does not take the leaf's gradient away", T,
                   float, double) {
  using V = Variable<T>;
  struct Retains final : xg::Op<T> {
    std::string name() const override { return "retains"; }
    V forward(const std::vector<V>& in) const override { return in[0].clone(); }
    std::vector<V> backward(const std::vector<V>& in, const V&, V grad,
                            const std::vector<bool>&) const override {
      V snapshot = in[0];
      snapshot.retain_grad();
      snapshot.set_requires_grad(false);
      return {grad};
    }
  };
  V x({1, 2}, true);
  xg::sum(xg::apply(std::make_shared<Retains>(), {x})).backward(xg::create_graph);
  CHECK_CLOSE(x.grad(), {1, 1}, exactly);
}

TEST_CASE_TEMPLATE("S3: writing to one gradient changes no other gradient, value or seed", T, float,
                   double) {
  using V = Variable<T>;
  const V fives({5, 5});
  const auto overwrite = [&](V handle) { handle.set_value(fives); };
  const auto overwrite_in_place = [](V handle) {
    handle.update([](auto& values) { values.fill(5); });
  };

  SUBCASE("gradients that backward stored") {
    V a({1, 2}, true);
    V b({3, 4}, true);
    V seed({1, 1});
    (a + b).backward(seed);
    overwrite(a.grad());
    overwrite_in_place(a.grad());
    CHECK_CLOSE(a.grad(), {1, 1}, exactly);
    overwrite_in_place(seed);
    CHECK_CLOSE(a.grad(), {1, 1}, exactly);
    CHECK_CLOSE(b.grad(), {1, 1}, exactly);
    V held = a.grad();
    (a + b).backward(V({1, 1}));
    CHECK_CLOSE(held, {1, 1}, exactly);
    CHECK_CLOSE(a.grad(), {2, 2}, exactly);
    CHECK_CLOSE(b.grad(), {2, 2}, exactly);
  }
  SUBCASE("a leaf that is its own root") {
    V a({1, 2}, true);
    V seed({1, 1});
    a.backward(seed);
    overwrite_in_place(seed);
    CHECK_CLOSE(a.grad(), {1, 1}, exactly);
    a.backward(V({1, 1}));
    CHECK_CLOSE(seed, {5, 5}, exactly);
  }
  SUBCASE("gradients from grad()") {
    V a({1, 2}, true);
    V b({3, 4}, true);
    V seed({1, 1});
    auto g = xg::grad(a + b, {a, b, a}, seed);
    overwrite_in_place(g[0]);
    CHECK_CLOSE(g[0], {5, 5}, exactly);
    CHECK_CLOSE(g[1], {1, 1}, exactly);
    CHECK_CLOSE(g[2], {1, 1}, exactly);
    CHECK_CLOSE(seed, {1, 1}, exactly);
    auto itself = xg::grad(a, a, seed);
    overwrite_in_place(itself[0]);
    CHECK_CLOSE(seed, {1, 1}, exactly);
  }
  SUBCASE("a hook that writes over its argument") {
    V a({1, 2}, true);
    V b({3, 4}, true);
    V seed({1, 1});
    a.register_hook([&](const V& g) {
      overwrite_in_place(g);
      return V();
    });
    (a + b).backward(seed);
    CHECK_CLOSE(b.grad(), {1, 1}, exactly);
    CHECK_CLOSE(seed, {1, 1}, exactly);
  }
  SUBCASE("a hook that keeps its argument") {
    V a({1, 2}, true);
    V kept;
    a.register_hook([&](const V& g) {
      kept = g;
      return V();
    });
    a.backward(V({1, 1}));
    overwrite_in_place(kept);
    CHECK_CLOSE(a.grad(), {1, 1}, exactly);
  }
  SUBCASE("a rule that writes over its cotangent") {
    V a({1, 2}, true);
    V b({3, 4}, true);
    V seed({1, 1});
    const V y = with_rule<T>(a, [&](V g) {
      overwrite_in_place(g);
      return std::vector<V>{g};
    });
    (y + b).backward(seed);
    CHECK_CLOSE(seed, {1, 1}, exactly);
    CHECK_CLOSE(b.grad(), {1, 1}, exactly);
    CHECK_CLOSE(a.grad(), {5, 5}, exactly);
  }
  SUBCASE("a rule that returns a variable it keeps") {
    V a({1, 2}, true);
    V kept({3, 3}, true);
    with_rule<T>(a, [&](V) { return std::vector<V>{kept}; }).backward(V({1, 1}));
    overwrite_in_place(kept);
    CHECK_CLOSE(a.grad(), {3, 3}, exactly);
    CHECK_FALSE(a.grad().requires_grad());
    with_rule<T>(a, [&](V) { return std::vector<V>{kept}; }).backward(V({1, 1}));
    CHECK_CLOSE(kept, {5, 5}, exactly);
    CHECK_CLOSE(a.grad(), {8, 8}, exactly);
  }
  SUBCASE("a seed that is a view, a value or a broadcast") {
    V a({1, 2}, true);
    V wide({7, 7, 7});
    a.backward(xg::slice(wide, 0, 0, 2));
    a.backward(a);
    a.backward(xg::broadcast_to(V(1), 2));
    CHECK_CLOSE(a.grad(), {9, 10}, exactly);
    CHECK_CLOSE(a, {1, 2}, exactly);
    CHECK_CLOSE(wide, {7, 7, 7}, exactly);
  }
}

TEST_CASE_TEMPLATE("S3: grad() is the gradient as it is now, and set_grad replaces it", T, float,
                   double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  CHECK_FALSE(x.grad().defined());
  xg::sum(x).backward();
  const V before = x.grad();
  xg::sum(x).backward();
  CHECK_CLOSE(before, {1, 1}, exactly);
  CHECK_CLOSE(x.grad(), {2, 2}, exactly);
  V replacement({7, 8});
  x.set_grad(replacement);
  replacement.set_value(V({0, 0}));
  CHECK_CLOSE(x.grad(), {7, 8}, exactly);
  xg::sum(x).backward();
  CHECK_CLOSE(x.grad(), {8, 9}, exactly);
  CHECK_CLOSE(replacement, {0, 0}, exactly);
  CHECK_ERROR(xg::ShapeError, "set_grad", x.set_grad(V({1, 2, 3})));
  x.set_grad(V());
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE_TEMPLATE("S4: each rule runs once, after all its consumers, with the whole cotangent", T,
                   float, double) {
  using V = Variable<T>;
  V x(1, true);
  int runs = 0;
  const V y = with_rule<T>(x, [&](V g) {
    ++runs;
    CHECK(g.item() == T(1 + 2 + 4));
    return std::vector<V>{g};
  });
  // Consumers at three depths, the deepest first.
  const V deep = -(-(-(-y)));
  const V z = deep * 4 + (y + y) + -(-y);
  z.backward();
  CHECK(runs == 1);
  CHECK(x.grad().item() == T(7));
}

TEST_CASE_TEMPLATE("S4: a nested backward does not disturb the outer one", T, float, double) {
  using V = Variable<T>;
  V x(2, true);
  V inner(3, true);
  const V y = with_rule<T>(x * x, [&](V g) {
    const xg::EnableGrad guard;
    (inner * inner).backward();
    return std::vector<V>{g};
  });
  (y + x).backward();
  CHECK(x.grad().item() == T(5));
  CHECK(inner.grad().item() == T(6));
}

TEST_CASE_TEMPLATE("S5: a second backward throws with a hint, and changes nothing", T, float,
                   double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  const V y = xg::sum(x * x);
  y.backward();
  CHECK_ERROR(xg::GraphError, "backward", y.backward());
  try {
    y.backward();
  } catch (const xg::GraphError& error) {
    CHECK(std::string(error.what()).find("retain_graph") != std::string::npos);
  }
  CHECK_CLOSE(x.grad(), {2, 4}, exactly);
  CHECK(y.item() == T(5));
}

TEST_CASE_TEMPLATE("S5: with retain_graph leaf gradients double, nothing else does", T, float,
                   double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  V middle = x * x;
  middle.retain_grad();
  const V y = xg::sum(xg::exp(middle) * middle);
  V seeds[] = {V(1), V(1)};
  y.backward(seeds[0], xg::retain_graph);
  const V once = x.grad();
  y.backward(seeds[1], xg::retain_graph);
  CHECK_CLOSE(x.grad(), once * 2);
  CHECK(seeds[1].item() == T(1));
  CHECK_CLOSE(middle, {1, 4}, exactly);
  y.backward();
  CHECK_CLOSE(x.grad(), once * 3);
  CHECK_ERROR(xg::GraphError, "backward", y.backward());
}

TEST_CASE_TEMPLATE("S5: backward frees what the graph saved as it goes", T, float, double) {
  using V = Variable<T>;
  // While the rule of the first operation runs, what the later ones saved is gone: the only
  // holder left of the middle values is `middle`, so writing to it copies nothing.
  V x({1, 2}, true);
  V middle = V({3, 4});
  const T* where = nullptr;
  const T* after = nullptr;
  V y = with_rule<T>(x, [&](V g) {
    middle.update([&](auto& values) { after = values.data(); });
    return std::vector<V>{g};
  });
  V z = xg::sum(y * middle);
  where = middle.value().data();
  z.backward();
  CHECK(where == after);
}

TEST_CASE_TEMPLATE("S5: a branch of a used graph can still be used", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  const V shared = xg::exp(x);
  const V other = x * 3;
  xg::sum(shared * 2).backward();
  CHECK_ERROR(xg::GraphError, "backward", xg::sum(shared).backward());
  xg::sum(other).backward();
  CHECK_CLOSE(x.grad(), V({3, 3}) + xg::exp(x.detach()) * 2);
}

TEST_CASE_TEMPLATE("S6: whichever rule throws, no leaf's gradient has changed", T, float, double) {
  for (const bool first_gradient : {true, false}) {
    for (const auto flags : {xg::GradFlags::none, xg::retain_graph, xg::create_graph}) {
      Attending<T> a;
      a.loss.backward();
      const auto once = a.gradients();
      const int rules = a.rules;
      REQUIRE(rules == 10);
      if (first_gradient) {
        for (auto& x : a.leaf) x.set_grad(Variable<T>());
      }
      const auto before = a.gradients();
      a.build();
      for (int n = 0; n < rules; ++n) {
        if (flags == xg::GradFlags::none) a.build();
        a.rules = 0;
        a.fail_at = n;
        CHECK_THROWS_AS(a.loss.backward(flags), std::runtime_error);
        CHECK(a.gradients() == before);
        a.fail_at = -1;
        if (flags == xg::GradFlags::none) {
          CHECK_ERROR(xg::GraphError, "backward", a.loss.backward());
          CHECK(a.gradients() == before);
        }
      }
      if (flags == xg::GradFlags::none) continue;
      a.loss.backward();
      CHECK(a.gradients() == (first_gradient ? once : sum_of(once, once)));
    }
  }
}

TEST_CASE_TEMPLATE("S6: whichever hook throws, no leaf's gradient has changed", T, float, double) {
  for (const auto flags : {xg::GradFlags::none, xg::retain_graph}) {
    for (int n = 0; n < 8; ++n) {
      Attending<T> a;
      a.loss.backward();
      const auto before = a.gradients();
      a.build();
      int calls = 0;
      const auto hook = [&](const Variable<T>&) -> Variable<T> {
        if (calls++ == n) throw std::runtime_error("hook");
        return {};
      };
      std::vector<xg::Hook> hooks{a.loss.register_hook(hook)};
      for (auto& x : a.leaf) hooks.push_back(x.register_hook(hook));
      CHECK_THROWS_AS(a.loss.backward(flags), std::runtime_error);
      CHECK(a.gradients() == before);
      for (auto& h : hooks) h.remove();
      if (flags == xg::GradFlags::none) {
        CHECK_ERROR(xg::GraphError, "backward", a.loss.backward());
        CHECK(a.gradients() == before);
      } else {
        a.loss.backward();
        CHECK(a.gradients() == sum_of(before, before));
      }
    }
  }
}

TEST_CASE_TEMPLATE("S7: 1,000,000 nodes are built, differentiated and freed on a 512 KiB stack", T,
                   float, double) {
  using V = Variable<T>;
  constexpr int n = 1000000;
  const std::size_t before = xg::live_nodes();
  V x(1, true);
  SUBCASE("backward, then dropped") {
    test::on_small_stack([&] { chain_of(x, n).backward(); });
    CHECK(x.grad().item() == T(1));
  }
  SUBCASE("dropped without backward") {
    test::on_small_stack([&] { (void)chain_of(x, n); });
  }
  SUBCASE("grad() of the first from the last") {
    test::on_small_stack([&] { CHECK(xg::grad(chain_of(x, n), x)[0].item() == T(1)); });
  }
  SUBCASE("gradients that are chains themselves") {
    test::on_small_stack([&] {
      V y = x;
      for (int i = 0; i < n / 10; ++i) y = y * x;
      y.backward(xg::create_graph);
      V second = x.grad();
      y = V();
      second.backward();
      x.set_grad(V());
    });
  }
  SUBCASE("operations of the user's own that hold variables") {
    test::on_small_stack([&] {
      V y = x;
      for (int i = 0; i < n / 4; ++i) y = xg::apply(std::make_shared<Holder<T>>(y), {y});
      y.backward();
      y = V();
    });
    CHECK(x.grad().item() == T(1));
  }
  SUBCASE("operations that hold the rest of the graph") {
    test::on_small_stack([&] {
      V y = x;
      for (int i = 0; i < n / 4; ++i) y = xg::apply(std::make_shared<Holder<T>>(y), {x});
      y = V();
    });
  }
  SUBCASE("hooks that hold the rest of the graph") {
    test::on_small_stack([&] {
      V y = -x;
      for (int i = 0; i < n / 4; ++i) {
        V next = -x;
        next.register_hook([y](const V&) { return V(); });
        y = next;
      }
      y = V();
    });
  }
  CHECK(xg::live_nodes() == before);
}

TEST_CASE_TEMPLATE("S7: sixty doublings take microseconds", T, float, double) {
  using V = Variable<T>;
  V x(1, true);
  double best = 1;
  for (int repeat = 0; repeat < 5; ++repeat) {
    x.set_grad(V());
    const auto start = std::chrono::steady_clock::now();
    V y = x;
    for (int i = 0; i < 60; ++i) y = y + y;
    y.backward();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  CHECK(x.grad().item() == T(1152921504606846976.0));
  CHECK(best < 0.005);
}

TEST_CASE_TEMPLATE("S8: when the last handle goes, no node is left", T, float, double) {
  using V = Variable<T>;
  const std::size_t before = xg::live_nodes();
  {
    Attending<T> a;
    CHECK(xg::live_nodes() > before);
    SUBCASE("without backward") {}
    SUBCASE("after backward") { a.loss.backward(); }
    SUBCASE("after backward that retained the graph") { a.loss.backward(xg::retain_graph); }
    SUBCASE("after backward that recorded its rules") {
      a.loss.backward(xg::create_graph);
      xg::sum(a.leaf[0].grad() * a.leaf[0].grad()).backward(xg::create_graph);
      for (auto& x : a.leaf) x.set_grad(V());
    }
    SUBCASE("after a backward that recorded its rules, gradients still held by the leaves") {
      a.loss.backward(xg::create_graph);
    }
    SUBCASE("after a rule threw") {
      a.fail_at = 3;
      CHECK_THROWS_AS(a.loss.backward(xg::create_graph), std::runtime_error);
    }
    SUBCASE("after grad()") {
      const auto g = xg::grad(a.loss, {a.leaf[0], a.leaf[6]}, {}, xg::create_graph);
      CHECK(g[0].requires_grad());
    }
  }
  CHECK(xg::live_nodes() == before);
}

TEST_CASE_TEMPLATE("S8: an operation that throws leaves no node", T, float, double) {
  using V = Variable<T>;
  const std::size_t before = xg::live_nodes();
  V x({1, 2}, true);
  CHECK_THROWS_AS(x + V({1, 2, 3}), xg::ShapeError);
  CHECK_THROWS_AS(xg::matmul(x * 2, V({1, 2, 3})), xg::ShapeError);
  CHECK(xg::live_nodes() == before);
}

TEST_CASE_TEMPLATE("S9: backward without a seed needs exactly one element", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  CHECK_ERROR(xg::ShapeError, "backward", (x * 1).backward());
  CHECK_ERROR(xg::ShapeError, "backward", xg::slice(x, 0, 0, 0).backward());
  CHECK_FALSE(x.grad().defined());
  xg::slice(x, 0, 0, 1).backward();
  xg::reshape(xg::slice(x, 0, 1, 2), {1, 1, 1}).backward();
  CHECK_CLOSE(x.grad(), {1, 1}, exactly);
}

TEST_CASE_TEMPLATE("S9: a seed has the output's shape exactly", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  const V y = x * 2;
  CHECK_ERROR(xg::ShapeError, "backward", y.backward(V(1)));
  CHECK_ERROR(xg::ShapeError, "backward", y.backward(V({1})));
  CHECK_ERROR(xg::ShapeError, "backward", y.backward(V({{1, 1}})));
  CHECK_ERROR(xg::ShapeError, "grad", xg::grad(y, x, V({1, 1, 1})));
  CHECK_FALSE(x.grad().defined());
  y.backward(V({1, 10}));
  CHECK_CLOSE(x.grad(), {2, 20}, exactly);
  CHECK_ERROR(xg::GraphError, "backward", V({1, 2}).backward(V({1, 1})));
}

TEST_CASE_TEMPLATE("S10: what a rule returns is checked", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  const V seed({1, 1});
  const auto run = [&](std::vector<V> gradients) {
    with_rule<T>(x, [&](V) { return gradients; }).backward(seed);
  };
  CHECK_ERROR(xg::GraphError, "identity", run({}));
  CHECK_ERROR(xg::GraphError, "identity", run({seed, seed}));
  CHECK_ERROR(xg::GraphError, "identity", run({V()}));
  CHECK_ERROR(xg::GraphError, "identity", run({V({1, 2, 3})}));
  CHECK_ERROR(xg::GraphError, "identity", run({V(1)}));
  CHECK_ERROR(xg::GraphError, "identity", run({V({{1, 2}})}));
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE_TEMPLATE("S10: AnomalyMode names the operation whose gradient is not finite", T, float,
                   double) {
  using V = Variable<T>;
  V x({0, 1}, true);
  {
    const xg::AnomalyMode guard;
    const V y = xg::sum(xg::sqrt(x) * 3);
    CHECK_ERROR(xg::GraphError, "sqrt", y.backward());
    try {
      xg::sum(xg::sqrt(x)).backward();
    } catch (const xg::GraphError& error) {
      CHECK(std::string(error.what()).find("(2,)") != std::string::npos);
    }
    CHECK_FALSE(x.grad().defined());
  }
  xg::sum(xg::sqrt(x)).backward();
  CHECK(std::isinf(x.grad().at(0)));
}

TEST_CASE("S10: AnomalyMode says from what the operation was recorded") {
  const xg::AnomalyMode guard;
  Variable<double> x({0, 1}, true);
  x.set_name("query");
  const auto y = xg::sum(xg::sqrt(xg::exp(x) * x));
  std::string message;
  try {
    y.backward();
  } catch (const xg::GraphError& error) {
    message = error.what();
  }
  CHECK_MESSAGE(message.find("sqrt of (2,) from mul") != std::string::npos, message);
}

TEST_CASE(
    "backward on a long graph reports its progress, and a report that throws changes nothing") {
  Variable<double> x(1, true);
  Variable<double> y = x;
  for (int i = 0; i < 1000; ++i) y = y + 1;
  std::vector<std::size_t> reports;
  {
    const xg::BackwardProgress progress([&](std::size_t done) { reports.push_back(done); }, 250);
    y.backward(xg::retain_graph);
  }
  CHECK(reports == std::vector<std::size_t>{250, 500, 750, 1000});
  CHECK(x.grad().item() == 1);
  {
    const xg::BackwardProgress progress([](std::size_t) { throw std::runtime_error("stop"); }, 500);
    CHECK_THROWS_WITH(y.backward(xg::retain_graph), "stop");
  }
  y.backward();
  CHECK(reports.size() == 4);
  CHECK(x.grad().item() == 2);
  CHECK_ERROR(xg::ArgumentError, "BackwardProgress", xg::BackwardProgress([](std::size_t) {}, 0));
}

TEST_CASE_TEMPLATE("S11: every rule is differentiable itself", T, float, double) {
  using V = Variable<T>;
  SUBCASE("derivatives of x^5 at 2") {
    V x(2, true);
    V y = x * x * x * x * x;
    const T want[] = {80, 160, 240, 240, 120, 0};
    for (const T derivative : want) {
      const auto g = xg::grad(y, x, {}, xg::create_graph | xg::allow_unused);
      if (!g[0].defined()) {
        CHECK(derivative == 0);
        break;
      }
      y = g[0];
      CHECK(y.item() == derivative);
      if (!y.requires_grad()) break;
    }
  }
  SUBCASE("derivatives of exp stay exp") {
    V x(T(0.5), true);
    V y = xg::exp(x);
    for (int order = 0; order < 6; ++order) {
      y = xg::grad(y, x, {}, xg::create_graph)[0];
      CHECK_CLOSE(y, V(std::exp(T(0.5))));
    }
  }
  SUBCASE("attention's gradients can be differentiated in every argument") {
    Attending<T> a;
    const auto first = xg::grad(a.loss, std::vector<V>(a.leaf, a.leaf + 7), {}, xg::create_graph);
    V norm(0);
    for (const V& g : first) norm = norm + xg::sum(g * g);
    norm.backward();
    for (const V& x : a.leaf) CHECK(x.grad().shape() == x.shape());
  }
}
