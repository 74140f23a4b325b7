#include "expect_grad.hpp"

#include <memory>

using test::check_grad;
using test::Function;
using test::GradReport;
using test::numbers;
using xg::Variable;

// Operations with one fault each: the checker must find every one.
namespace {

template <class T>
using Variables = std::vector<Variable<T>>;

/// x * x, without a fault; the others change one thing.
template <class T>
class Square : public xg::Op<T> {
 public:
  std::string name() const override { return "square"; }
  Variable<T> forward(const Variables<T>& in) const override { return in[0] * in[0]; }
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T> g,
                        const std::vector<bool>&) const override {
    return {g * 2 * in[0]};
  }
};

template <class T>
class OnePerCentOff final : public Square<T> {
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T> g,
                        const std::vector<bool>&) const override {
    return {g * 2.02 * in[0]};
  }
};

template <class T>
class OneElementOff final : public Square<T> {
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T> g,
                        const std::vector<bool>&) const override {
    std::vector<T> gradient = (g * 2 * in[0]).to_vector();
    if (!gradient.empty()) gradient.back() *= T(1.01);
    return {xg::from_data(gradient.data(), in[0].shape())};
  }
};

template <class T>
class IgnoresTheCotangent final : public Square<T> {
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T>,
                        const std::vector<bool>&) const override {
    return {2 * in[0]};
  }
};

/// What code that ignores strides makes of a transposed array.
template <class T>
Variable<T> in_memory_order(const Variable<T>& x) {
  return x.is_contiguous() ? x : reshape(transpose(x), x.shape());
}

template <class T>
class IgnoresStrides final : public Square<T> {
  Variable<T> forward(const Variables<T>& in) const override {
    return in_memory_order(in[0]) * in[0];
  }
};

template <class T>
class IgnoresStridesInBackward final : public Square<T> {
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T> g,
                        const std::vector<bool>&) const override {
    return {in_memory_order(g) * 2 * in[0]};
  }
};

template <class T>
class WrongSecondDerivative final : public Square<T> {
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T> g,
                        const std::vector<bool>&) const override {
    return {g * 2 * in[0].detach()};
  }
};

template <class T>
class WrongShape final : public Square<T> {
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T> g,
                        const std::vector<bool>&) const override {
    return {xg::sum(g * 2 * in[0])};
  }
};

template <class T>
class WritesToItsInput final : public Square<T> {
  Variable<T> forward(const Variables<T>& in) const override {
    const auto raw = xg::detail::raw_view(in[0]);
    const Variable<T> out = in[0] * in[0];
    if (in[0].size() > 0) *const_cast<T*>(raw.memory.get()) += T(0.5);
    return out;
  }
};

template <class T>
class WritesToTheSeed final : public Square<T> {
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T> g,
                        const std::vector<bool>&) const override {
    const Variable<T> out = g * 2 * in[0];
    const auto raw = xg::detail::raw_view(g);
    if (g.size() > 0) *const_cast<T*>(raw.memory.get()) += T(0.5);
    return {out};
  }
};

template <class T>
class LosesPrecisionInFloat final : public Square<T> {
  Variable<T> forward(const Variables<T>& in) const override {
    return in[0] * in[0] * (std::is_same_v<T, float> ? 1.001 : 1.0);
  }
};

template <class T>
class ForgetsItsState final : public Square<T> {
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T> g,
                        const std::vector<bool>&) const override {
    return {g * (++calls_ > 1 ? 3 : 2) * in[0]};
  }
  mutable int calls_ = 0;
};

template <template <class> class O>
struct Apply {
  template <class T>
  Variable<T> operator()(const Variables<T>& x) const {
    return xg::apply(std::make_shared<O<T>>(), {x[0]});
  }
};

template <class F>
GradReport report(F f, const Variables<double>& inputs,
                  test::Smoothness smoothness = test::Smoothness::smooth) {
  return check_grad("square", Function<double>(f), Function<float>(f), inputs, smoothness);
}

template <template <class> class O>
bool found() {
  const GradReport r = report(Apply<O>(), {numbers({2, 3})});
  INFO(r.to_string());
  return !r.passed() && r.to_string().find("square: failed") == 0;
}

/// x * y whose rule is wrong when only y needs a gradient.
template <class T>
class WrongWhenAlone final : public xg::Op<T> {
 public:
  std::string name() const override { return "mul"; }
  Variable<T> forward(const Variables<T>& in) const override { return in[0] * in[1]; }
  Variables<T> backward(const Variables<T>& in, const Variable<T>&, Variable<T> g,
                        const std::vector<bool>& needed) const override {
    return {g * in[1], needed[0] ? g * in[0] : g};
  }
};

}  // namespace

TEST_CASE("a right operation passes and has met all that its inputs have") {
  for (const xg::Shape& shape : test::shapes()) {
    const GradReport r = report(Apply<Square>(), {numbers(shape)});
    CHECK_MESSAGE(r.passed(), r.to_string());
  }
  const auto met = report(Apply<Square>(), {numbers({2, 3})}).met;
  CHECK(std::set<std::string>(met.begin(), met.end()) ==
        std::set<std::string>{"contiguous", "transposed", "stepped", "reversed", "broadcast",
                              "offset", "float", "double", "value", "gradient",
                              "second derivative"});
  CHECK(report(Apply<Square>(), {numbers({})}).met.front() == "0-D");
  CHECK(report(Apply<Square>(), {numbers({0, 3})}).met.front() == "size 0");
  CHECK(report(Apply<Square>(), {numbers({1})}).met.front() == "size 1");
}

TEST_CASE("a rule that is wrong by one per cent is found") { CHECK(found<OnePerCentOff>()); }
TEST_CASE("a rule that is wrong in one element is found") { CHECK(found<OneElementOff>()); }
TEST_CASE("a rule that ignores its cotangent is found") { CHECK(found<IgnoresTheCotangent>()); }
TEST_CASE("an operation that ignores strides is found") { CHECK(found<IgnoresStrides>()); }
TEST_CASE("a rule that ignores strides is found") { CHECK(found<IgnoresStridesInBackward>()); }
TEST_CASE("a rule that cannot be differentiated is found") {
  CHECK(found<WrongSecondDerivative>());
}
TEST_CASE("a gradient of the wrong shape is found") { CHECK(found<WrongShape>()); }
TEST_CASE("a write to an input is found") { CHECK(found<WritesToItsInput>()); }
TEST_CASE("a write to the seed is found") { CHECK(found<WritesToTheSeed>()); }
TEST_CASE("a float result that differs from double is found") {
  CHECK(found<LosesPrecisionInFloat>());
}
TEST_CASE("a second backward that differs from the first is found") {
  CHECK(found<ForgetsItsState>());
}

TEST_CASE("a rule that is wrong when one gradient alone is needed is found") {
  const auto f = [](const auto& x) {
    using T = typename std::decay_t<decltype(x)>::value_type::value_type;
    return xg::apply(std::make_shared<WrongWhenAlone<T>>(), {x[0], x[1]});
  };
  CHECK_FALSE(report(f, {numbers({2, 3}), numbers({2, 3}, 2)}).passed());
}

TEST_CASE("a graph that outlives its handles is found") {
  std::vector<std::shared_ptr<void>> kept;
  const auto f = [&kept](const auto& x) {
    auto y = x[0] * x[0];
    kept.push_back(std::make_shared<std::decay_t<decltype(y)>>(y));
    return y;
  };
  CHECK_FALSE(report(f, {numbers({2, 3})}).passed());
}

TEST_CASE("a function with a kink between equal elements passes only if it says so") {
  const auto larger = [](const auto& x) { return where(x[0] > x[1], x[0], x[1]); };
  const auto x = numbers({2, 3});
  CHECK(report(
            [&](const auto& in) {
              return larger(std::vector{in[0], in[0] * 2});
            },
            {x})
            .passed());
  const auto over_rows = [&](const auto& in) {
    return larger(std::vector{slice(in[0], 0, 0, 1), slice(in[0], 0, 1, 2)});
  };
  CHECK_FALSE(report(over_rows, {x}).passed());
  CHECK(report(over_rows, {x}, test::Smoothness::kinked).passed());
}

TEST_CASE("the coverage table demands each aspect, and refuses idle exemptions") {
  test::Coverage coverage;
  for (const auto& c : test::aspects()) coverage.record("whole", c);
  CHECK(coverage.flaws({"whole"}).empty());
  CHECK(coverage.flaws({"unknown"}).size() == 1);
  for (const auto& c : test::aspects()) {
    if (c != "0-D") coverage.record("partial", c);
  }
  CHECK(coverage.flaws({"partial"}) == std::vector<std::string>{"partial has not met 0-D"});
  coverage.exempt("partial", "0-D", "has no axis");
  CHECK(coverage.flaws({"partial"}).empty());
  coverage.record("partial", "0-D");
  CHECK(coverage.flaws({"partial"}).size() == 1);
  coverage.exempt("new", "PyTorch", "it has none");
  CHECK(coverage.markdown({"whole", "new"}) ==
        "| operation | value | gradient | second derivative | strides | zero size | PyTorch |\n"
        "|---|---|---|---|---|---|---|\n"
        "| `whole` | yes | yes | yes | yes | yes | yes |\n"
        "| `new` | **no** | **no** | **no** | **no** | **no** | – |\n"
        "\n`new`, PyTorch: it has none.\n");
  CHECK_THROWS_AS(coverage.exempt("partial", "transpose", "misspelt"), std::invalid_argument);
}
