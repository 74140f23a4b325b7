#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <xgrad/xtensor.hpp>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"
#include "../support/small_stack.hpp"

using test::exactly;
using xg::Variable;

namespace {

template <class T>
struct Custom final : xg::Op<T> {
  using V = Variable<T>;
  using Forward = std::function<V(const std::vector<V>&)>;
  using Backward = std::function<std::vector<V>(const std::vector<V>&, const V&, V)>;
  explicit Custom(Forward f, Backward b = {}) : forward_(std::move(f)), backward_(std::move(b)) {}
  std::string name() const override { return "custom"; }
  V forward(const std::vector<V>& in) const override { return forward_(in); }
  std::vector<V> backward(const std::vector<V>& in, const V& out, V g,
                          const std::vector<bool>&) const override {
    return backward_(in, out, std::move(g));
  }
  Forward forward_;
  Backward backward_;
};

template <class T>
Variable<T> apply_forward(typename Custom<T>::Forward f, std::vector<Variable<T>> in) {
  return xg::apply(std::make_shared<Custom<T>>(std::move(f)), std::move(in));
}

template <class T>
Variable<T> apply_rule(typename Custom<T>::Backward b, std::vector<Variable<T>> in) {
  return xg::apply(std::make_shared<Custom<T>>([](const auto& x) { return x[0].clone(); }, b),
                   std::move(in));
}

// Destroyed after main, whatever the library has torn down by then.
Variable<double> at_exit_leaf({1, 2}, true);
Variable<double> at_exit_result = xg::sum(at_exit_leaf * at_exit_leaf);
thread_local Variable<float> at_thread_exit({1, 2}, true);

}  // namespace

TEST_CASE("variables of static and thread lifetime") {
  at_exit_result.backward(xg::create_graph);
  CHECK_CLOSE(at_exit_leaf.grad(), {2, 4}, exactly);
  std::thread([] {
    at_thread_exit.register_hook(
        [kept = xg::exp(at_thread_exit.detach())](const auto& g) { return g; });
    xg::sum(at_thread_exit).backward();
  }).join();
  at_exit_leaf.register_hook([kept = xg::exp(at_exit_leaf.detach())](const auto& g) { return g; });
}

TEST_CASE_TEMPLATE("operations of a user's own whose forward misbehaves", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  const std::size_t nodes = xg::live_nodes();
  CHECK_ERROR(xg::GraphError, "custom", apply_forward<T>([](const auto&) { return V(); }, {x}));
  CHECK_THROWS_AS(apply_forward<T>(
                      [](const auto& in) {
                        return in[0] + V({1, 2, 3});
                      },
                      {x}),
                  xg::ShapeError);
  CHECK_THROWS_AS(apply_forward<T>([](const auto&) -> V { throw std::runtime_error("f"); }, {x}),
                  std::runtime_error);
  CHECK_ERROR(xg::GraphError, "custom",
              apply_forward<T>([](const auto& in) { return in[0]; }, {V()}));
  CHECK(xg::live_nodes() == nodes);

  const V same = apply_forward<T>([](const auto& in) { return in[0]; }, {x});  // its input
  CHECK_CLOSE(same, x, exactly);
  const V captured = apply_forward<T>([&](const auto&) { return x; }, {x});  // the caller's leaf
  CHECK(captured.requires_grad());
  CHECK_FALSE(captured.is_leaf());
  const V other = apply_forward<T>([](const auto&) { return V(3); }, {x, x, x});
  CHECK(other.item() == T(3));
  // Writes inside reach nobody outside.
  apply_forward<T>(
      [](const auto& in) {
        V input = in[0];
        input.set_value(V({9, 9}));
        input.update([](auto& values) { values.fill(8); });
        return input;
      },
      {x});
  CHECK_CLOSE(x, {1, 2}, exactly);
  CHECK(apply_forward<T>([](const auto&) { return V(1); }, {}).item() == T(1));
}

TEST_CASE_TEMPLATE("operations of a user's own whose rule misbehaves", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  const V seed({1, 1});
  const std::vector<std::function<std::vector<V>()>> wrong = {
      [] { return std::vector<V>(); },
      [] { return std::vector<V>(5); },
      [] { return std::vector<V>{V()}; },
      [] { return std::vector<V>{V(1)}; },
      [] {
        return std::vector<V>{V({1, 2, 3})};
      },
      [&] {
        return std::vector<V>{xg::reshape(x, {1, 2})};
      },
      [&] {
        return std::vector<V>{x + V({1, 2, 3})};
      },
  };
  for (const auto& gradients : wrong) {
    const V y = apply_rule<T>([&](const auto&, const V&, V) { return gradients(); }, {x});
    CHECK_THROWS_AS(y.backward(seed, xg::retain_graph), xg::Error);
    CHECK_THROWS_AS(y.backward(seed, xg::create_graph), xg::Error);
    CHECK_FALSE(x.grad().defined());
  }
  // Its input, its output, its cotangent as the gradient.
  apply_rule<T>([](const auto& in, const V&, V) { return std::vector<V>{in[0]}; }, {x})
      .backward(seed);
  CHECK_CLOSE(x.grad(), {1, 2}, exactly);
  apply_rule<T>([](const auto&, const V& out, V) { return std::vector<V>{out}; }, {x})
      .backward(seed);
  CHECK_CLOSE(x.grad(), {2, 4}, exactly);
  CHECK_CLOSE(x, {1, 2}, exactly);
}

TEST_CASE_TEMPLATE("values that a rule did not ask for throw when read", T, float, double) {
  using V = Variable<T>;
  struct Blind final : xg::Op<T> {
    std::string name() const override { return "blind"; }
    xg::Needs needs() const override { return xg::Needs::nothing(); }
    V forward(const std::vector<V>& in) const override { return in[0] * 2; }
    std::vector<V> backward(const std::vector<V>& in, const V& out, V g,
                            const std::vector<bool>&) const override {
      CHECK(in[0].shape() == xg::Shape{2});
      CHECK(out.shape() == xg::Shape{2});
      CHECK_THROWS_AS(in[0].to_vector(), xg::GraphError);
      CHECK_THROWS_AS(in[0] * 2, xg::GraphError);
      CHECK_THROWS_AS(xg::reshape(in[0], 2), xg::GraphError);
      CHECK_THROWS_AS(in[0].at(0), xg::GraphError);
      CHECK_THROWS_AS(in[0].clone(), xg::GraphError);
      CHECK_THROWS_AS(in[0].detach(), xg::GraphError);
      CHECK_THROWS_AS(in[0].value(), xg::GraphError);
      CHECK_THROWS_AS((void)(in[0] < 1), xg::GraphError);
      CHECK_THROWS_AS(xg::slice(out, 0, 0, 1), xg::GraphError);
      V writable = out;
      CHECK_THROWS_AS(writable.set_value(g), xg::GraphError);
      return {g * 2};
    }
  };
  V x({1, 2}, true);
  xg::sum(xg::apply(std::make_shared<Blind>(), {x})).backward();
  CHECK_CLOSE(x.grad(), {2, 2}, exactly);
}

TEST_CASE_TEMPLATE("a hook that uses its own variable", T, float, double) {
  using V = Variable<T>;
  const std::size_t nodes = xg::live_nodes();
  {
    V x({1, 2}, true);
    V y = x * x;
    auto hook = y.register_hook([y](const V& g) { return g * y.detach(); });
    xg::sum(y).backward();
    CHECK_CLOSE(x.grad(), {2, 16}, exactly);
    hook.remove();  // the hook held its own variable: a cycle that only the user can cut
  }
  CHECK(xg::live_nodes() == nodes);
}

TEST_CASE_TEMPLATE("hooks that drop variables, hooks and graphs", T, float, double) {
  using V = Variable<T>;
  std::optional<V> x(V({1, 2}, true));
  std::optional<V> w(V({3, 4}, true));
  V y = *x * *w;
  V z = xg::sum(y);
  xg::Hook hook;
  SUBCASE("the root") {
    hook = y.register_hook([&](const V& g) {
      z = V();
      y = V();
      return g;
    });
    z.backward();
    CHECK_CLOSE(x->grad(), {3, 4}, exactly);
  }
  SUBCASE("the root, in a rule") {
    V r = apply_rule<T>(
        [&](const auto&, const V&, V g) {
          z = V();
          y = V();
          return std::vector<V>{g};
        },
        {y});
    y = V();
    z = xg::sum(r);
    r = V();
    z.backward();
    CHECK_CLOSE(x->grad(), {3, 4}, exactly);
  }
  SUBCASE("the outputs of grad") {
    std::vector<V> outputs{z};
    hook = y.register_hook([&](const V& g) {
      outputs.clear();
      z = V();
      y = V();
      return g;
    });
    CHECK_CLOSE(xg::grad(outputs, *x)[0], {3, 4}, exactly);
  }
  SUBCASE("a leaf") {
    hook = y.register_hook([&](const V& g) {
      x.reset();
      return g;
    });
    z.backward();
    CHECK_CLOSE(w->grad(), {1, 2}, exactly);
  }
  SUBCASE("a leaf, once its gradient is there") {
    hook = x->register_hook([&](const V& g) {
      x.reset();
      w.reset();
      return g;
    });
    z.backward();
    CHECK_FALSE(x.has_value());
  }
  SUBCASE("itself, and others") {
    int calls = 0;
    xg::Hook other = y.register_hook([&](const V& g) {
      ++calls;
      return g;
    });
    hook = y.register_hook([&](const V& g) {
      hook.remove();
      other.remove();
      y.register_hook([](const V&) { return V({1, 1}); });
      return g;
    });
    z.backward(xg::retain_graph);
    z.backward();
    CHECK(calls == 1);
  }
  SUBCASE("the graph's leaf stops requiring grad") {
    hook = y.register_hook([&](const V& g) {
      x->set_requires_grad(false);
      return g;
    });
    z.backward();
    CHECK_FALSE(x->grad().defined());
    CHECK_CLOSE(w->grad(), {1, 2}, exactly);
  }
  hook.remove();
}

TEST_CASE_TEMPLATE("backward inside a hook and inside a rule", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  V y = x * x;
  const V z = xg::sum(y);
  SUBCASE("of the same graph") {
    auto hook = y.register_hook([&](const V& g) {
      CHECK_THROWS_AS(z.backward(), xg::GraphError);  // in use
      return g;
    });
    z.backward();
    hook.remove();
    CHECK_CLOSE(x.grad(), {2, 4}, exactly);
  }
  SUBCASE("of another graph over the same leaf") {
    auto hook = y.register_hook([&](const V& g) {
      const xg::EnableGrad guard;
      xg::sum(x * 10).backward();
      return g;
    });
    z.backward();
    CHECK_CLOSE(x.grad(), {12, 14}, exactly);
  }
  SUBCASE("writing the leaf's gradient and value meanwhile") {
    auto hook = y.register_hook([&](const V& g) {
      x.set_grad(V({100, 100}));
      x.set_value(V({50, 50}));
      return g;
    });
    z.backward();
    CHECK_CLOSE(x.grad(), {102, 104}, exactly);
  }
}

TEST_CASE_TEMPLATE("backward that calls itself without end is an error, not a crash", T, float,
                   double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  V y = x * x;
  const V z = xg::sum(y);
  auto hook = y.register_hook([&](const V& g) {
    z.backward(xg::retain_graph);
    return g;
  });
  test::on_small_stack([&] { CHECK_THROWS_AS(z.backward(xg::retain_graph), xg::GraphError); });
  hook.remove();
  CHECK_FALSE(x.grad().defined());
  z.backward();
  CHECK_CLOSE(x.grad(), {2, 4}, exactly);
}

TEST_CASE_TEMPLATE("errors cross threads, and leave the other threads alone", T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  std::string message;
  std::thread([&] {
    try {
      const xg::NoGrad guard;
      (void)(x + V({1, 2, 3}));
    } catch (const xg::Error& error) {
      message = error.what();
    }
  }).join();
  CHECK(message.find("[add]") == 0);
  CHECK_THROWS_AS(test::on_small_stack([&] { (void)(x + V({1, 2, 3})); }), xg::ShapeError);
  CHECK((x * 2).requires_grad());
}

TEST_CASE_TEMPLATE("reading a gradient while it is made, and keeping everything a rule was given",
                   T, float, double) {
  using V = Variable<T>;
  V x({1, 2}, true);
  std::vector<V> kept;
  for (const auto flags : {xg::GradFlags::none, xg::create_graph}) {
    x.set_grad({});
    const V y = apply_rule<T>(
        [&](const auto& in, const V& out, V g) {
          CHECK_FALSE(x.grad().defined());
          kept = {in[0], out, g};
          return std::vector<V>{g};
        },
        {x});
    (y * y).backward(V({1, 1}), flags);
    CHECK_CLOSE(kept[0], {1, 2}, exactly);
    CHECK_CLOSE(kept[1], {1, 2}, exactly);
    CHECK_CLOSE(kept[2], {2, 4}, exactly);
    CHECK_CLOSE(x.grad(), {2, 4}, exactly);
  }
}

TEST_CASE_TEMPLATE("a million handles, hooks and names", T, float, double) {
  using V = Variable<T>;
  V x({1}, true);
  std::vector<V> handles(1000000, x);
  for (int i = 0; i < 1000; ++i) x.register_hook([](const V& g) { return g; });
  x.set_name(std::string(100000, 'x'));
  handles.clear();
  xg::sum(x).backward();
  CHECK_CLOSE(x.grad(), {1}, exactly);
}
