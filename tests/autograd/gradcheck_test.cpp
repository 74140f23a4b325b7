#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include "../support/allclose.hpp"
#include "../support/coverage.hpp"
#include "../support/errors.hpp"

using xg::GradcheckReport;
using xg::Variable;

namespace {

template <class T>
using Variables = std::vector<Variable<T>>;
template <class T>
using Function = xg::detail::FunctionOfMany<T>;
template <class T>
using Rule = std::function<Variables<T>(const Variables<T>& in, Variable<T> g)>;

template <class T>
Variable<T> any(const xg::Dims& shape, std::uint64_t seed = 1) {
  return xg::uniform<T>(shape, -1.5, 1.5, seed);
}
template <class T>
Variable<T> positive(const xg::Dims& shape, std::uint64_t seed = 1) {
  return xg::uniform<T>(shape, 0.5, 2, seed);
}

/// x * x with a rule of the test's own.
template <class T>
Function<T> square_with(Rule<T> rule) {
  const auto op = xg::custom<T>(
      "square", [](const Variables<T>& in) { return in[0] * in[0]; },
      [rule](const Variables<T>& in, const Variable<T>&, Variable<T> g) { return rule(in, g); });
  return [op](const Variables<T>& in) { return op(in[0]); };
}

template <class T>
Function<T> right_square() {
  return square_with<T>([](const auto& in, auto g) { return Variables<T>{g * 2 * in[0]}; });
}
template <class T>
Function<T> square_off_by_one_per_cent() {
  return square_with<T>([](const auto& in, auto g) { return Variables<T>{g * 2.02 * in[0]}; });
}

/// a * b with a rule of the test's own.
template <class T>
Function<T> product_with(Rule<T> rule) {
  const auto op = xg::custom<T>(
      "product", [](const Variables<T>& in) { return in[0] * in[1]; },
      [rule](const Variables<T>& in, const Variable<T>&, Variable<T> g) { return rule(in, g); });
  return [op](const Variables<T>& in) { return op(in); };
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Empty if the check failed with a report that begins with `start`.
std::string flaw(const GradcheckReport& report, const std::string& start) {
  if (report.passed()) return "missed: " + report.to_string();
  return report.to_string().find(start) == 0 ? std::string() : report.to_string();
}

struct Wrong {
  double got = 0;
  double want = 0;
};

/// The numbers in the first line of a report.
Wrong numbers_in(const std::string& report) {
  Wrong out;
  const std::size_t at = report.find("got ");
  REQUIRE(at != std::string::npos);
  REQUIRE(std::sscanf(report.c_str() + at, "got %lf, expected %lf", &out.got, &out.want) == 2);
  return out;
}

/// The elements in the order in which they lie in memory: what an operation reads that takes every
/// array for contiguous.
template <class T>
Variable<T> in_memory_order(const Variable<T>& x) {
  const std::vector<T> values = x.to_vector();
  std::vector<std::pair<std::int64_t, std::size_t>> places;  // offset, index
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t offset = 0;
    std::size_t rest = i;
    for (std::size_t axis = x.dim(); axis-- > 0;) {
      offset += static_cast<std::int64_t>(rest % x.shape()[axis]) * x.strides()[axis];
      rest /= x.shape()[axis];
    }
    places.emplace_back(offset, i);
  }
  std::sort(places.begin(), places.end());
  std::vector<T> out;
  for (const auto& place : places) out.push_back(values[place.second]);
  return xg::from_data(out.data(), x.shape());
}

template <class T>
struct Case {
  std::string op;
  Function<T> f;
  Variables<T> inputs;
};

template <class T>
std::vector<Case<T>> operations() {
  using V = Variable<T>;
  using L = const Variables<T>&;
  const V row = any<T>({4}, 3);
  const V a = any<T>({3, 4}, 1);
  const V b = any<T>({3, 4}, 2);
  const V p = positive<T>({3, 4}, 4);
  const V column = positive<T>({3, 1}, 8);
  const V cube = any<T>({2, 3, 4}, 5);
  const V scalar = any<T>({}, 6);
  const V nothing = any<T>({0, 4}, 7);
  const xg::Mask mask{{true, false, true}, {true, true, false}, {false, false, false}};
  const auto einsum = [](const char* equation) {
    return [equation](L x) { return xg::einsum(equation, x); };
  };
  const auto attention = [](L x) { return attention_kernel(x[0], x[1], x[2]); };
  const auto heads = [](L x, const xg::Mask& m = {}) {
    return xg::multi_head_attention(x[0], x[1], x[2], x[3], x[4], x[5], x[6], 2, m);
  };
  const auto both = [](const xg::Attention<T>& r) {
    return xg::concat({flatten(r.output), flatten(r.weights)});
  };
  const Variables<T> qkv{any<T>({1, 2, 2, 3}, 1), any<T>({1, 2, 3, 3}, 2), any<T>({1, 2, 3, 2}, 3)};
  const Variables<T> seven{any<T>({1, 2, 4}, 1), any<T>({1, 3, 4}, 2), any<T>({1, 3, 4}, 3),
                           any<T>({4, 4}, 4),    any<T>({4, 4}, 5),    any<T>({4, 4}, 6),
                           any<T>({4, 4}, 7)};
  const xg::Mask hides{{true, true, false}, {true, true, true}};
  return {
      {"add", [](L x) { return x[0] + x[1]; }, {a, row}},
      {"sub", [](L x) { return x[0] - x[1]; }, {row, cube}},
      {"mul", [](L x) { return x[0] * x[1]; }, {a, column}},
      {"mul", [](L x) { return x[0] * x[1]; }, {nothing, row}},
      {"div", [](L x) { return x[0] / x[1]; }, {a, column}},
      {"neg", [](L x) { return -x[0]; }, {scalar}},
      {"exp", [](L x) { return exp(x[0]); }, {a}},
      {"log", [](L x) { return log(x[0]); }, {p}},
      {"sqrt", [](L x) { return sqrt(x[0]); }, {p}},
      {"square", [](L x) { return square(x[0]); }, {a}},
      {"abs", [](L x) { return abs(x[0]); }, {a}},
      {"tanh", [](L x) { return tanh(x[0]); }, {a}},
      {"sigmoid", [](L x) { return sigmoid(x[0]); }, {a}},
      {"relu", [](L x) { return relu(x[0]); }, {a}},
      {"gelu", [](L x) { return gelu(x[0]); }, {a}},
      {"erf", [](L x) { return erf(x[0]); }, {a}},
      {"sin", [](L x) { return sin(x[0]); }, {a}},
      {"cos", [](L x) { return cos(x[0]); }, {a}},
      {"maximum", [](L x) { return maximum(x[0], x[1]); }, {a, b}},
      {"minimum", [](L x) { return minimum(x[0], x[1]); }, {a, b}},
      {"clip", [](L x) { return clip(x[0], T(-0.7), T(0.8)); }, {a}},
      {"pow", [](L x) { return pow(x[0], 2.5); }, {p}},
      {"where", [row](L x) { return where(row > 0, exp(x[0]), x[1]); }, {a, b}},
      {"matmul", [](L x) { return matmul(x[0], x[1]); }, {cube, any<T>({4, 5}, 9)}},
      {"matmul", [](L x) { return matmul(x[0], x[1]); }, {row, any<T>({2, 4, 3}, 9)}},
      {"matmul",
       [](L x) { return matmul(x[0], x[1]); },
       {any<T>({2, 1, 3, 4}, 1), any<T>({3, 4, 2}, 9)}},
      {"reshape",
       [](L x) {
         return reshape(x[0], {2, 6});
       },
       {a}},
      {"flatten", [](L x) { return flatten(x[0]); }, {a}},
      {"transpose",
       [](L x) {
         return transpose(x[0], {1, 0, 2});
       },
       {cube}},
      {"swapaxes", [](L x) { return swapaxes(x[0], 0, -1); }, {cube}},
      {"slice", [](L x) { return slice(x[0], -1, 3, 0, -2); }, {cube}},
      {"flip", [](L x) { return flip(x[0]); }, {cube}},
      {"broadcast_to",
       [](L x) {
         return broadcast_to(x[0], {2, 3, 4});
       },
       {row}},
      {"concat",
       [](L x) {
         return xg::concat({x[0], x[1], x[0]}, -1);
       },
       {a, b}},
      {"stack",
       [](L x) {
         return xg::stack({x[0], x[1]}, 1);
       },
       {a, b}},
      {"split", [](L x) { return split(x[0], 2, 1)[1]; }, {a}},
      {"squeeze", [](L x) { return squeeze(x[0]); }, {column}},
      {"unsqueeze", [](L x) { return unsqueeze(x[0], -1); }, {column}},
      {"clone", [](L x) { return x[0].clone(); }, {column}},
      {"the identity", [](L x) { return x[0]; }, {column}},
      {"sum",
       [](L x) {
         return sum(x[0], {0, 2}, true);
       },
       {cube}},
      {"mean", [](L x) { return mean(x[0], 1); }, {cube}},
      {"max", [](L x) { return max(x[0], 1); }, {cube}},
      {"min", [](L x) { return min(x[0]); }, {cube}},
      {"var",
       [](L x) {
         return var(x[0], {0, 1}, true, 1);
       },
       {cube}},
      {"prod", [](L x) { return prod(x[0], 1); }, {cube}},
      {"cumsum", [](L x) { return cumsum(x[0], 1); }, {cube}},
      {"logsumexp",
       [](L x) {
         return logsumexp(x[0], {0, 2});
       },
       {cube}},
      {"softmax", [](L x) { return softmax(x[0], 1); }, {cube}},
      {"log_softmax", [](L x) { return log_softmax(x[0]); }, {cube}},
      {"masked_softmax", [mask](L x) { return masked_softmax(x[0], mask); }, {any<T>({2, 3, 3})}},
      {"take",
       [](L x) {
         return take(x[0], {{0, 2}, {-1, 2}}, 1);
       },
       {cube}},
      {"take", [](L x) { return take(x[0], -1, -1); }, {cube}},
      {"take", [](L x) { return take(x[0], std::vector<int>{}, 0); }, {a}},
      {"embedding",
       [](L x) {
         return embedding(x[0], {2, 0, 0});
       },
       {a}},
      {"einsum", einsum("bqhd,bkhd->bhqk"), {any<T>({2, 3, 2, 2}, 1), any<T>({2, 2, 2, 2}, 2)}},
      {"einsum", einsum("bhqk,bkhd->bqhd"), {any<T>({2, 2, 2, 3}, 1), any<T>({2, 3, 2, 2}, 2)}},
      {"einsum", einsum("ii,jk->k"), {any<T>({3, 3}, 1), a}},
      {"einsum", einsum("ij,ji->"), {a, any<T>({4, 3}, 2)}},
      {"einsum", einsum("...i,ij,j->..."), {cube, any<T>({4, 2}, 2), any<T>({2}, 3)}},
      {"einsum", einsum("iji->ji"), {any<T>({2, 3, 2}, 2)}},
      {"einsum", einsum("kij,jl->ikl"), {cube, any<T>({4, 2}, 4)}},
      {"einsum", einsum("i...j,...jk->k...i"), {any<T>({2, 3, 1, 4}, 1), any<T>({2, 4, 3}, 2)}},
      {"einsum", einsum("ij,ij->ji"), {a, a}},
      {"einsum", einsum("ij,jk->ik"), {any<T>({2, 0}, 1), any<T>({0, 3}, 2)}},
      {"einsum", einsum(",->"), {scalar, any<T>({}, 3)}},
      {"layer_norm",
       [](L x) { return layer_norm(x[0], x[1], x[2], 1e-5); },
       {cube, row, any<T>({4}, 9)}},
      {"layer_norm",
       [](L x) { return layer_norm(x[0], x[1], x[2], 0.1); },
       {any<T>({70, 3}, 3), any<T>({3}, 1), any<T>({3}, 9)}},
      {"layer_norm",
       [](L x) { return layer_norm(x[0], x[1], x[2], 0.1); },
       {xg::full<T>({2, 3}, 3), any<T>({3}, 1), any<T>({3}, 9)}},
      {"cross_entropy",
       [](L x) {
         return cross_entropy(x[0], {{0, 3, 1}, {2, 2, 0}});
       },
       {cube}},
      {"mse_loss", [](L x) { return mse_loss(x[0], x[1]); }, {a, b}},
      {"dropout", [](L x) { return dropout(x[0], 0.4, 3); }, {cube}},
      {"attention_kernel", [=](L x) { return attention(x).output; }, qkv},
      {"attention_kernel", [=](L x) { return attention(x).weights; }, {qkv[0], qkv[1], qkv[2]}},
      {"attention_kernel", [=](L x) { return both(attention(x)); }, qkv},
      {"scaled_dot_product_attention",
       [](L x) { return xg::scaled_dot_product_attention(x[0], x[1], x[2], {}, {true}); }, qkv},
      {"multi_head_attention_output",
       [=](L x) {
         return xg::multi_head_attention_output(x[0], x[1], x[2], x[3], x[4], x[5], x[6], 2, hides);
       },
       seven},
      {"multi_head_attention", [=](L x) { return heads(x, hides).output; }, seven},
      {"multi_head_attention", [=](L x) { return heads(x).weights; }, seven},
      {"multi_head_attention", [=](L x) { return both(heads(x, hides)); }, seven},
      {"multi_head_attention",
       [=](L x) {
         return both(heads({x[0], x[0], x[0], x[1], x[1], x[1], x[1]}));
       },
       {seven[1], seven[3]}},
      {"many elements",
       [](L x) { return tanh(matmul(x[0], x[1])); },
       {any<T>({20, 30}, 1), any<T>({30, 20}, 2)}},
  };
}

}  // namespace

TEST_CASE_TEMPLATE("S11: gradcheck and gradgradcheck pass every operation", T, float, double) {
  std::set<std::string> met;
  for (const Case<T>& one : operations<T>()) {
    CAPTURE(one.op);
    const GradcheckReport first = xg::gradcheck(one.f, one.inputs);
    CHECK_MESSAGE(first, first.to_string());
    const GradcheckReport second = xg::gradgradcheck(one.f, one.inputs);
    CHECK_MESSAGE(second, second.to_string());
    met.insert(one.op);
  }
  for (const std::string& op : test::operations_declared_in(XGRAD_SOURCE "/ops")) {
    CHECK_MESSAGE(met.count(op) == 1, "no case for ", op);
  }
}

TEST_CASE_TEMPLATE("a report says what was checked", T, float, double) {
  const GradcheckReport report = xg::gradcheck(right_square<T>(), {any<T>({3, 4})});
  CHECK(report);
  CHECK(report.passed());
  CHECK(contains(report.to_string(),
                 "[gradcheck] square: passed, 12 elements in 1 argument, largest error "));
}

TEST_CASE_TEMPLATE("a rule that is wrong by one per cent is caught, with index, got and want", T,
                   float, double) {
  Variable<T> x = any<T>({3, 4});
  const GradcheckReport report = xg::gradcheck(square_off_by_one_per_cent<T>(), {x});
  CHECK_FALSE(report);
  CHECK(flaw(report, "[gradcheck] wrong gradient of square: argument 0, index (0, 0): got ") == "");
  const Wrong first = numbers_in(report.to_string());
  CHECK(std::abs(first.got / first.want - 1.01) < 1e-4);
  CHECK(contains(report.to_string(), "index (2, 1)"));  // the tenth
  CHECK_FALSE(contains(report.to_string(), "index (2, 2)"));
  CHECK(contains(report.to_string(), "\nand 2 more"));

  x.set_name("query");
  CHECK(flaw(xg::gradcheck(square_off_by_one_per_cent<T>(), {x}),
             "[gradcheck] wrong gradient of square: argument 0 (query), index (0, 0)") == "");
}

TEST_CASE_TEMPLATE("an argument with many elements is tested along random directions", T, float,
                   double) {
  int calls = 0;
  const Function<T> counted = [&](const Variables<T>& in) {
    ++calls;
    return in[0] * in[0];
  };
  const Variable<T> large = any<T>({40, 40});
  CHECK(xg::gradcheck(counted, {large}));
  CHECK(calls < 100);
  CHECK_FALSE(xg::gradcheck(square_off_by_one_per_cent<T>(), {large}));
}

TEST_CASE("one wrong element among 1600 is named; float sees it only element by element") {
  const auto one_off = [](auto zero) {
    using T = decltype(zero);
    return square_with<T>([](const auto& in, auto g) {
      std::vector<T> factors(1600, 2);
      factors[19 * 40 + 17] = T(2.02);
      return Variables<T>{g * in[0] * xg::from_data(factors.data(), {40, 40})};
    });
  };
  const std::string found = "[gradcheck] wrong gradient of square: argument 0, index (19, 17)";
  CHECK(flaw(xg::gradcheck(one_off(0.0), {any<double>({40, 40})}), found) == "");
  CHECK(xg::gradcheck(one_off(0.0F), {any<float>({40, 40})}));
  xg::GradcheckOptions options;
  options.most_elements = 1600;
  CHECK(flaw(xg::gradcheck(one_off(0.0F), {any<float>({40, 40})}, options), found) == "");
}

TEST_CASE("in float a small derivative beside a large value goes unseen, but raises no alarm") {
  const auto shifted = [](auto slope) {
    using T = decltype(slope);
    const auto op = xg::custom<T>(
        "shifted", [](const Variables<T>& in) { return in[0] + 1000; },
        [slope](const Variables<T>&, const Variable<T>&, Variable<T> g) {
          return Variables<T>{g * slope};
        });
    return Function<T>([op](const Variables<T>& in) { return op(in[0]); });
  };
  CHECK(xg::gradcheck(shifted(1.0F), {any<float>({3})}));
  CHECK(xg::gradcheck(shifted(1.005F), {any<float>({3})}));
  CHECK_FALSE(xg::gradcheck(shifted(1.5F), {any<float>({3})}));
  CHECK(xg::gradcheck(shifted(1.0), {any<double>({3})}));
  CHECK_FALSE(xg::gradcheck(shifted(1.005), {any<double>({3})}));
}

TEST_CASE_TEMPLATE("a gradient that is NaN, infinite, missing or of the wrong shape is caught", T,
                   float, double) {
  const auto check = [](Rule<T> rule) {
    return xg::gradcheck(square_with(rule), {any<T>({3, 4})});
  };
  const std::string wrong = "[gradcheck] wrong gradient of square: argument 0, index (0, 0): got ";
  const T nan = std::numeric_limits<T>::quiet_NaN();
  const T inf = std::numeric_limits<T>::infinity();
  CHECK(flaw(check([=](const auto&, auto g) { return Variables<T>{g * nan}; }), wrong + "nan") ==
        "");
  CHECK(flaw(check([=](const auto&, auto g) { return Variables<T>{abs(g) * inf}; }),
             wrong + "inf") == "");
  CHECK(flaw(check([](const auto&, auto) { return Variables<T>(1); }),
             "[gradcheck] gradient of square: [square] missing gradient of input 0: got an "
             "undefined variable, expected shape (3, 4)") == "");
  CHECK(flaw(check([](const auto&, auto g) { return Variables<T>{sum(g)}; }),
             "[gradcheck] gradient of square: [square] wrong gradient of input 0: got shape (), "
             "expected shape (3, 4)") == "");
}

TEST_CASE_TEMPLATE("a rule that takes its input, its cotangent or both for contiguous is caught", T,
                   float, double) {
  const Rule<T> of_input = [](const auto& in, auto g) {
    return Variables<T>{g * 2 * in_memory_order(in[0])};
  };
  const Rule<T> of_cotangent = [](const auto& in, auto g) {
    return Variables<T>{in_memory_order(g) * 2 * in[0]};
  };
  const Rule<T> of_both = [](const auto& in, auto g) {
    return Variables<T>{in_memory_order(g) * 2 * in_memory_order(in[0])};
  };
  for (const Rule<T>& rule : {of_input, of_cotangent, of_both}) {
    const GradcheckReport report = xg::gradcheck(square_with(rule), {any<T>({3, 4})});
    CHECK(flaw(report,
               "[gradcheck] wrong gradient of square: argument 0, index (0, 0), stepped "
               "memory: got ") == "");
    CHECK(contains(report.to_string(), "index (0, 1), transposed memory: got "));
    // One axis has no transpose, but can be reversed.
    CHECK(flaw(xg::gradcheck(square_with(rule), {any<T>({4})}),
               "[gradcheck] wrong gradient of square: argument 0, index (0,), stepped memory: got "
               "") == "");
  }
}

TEST_CASE_TEMPLATE("an operation whose value depends on the strides is caught", T, float, double) {
  const auto op = xg::custom<T>(
      "double", [](const Variables<T>& in) { return 2 * in_memory_order(in[0]); },
      [](const Variables<T>&, const Variable<T>&, Variable<T> g) { return Variables<T>{g * 2}; });
  const auto report =
      xg::gradcheck([&](const Variables<T>& in) { return op(in[0]); }, {any<T>({3, 4})});
  CHECK(flaw(report, "[gradcheck] wrong value of double: element 1, transposed memory: got ") ==
        "");
}

TEST_CASE_TEMPLATE("a result whose shape depends on the strides is caught", T, float, double) {
  const auto report = xg::gradcheck(
      [](const Variables<T>& in) { return in[0].is_contiguous() ? in[0] * 2 : sum(in[0]); },
      {any<T>({3, 4})});
  CHECK(flaw(report, "[gradcheck] wrong shape of ") == "");
}

TEST_CASE_TEMPLATE("a rule that fails for some strides is caught", T, float, double) {
  const auto op = xg::custom<T>(
      "double", [](const Variables<T>& in) { return 2 * in[0]; },
      [](const Variables<T>& in, const Variable<T>&, Variable<T> g) {
        return Variables<T>{in[0].is_contiguous() ? g * 2 : g + xg::ones<T>(7)};
      });
  const auto report =
      xg::gradcheck([&](const Variables<T>& in) { return op(in[0]); }, {any<T>({3, 4})});
  CHECK(flaw(report, "[gradcheck] gradient of double") == "");
}

TEST_CASE_TEMPLATE("a rule that is wrong for a cotangent of stride 0 is caught", T, float, double) {
  const auto report = xg::gradcheck(square_with<T>([](const auto& in, auto g) {
                                      const bool repeats = g.strides()[0] == 0;
                                      return Variables<T>{g * (repeats ? 3 : 2) * in[0]};
                                    }),
                                    {any<T>({3, 4})});
  CHECK(flaw(report,
             "[gradcheck] wrong gradient of square: argument 0, index (0, 0), a broadcast "
             "cotangent: got ") == "");
}

TEST_CASE_TEMPLATE("one handle at two positions is one argument", T, float, double) {
  const Variable<T> x = any<T>({3});
  const auto right = [](const auto& in, auto g) { return Variables<T>{g * in[1], g * in[0]}; };
  const auto wrong = [](const auto& in, auto g) {
    return Variables<T>{g * in[1], g * in[0] * 0.5};
  };
  const GradcheckReport passed = xg::gradcheck(product_with<T>(right), {x, x});
  CHECK_MESSAGE(passed, passed.to_string());
  CHECK(contains(passed.to_string(), "3 elements in 1 argument"));
  const GradcheckReport failed = xg::gradcheck(product_with<T>(wrong), {x, x});
  CHECK(flaw(failed, "[gradcheck] wrong gradient of product: argument 0, index (0,): got ") == "");
  const Wrong first = numbers_in(failed.to_string());
  CHECK(std::abs(first.got / first.want - 0.75) < 1e-3);
}

TEST_CASE_TEMPLATE("a wrong gradient of an input that broadcasts is caught", T, float, double) {
  const auto with = [](auto reduced) {
    return product_with<T>([reduced](const auto& in, auto g) {
      return Variables<T>{g * in[1], reduced(g * in[0])};
    });
  };
  const Variables<T> inputs{any<T>({3, 4}), any<T>({4}, 2)};
  CHECK(xg::gradcheck(with([](auto g) { return sum(g, 0); }), inputs));
  CHECK(flaw(xg::gradcheck(with([](auto g) { return mean(g, 0); }), inputs),
             "[gradcheck] wrong gradient of product: argument 1, index (0,): got ") == "");
}

TEST_CASE_TEMPLATE("an input may itself repeat its elements in memory", T, float, double) {
  const Variable<T> repeated = broadcast_to(any<T>({4}), {3, 4});
  const auto f = [](const Variables<T>& in) { return in[0] * in[1] * in[0]; };
  const GradcheckReport report = xg::gradcheck<T>(f, {repeated, any<T>({3, 4}, 2)});
  CHECK_MESSAGE(report, report.to_string());
  CHECK(contains(report.to_string(), "24 elements in 2 arguments"));
}

TEST_CASE_TEMPLATE("a rule that cannot be differentiated is caught by gradgradcheck", T, float,
                   double) {
  const auto detached =
      square_with<T>([](const auto& in, auto g) { return Variables<T>{g * 2 * in[0].detach()}; });
  const Variable<T> x = any<T>({2, 2}).set_name("x");
  CHECK(xg::gradcheck(detached, {x}));
  CHECK(flaw(xg::gradgradcheck(detached, {x}),
             "[gradcheck] wrong gradient of gradient of square: argument 0 (x), index (0, 0): got "
             "0, expected ") == "");
}

TEST_CASE_TEMPLATE("a function that leaves the graph is caught", T, float, double) {
  const auto f = [](const Variables<T>& in) { return (in[0] * 2).detach(); };
  CHECK(flaw(xg::gradcheck<T>(f, {any<T>({3})}),
             "[gradcheck] wrong gradient of the function: argument 0, index (0,): got 0, ") == "");
}

TEST_CASE_TEMPLATE("a kink or a singularity nearby fails no right gradient", T, float, double) {
  const T near = std::is_same_v<T, double> ? T(1e-4) : T(2e-3);
  const auto of_relu = [](const auto& in) { return relu(in[0]); };
  CHECK(xg::gradcheck<T>(of_relu, {Variable<T>({near, -near, T(1)})}));
  CHECK_FALSE(xg::gradcheck<T>(of_relu, {Variable<T>(0)}));  // on the kink no two sides agree
  CHECK(xg::gradcheck<T>([](const auto& in) { return log(in[0]); }, {Variable<T>({20 * near})}));
}

TEST_CASE_TEMPLATE("tolerances, step and seed can be chosen", T, float, double) {
  const Variable<T> x = positive<T>({3});
  xg::GradcheckOptions options;
  options.relative = 0.02;
  CHECK(xg::gradcheck(square_off_by_one_per_cent<T>(), {x}, options));
  options = {};
  options.absolute = 1;
  CHECK(xg::gradcheck(square_off_by_one_per_cent<T>(), {x}, options));
  options = {};
  options.seed = 2;
  const auto other = xg::gradcheck(square_off_by_one_per_cent<T>(), {x}, options);
  CHECK_FALSE(other);
  CHECK(other.to_string() != xg::gradcheck(square_off_by_one_per_cent<T>(), {x}).to_string());
  T largest = 0;
  options = {};
  options.step = 0.25;
  CHECK(xg::gradcheck<T>(
      [&](const Variables<T>& in) {
        largest = std::max(largest, in[0].item());
        return in[0] * in[0];
      },
      {Variable<T>(1)}, options));
  CHECK(largest == T(1.5));
}

TEST_CASE_TEMPLATE("what cannot be checked is a named error", T, float, double) {
  const Variable<T> x = any<T>({3});
  int calls = 0;
  CHECK_ERROR(xg::GradcheckError, "gradcheck",
              xg::gradcheck<T>([&](const auto& in) { return in[0] * T(++calls); }, {x}));
  calls = 0;
  CHECK_ERROR(xg::GradcheckError, "gradcheck",
              xg::gradcheck<T>([&](const auto&) { return xg::ones<T>({++calls}); }, {x}));
  CHECK_ERROR(xg::GradcheckError, "gradcheck",
              xg::gradcheck<T>([](const auto&) { return Variable<T>(); }, {x}));
  CHECK_ERROR(xg::ArgumentError, "gradcheck", xg::gradcheck(Function<T>(), {x}));
  CHECK_ERROR(xg::GraphError, "gradcheck", xg::gradcheck(right_square<T>(), {Variable<T>()}));
}

TEST_CASE_TEMPLATE("what the function or its rule throws comes through", T, float, double) {
  struct Mine : std::runtime_error {
    Mine() : std::runtime_error("mine") {}
  };
  const Variable<T> x = any<T>({3});
  CHECK_THROWS_AS(xg::gradcheck<T>([](const auto&) -> Variable<T> { throw Mine(); }, {x}), Mine);
  CHECK_THROWS_AS(
      xg::gradcheck(square_with<T>([](const auto&, auto) -> Variables<T> { throw Mine(); }), {x}),
      Mine);
  CHECK_THROWS_AS(xg::gradgradcheck<T>([](const auto&) -> Variable<T> { throw Mine(); }, {x}),
                  Mine);
}

TEST_CASE_TEMPLATE("a check changes nothing, whatever requires grad and even under NoGrad", T,
                   float, double) {
  Variable<T> x = any<T>({2, 3}).set_requires_grad();
  sum(x * 3).backward();
  const Variable<T> constant = any<T>({2, 3}, 2);
  const std::vector<T> values = x.to_vector();
  const std::size_t nodes = xg::live_nodes();
  {
    const xg::NoGrad guard;
    const Function<T> product = product_with<T>([](const auto& in, auto g) {
      return Variables<T>{g * in[1], g};
    });
    const auto report = xg::gradcheck(product, {x, constant});
    CHECK(flaw(report, "[gradcheck] wrong gradient of product: argument 1") == "");
    CHECK(xg::gradgradcheck(right_square<T>(), {x}));
    CHECK_FALSE((x * x).requires_grad());
  }
  CHECK(x.to_vector() == values);
  CHECK_CLOSE(x.grad(), xg::full<T>({2, 3}, 3), test::exactly);
  CHECK_FALSE(constant.requires_grad());
  CHECK_FALSE(constant.grad().defined());
  CHECK(xg::live_nodes() == nodes);
}
