#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <xgrad/xgrad.hpp>

#include "../support/errors.hpp"

using xg::Fold;
using xg::Variable;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Variable<double> leaf(const xg::Dims& shape, const std::string& name) {
  Variable<double> x = xg::ones<double>(shape);
  x.set_requires_grad().set_name(name);
  return x;
}

/// No program can be found while it lives.
class NoPath {
 public:
  NoPath() : before_(std::getenv("PATH")) { setenv("PATH", "/nonexistent", 1); }
  NoPath(const NoPath&) = delete;
  NoPath& operator=(const NoPath&) = delete;
  ~NoPath() { setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

/// A transformer block: layer_norm, attention, residual, layer_norm, feed-forward, residual.
Variable<double> block(const Variable<double>& x, const std::string& prefix = "") {
  const auto weight = [&](const xg::Dims& shape, const char* name) {
    return leaf(shape, prefix + name);
  };
  const Variable<double> n = layer_norm(x, weight({4}, "gain_1"), weight({4}, "bias_1"));
  const Variable<double> h =
      x + multi_head_attention(n, n, n, weight({4, 4}, "w_q"), weight({4, 4}, "w_k"),
                               weight({4, 4}, "w_v"), weight({4, 4}, "w_o"), 2,
                               xg::causal_mask(3, 3))
              .output;
  const Variable<double> m = layer_norm(h, weight({4}, "gain_2"), weight({4}, "bias_2"));
  return h + matmul(gelu(matmul(m, weight({4, 16}, "w_1"))), weight({16, 4}, "w_2"));
}

/// The title of the box at each arrow's start, by the title of the box at its end.
std::multimap<std::string, std::string> arrows(const std::string& dot) {
  std::map<std::string, std::string> titles;
  std::multimap<std::string, std::string> out;
  const auto word = [&](std::size_t at) {
    return dot.substr(at, dot.find_first_of(" ;", at) - at);
  };
  for (std::size_t at = 0; (at = dot.find("[label=<<b>", at)) != std::string::npos; ++at) {
    const std::size_t id = dot.rfind('\n', at) + 3;
    const std::size_t title = at + 11;
    titles[word(id)] = dot.substr(title, dot.find("</b>", title) - title);
  }
  for (std::size_t at = 0; (at = dot.find(" -> ", at)) != std::string::npos; ++at) {
    out.emplace(titles.at(word(at + 4)), titles.at(word(dot.rfind('\n', at) + 3)));
  }
  return out;
}

std::vector<std::string> inputs(const std::string& dot, const std::string& title) {
  std::vector<std::string> out;
  const auto all = arrows(dot);
  const auto range = all.equal_range(title);
  for (auto arrow = range.first; arrow != range.second; ++arrow) out.push_back(arrow->second);
  return out;
}

xg::Attention<double> attention() {
  return multi_head_attention(leaf({1, 2, 4}, "query"), leaf({1, 3, 4}, "key"),
                              leaf({1, 3, 4}, "value"), leaf({4, 4}, "w_q"), leaf({4, 4}, "w_k"),
                              leaf({4, 4}, "w_v"), leaf({4, 4}, "w_o"), 2, xg::causal_mask(2, 3));
}

}  // namespace

TEST_CASE("the picture has a box per operation, leaf and constant, and an arrow per input") {
  const Variable<double> x = leaf({2, 3}, "x");
  const Variable<double> y = exp(x);
  const std::string dot = graph_dot(sum(y * y + xg::zeros<double>({2, 3})));
  CHECK(count(dot, "<b>exp</b>") == 1);
  CHECK(count(dot, "<b>mul</b>") == 1);
  CHECK(count(dot, "<b>add</b>") == 1);
  CHECK(count(dot, "<b>sum</b>") == 1);
  CHECK(count(dot, "<b>x</b>") == 1);
  CHECK(count(dot, "label=<constant") == 1);
  CHECK(count(dot, " -> ") == 6);
  CHECK(count(dot, ">(2, 3)</font>") == 5);
  CHECK(count(dot, "Variable&lt;double&gt;: 4 operations, 1 leaf") == 1);
  CHECK(count(graph_dot(xg::ones<float>({2})), "label=<constant") == 1);
}

TEST_CASE("gradient norms appear after backward, and of retained results too") {
  const Variable<double> x = leaf({2}, "x");
  Variable<double> y = x * Variable<double>({3, 4});
  y.retain_grad();
  const Variable<double> loss = sum(y);
  CHECK(count(graph_dot(loss), "|grad|") == 0);
  loss.backward();
  CHECK(count(graph_dot(loss), "|grad| 5<") == 1);
  CHECK(count(graph_dot(loss), "|grad| 1.414<") == 1);
}

TEST_CASE("names are escaped in every form of the picture") {
  const Variable<double> x = leaf({1}, "a\"b<c>&d\n\\N \xC3\xA9\xFF</svg>");
  const std::string dot = graph_dot(exp(x));
  CHECK(count(dot, "a&quot;b&lt;c&gt;&amp;d \\\xE2\x80\x8BN \xC3\xA9\xEF\xBF\xBD&lt;/svg&gt;") ==
        1);
  CHECK(count(graph_svg(exp(x)), "</svg>") == 1);
  CHECK(count(graph_text(exp(x)), "\n") == 2);
  const NoPath guard;
  CHECK(count(graph_svg(exp(x)), "</svg>") == 1);
  CHECK(count(graph_svg(exp(x)), "a&quot;b&lt;c&gt;&amp;d \\N") == 1);
}

TEST_CASE("the operations of one multi_head_attention share a frame") {
  const auto first = attention();
  CHECK(count(graph_dot(first.output), "subgraph cluster_") == 1);
  const std::string dot = graph_dot(first.output + attention().output, Fold::open);
  CHECK(count(dot, "subgraph cluster_") == 2);
  CHECK(count(dot, "label=<multi_head_attention>") == 2);
  const std::size_t frame_end = dot.find("  }\n");
  const std::string frame = dot.substr(dot.find("subgraph"), frame_end - dot.find("subgraph"));
  CHECK(count(frame, "title0 [label=<multi_head_attention>") == 1);  // no arrow crosses a node
  CHECK(count(frame, "<b>masked_softmax</b>") == 1);
  CHECK(count(frame, "<b>w_q</b>") == 0);
  CHECK(count(graph_dot(exp(leaf({1}, "x"))), "subgraph") == 0);
}

TEST_CASE("a closed transformer block shows its attention as one box") {
  const Variable<double> x = leaf({2, 3, 4}, "x");
  const Variable<double> y = block(x);
  const std::string closed = graph_dot(y, Fold::closed);
  using Titles = std::vector<std::string>;
  CHECK(count(closed, "[label=<<b>") == 19);
  CHECK(count(closed, " -> ") == 20);
  CHECK(count(closed, "<b>multi_head_attention</b>") == 1);
  CHECK(count(closed, ">16 operations<") == 1);
  CHECK(count(closed, "subgraph") == 0);
  CHECK(count(closed, "masked_softmax") == 0);
  CHECK(inputs(closed, "multi_head_attention") == Titles{"layer_norm", "w_q", "w_k", "w_v", "w_o"});
  CHECK(inputs(closed, "add") == Titles{"add", "matmul", "x", "multi_head_attention"});
  CHECK(inputs(closed, "gelu") == Titles{"matmul"});
  CHECK(count(closed, "Variable&lt;double&gt;: 23 operations, 11 leaves") == 1);

  const std::string open = graph_dot(y, Fold::open);
  CHECK(count(open, "[label=<<b>") == 34);
  CHECK(count(open, "<b>masked_softmax</b>") == 1);
  CHECK(count(open, "subgraph cluster_") == 1);
  CHECK(count(open, "<b>multi_head_attention</b>") == 0);
  CHECK(graph_dot(y) == open);
}

TEST_CASE("a picture of more than 40 nodes closes each multi_head_attention on its own") {
  const Variable<double> x = leaf({2, 3, 4}, "x");
  const Variable<double> y = block(block(x, "a."), "b.");
  const std::string dot = graph_dot(y);
  CHECK(dot == graph_dot(y, Fold::closed));
  CHECK(count(dot, "<b>multi_head_attention</b>") == 2);
  CHECK(count(dot, "[label=<<b>") == 37);
  CHECK(inputs(dot, "multi_head_attention") ==
        std::vector<std::string>{"layer_norm", "b.w_q", "b.w_k", "b.w_v", "b.w_o", "layer_norm",
                                 "a.w_q", "a.w_k", "a.w_v", "a.w_o"});
  CHECK(count(graph_text(y), "multi_head_attention (2, 3, 4), 16 operations") == 2);
  CHECK(count(graph_svg(y), "multi_head_attention") == 2);
  const NoPath guard;
  CHECK(count(graph_svg(y), "multi_head_attention") == 2);
  CHECK(count(graph_svg(y, Fold::open), "masked_softmax") == 2);
}

TEST_CASE("a closed box tells its used results apart, with their names and gradients") {
  auto result = attention();
  CHECK(count(graph_dot(result.weights, Fold::closed), "(1, 2, 2, 3)</font>") == 1);
  CHECK(count(graph_dot(result.weights, Fold::closed), "(1, 2, 4)</font>") == 1);  // query
  result.output.set_name("out").retain_grad();
  const Variable<double> loss = sum(result.output) + sum(result.weights);
  loss.backward();
  const std::string dot = graph_dot(loss, Fold::closed);
  CHECK(count(dot, ">out (1, 2, 4)</font>") == 1);
  CHECK(count(dot, ">(1, 2, 2, 3)</font>") == 1);
  CHECK(count(dot, "|grad| 2.828<") == 1);
  CHECK(count(dot, "[label=<(1, 2, 4)>]") == 1);
  CHECK(count(dot, "[label=<(1, 2, 2, 3)>]") == 1);
  CHECK(inputs(dot, "multi_head_attention") ==
        std::vector<std::string>{"query", "w_q", "key", "w_k", "value", "w_v", "w_o"});
  const std::string tree = graph_text(loss, Fold::closed);
  CHECK(count(tree, "out = multi_head_attention (1, 2, 4) #1, 16 operations, |grad| 2.828\n") == 1);
  CHECK(count(tree, "multi_head_attention (1, 2, 2, 3) #1\n") == 1);
}

TEST_CASE("a closed box has the constants that go into it") {
  const Variable<double> q = xg::ones<double>({1, 2, 4});
  const Variable<double> w = leaf({4, 4}, "w");
  const std::string dot =
      graph_dot(multi_head_attention(q, q, q, w, w, w, w, 2).output, Fold::closed);
  CHECK(count(dot, "label=<constant") == 3);
  CHECK(count(dot, " -> ") == 4);
}

TEST_CASE("an svg comes out with and without Graphviz") {
  const auto result = attention();
  const std::string drawn = graph_svg(result.output);
  CHECK(drawn.rfind("<svg", 0) == 0);
  CHECK(count(drawn, "masked_softmax") == 1);
  const NoPath guard;
  const std::string written = graph_svg(result.output);
  CHECK(written.rfind("<svg", 0) == 0);
  CHECK(count(written, "masked_softmax") == 1);
  CHECK(count(written, "<text") > 10);
}

TEST_CASE("the text tree writes a shared result once") {
  const Variable<double> a = leaf({2}, "a");
  const Variable<double> b = exp(leaf({2}, "b"));
  CHECK(graph_text(sum(a * b + b)) ==
        "sum () <- add (2,)\n"
        "├─ mul (2,)\n"
        "│  ├─ a (2,) leaf\n"
        "│  └─ exp (2,) #1 <- b (2,) leaf\n"
        "└─ exp (2,) #1\n"
        "(Variable<double>: 4 operations, 2 leaves)\n");
  CHECK(graph_text(xg::ones<float>({3})) == "constant (3,)\n");
  const Variable<double> nameless({1, 2}, true);
  CHECK(graph_text(nameless * nameless + Variable<double>({3, 4}, true)) ==
        "add (2,)\n"
        "├─ mul (2,)\n"
        "│  ├─ leaf (2,) #1\n"
        "│  └─ leaf (2,) #1\n"
        "└─ leaf (2,)\n"
        "(Variable<double>: 2 operations, 2 leaves)\n");
}

TEST_CASE("pictures of a graph of a million nodes are cut and say so") {
  const Variable<double> x = leaf({}, "x");
  Variable<double> chain = x;
  for (int i = 0; i < 1000000; ++i) chain = -chain;
  const std::string dot = graph_dot(chain);
  CHECK(count(dot, "<b>neg</b>") == 400);
  CHECK(count(dot, "cut: the 400 nearest of 1000001 nodes are shown") == 1);
  CHECK(count(dot, "…") == 1);
  CHECK(graph_text(chain).size() < 100000);
  CHECK(count(graph_text(chain), "...") == 1);
  CHECK(graph_dot(chain, Fold::closed) == dot);

  Variable<double> deep = x;
  for (int i = 0; i < 1000; ++i) deep = deep * x + deep;
  CHECK(graph_text(deep).size() < 100000);
}

TEST_CASE("a cut picture counts a closed box once") {
  Variable<double> x = leaf({1, 2, 4}, "x");
  const Variable<double> w = leaf({4, 4}, "w");
  for (int i = 0; i < 500; ++i) x = multi_head_attention(x, x, x, w, w, w, w, 2).output;
  const std::string dot = graph_dot(x);
  CHECK(count(dot, "<b>multi_head_attention</b>") == 399);
  CHECK(count(dot, "cut: the 400 nearest of 502 nodes are shown") == 1);
  CHECK(count(dot, "…") == 1);
}

TEST_CASE("an undefined variable has no picture") {
  CHECK_ERROR(xg::GraphError, "graph_dot", graph_dot(Variable<double>()));
  CHECK_ERROR(xg::GraphError, "graph_svg", graph_svg(Variable<double>()));
  CHECK_ERROR(xg::GraphError, "graph_text", graph_text(Variable<double>()));
}
