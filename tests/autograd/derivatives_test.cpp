#include <cmath>
#include <limits>

#include "../support/allclose.hpp"
#include "../support/errors.hpp"
#include "../support/fixtures.hpp"
#include "../support/strided.hpp"

using test::Json;
using xg::Variable;

namespace {

template <class T>
using Variables = std::vector<Variable<T>>;

template <class T>
Variable<T> dot(const Variable<T>& a, const Variable<T>& b) {
  return sum(flatten(a) * flatten(b));
}

/// The results of the operation of a case in second_order.json.
template <class T>
Variables<T> results(const Json& one, const Variables<T>& x) {
  const auto op = one.at("op").get<std::string>();
  const Json& args = one.at("args");
  if (op == "multi_head_attention") {
    const auto [output, weights] =
        xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6],
                                 args.at("num_heads").get<std::int64_t>(), test::mask_of(one));
    return {output, weights};
  }
  if (op == "layer_norm") return {layer_norm(x[0], x[1], x[2], args.at("eps").get<double>())};
  if (op == "softmax") return {softmax(x[0], args.at("axis").get<std::int64_t>())};
  if (op == "gelu") return {gelu(x[0])};
  if (op == "einsum") return {xg::einsum(args.at("equation").get<std::string>(), x)};
  throw std::runtime_error("no entry for " + op);
}

/// The gradients of sum(seed * result).
template <class T>
Variables<T> gradients(const Json& one, const Variables<T>& x) {
  return xg::grad(results(one, x), x, test::tensors<T>(one.at("seeds")), xg::create_graph);
}

}  // namespace

TEST_CASE_TEMPLATE("Hessian-vector products agree with PyTorch, through attention too", T, float,
                   double) {
  const test::Tolerance tolerance =
      std::is_same_v<T, double> ? test::Tolerance{0, 1e-9} : test::Tolerance{1e-4, 1e-4};
  const Json fixture = test::load_fixture("second_order.json");
  bool attention = false;
  for (const Json& one : fixture.at("cases")) {
    CAPTURE(one.at("case").get<std::string>());
    attention = attention || one.at("op") == "multi_head_attention";
    const auto directions = test::tensors<T>(one.at("directions"));
    for (test::Layout layout : test::kLayouts) {
      if (layout == test::Layout::broadcast) continue;  // changes the values
      CAPTURE(test::name(layout));
      Variables<T> x;
      for (const auto& input : test::tensors<T>(one.at("inputs"))) {
        x.push_back(test::laid_out(input, layout).set_requires_grad());
      }
      Variable<T> slope(0);
      const Variables<T> first = gradients(one, x);
      for (std::size_t i = 0; i < x.size(); ++i) slope += sum(first[i] * directions[i]);
      slope.backward();
      // The same by jvp: how all the gradients move along the directions.
      const Variable<T> moved = xg::jvp<T>(
          [&](const Variables<T>& at) {
            Variables<T> flat;
            for (const auto& gradient : gradients(one, at)) flat.push_back(flatten(gradient));
            return xg::concat(flat);
          },
          x, directions);
      std::int64_t start = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        CAPTURE(i);
        const auto want = test::tensor<T>(one.at("products").at(i));
        // layer_norm is linear in its bias, so no second derivative reaches it.
        const auto got = x[i].grad().defined() ? x[i].grad() : xg::zeros<T>(x[i].shape());
        CHECK_CLOSE(got, want, tolerance);
        const auto stop = start + static_cast<std::int64_t>(x[i].size());
        CHECK_CLOSE(slice(moved, 0, start, stop), flatten(want), tolerance);
        start = stop;
      }
    }
  }
  CHECK(attention);
}

TEST_CASE_TEMPLATE("jacobian has the shape of the result, then that of the input", T, float,
                   double) {
  const Variable<T> x({1, 2, 3});
  CHECK_CLOSE(xg::jacobian<T>([](const auto& v) { return v * v; }, x),
              {{2, 0, 0}, {0, 4, 0}, {0, 0, 6}});
  CHECK_CLOSE(xg::jacobian<T>([](const auto& v) { return v; }, x),
              {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}});
  CHECK_CLOSE(xg::jacobian<T>([](const auto& v) { return sum(v); }, x), {1, 1, 1});
  CHECK_CLOSE(xg::jacobian<T>([](const auto& v) { return v * v; }, Variable<T>(3)), Variable<T>(6));
  const auto to_matrix = [](const auto& v) { return xg::stack({v, 2 * v}); };
  CHECK(xg::jacobian<T>(to_matrix, x).shape() == xg::Shape{2, 3, 3});
  CHECK(xg::jacobian<T>([](const auto& v) { return slice(v, 0, 0, 0); }, x).shape() ==
        xg::Shape{0, 3});
  CHECK(xg::jacobian<T>([](const auto& v) { return sum(v); }, xg::zeros<T>({0, 2})).shape() ==
        xg::Shape{0, 2});
  CHECK_CLOSE(xg::jacobian<T>([](const auto&) { return xg::ones<T>(2); }, x),
              {{0, 0, 0}, {0, 0, 0}});
}

TEST_CASE_TEMPLATE("the Jacobian of a linear map is its matrix", T, float, double) {
  const Variable<T> a({{1, 2, 3}, {4, 5, 6}});
  CHECK_CLOSE(xg::jacobian<T>([&](const auto& v) { return matmul(a, v); }, Variable<T>({7, 8, 9})),
              a);
}

TEST_CASE_TEMPLATE("hessian agrees with the formulas", T, float, double) {
  const Variable<T> x({1, 2, 3});
  CHECK_CLOSE(xg::hessian<T>([](const auto& v) { return sum(v * v * v); }, x),
              {{6, 0, 0}, {0, 12, 0}, {0, 0, 18}});
  // x^T A x has the Hessian A + A^T.
  const Variable<T> a({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}});
  CHECK_CLOSE(xg::hessian<T>([&](const auto& v) { return matmul(v, matmul(a, v)); }, x),
              a + transpose(a));
  // logsumexp has diag(p) - p p^T, with p its softmax.
  const Variable<T> p = softmax(x);
  const Variable<T> identity({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}});
  CHECK_CLOSE(xg::hessian<T>([](const auto& v) { return logsumexp(v); }, x),
              identity * p - unsqueeze(p, 1) * p);
  // Of a matrix: d^2 (x00 x11) / dx00 dx11.
  const auto h = xg::hessian<T>([](const auto& v) { return prod(xg::einsum("ii->i", {v})); },
                                Variable<T>({{2, 3}, {5, 7}}));
  CHECK(h.shape() == xg::Shape{2, 2, 2, 2});
  CHECK(h.at({0, 0, 1, 1}) == 1);
  CHECK(h.at({1, 1, 0, 0}) == 1);
  CHECK(sum(abs(h)).item() == 2);
}

TEST_CASE_TEMPLATE("the Hessian of a linear or constant function is zero", T, float, double) {
  const Variable<T> x({1, 2, 3});
  CHECK_CLOSE(xg::hessian<T>([](const auto& v) { return sum(v); }, x), xg::zeros<T>({3, 3}),
              test::exactly);
  CHECK_CLOSE(xg::hessian<T>([](const auto&) { return Variable<T>(3); }, x), xg::zeros<T>({3, 3}),
              test::exactly);
}

TEST_CASE_TEMPLATE("vjp multiplies from the left, jvp from the right", T, float, double) {
  const Variable<T> x({1, 2, 3});
  const Variable<T> y({4, 5, 6});
  const auto product = [](const Variables<T>& in) { return in[0] * in[1]; };
  const Variables<T> pulled = xg::vjp<T>(product, {x, y}, {1, 1, 2});
  REQUIRE(pulled.size() == 2);
  CHECK_CLOSE(pulled[0], {4, 5, 12});
  CHECK_CLOSE(pulled[1], {1, 2, 6});
  CHECK_CLOSE(xg::jvp<T>(product, {x, y}, {{1, 0, 0}, {0, 1, 1}}), {4, 2, 3});
  const auto first = [](const Variables<T>& in) { return in[0]; };
  CHECK_CLOSE(xg::jvp<T>(first, {x, y}, {{1, 0, 7}, {1, 1, 1}}), {1, 0, 7});
  CHECK_CLOSE(xg::vjp<T>(first, {x, y}, {1, 2, 3})[1], {0, 0, 0});
  const auto times = [](const Variables<T>& in) { return matmul(in[0], in[1]); };
  CHECK_CLOSE(xg::jvp<T>(times, {Variable<T>({{1, 2}, {3, 4}}), Variable<T>({1, 1})},
                         {Variable<T>({{1, 0}, {0, 0}}), Variable<T>({0, 0})}),
              {1, 0});
  const auto constant = [](const Variables<T>&) { return xg::ones<T>({2, 2}); };
  CHECK_CLOSE(xg::jvp<T>(constant, {x}, {x}), xg::zeros<T>({2, 2}));
  CHECK_CLOSE(xg::vjp<T>(constant, {x}, xg::ones<T>({2, 2}))[0], {0, 0, 0});
}

TEST_CASE_TEMPLATE("the same handle at two positions has two gradients", T, float, double) {
  const Variable<T> x({1, 2, 3});
  const auto f = [](const Variables<T>& in) { return in[0] * in[0] * in[1]; };
  const Variables<T> pulled = xg::vjp<T>(f, {x, x}, {1, 1, 1});
  CHECK_CLOSE(pulled[0], {2, 8, 18});
  CHECK_CLOSE(pulled[1], {1, 4, 9});
}

TEST_CASE_TEMPLATE("S21: jvp takes the branch that where takes", T, float, double) {
  const auto f = [](const Variables<T>& in) { return where(in[0] > 1.5, in[0], sqrt(in[0] - 1)); };
  const T inf = std::numeric_limits<T>::infinity();
  CHECK_CLOSE(xg::jvp<T>(f, {Variable<T>({1, 2, 3})}, {Variable<T>({1, 1, 1})}), {inf, 1, 1});
  const auto guarded = [](const Variables<T>& in) { return where(in[0] > 0, log(in[0]), in[0]); };
  CHECK_CLOSE(xg::jvp<T>(guarded, {Variable<T>({0, 2})}, {Variable<T>({3, 3})}), {3, 1.5});
}

TEST_CASE("through attention, jvp and vjp are adjoint and agree with the Jacobian") {
  using V = Variable<double>;
  const V q = xg::uniform<double>({1, 2, 2, 3}, -1, 1, 1);
  const V k = xg::uniform<double>({1, 2, 3, 3}, -1, 1, 2);
  const V v = xg::uniform<double>({1, 2, 3, 2}, -1, 1, 3);
  const auto f = [](const Variables<double>& in) {
    const auto [output, weights] = xg::attention_kernel(in[0], in[1], in[2]);
    return xg::concat({flatten(output), flatten(weights)});
  };
  const Variables<double> inputs{q, k, v};
  Variables<double> tangents;
  for (const V& x : inputs) tangents.push_back(xg::uniform<double>(x.shape(), -1, 1, 7));
  const V u = xg::uniform<double>(20, -1, 1, 9);
  const V moved = xg::jvp<double>(f, inputs, tangents);
  const Variables<double> pulled = xg::vjp<double>(f, inputs, u);
  V by_vjp(0);
  V by_jacobian = xg::zeros<double>(20);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    by_vjp += dot(pulled[i], tangents[i]);
    const V jacobian = xg::jacobian<double>(
        [&](const V& x) {
          Variables<double> at = inputs;
          at[i] = x;
          return f(at);
        },
        inputs[i]);
    by_jacobian += matmul(reshape(jacobian, {20, -1}), flatten(tangents[i]));
  }
  CHECK_CLOSE(moved, by_jacobian);
  CHECK_CLOSE(dot(u, moved), by_vjp);
}

TEST_CASE("a column of the Hessian through attention is a Hessian-vector product") {
  using V = Variable<double>;
  const V k = xg::uniform<double>({1, 1, 3, 2}, -1, 1, 5);
  const auto f = [&](const V& q) {
    const auto output = xg::attention_kernel(q, k, k).output;
    return sum(output * output);
  };
  const V q = xg::uniform<double>({1, 1, 2, 2}, -1, 1, 3);
  const V h = reshape(xg::hessian<double>(f, q), {4, 4});
  CHECK_CLOSE(h, transpose(h));
  CHECK(std::abs(h.at({0, 1})) > 1e-3);
  for (int i = 0; i < 4; ++i) {
    V direction =
        reshape(xg::concat({xg::zeros<double>(i), V({1}), xg::zeros<double>(3 - i)}), {1, 1, 2, 2});
    const V product = xg::jvp<double>(
        [&](const Variables<double>& in) {
          return xg::grad(f(in[0]), in[0], {}, xg::create_graph)[0];
        },
        {q}, {direction});
    CHECK_CLOSE(flatten(product), reshape(slice(h, 1, i, i + 1), 4));
  }
}

TEST_CASE_TEMPLATE("S11: derivatives of every order", T, float, double) {
  const Variable<T> x(T(0.5), true);
  Variable<T> of_polynomial = square(square(x));
  Variable<T> of_sine = sin(2 * x);
  for (int order = 1; order <= 4; ++order) {
    of_polynomial = xg::grad(of_polynomial, x, {}, xg::create_graph)[0];
    of_sine = xg::grad(of_sine, x, {}, xg::create_graph)[0];
  }
  CHECK_CLOSE(of_polynomial, Variable<T>(24));
  CHECK_CLOSE(of_sine, Variable<T>(16 * std::sin(T(1))));
}

TEST_CASE_TEMPLATE("derivatives leave no trace: no .grad(), no graph, also under NoGrad", T, float,
                   double) {
  const Variable<T> x({1, 2, 3}, true);
  const auto cube = [](const Variable<T>& v) { return v * v * v; };
  const auto of_first = [&](const Variables<T>& in) { return cube(in[0]); };
  const std::size_t nodes = xg::live_nodes();
  {
    const xg::NoGrad guard;
    const Variables<T> found{xg::jacobian<T>(cube, x),
                             xg::hessian<T>([&](const auto& v) { return sum(cube(v)); }, x),
                             xg::vjp<T>(of_first, {x}, x)[0], xg::jvp<T>(of_first, {x}, {x})};
    for (const auto& one : found) CHECK_FALSE(one.requires_grad());
    CHECK_CLOSE(found[3], {3, 24, 81});
  }
  CHECK_FALSE(x.grad().defined());
  CHECK(xg::live_nodes() == nodes);
}

TEST_CASE("S26: bad functions, shapes and counts are named errors") {
  using V = Variable<double>;
  const V x({1, 2, 3});
  const auto same = [](const V& v) { return v; };
  const auto first = [](const Variables<double>& in) { return in[0]; };
  const auto undefined = [](const V&) { return V(); };
  CHECK_ERROR(xg::ArgumentError, "jacobian", xg::jacobian<double>(nullptr, x));
  CHECK_ERROR(xg::ArgumentError, "hessian", xg::hessian<double>(nullptr, x));
  CHECK_ERROR(xg::ArgumentError, "vjp", xg::vjp<double>(nullptr, {x}, x));
  CHECK_ERROR(xg::ArgumentError, "jvp", xg::jvp<double>(nullptr, {x}, {x}));
  CHECK_ERROR(xg::GraphError, "jacobian", xg::jacobian<double>(undefined, x));
  CHECK_ERROR(xg::GraphError, "hessian", xg::hessian<double>(undefined, x));
  CHECK_ERROR(xg::ShapeError, "hessian", xg::hessian<double>(same, x));
  CHECK_ERROR(xg::ShapeError, "vjp", xg::vjp<double>(first, {x}, {1, 2}));
  CHECK_ERROR(xg::ShapeError, "jvp", xg::jvp<double>(first, {x}, {V({1, 2})}));
  CHECK_ERROR(xg::ArgumentError, "jvp", xg::jvp<double>(first, {x, x}, {x}));
  CHECK_ERROR(xg::GraphError, "vjp", xg::vjp<double>(first, {x}, V()));
  CHECK_ERROR(xg::GraphError, "jvp", xg::jvp<double>(first, {x}, {V()}));
}
