#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include <xgrad/xgrad.hpp>

#include "../support/errors.hpp"

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
  const std::string dot = graph_dot(first.output + attention().output);
  CHECK(count(dot, "subgraph cluster_") == 2);
  CHECK(count(dot, "label=<multi_head_attention>") == 2);
  const std::size_t frame_end = dot.find("  }\n");
  const std::string frame = dot.substr(dot.find("subgraph"), frame_end - dot.find("subgraph"));
  CHECK(count(frame, "<b>masked_softmax</b>") == 1);
  CHECK(count(frame, "<b>w_q</b>") == 0);
  CHECK(count(graph_dot(exp(leaf({1}, "x"))), "subgraph") == 0);
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

  Variable<double> deep = x;
  for (int i = 0; i < 1000; ++i) deep = deep * x + deep;
  CHECK(graph_text(deep).size() < 100000);
}

TEST_CASE("an undefined variable has no picture") {
  CHECK_ERROR(xg::GraphError, "graph_dot", graph_dot(Variable<double>()));
  CHECK_ERROR(xg::GraphError, "graph_svg", graph_svg(Variable<double>()));
  CHECK_ERROR(xg::GraphError, "graph_text", graph_text(Variable<double>()));
}
