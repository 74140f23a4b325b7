#include <cmath>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Mask;
using xg::Variable;

namespace {

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();
template <class T>
constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

constexpr test::Tolerance kBitsOfNan{0, 0, test::Nan::equals_nan};

}  // namespace

TEST_CASE("softmax and log_softmax have the right gradients along every axis") {
  const auto expect_both = [](const xg::Shape& shape, std::int64_t axis) {
    expect_grad("softmax", [axis](const auto& x) { return softmax(x[0], axis); }, {numbers(shape)});
    expect_grad("log_softmax", [axis](const auto& x) { return log_softmax(x[0], axis); },
                {numbers(shape)});
  };
  expect_both({2, 2, 3}, 0);
  expect_both({2, 2, 3}, 1);
  expect_both({2, 2, 3}, -1);
  expect_both({5}, 0);
  expect_both({}, -1);
  expect_both({1, 1}, 0);
  expect_both({0, 3}, 1);
  expect_both({2, 0}, -1);
}

TEST_CASE("masked_softmax has the right gradients under every kind of mask") {
  struct Case {
    xg::Shape shape;
    Mask mask;
    std::int64_t axis = -1;
  };
  const std::vector<Case> cases{{{2, 3}, Mask{{true, false, true}, {false, true, false}}},
                                {{2, 3}, Mask{{true, true, false}, {false, false, false}}},
                                {{2, 3}, Mask{{true, true, false}, {false, true, true}}, 0},
                                {{2, 3}, Mask{{true}, {false}}},
                                {{2, 3}, Mask{true, false, true}},
                                {{2, 3}, Mask()},
                                {{2, 2, 3}, Mask{{{true, false, true}}, {{true, true, true}}}, 1},
                                {{}, Mask({}, {true})},
                                {{}, Mask({}, {false})},
                                {{1, 1}, Mask{{true}}},
                                {{0, 3}, Mask{true, false, true}},
                                {{2, 0}, Mask{{true}, {false}}}};
  for (const Case& c : cases) {
    expect_grad("masked_softmax",
                [&](const auto& x) { return masked_softmax(x[0], c.mask, c.axis); },
                {numbers(c.shape)});
  }
}

TEST_CASE_TEMPLATE("S19: softmax is stable for scores of any size", T, float, double) {
  // FluxML/NNlib.jl#68
  CHECK_CLOSE(softmax(Variable<T>({-1047, -981, 1891})), {0, 0, 1});
  Variable<T> x({1000, 1000}, true);
  const Variable<T> y = softmax(x);
  CHECK_CLOSE(y, {0.5, 0.5});
  xg::sum(y).backward();
  CHECK_CLOSE(x.grad(), {0, 0});
  constexpr T most = std::numeric_limits<T>::max();
  CHECK_CLOSE(softmax(Variable<T>({-most, most, 0})), {0, 1, 0});
  CHECK_CLOSE(log_softmax(Variable<T>({most, most})), {-std::log(T(2)), -std::log(T(2))});
}

TEST_CASE_TEMPLATE("S19: infinite scores give the limit where there is one", T, float, double) {
  CHECK_CLOSE(softmax(Variable<T>({0, -kInf<T>, 0})), {0.5, 0, 0.5});
  CHECK_CLOSE(softmax(Variable<T>({0, kInf<T>, -kInf<T>})), {0, 1, 0});
  CHECK_CLOSE(log_softmax(Variable<T>({0, -kInf<T>})), {0, -kInf<T>});
  CHECK_CLOSE(log_softmax(Variable<T>({0, kInf<T>})), {-kInf<T>, 0});
  CHECK_CLOSE(softmax(Variable<T>({-kInf<T>, -kInf<T>})), {kNan<T>, kNan<T>}, kBitsOfNan);
  CHECK_CLOSE(softmax(Variable<T>({1, kNan<T>})), {kNan<T>, kNan<T>}, kBitsOfNan);
  CHECK_CLOSE(softmax(Variable<T>({kNan<T>, 1})), {kNan<T>, kNan<T>}, kBitsOfNan);
  // Only the line with the NaN.
  CHECK_CLOSE(softmax(Variable<T>({{1, 1}, {kNan<T>, 1}})), {{0.5, 0.5}, {kNan<T>, kNan<T>}},
              kBitsOfNan);
}

TEST_CASE_TEMPLATE("log_softmax has exact gradients at its extremes", T, float, double) {
  Variable<T> far({0, -1000}, true);  // clab/dynet#218
  log_softmax(far).backward({0, 1});
  CHECK_CLOSE(far.grad(), {-1, 1});
  Variable<T> near({0.1, 0.9}, true);  // mlpack/mlpack#2360
  log_softmax(near).backward({1, 1});
  CHECK_CLOSE(near.grad(), {0.379949, -0.379949}, {0, 1e-6});
}

TEST_CASE_TEMPLATE("rows of softmax sum to one, along a long axis too", T, float, double) {
  for (int n : {1, 7, 64, 65, 1000}) {
    const Variable<T> y = softmax(xg::randn<T>({3, n}, 1) * 5);
    CHECK_CLOSE(xg::sum(y, 1), {1, 1, 1}, {0, 4 * double(std::numeric_limits<T>::epsilon())});
  }
}

TEST_CASE_TEMPLATE("S20: a hidden score has weight and gradient exactly 0, whatever it is", T,
                   float, double) {
  for (T hidden : {T(0), T(1e30), kInf<T>, -kInf<T>, kNan<T>}) {
    Variable<T> x({{1, hidden, 3}, {hidden, 2, 3}}, true);
    const Mask mask{{true, false, true}, {false, true, true}};
    const Variable<T> y = masked_softmax(x, mask);
    CHECK(y.at({0, 1}) == 0);
    CHECK(y.at({1, 0}) == 0);
    CHECK_CLOSE(xg::sum(y, 1), {1, 1});
    y.backward({{1, 5, -2}, {7, 1, 3}});
    CHECK(x.grad().at({0, 1}) == 0);
    CHECK(x.grad().at({1, 0}) == 0);
    CHECK_CLOSE(xg::sum(x.grad(), 1), {0, 0});
    CHECK(x.grad().at({0, 0}) != 0);
  }
}

TEST_CASE_TEMPLATE("S20: a hidden weight is 0 even beside a cotangent that is NaN or inf", T, float,
                   double) {
  for (T wild : {kNan<T>, kInf<T>}) {
    Variable<T> x({1, 2, 3}, true);
    masked_softmax(x, Mask{true, false, true}).backward({1, wild, 2});
    CHECK(x.grad().at(1) == 0);
    CHECK(std::isfinite(x.grad().at(0)));
    CHECK(std::isfinite(x.grad().at(2)));
  }
}

TEST_CASE_TEMPLATE("S20: a row with nothing visible is zero, and so are its gradients", T, float,
                   double) {
  Variable<T> x({{1, 2, 3}, {kNan<T>, kInf<T>, -kInf<T>}}, true);
  const Variable<T> y = masked_softmax(x, Mask{{true, true, true}, {false, false, false}});
  CHECK_CLOSE(slice(y, 0, 1, 2), {{0, 0, 0}}, test::exactly);
  y.backward({{1, 2, 3}, {4, 5, 6}});
  CHECK_CLOSE(slice(x.grad(), 0, 1, 2), {{0, 0, 0}}, test::exactly);
}

TEST_CASE_TEMPLATE("S20: hidden is 0, not nearly 0", T, float, double) {  // lucidrains/nGPT#11
  const Variable<T> y = masked_softmax(Variable<T>({-50, 0}), Mask{true, false});
  CHECK_CLOSE(y, {1, 0}, test::exactly);
}

TEST_CASE_TEMPLATE("S20: hiding a score is deleting it", T, float, double) {
  const Variable<T> x = xg::randn<T>({4, 6}, 9);
  const Variable<T> hidden = masked_softmax(x, Mask{true, true, true, true, false, false});
  CHECK_CLOSE(slice(hidden, 1, 0, 4), softmax(slice(x, 1, 0, 4)));
}

TEST_CASE_TEMPLATE("a mask that shows everything changes nothing", T, float, double) {
  const Variable<T> x = xg::randn<T>({3, 5}, 2);
  CHECK_CLOSE(masked_softmax(x, Mask{true}), softmax(x), test::exactly);
  CHECK_CLOSE(masked_softmax(x, Mask()), softmax(x), test::exactly);
}

TEST_CASE_TEMPLATE("softmax of a temporary may reuse its memory, of a variable never", T, float,
                   double) {
  Variable<T> x({{1, 2}, {3, 4}});
  const Variable<T> kept = x;
  const Variable<T> want = softmax(x);
  CHECK_CLOSE(softmax(std::move(x)), want, test::exactly);
  CHECK_CLOSE(kept, {{1, 2}, {3, 4}});
  CHECK_CLOSE(masked_softmax(kept * 1, Mask{true}), want, test::exactly);
  CHECK_CLOSE(softmax(transpose(kept) * 1, 0), transpose(want), test::exactly);
  CHECK_CLOSE(kept, {{1, 2}, {3, 4}});
}

TEST_CASE("an empty row is empty") {  // tinygrad/tinygrad#3108
  CHECK(log_softmax(xg::zeros<double>({10, 0})).shape() == xg::Shape{10, 0});
  CHECK(softmax(xg::zeros<double>({0, 10}), 0).shape() == xg::Shape{0, 10});
}

TEST_CASE("S26: bad axes and masks are named errors, and change nothing") {
  using V = Variable<double>;
  const V x({{1, 2, 3}, {4, 5, 6}});
  CHECK_ERROR(xg::ShapeError, "softmax", softmax(x, 2));
  CHECK_ERROR(xg::ShapeError, "softmax", softmax(x, -3));
  CHECK_ERROR(xg::ShapeError, "softmax", softmax(V(1), 1));
  CHECK_ERROR(xg::ShapeError, "log_softmax", log_softmax(x, 2));
  CHECK_ERROR(xg::ShapeError, "masked_softmax", masked_softmax(x, Mask{true}, 2));
  CHECK_ERROR(xg::MaskError, "masked_softmax", masked_softmax(x, Mask{true, false}));
  CHECK_ERROR(xg::MaskError, "masked_softmax", masked_softmax(V({1, 2}), Mask{{true, false}}));
  CHECK_ERROR(xg::MaskError, "masked_softmax", masked_softmax(V({{1}}), Mask{{true, false}}));
  CHECK_ERROR(xg::GraphError, "softmax", softmax(V()));
  CHECK_ERROR(xg::GraphError, "log_softmax", log_softmax(V()));
  CHECK_ERROR(xg::GraphError, "masked_softmax", masked_softmax(V(), Mask{true}));
  CHECK_CLOSE(x, {{1, 2, 3}, {4, 5, 6}});
}
