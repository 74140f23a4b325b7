#include <cmath>
#include <map>
#include <utility>

#include <xtensor/xbuilder.hpp>
#include <xtensor/xmath.hpp>
#include <xtensor/xsort.hpp>
#include <xtensor/xtensor.hpp>
#include <xtensor/xview.hpp>

#include "peers.hpp"

namespace bench {
namespace {

template <class Container>
void consume(const Container& y) {
  asm volatile("" : : "r"(y.data()) : "memory");
}

template <class T>
struct Data {
  xt::xtensor<T, 1> a, b, row;
  xt::xtensor<T, 2> m, other, column;
  xt::xtensor<bool, 1> mask;
};

template <class T>
Run make(const std::string& op, std::int64_t n) {
  using Vector = xt::xtensor<T, 1>;
  using Matrix = xt::xtensor<T, 2>;
  const auto size = static_cast<std::size_t>(n);
  const auto columns = static_cast<std::size_t>(kColumns);
  const std::size_t rows = size / columns;
  static Data<T> data;  // of the operation that was asked for last
  Vector& a = data.a;
  Vector& b = data.b;
  Vector& row = data.row;
  Matrix& m = data.m;
  Matrix& other = data.other;
  Matrix& column = data.column;
  xt::xtensor<bool, 1>& mask = data.mask;
  a = xt::empty<T>({size});
  b = xt::empty<T>({size});
  for (std::int64_t i = 0; i < n; ++i) {
    a(i) = static_cast<T>(first_value(i));
    b(i) = static_cast<T>(second_value(i));
  }
  mask = a < b;
  m = xt::empty<T>({rows, columns});
  other = xt::empty<T>({columns, rows});
  std::copy_n(a.data(), rows * columns, m.data());
  std::copy_n(b.data(), rows * columns, other.data());
  row = xt::view(b, xt::range(0, columns));
  column = xt::empty<T>({rows, std::size_t{1}});
  std::copy_n(b.data(), rows, column.data());

  // What depends on a reduction is evaluated first: xtensor's lazy ones are wrong in broadcasts.
  const auto kept = xt::keep_dims | xt::evaluation_strategy::immediate;
  const auto softmax = [=](const Matrix& x) {
    const Matrix most = xt::amax(x, {1}, kept);
    const Matrix e = xt::exp(x - most);
    const Matrix total = xt::sum(e, {1}, kept);
    return Matrix(e / total);
  };

  std::map<std::string, Run> runs;
#define XGRAD_RUN(NAME, TYPE, EXPRESSION) \
  runs[NAME] = [&] {                      \
    const TYPE y = EXPRESSION;            \
    consume(y);                           \
  }
  XGRAD_RUN("add", Vector, a + b);
  XGRAD_RUN("sub", Vector, a - b);
  XGRAD_RUN("mul", Vector, a * b);
  XGRAD_RUN("div", Vector, a / b);
  XGRAD_RUN("add scalar", Vector, a + T(3));
  XGRAD_RUN("mul scalar", Vector, a * T(3));
  XGRAD_RUN("add row", Matrix, m + row);
  XGRAD_RUN("mul column", Matrix, m * column);
  XGRAD_RUN("add transposed", Matrix, m + xt::transpose(other));
  XGRAD_RUN("neg", Vector, -a);
  XGRAD_RUN("abs", Vector, xt::abs(a));
  XGRAD_RUN("square", Vector, xt::square(a));
  XGRAD_RUN("sqrt", Vector, xt::sqrt(b));
  XGRAD_RUN("exp", Vector, xt::exp(a));
  XGRAD_RUN("log", Vector, xt::log(b));
  XGRAD_RUN("sin", Vector, xt::sin(a));
  XGRAD_RUN("cos", Vector, xt::cos(a));
  XGRAD_RUN("tanh", Vector, xt::tanh(a));
  XGRAD_RUN("sigmoid", Vector, T(1) / (T(1) + xt::exp(-a)));
  XGRAD_RUN("erf", Vector, xt::erf(a));
  XGRAD_RUN("gelu", Vector, a * T(0.5) * (T(1) + xt::erf(a * T(0.70710678118654752))));
  XGRAD_RUN("relu", Vector, xt::maximum(a, T(0)));
  XGRAD_RUN("pow", Vector, xt::pow(b, a));
  XGRAD_RUN("pow 3", Vector, xt::pow(b, T(3)));
  XGRAD_RUN("maximum", Vector, xt::maximum(a, b));
  XGRAD_RUN("clip", Vector, xt::clip(a, T(-1), T(1)));
  XGRAD_RUN("where", Vector, xt::where(mask, a, b));
  using Flags = xt::xtensor<bool, 1>;
  XGRAD_RUN("less", Flags, a < b);
  using Scalar = xt::xtensor<T, 0>;
  XGRAD_RUN("sum", Scalar, xt::sum(a, xt::evaluation_strategy::immediate));
  XGRAD_RUN("mean", Scalar, xt::mean(a, xt::evaluation_strategy::immediate));
  XGRAD_RUN("max", Scalar, xt::amax(a, xt::evaluation_strategy::immediate));
  XGRAD_RUN("prod", Scalar, xt::prod(a, xt::evaluation_strategy::immediate));
  XGRAD_RUN("var", Scalar, xt::variance(a, xt::evaluation_strategy::immediate));
  XGRAD_RUN("sum rows", Vector, xt::sum(m, {1}, xt::evaluation_strategy::immediate));
  XGRAD_RUN("sum columns", Vector, xt::sum(m, {0}, xt::evaluation_strategy::immediate));
  XGRAD_RUN("max rows", Vector, xt::amax(m, {1}, xt::evaluation_strategy::immediate));
  XGRAD_RUN("max columns", Vector, xt::amax(m, {0}, xt::evaluation_strategy::immediate));
  XGRAD_RUN("cumsum", Vector, xt::cumsum(a, 0));
#undef XGRAD_RUN
  runs["softmax"] = [=, &m] { consume(softmax(m)); };
  runs["log_softmax"] = [=, &m] {
    const Matrix most = xt::amax(m, {1}, kept);
    const Matrix shifted = m - most;
    const Matrix total = xt::sum(xt::exp(shifted), {1}, kept);
    const Matrix y = shifted - xt::log(total);
    consume(y);
  };
  runs["logsumexp"] = [=, &m] {
    const Matrix most = xt::amax(m, {1}, kept);
    const Matrix total = xt::sum(xt::exp(m - most), {1}, kept);
    const Matrix y = most + xt::log(total);
    consume(y);
  };
  runs["layer_norm"] = [=, &m, &row] {
    const auto count = static_cast<T>(kColumns);
    const Matrix mean = xt::sum(m, {1}, kept) / count;
    const Matrix centred = m - mean;
    const Matrix squares = xt::sum(centred * centred, {1}, kept);
    const Matrix scale = T(1) / xt::sqrt(squares / count + T(1e-5));
    const Matrix y = centred * scale * row + row;
    consume(y);
  };
  const auto found = runs.find(op);
  return found == runs.end() ? Run() : found->second;
}

}  // namespace

Run XGRAD_PEER(const std::string& op, std::int64_t n, float) { return make<float>(op, n); }
Run XGRAD_PEER(const std::string& op, std::int64_t n, double) { return make<double>(op, n); }

}  // namespace bench
