#include "../support/errors.hpp"
#include "../support/expect_grad.hpp"

using test::expect_grad;
using test::numbers;
using xg::Variable;

namespace {

void expect_einsum_grad(const std::string& equation, const std::vector<xg::Shape>& shapes) {
  CAPTURE(equation);
  std::vector<Variable<double>> operands;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    operands.push_back(numbers(shapes[i], i + 1, -1, 1));
  expect_grad(
      "einsum", [&](const auto& x) { return xg::einsum(equation, x); }, operands);
}

}  // namespace

TEST_CASE("einsum has the right gradients with one operand") {
  expect_einsum_grad("ii", {{3, 3}});
  expect_einsum_grad("ii->i", {{3, 3}});
  expect_einsum_grad("iji->ij", {{2, 3, 2}});
  expect_einsum_grad("ij->", {{2, 3}});
  expect_einsum_grad("ijk->j", {{2, 3, 2}});
  expect_einsum_grad("ba", {{2, 3}});
  expect_einsum_grad("i...->...", {{2, 3, 2}});
  expect_einsum_grad("->", {{}});
  expect_einsum_grad("i->i", {{0}});
}

TEST_CASE("einsum has the right gradients with two operands and more") {
  expect_einsum_grad("bqhd,bkhd->bhqk", {{2, 2, 2, 2}, {2, 3, 2, 2}});
  expect_einsum_grad("bhqk,bkhd->bqhd", {{2, 2, 2, 3}, {2, 3, 2, 2}});
  expect_einsum_grad("ij,jk", {{2, 3}, {3, 2}});
  expect_einsum_grad("ij,ij->i", {{2, 3}, {2, 3}});
  expect_einsum_grad("i,j->ij", {{3}, {2}});
  expect_einsum_grad("i,i", {{3}, {3}});
  expect_einsum_grad(",ij->ji", {{}, {2, 3}});
  expect_einsum_grad("...ij,...jk->...ik", {{2, 1, 2, 3}, {2, 3, 2}});
  expect_einsum_grad("ij,jk,kl->il", {{2, 3}, {3, 2}, {2, 2}});
  expect_einsum_grad("ij,jk->ik", {{2, 0}, {0, 3}});
  expect_einsum_grad("ij,jk->ik", {{1, 1}, {1, 1}});
  expect_einsum_grad("ij,kj->k", {{2, 3}, {2, 3}});
}

TEST_CASE_TEMPLATE("einsum says in one line what the operations say in several", T, float, double) {
  const Variable<T> a = xg::randn<T>({2, 3}, 1);
  const Variable<T> b = xg::randn<T>({3, 4}, 2);
  CHECK_CLOSE(xg::einsum("ij,jk->ik", {a, b}), matmul(a, b));
  CHECK_CLOSE(xg::einsum("ij->ji", {a}), transpose(a));
  CHECK_CLOSE(xg::einsum("ij->", {a}), sum(a));
  CHECK_CLOSE(xg::einsum("ij,jk->ki", {a, b}), transpose(matmul(a, b)));
}

TEST_CASE("S26: wrong equations and operands are named errors") {
  const Variable<double> a({{1, 2, 3}, {4, 5, 6}});
  CHECK_ERROR(xg::ArgumentError, "einsum", xg::einsum("ij,jk", {a}));
  CHECK_ERROR(xg::ArgumentError, "einsum", xg::einsum("i1", {a}));
  CHECK_ERROR(xg::ArgumentError, "einsum", xg::einsum("ij->k", {a}));
  CHECK_ERROR(xg::ArgumentError, "einsum", xg::einsum("ij->ii", {a}));
  CHECK_ERROR(xg::ArgumentError, "einsum", xg::einsum("ij->i->j", {a}));
  CHECK_ERROR(xg::ArgumentError, "einsum", xg::einsum("i...->i", {a}));
  CHECK_ERROR(xg::ArgumentError, "einsum", xg::einsum("i\u00e4", {a}));
  CHECK_ERROR(xg::ShapeError, "einsum", xg::einsum("ijk", {a}));
  CHECK_ERROR(xg::ShapeError, "einsum", xg::einsum("ii", {a}));
  CHECK_ERROR(xg::ShapeError, "einsum", xg::einsum("ij,ij", {a, transpose(a)}));
  CHECK_ERROR(xg::GraphError, "einsum", xg::einsum("ij", {Variable<double>()}));
  CHECK_CLOSE(a, {{1, 2, 3}, {4, 5, 6}});
}
