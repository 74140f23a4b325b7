#include <functional>
#include <map>
#include <set>

#include "../support/allclose.hpp"
#include "../support/coverage.hpp"
#include "../support/fixtures.hpp"
#include "../support/strided.hpp"

using test::Json;
using xg::Variable;

namespace {

template <class T>
struct Call {
  std::vector<Variable<T>> x;
  Json args;
  xg::Mask mask;
  xg::Indices indices;
};

template <class T>
using Operations = std::map<std::string, std::function<Variable<T>(const Call<T>&)>>;

template <class T>
std::vector<std::int64_t> list(const Call<T>& c, const char* name) {
  return c.args.at(name).template get<std::vector<std::int64_t>>();
}
template <class T>
std::int64_t integer(const Call<T>& c, const char* name) {
  return c.args.at(name).template get<std::int64_t>();
}
template <class T>
double real(const Call<T>& c, const char* name) {
  return test::number(c.args.at(name));
}

/// f(x, scalar) or f(scalar, x).
template <class T, class F>
Variable<T> beside_scalar(const Call<T>& c, F f) {
  const double scalar = real(c, "scalar");
  if (c.args.at("side") == "left") return f(scalar, c.x[0]);
  return f(c.x[0], scalar);
}

template <class T, class F>
Variable<T> reduced(const Call<T>& c, F f) {
  return f(c.x[0], xg::Axes(list(c, "axes")), c.args.at("keep_dims").template get<bool>());
}

/// The name of each operation in ops.json, and its call.
template <class T>
const Operations<T>& operations() {
  using C = const Call<T>&;
  static const Operations<T> table{
      {"add", [](C c) { return c.x[0] + c.x[1]; }},
      {"sub", [](C c) { return c.x[0] - c.x[1]; }},
      {"mul", [](C c) { return c.x[0] * c.x[1]; }},
      {"div", [](C c) { return c.x[0] / c.x[1]; }},
      {"add_scalar", [](C c) { return beside_scalar(c, [](auto a, auto b) { return a + b; }); }},
      {"sub_scalar", [](C c) { return beside_scalar(c, [](auto a, auto b) { return a - b; }); }},
      {"mul_scalar", [](C c) { return beside_scalar(c, [](auto a, auto b) { return a * b; }); }},
      {"div_scalar", [](C c) { return beside_scalar(c, [](auto a, auto b) { return a / b; }); }},
      {"neg", [](C c) { return -c.x[0]; }},
      {"exp", [](C c) { return exp(c.x[0]); }},
      {"log", [](C c) { return log(c.x[0]); }},
      {"sqrt", [](C c) { return sqrt(c.x[0]); }},
      {"square", [](C c) { return square(c.x[0]); }},
      {"abs", [](C c) { return abs(c.x[0]); }},
      {"tanh", [](C c) { return tanh(c.x[0]); }},
      {"sigmoid", [](C c) { return sigmoid(c.x[0]); }},
      {"relu", [](C c) { return relu(c.x[0]); }},
      {"gelu", [](C c) { return gelu(c.x[0]); }},
      {"erf", [](C c) { return erf(c.x[0]); }},
      {"sin", [](C c) { return sin(c.x[0]); }},
      {"cos", [](C c) { return cos(c.x[0]); }},
      {"maximum", [](C c) { return maximum(c.x[0], c.x[1]); }},
      {"minimum", [](C c) { return minimum(c.x[0], c.x[1]); }},
      {"pow", [](C c) { return pow(c.x[0], real(c, "p")); }},
      {"clip",
       [](C c) {
         return clip(c.x[0], static_cast<T>(real(c, "low")), static_cast<T>(real(c, "high")));
       }},
      {"where", [](C c) { return where(c.mask, c.x[0], c.x[1]); }},
      {"matmul", [](C c) { return matmul(c.x[0], c.x[1]); }},
      {"einsum",
       [](C c) { return xg::einsum(c.args.at("equation").template get<std::string>(), c.x); }},
      {"reshape", [](C c) { return reshape(c.x[0], list(c, "dims")); }},
      {"flatten", [](C c) { return flatten(c.x[0]); }},
      {"transpose", [](C c) { return transpose(c.x[0], list(c, "axes")); }},
      {"swapaxes", [](C c) { return swapaxes(c.x[0], integer(c, "i"), integer(c, "j")); }},
      {"squeeze", [](C c) { return squeeze(c.x[0], list(c, "axes")); }},
      {"unsqueeze", [](C c) { return unsqueeze(c.x[0], integer(c, "axis")); }},
      {"broadcast_to", [](C c) { return broadcast_to(c.x[0], list(c, "dims")); }},
      {"flip", [](C c) { return flip(c.x[0], list(c, "axes")); }},
      {"concat", [](C c) { return xg::concat(c.x, integer(c, "axis")); }},
      {"stack", [](C c) { return xg::stack(c.x, integer(c, "axis")); }},
      {"split",
       [](C c) {
         const bool parts = c.args.at("sections").is_number();
         const auto sections =
             parts ? xg::Sections(integer(c, "sections")) : xg::Sections(list(c, "sections"));
         return split(c.x[0], sections, integer(c, "axis"))
             .at(static_cast<std::size_t>(integer(c, "part")));
       }},
      {"slice",
       [](C c) {
         const auto stop = c.args.at("stop").is_null() ? xg::end : integer(c, "stop");
         return slice(c.x[0], integer(c, "axis"), integer(c, "start"), stop, integer(c, "step"));
       }},
      {"take", [](C c) { return take(c.x[0], c.indices, integer(c, "axis")); }},
      {"embedding", [](C c) { return embedding(c.x[0], c.indices); }},
      {"sum", [](C c) { return reduced(c, [](auto... a) { return xg::sum(a...); }); }},
      {"mean", [](C c) { return reduced(c, [](auto... a) { return xg::mean(a...); }); }},
      {"max", [](C c) { return reduced(c, [](auto... a) { return xg::max(a...); }); }},
      {"min", [](C c) { return reduced(c, [](auto... a) { return xg::min(a...); }); }},
      {"prod", [](C c) { return reduced(c, [](auto... a) { return xg::prod(a...); }); }},
      {"logsumexp", [](C c) { return reduced(c, [](auto... a) { return xg::logsumexp(a...); }); }},
      {"var",
       [](C c) {
         return reduced(c, [&](auto... a) { return xg::var(a..., integer(c, "ddof")); });
       }},
      {"cumsum", [](C c) { return cumsum(c.x[0], integer(c, "axis")); }},
      {"softmax", [](C c) { return softmax(c.x[0], integer(c, "axis")); }},
      {"log_softmax", [](C c) { return log_softmax(c.x[0], integer(c, "axis")); }},
      {"masked_softmax", [](C c) { return masked_softmax(c.x[0], c.mask, integer(c, "axis")); }},
      {"layer_norm", [](C c) { return layer_norm(c.x[0], c.x[1], c.x[2], real(c, "eps")); }},
      {"cross_entropy", [](C c) { return cross_entropy(c.x[0], c.indices); }},
      {"mse_loss", [](C c) { return mse_loss(c.x[0], c.x[1]); }},
  };
  return table;
}

template <class T>
Call<T> call_of(const Json& one) {
  Call<T> out{{}, one.at("args"), test::mask_of(one), {}};
  if (one.contains("indices")) {
    out.indices = xg::Indices(one["indices"]["shape"].get<xg::Shape>(),
                              one["indices"]["data"].get<std::vector<std::int64_t>>());
  }
  return out;
}

template <class T>
test::Tolerance tolerance() {
  // Of numbers near one. PyTorch's own error is of the order of the first.
  return std::is_same_v<T, double> ? test::Tolerance{1e-12, 1e-13, test::Nan::equals_nan}
                                   : test::Tolerance{1e-5, 2e-6, test::Nan::equals_nan};
}

template <class T>
std::string difference(const Variable<T>& got, const Json& want) {
  // Not as T: the nearest float to a large number may be half a unit away.
  return test::difference(got.shape(), test::doubles(got.to_vector()),
                          want.at("shape").get<xg::Shape>(), test::tensor<double>(want).to_vector(),
                          tolerance<T>());
}

}  // namespace

TEST_CASE_TEMPLATE("every operation agrees with PyTorch, in every layout of its inputs", T, float,
                   double) {
  const Json fixture = test::load_fixture("ops.json");
  std::set<std::string> met;
  for (const Json& one : fixture.at("cases")) {
    const auto op = one.at("op").get<std::string>();
    CAPTURE(one.at("case").get<std::string>());
    const auto found = operations<T>().find(op);
    REQUIRE_MESSAGE(found != operations<T>().end(), "no entry for ", op);
    met.insert(op);
    test::Coverage::instance().record(op, "PyTorch");
    for (test::Layout layout : test::kLayouts) {
      if (layout == test::Layout::broadcast) continue;  // changes the values
      CAPTURE(test::name(layout));
      Call<T> call = call_of<T>(one);
      for (const auto& x : test::tensors<T>(one.at("inputs"))) {
        call.x.push_back(test::laid_out(x, layout).set_requires_grad());
      }
      const Variable<T> output = found->second(call);
      const std::string value = difference(output, one.at("output"));
      CHECK_MESSAGE(value.empty(), "value ", value);
      output.backward(test::laid_out(test::tensor<T>(one.at("seed")), layout));
      for (std::size_t i = 0; i < call.x.size(); ++i) {
        const std::string gradient = difference(call.x[i].grad(), one.at("grads").at(i));
        CHECK_MESSAGE(gradient.empty(), "gradient of input ", i, " ", gradient);
      }
    }
  }
  CHECK_MESSAGE(met.size() == operations<T>().size(), "an entry without a case");
}
