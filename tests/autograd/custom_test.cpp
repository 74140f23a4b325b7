#include <memory>
#include <sstream>
#include <stdexcept>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

namespace {

template <class T>
using Variables = std::vector<Variable<T>>;

/// y = x / (1 + e^-x). Gradient: g (s + y (1 - s)), with s = 1 / (1 + e^-x).
template <class T>
xg::Custom<T> swish() {
  return xg::custom<T>(
      "swish", [](const Variables<T>& in) { return in[0] / (1 + exp(-in[0])); },
      [](const Variables<T>& in, const Variable<T>& output, Variable<T> g) {
        const Variable<T> s = 1 / (1 + exp(-in[0]));
        return Variables<T>{g * (s + output * (1 - s))};
      });
}

/// y = sum of a_i b_i along the last axis, for a and b of one shape.
template <class T>
xg::Custom<T> row_dot() {
  return xg::custom<T>(
      "row_dot", [](const Variables<T>& in) { return sum(in[0] * in[1], -1); },
      [](const Variables<T>& in, const Variable<T>&, Variable<T> g) {
        const Variable<T> wide = unsqueeze(g, -1);
        return Variables<T>{wide * in[1], wide * in[0]};
      });
}

/// y = e^(k x): keeps its output alone.
template <class T>
class ExpOf final : public xg::Op<T> {
 public:
  explicit ExpOf(T k) : k_(k) {}
  std::string name() const override { return "exp_of"; }
  xg::Needs needs() const override { return xg::Needs::output(); }
  Variable<T> forward(const Variables<T>& in) const override { return exp(k_ * in[0]); }
  Variables<T> backward(const Variables<T>&, const Variable<T>& output, Variable<T> g,
                        const std::vector<bool>&) const override {
    return {g * k_ * output};
  }

 private:
  T k_;
};

/// y = a b c, computing only the gradients that are needed.
template <class T>
class TripleProduct final : public xg::Op<T> {
 public:
  std::string name() const override { return "triple_product"; }
  Variable<T> forward(const Variables<T>& in) const override { return in[0] * in[1] * in[2]; }
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T> g,
                        const std::vector<bool>& needed) const override {
    Variables<T> out(3);
    for (std::size_t i = 0; i < 3; ++i) {
      if (!needed[i]) continue;
      out[i] = g * in[(i + 1) % 3] * in[(i + 2) % 3];
      ++computed;
    }
    return out;
  }
  mutable int computed = 0;
};

/// The identity, whose rule reads a value that it did not ask for.
template <class T>
class ReadsWhatIsNotKept final : public xg::Op<T> {
 public:
  std::string name() const override { return "reads_what_is_not_kept"; }
  xg::Needs needs() const override { return xg::Needs::nothing(); }
  Variable<T> forward(const Variables<T>& in) const override { return in[0] * 1; }
  Variables<T> backward(const Variables<T>& in, const Variable<T>& output, Variable<T> g,
                        const std::vector<bool>&) const override {
    if (in[0].shape() != g.shape() || output.shape() != g.shape()) {
      throw std::logic_error("the shapes are still there");
    }
    return {g * in[0]};
  }
};

}  // namespace

TEST_CASE("an operation from two functions is differentiated like a built-in one") {
  for (const xg::Shape& shape : test::shapes()) {
    expect_grad("swish",
                [](const auto& x) {
                  using T = typename std::decay_t<decltype(x[0])>::value_type;
                  return swish<T>()(x[0]);
                },
                {numbers(shape)});
  }
  expect_grad("row_dot",
              [](const auto& x) {
                using T = typename std::decay_t<decltype(x[0])>::value_type;
                return row_dot<T>()(x[0], x[1]);
              },
              {numbers({2, 3}), numbers({2, 3}, 2)});
}

TEST_CASE("an operation derived from Op is differentiated like a built-in one") {
  for (const xg::Shape& shape : test::shapes()) {
    expect_grad("exp_of",
                [](const auto& x) {
                  using T = typename std::decay_t<decltype(x[0])>::value_type;
                  return xg::apply(std::make_shared<ExpOf<T>>(T(0.5)), {x[0]});
                },
                {numbers(shape)});
    expect_grad("triple_product",
                [](const auto& x) {
                  using T = typename std::decay_t<decltype(x[0])>::value_type;
                  return xg::apply(std::make_shared<TripleProduct<T>>(), {x[0], x[1], x[2]});
                },
                {numbers(shape), numbers(shape, 2), numbers(shape, 3)});
  }
}

TEST_CASE_TEMPLATE("gradcheck and gradgradcheck pass operations of one's own", T, float, double) {
  const Variable<T> x = xg::uniform<T>({2, 3}, -1, 1, 1);
  const auto lambda = swish<T>();
  const auto of_lambda = [&](const Variables<T>& in) { return lambda(in[0]); };
  const auto op = std::make_shared<TripleProduct<T>>();
  const auto of_class = [&](const Variables<T>& in) { return xg::apply(op, in); };
  for (const auto& report : {xg::gradcheck<T>(of_lambda, {x}), xg::gradgradcheck<T>(of_lambda, {x}),
                             xg::gradcheck<T>(of_class, {x, x + 1, x - 2}),
                             xg::gradgradcheck<T>(of_class, {x, x + 1, x - 2})}) {
    CHECK_MESSAGE(report, report.to_string());
  }
  CHECK(xg::gradcheck<T>(of_lambda, {x}).to_string().find("[gradcheck] swish: passed") == 0);
}

TEST_CASE_TEMPLATE("an operation of one's own can be called in many places, in one graph", T, float,
                   double) {
  const auto op = std::make_shared<ExpOf<T>>(T(2));
  const auto copy = [original = swish<T>()] { return original; }();
  Variable<T> x({0, 1}, true);
  const Variable<T> y = xg::apply(op, {xg::apply(op, {copy(x)}) * T(0.1)});
  Variable<T> z({0, 1}, true);
  const Variable<T> want = exp(2 * exp(2 * (z / (1 + exp(-z)))) * T(0.1));
  CHECK_CLOSE(y, want);
  sum(y).backward();
  sum(want).backward();
  CHECK_CLOSE(x.grad(), z.grad());
}

TEST_CASE_TEMPLATE("a custom operation takes its inputs one by one or as a vector", T, float,
                   double) {
  const auto op = row_dot<T>();
  const Variable<T> a({{1, 2}, {3, 4}});
  const Variable<T> b({{5, 6}, {7, 8}});
  CHECK_CLOSE(op(a, b), {17, 53});
  CHECK_CLOSE(op({a, b}), {17, 53});
}

TEST_CASE_TEMPLATE("inside forward nothing is recorded, and the graph shows one operation", T,
                   float, double) {
  Variable<T> x({1, 2}, true);
  const std::size_t before = xg::live_nodes();
  bool recorded = true;
  const auto op = xg::custom<T>(
      "triple",
      [&](const Variables<T>& in) {
        const Variable<T> y = in[0] * 3;
        recorded = y.requires_grad() || in[0].requires_grad();
        return y;
      },
      [](const Variables<T>&, const Variable<T>&, Variable<T> g) { return Variables<T>{g * 3}; });
  const Variable<T> y = op(x);
  CHECK_FALSE(recorded);
  CHECK(y.requires_grad());
  CHECK(xg::live_nodes() - before <= 2);  // the operation, and the leaf's own
  std::ostringstream out;
  out << y;
  CHECK(out.str().find("triple") != std::string::npos);
  const xg::NoGrad guard;
  CHECK_FALSE(op(x).requires_grad());
}

TEST_CASE_TEMPLATE("a rule may leave out what is not needed", T, float, double) {
  const auto op = std::make_shared<TripleProduct<T>>();
  Variable<T> b({3, 4}, true);
  sum(xg::apply(op, {Variable<T>({1, 2}), b, Variable<T>({5, 6})})).backward();
  CHECK_CLOSE(b.grad(), {5, 12});
  CHECK(op->computed == 1);
}

TEST_CASE_TEMPLATE("what a rule did not ask for keeps its shape, and throws when it is read", T,
                   float, double) {
  Variable<T> x({1, 2}, true);
  const Variable<T> y = xg::apply(std::make_shared<ReadsWhatIsNotKept<T>>(), {x});
  CHECK_THROWS_AS(y.backward({1, 1}), xg::GraphError);
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE_TEMPLATE("S10: what a rule of one's own returns is checked", T, float, double) {
  Variable<T> x({1, 2}, true);
  const auto with = [&](auto rule) {
    return xg::custom<T>(
        "own", [](const Variables<T>& in) { return in[0] * in[0]; },
        [rule](const Variables<T>& in, const Variable<T>&, Variable<T> g) {
          return rule(in, std::move(g));
        })(x);
  };
  using L = Variables<T>;
  CHECK_ERROR(xg::GraphError, "own", with([](const L&, auto) { return L(); }).backward({1, 1}));
  CHECK_ERROR(xg::GraphError, "own", with([](const L&, auto g) {
                                       return L{g, g};
                                     }).backward({1, 1}));
  CHECK_ERROR(xg::GraphError, "own", with([](const L&, auto) { return L(1); }).backward({1, 1}));
  CHECK_ERROR(xg::GraphError, "own",
              with([](const L&, auto g) { return L{unsqueeze(g, 0)}; }).backward({1, 1}));
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE_TEMPLATE("what forward or a rule of one's own throws comes through, and leaves no trace",
                   T, float, double) {
  struct Mine : std::runtime_error {
    Mine() : std::runtime_error("mine") {}
  };
  Variable<T> x({1, 2}, true);
  const std::size_t nodes = xg::live_nodes();
  const auto forward = xg::custom<T>(
      "throws", [](const Variables<T>&) -> Variable<T> { throw Mine(); },
      [](const Variables<T>&, const Variable<T>&, Variable<T> g) { return Variables<T>{g}; });
  CHECK_THROWS_AS(forward(x), Mine);
  const auto backward = xg::custom<T>(
      "throws", [](const Variables<T>& in) { return in[0] * 1; },
      [](const Variables<T>&, const Variable<T>&, Variable<T>) -> Variables<T> { throw Mine(); });
  CHECK_THROWS_AS(backward(x).backward({1, 1}), Mine);
  CHECK_FALSE(x.grad().defined());
  CHECK_CLOSE(x, {1, 2});
  CHECK(xg::live_nodes() == nodes);
}

TEST_CASE_TEMPLATE("S26: what is no operation is a named error", T, float, double) {
  const Variable<T> x({1, 2});
  const auto forward = [](const Variables<T>& in) { return in[0] * 1; };
  const auto rule = [](const Variables<T>&, const Variable<T>&, Variable<T> g) {
    return Variables<T>{g};
  };
  CHECK_ERROR(xg::ArgumentError, "custom", xg::custom<T>("none", nullptr, rule));
  CHECK_ERROR(xg::ArgumentError, "custom", xg::custom<T>("none", forward, nullptr));
  CHECK_ERROR(xg::ArgumentError, "apply", xg::apply(std::shared_ptr<ExpOf<T>>(), {x}));
  CHECK_ERROR(xg::GraphError, "own", xg::custom<T>("own", forward, rule)(Variable<T>()));
  CHECK_ERROR(xg::GraphError, "nothing",
              xg::custom<T>(
                  "nothing", [](const Variables<T>&) { return Variable<T>(); }, rule)(x));
}
