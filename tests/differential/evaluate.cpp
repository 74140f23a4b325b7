#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <xgrad/xgrad.hpp>

// Reads programs, one a line, and answers each with a line: the values of all its variables, how
// they lie in memory, and the gradients of its leaves. programs.py describes the format.

namespace {

using Json = nlohmann::json;
using Var = xg::Variable<double>;
using Results = std::vector<Var>;

std::vector<std::int64_t> integers(const Json& list) {
  return list.get<std::vector<std::int64_t>>();
}

Var tensor(const Json& json) {
  const auto data = json.at("data").get<std::vector<double>>();
  return xg::from_data(data.data(), integers(json.at("shape")));
}

Json to_json(const Var& x) { return {{"shape", x.shape()}, {"data", x.to_vector()}}; }

/// One statement: its operands and its arguments.
struct Call {
  Results x;
  const Json& statement;

  const Json& arg(const char* name) const { return statement.at("args").at(name); }
  std::int64_t integer(const char* name) const { return arg(name).get<std::int64_t>(); }
  double real(const char* name) const { return arg(name).get<double>(); }
  std::vector<std::int64_t> list(const char* name) const { return integers(arg(name)); }

  xg::Mask mask() const {
    if (!statement.contains("mask")) return {};
    const Json& mask = statement["mask"];
    return xg::Mask(integers(mask.at("shape")), mask.at("data").get<std::vector<bool>>());
  }
  xg::Indices indices() const {
    const Json& indices = statement.at("indices");
    return xg::Indices(integers(indices.at("shape")), integers(indices.at("data")));
  }
  xg::Sections sections() const {
    if (arg("sections").is_number()) return integer("sections");
    return list("sections");
  }
};

Results both(const xg::Attention<double>& result) { return {result.output, result.weights}; }

template <class F>
auto unary(F f) {
  return [f](const Call& c) -> Results { return {f(c.x[0])}; };
}
template <class F>
auto binary(F f) {
  return [f](const Call& c) -> Results { return {f(c.x[0], c.x[1])}; };
}
template <class F>
auto beside_scalar(F f) {
  return [f](const Call& c) -> Results {
    const double scalar = c.real("scalar");
    return {c.arg("side") == "left" ? f(scalar, c.x[0]) : f(c.x[0], scalar)};
  };
}
template <class F>
auto reduction(F f) {
  return [f](const Call& c) -> Results {
    return {f(c.x[0], xg::Axes(c.list("axes")), c.arg("keep_dims").get<bool>())};
  };
}
/// A comparison shows itself through what it selects.
template <class F>
auto comparison(F f) {
  return [f](const Call& c) -> Results { return {where(f(c.x[0], c.x[1]), c.x[2], c.x[3])}; };
}

const std::map<std::string, std::function<Results(const Call&)>>& operations() {
  using C = const Call&;
  static const std::map<std::string, std::function<Results(C)>> table{
      {"add", binary([](Var a, Var b) { return a + b; })},
      {"sub", binary([](Var a, Var b) { return a - b; })},
      {"mul", binary([](Var a, Var b) { return a * b; })},
      {"div", binary([](Var a, Var b) { return a / b; })},
      {"add_scalar", beside_scalar([](auto a, auto b) { return a + b; })},
      {"sub_scalar", beside_scalar([](auto a, auto b) { return a - b; })},
      {"mul_scalar", beside_scalar([](auto a, auto b) { return a * b; })},
      {"div_scalar", beside_scalar([](auto a, auto b) { return a / b; })},
      {"neg", unary([](Var x) { return -x; })},
      {"exp", unary([](Var x) { return exp(x); })},
      {"log", unary([](Var x) { return log(x); })},
      {"sqrt", unary([](Var x) { return sqrt(x); })},
      {"square", unary([](Var x) { return square(x); })},
      {"abs", unary([](Var x) { return abs(x); })},
      {"tanh", unary([](Var x) { return tanh(x); })},
      {"sigmoid", unary([](Var x) { return sigmoid(x); })},
      {"relu", unary([](Var x) { return relu(x); })},
      {"gelu", unary([](Var x) { return gelu(x); })},
      {"erf", unary([](Var x) { return erf(x); })},
      {"sin", unary([](Var x) { return sin(x); })},
      {"cos", unary([](Var x) { return cos(x); })},
      {"pow", binary([](Var a, Var p) { return pow(a, p); })},
      {"pow_scalar", beside_scalar([](auto a, auto b) { return pow(a, b); })},
      {"maximum", binary([](Var a, Var b) { return maximum(a, b); })},
      {"minimum", binary([](Var a, Var b) { return minimum(a, b); })},
      {"clip", [](C c) -> Results { return {clip(c.x[0], c.real("low"), c.real("high"))}; }},
      {"where", [](C c) -> Results { return {where(c.mask(), c.x[0], c.x[1])}; }},
      {"less", comparison([](Var a, Var b) { return a < b; })},
      {"less_equal", comparison([](Var a, Var b) { return a <= b; })},
      {"equal", comparison([](Var a, Var b) { return a == b; })},
      {"not_equal", comparison([](Var a, Var b) { return a != b; })},
      {"matmul", binary([](Var a, Var b) { return matmul(a, b); })},
      {"einsum",
       [](C c) -> Results { return {xg::einsum(c.arg("equation").get<std::string>(), c.x)}; }},
      {"reshape", [](C c) -> Results { return {reshape(c.x[0], c.list("dims"))}; }},
      {"flatten", unary([](Var x) { return flatten(x); })},
      {"transpose", [](C c) -> Results { return {transpose(c.x[0], c.list("axes"))}; }},
      {"swapaxes",
       [](C c) -> Results { return {swapaxes(c.x[0], c.integer("i"), c.integer("j"))}; }},
      {"squeeze", [](C c) -> Results { return {squeeze(c.x[0], c.list("axes"))}; }},
      {"unsqueeze", [](C c) -> Results { return {unsqueeze(c.x[0], c.integer("axis"))}; }},
      {"broadcast_to", [](C c) -> Results { return {broadcast_to(c.x[0], c.list("dims"))}; }},
      {"flip", [](C c) -> Results { return {flip(c.x[0], c.list("axes"))}; }},
      {"concat", [](C c) -> Results { return {xg::concat(c.x, c.integer("axis"))}; }},
      {"stack", [](C c) -> Results { return {xg::stack(c.x, c.integer("axis"))}; }},
      {"split", [](C c) { return split(c.x[0], c.sections(), c.integer("axis")); }},
      {"slice",
       [](C c) -> Results {
         const std::int64_t stop = c.arg("stop").is_null() ? xg::end : c.integer("stop");
         return {slice(c.x[0], c.integer("axis"), c.integer("start"), stop, c.integer("step"))};
       }},
      {"take", [](C c) -> Results { return {take(c.x[0], c.indices(), c.integer("axis"))}; }},
      {"embedding", [](C c) -> Results { return {embedding(c.x[0], c.indices())}; }},
      {"clone", unary([](Var x) { return x.clone(); })},
      {"sum", reduction([](auto... a) { return xg::sum(a...); })},
      {"mean", reduction([](auto... a) { return xg::mean(a...); })},
      {"max", reduction([](auto... a) { return xg::max(a...); })},
      {"min", reduction([](auto... a) { return xg::min(a...); })},
      {"prod", reduction([](auto... a) { return xg::prod(a...); })},
      {"logsumexp", reduction([](auto... a) { return xg::logsumexp(a...); })},
      {"var",
       [](C c) {
         const std::int64_t ddof = c.integer("ddof");
         return reduction([ddof](auto... a) { return xg::var(a..., ddof); })(c);
       }},
      {"cumsum", [](C c) -> Results { return {cumsum(c.x[0], c.integer("axis"))}; }},
      {"softmax", [](C c) -> Results { return {softmax(c.x[0], c.integer("axis"))}; }},
      {"log_softmax", [](C c) -> Results { return {log_softmax(c.x[0], c.integer("axis"))}; }},
      {"masked_softmax",
       [](C c) -> Results { return {masked_softmax(c.x[0], c.mask(), c.integer("axis"))}; }},
      {"layer_norm",
       [](C c) -> Results { return {layer_norm(c.x[0], c.x[1], c.x[2], c.real("eps"))}; }},
      {"cross_entropy", [](C c) -> Results { return {cross_entropy(c.x[0], c.indices())}; }},
      {"mse_loss", binary([](Var a, Var b) { return mse_loss(a, b); })},
      {"attention_kernel",
       [](C c) { return both(xg::attention_kernel(c.x[0], c.x[1], c.x[2], c.mask())); }},
      {"multi_head_attention",
       [](C c) {
         return both(xg::multi_head_attention(c.x[0], c.x[1], c.x[2], c.x[3], c.x[4], c.x[5],
                                              c.x[6], c.integer("num_heads"), c.mask()));
       }},
      {"scaled_dot_product_attention",
       [](C c) -> Results {
         xg::AttentionOptions options;
         options.causal = c.arg("causal").get<bool>();
         options.scale = c.real("scale");
         return {xg::scaled_dot_product_attention(c.x[0], c.x[1], c.x[2], c.mask(), options)};
       }},
      {"multi_head_attention_output",
       [](C c) -> Results {
         return {xg::multi_head_attention_output(c.x[0], c.x[1], c.x[2], c.x[3], c.x[4], c.x[5],
                                                 c.x[6], c.integer("num_heads"), c.mask())};
       }},
  };
  return table;
}

bool is_repeated(const Var& x) {
  const auto strides = x.strides();
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] == 0 && x.shape()[i] > 1) return true;
  }
  return false;
}

Json evaluate(const Json& program) {
  std::map<std::string, Var> variables;
  std::vector<std::string> leaves;
  Results inputs;
  for (const auto& [name, leaf] : program.at("leaves").items()) {
    Var x = tensor(leaf);
    variables[name] = x;
    if (!leaf.at("requires_grad").get<bool>()) continue;
    leaves.push_back(name);
    inputs.push_back(x.set_requires_grad());
  }
  for (const Json& statement : program.at("statements")) {
    Call call{{}, statement};
    for (const Json& name : statement.at("inputs")) call.x.push_back(variables.at(name));
    const Results results = operations().at(statement.at("op"))(call);
    for (std::size_t i = 0; i < results.size(); ++i) {
      variables[statement.at("results").at(i)] = results[i];
    }
  }

  Results outputs;
  Results seeds;
  for (const auto& [name, seed] : program.at("outputs").items()) {
    if (!variables.at(name).requires_grad()) continue;
    outputs.push_back(variables.at(name));
    seeds.push_back(tensor(seed));
  }
  Results gradients(inputs.size());
  if (!outputs.empty()) gradients = xg::grad(outputs, inputs, seeds, xg::allow_unused);

  Json answer{{"strides", Json::array()}, {"repeated", Json::array()}};
  for (const auto& [name, x] : variables) {
    answer["values"][name] = to_json(x);
    if (!x.is_contiguous()) answer["strides"].push_back(name);
    if (is_repeated(x)) answer["repeated"].push_back(name);
  }
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    answer["grads"][leaves[i]] = gradients[i].defined() ? to_json(gradients[i]) : Json();
  }
  return answer;
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    Json answer;
    try {
      answer = evaluate(Json::parse(line));
    } catch (const std::exception& error) {
      answer["error"] = error.what();
    }
    std::cout << answer << std::endl;
  }
}
