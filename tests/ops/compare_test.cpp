#include <cmath>
#include <limits>

#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Mask;
using xg::Variable;

namespace {

using Bits = std::vector<bool>;

Mask pattern(const xg::Shape& shape) {
  std::size_t size = 1;
  for (std::size_t extent : shape) size *= extent;
  Bits bits(size);
  for (std::size_t i = 0; i < size; ++i) bits[i] = i % 3 != 1;
  return Mask(shape, bits);
}

}  // namespace

TEST_CASE("where has the right gradients, its three operands broadcast in every way") {
  struct Case {
    xg::Shape mask, a, b;
  };
  for (const Case& c : {Case{{2, 3}, {2, 3}, {2, 3}}, Case{{4}, {2, 3, 4}, {3, 1}},
                        Case{{3, 1}, {1, 4}, {}}, Case{{}, {}, {}}, Case{{2, 3}, {}, {3}},
                        Case{{1}, {1, 1}, {1}}, Case{{1, 3}, {0, 3}, {3}}}) {
    const Mask mask = pattern(c.mask);
    expect_grad("where", [&](const auto& x) { return where(mask, x[0], x[1]); },
                {numbers(c.a, 1), numbers(c.b, 2)});
  }
  const Mask mask = pattern({2, 3});
  CHECK(mask.shape() == xg::Shape{2, 3});
  CHECK(mask.dim() == 2);
  CHECK(mask.size() == 6);
  expect_grad("where", [&](const auto& x) { return where(mask, x[0], 2); }, {numbers({2, 3})});
  expect_grad("where", [&](const auto& x) { return where(~mask, 0.5, x[0]); }, {numbers({2, 3})});
}

TEST_CASE_TEMPLATE("comparisons broadcast and give masks", T, float, double) {
  const Variable<T> x({1, 2, 3});
  CHECK((x < 2).to_vector() == Bits{true, false, false});
  CHECK((x <= 2).to_vector() == Bits{true, true, false});
  CHECK((x > 2).to_vector() == Bits{false, false, true});
  CHECK((x >= 2).to_vector() == Bits{false, true, true});
  CHECK((x == 2).to_vector() == Bits{false, true, false});
  CHECK((x != 2).to_vector() == Bits{true, false, true});
  CHECK((2 < x).to_vector() == Bits{false, false, true});
  CHECK((2.5 >= x).to_vector() == Bits{true, true, false});
  const Mask grid = Variable<T>({{1}, {3}}) < x;
  CHECK(grid.shape() == xg::Shape{2, 3});
  CHECK(grid.to_vector() == Bits{false, true, true, false, false, false});
  CHECK((xg::zeros<T>({0, 3}) < x).shape() == xg::Shape{0, 3});
  CHECK((Variable<T>(1) == 1).at({}));
}

TEST_CASE_TEMPLATE("every comparison with NaN is false but !=", T, float, double) {
  const Variable<T> nan(std::numeric_limits<T>::quiet_NaN());
  CHECK_FALSE((nan < 1).at({}));
  CHECK_FALSE((nan >= 1).at({}));
  CHECK_FALSE((nan == nan).at({}));
  CHECK((nan != nan).at({}));
}

TEST_CASE_TEMPLATE("comparisons read strided operands as they lie", T, float, double) {
  const Variable<T> x = test::cast<T>(numbers({2, 3}));
  const Bits want = (x < 0).to_vector();
  for (test::Layout layout : test::kLayouts) {
    if (layout == test::Layout::broadcast) continue;
    CHECK((test::laid_out(x, layout) < 0).to_vector() == want);
  }
}

TEST_CASE_TEMPLATE("S21: the branch not taken gets gradient exactly 0", T, float, double) {
  SUBCASE("exp overflows beside it") {  // pytorch/pytorch#68425
    Variable<T> a({1000}, true);
    where(a <= 0, exp(a), 1 + a).backward(Variable<T>({1}));
    CHECK_CLOSE(a.grad(), {1}, test::exactly);
  }
  SUBCASE("sqrt of a negative number beside it") {  // HIPS/autograd#802
    Variable<T> x({1}, true);
    where(x >= 0, x, sqrt(-x)).backward(Variable<T>({1}));
    CHECK_CLOSE(x.grad(), {1}, test::exactly);
  }
  SUBCASE("through a chain of operations") {
    Variable<T> x({0, 4}, true);
    const Variable<T> risky = log(1 / sqrt(x) * 2 - 1 / x);
    xg::sum(where(x > 0, risky, 0)).backward();
    CHECK(x.grad().at(0) == 0);
    CHECK(std::isfinite(x.grad().at(1)));
    CHECK(x.grad().at(1) != 0);
  }
  SUBCASE("NaN and inf in the branch itself") {
    constexpr T nan = std::numeric_limits<T>::quiet_NaN();
    constexpr T inf = std::numeric_limits<T>::infinity();
    Variable<T> a({nan, inf, 3}, true);
    Variable<T> b({1, 2, nan}, true);
    const Variable<T> y = where(Mask{false, false, true}, a * a, b / b);
    CHECK_CLOSE(y, {1, 1, 9});
    xg::sum(y).backward();
    CHECK_CLOSE(a.grad(), {0, 0, 6}, test::exactly);
    CHECK_CLOSE(b.grad(), {0, 0, 0}, test::exactly);
  }
}

TEST_CASE_TEMPLATE("S21: double backward with a cotangent of zero gives the right jvp", T, float,
                   double) {
  // J v by differentiating u -> J^T u at u = 0.
  Variable<T> x({1, 4}, true);
  Variable<T> u({0, 0}, true);
  const auto vjp = xg::grad(sqrt(x) * x, x, u, xg::create_graph);
  const auto jvp = xg::grad(vjp, u, Variable<T>({1, 1}));
  CHECK_CLOSE(jvp[0], {1.5, 3});
}

TEST_CASE("S26: bad operands of comparisons and where are named errors") {
  const Variable<double> a({1, 2, 3});
  const Variable<double> b({1, 2});
  const Variable<double> undefined;
  CHECK_ERROR(xg::ShapeError, "less", a < b);
  CHECK_ERROR(xg::ShapeError, "less_equal", a >= b);
  CHECK_ERROR(xg::ShapeError, "equal", a == b);
  CHECK_ERROR(xg::ShapeError, "not_equal", a != b);
  CHECK_ERROR(xg::GraphError, "less", a < undefined);
  CHECK_ERROR(xg::MaskError, "where", where(Mask(), a, a));
  CHECK_ERROR(xg::ShapeError, "where", where(Mask{true}, a, b));
  CHECK_ERROR(xg::ShapeError, "where", where(Mask{true, false}, a, a));
  CHECK_ERROR(xg::GraphError, "where", where(Mask{true}, a, undefined));
}
