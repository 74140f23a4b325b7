#include <xgrad/autograd/graph_picture.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <xgrad/autograd/escape.hpp>
#include <xgrad/autograd/graphviz.hpp>
#include <xgrad/autograd/message.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/autograd/number_text.hpp>

namespace xg {
namespace detail {
namespace {

constexpr std::size_t kMostNodes = 400;

/// The nodes behind a variable, nearest first, up to kMostNodes.
template <class T>
struct Picture {
  explicit Picture(const Node<T>* root) {
    std::vector<const Node<T>*> queue;
    std::unordered_set<const Node<T>*> seen;
    const auto meet = [&](const Node<T>* node) {
      if (seen.insert(node).second) queue.push_back(node);
    };
    if (root != nullptr) meet(root);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const Node<T>* node = queue[next];
      ++(node->is_leaf() ? leaves : operations);
      for (std::size_t i = 0; i < node->inputs; ++i) {
        if (node->edge(i) != nullptr) meet(node->edge(i));
      }
    }
    queue.resize(std::min(queue.size(), kMostNodes));
    nodes = std::move(queue);
    for (const Node<T>* node : nodes) {
      number.emplace(node, number.size());
      for (std::size_t i = 0; i < node->inputs; ++i) ++uses[node->edge(i)];
    }
  }

  bool shows(const Node<T>* node) const { return number.count(node) != 0; }

  std::string summary() const {
    const auto count = [](std::size_t n, const char* one, const char* many) {
      return text(n) + (n == 1 ? one : many);
    };
    std::string out =
        std::string(std::is_same_v<T, float> ? "Variable<float>: " : "Variable<double>: ") +
        count(operations, " operation, ", " operations, ") + count(leaves, " leaf", " leaves");
    const std::size_t all = operations + leaves;
    if (all > nodes.size()) {
      out += "; cut: the " + text(nodes.size()) + " nearest of " + text(all) + " nodes are shown";
    }
    return out;
  }

  std::vector<const Node<T>*> nodes;
  std::unordered_map<const Node<T>*, std::size_t> number;
  std::unordered_map<const Node<T>*, std::size_t> uses;
  std::size_t operations = 0;
  std::size_t leaves = 0;
};

template <class T>
std::string shape_text(const Node<T>& node) {
  return text(node.shape(node.inputs));
}

/// The name that the user gave, else what it is.
template <class T>
std::string label(const Node<T>& node) {
  const std::string name = node.extra == nullptr ? std::string() : node.extra->name;
  if (node.is_leaf()) return name.empty() ? "leaf" : name;
  return name.empty() ? node.op->name() : name + " = " + node.op->name();
}

/// The norm of a kept gradient, "" if there is none.
template <class T>
std::string gradient_norm(const Node<T>& node) {
  if (node.extra == nullptr) return {};
  Variable<T> gradient;
  {
    const GradLock lock;
    const State<T>* keeper = node.extra->keeper;
    if (keeper == nullptr || keeper->own == nullptr) return {};
    if (keeper->own->grad.defined() && keeper->own->zeroed) return "0";
    gradient = keeper->own->grad;
  }
  if (!gradient.defined()) return {};
  double largest = 0;
  for (T x : gradient.to_vector()) largest = std::max(largest, std::abs(double(x)));
  double sum = 0;
  for (T x : gradient.to_vector()) {
    const double scaled = largest > 0 ? double(x) / largest : double(x);
    sum += scaled * scaled;
  }
  return short_number(largest > 0 ? largest * std::sqrt(sum) : std::sqrt(sum));
}

// A zero-width space keeps Graphviz from taking a name's `\N` for its own escape.
std::string dot_text(const std::string& s) {
  std::string out;
  for (char c : escape_xml(s)) {
    out += c;
    if (c == '\\') out += "\xE2\x80\x8B";
  }
  return out;
}

std::string small(const std::string& s) {
  return "<br/><font point-size=\"10\" color=\"#56606E\">" + dot_text(s) + "</font>";
}

std::string dot_node(const std::string& id, const std::string& html, const char* style) {
  return "  " + id + " [label=<" + html + ">" + style + "];\n";
}

std::string arrow(const std::string& from, const std::string& to, const char* style = "") {
  return "  " + from + " -> " + to + style + ";\n";
}

constexpr const char* kOperation = ", fillcolor=\"#E8F0FE\", color=\"#5C87D6\"";
constexpr const char* kResult = ", fillcolor=\"#FDEBD0\", color=\"#D9822B\", penwidth=2";
constexpr const char* kLeaf = ", fillcolor=\"#DFF5E3\", color=\"#3A9D5D\", shape=box";
constexpr const char* kConstant =
    ", fillcolor=\"#EEEEEE\", color=\"#8C8C8C\", style=\"rounded,filled,dashed\"";

template <class T>
std::string dot_of(const Node<T>* root, const Extents& shape) {
  const Picture<T> picture(root);
  std::string out =
      "digraph xgrad {\n"
      "  graph [bgcolor=\"transparent\", rankdir=TB, nodesep=0.3, ranksep=0.35,\n"
      "         fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, fontcolor=\"#808080\",\n"
      "         labelloc=t, label=<" +
      dot_text(picture.summary()) +
      ">];\n"
      "  node [shape=box, style=\"rounded,filled\", margin=\"0.14,0.07\", height=0.3,\n"
      "        fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, fontcolor=\"#1B2430\"];\n"
      "  edge [color=\"#808080\", arrowsize=0.6];\n";
  if (root == nullptr) out += dot_node("n0", "constant" + small(text(shape)), kConstant);

  std::string edges;
  std::map<std::uint64_t, std::string> groups;
  for (std::size_t n = 0; n < picture.nodes.size(); ++n) {
    const Node<T>& node = *picture.nodes[n];
    const std::string id = "n" + text(n);
    std::string html = "<b>" + dot_text(label(node)) + "</b>" + small(shape_text(node));
    const std::string norm = gradient_norm(node);
    if (!norm.empty()) html += small("|grad| " + norm);
    const char* style = node.is_leaf() ? kLeaf : n == 0 ? kResult : kOperation;
    std::string* into = &out;
    if (node.group != 0) into = &groups[node.group];
    *into += dot_node(id, html, style);
    bool cut = false;
    for (std::size_t i = 0; i < node.inputs; ++i) {
      if (node.edge(i) == nullptr) {
        const std::string constant = id + "_" + text(i);
        *into += dot_node(constant, "constant" + small(text(node.shape(i))), kConstant);
        edges += arrow(constant, id);
      } else if (picture.shows(node.edge(i))) {
        edges += arrow("n" + text(picture.number.at(node.edge(i))), id);
      } else {
        cut = true;
      }
    }
    if (cut) {
      const std::string more = id + "_more";
      *into += dot_node(more, "…", ", shape=plain, style=\"\", fontcolor=\"#808080\"");
      edges += arrow(more, id, " [style=dashed]");
    }
  }
  std::size_t cluster = 0;
  for (const auto& group : groups) {
    out += "  subgraph cluster_" + text(cluster++) +
           " {\n  label=<multi_head_attention>; labeljust=l; style=\"rounded,filled\"; "
           "fillcolor=\"#80808018\"; color=\"#80808080\";\n" +
           group.second + "  }\n";
  }
  return out + edges + "}\n";
}

template <class T>
class TextTree {
 public:
  explicit TextTree(const Node<T>* root) : picture_(root) {
    if (root != nullptr) pending_.push_back({root, {}, "", "", 0});
  }

  std::string draw() {
    while (!pending_.empty()) {
      const Line line = std::move(pending_.back());
      pending_.pop_back();
      draw_line(line);
    }
    return out_ + "(" + picture_.summary() + ")\n";
  }

 private:
  static constexpr std::size_t kMostDepth = 40;
  static constexpr std::size_t kMostColumns = 100;

  struct Line {
    const Node<T>* node;  // null for a constant
    Extents shape;
    std::string prefix;
    std::string next_prefix;
    std::size_t depth;
  };

  void draw_line(const Line& line) {
    out_ += line.prefix;
    if (line.node == nullptr) {
      out_ += "constant " + text(line.shape) + "\n";
      return;
    }
    const std::size_t start = out_.size();
    const Node<T>* node = line.node;
    while (describe(*node, line.depth)) {
      if (node->inputs != 1 || node->edge(0) == nullptr || out_.size() - start > kMostColumns) {
        push_inputs(*node, line);
        break;
      }
      out_ += " <- ";
      node = node->edge(0);
    }
    out_ += "\n";
  }

  /// False if there is nothing to say about its inputs.
  bool describe(const Node<T>& node, std::size_t depth) {
    if (!picture_.shows(&node) || depth > kMostDepth) {
      out_ += "...";
      return false;
    }
    out_ += printable(label(node)) + " " + shape_text(node);
    if (node.is_leaf()) {
      if (node.extra != nullptr && !node.extra->name.empty()) out_ += " leaf";
    } else if (picture_.uses.count(&node) != 0 && picture_.uses.at(&node) > 1) {
      const auto [mark, first] = marks_.emplace(&node, marks_.size() + 1);
      out_ += " #" + text(mark->second);
      if (!first) return false;
    }
    const std::string norm = gradient_norm(node);
    if (!norm.empty()) out_ += ", |grad| " + norm;
    return !node.is_leaf();
  }

  void push_inputs(const Node<T>& node, const Line& line) {
    for (std::size_t i = node.inputs; i-- > 0;) {
      const bool last = i + 1 == node.inputs;
      pending_.push_back({node.edge(i), node.shape(i), line.next_prefix + (last ? "└─ " : "├─ "),
                          line.next_prefix + (last ? "   " : "│  "), line.depth + 1});
    }
  }

  const Picture<T> picture_;
  std::vector<Line> pending_;
  std::unordered_map<const Node<T>*, std::size_t> marks_;
  std::string out_;
};

std::string svg_of_text(const std::string& lines) {
  constexpr std::size_t kLineHeight = 17;
  constexpr double kCharacterWidth = 7.3;
  std::string body;
  std::size_t rows = 0;
  std::size_t columns = 0;
  for (std::size_t start = 0; start < lines.size();) {
    const std::size_t end = lines.find('\n', start);
    const std::string line = lines.substr(start, end - start);
    columns = std::max<std::size_t>(columns, std::count_if(line.begin(), line.end(), [](char c) {
                                      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                                    }));
    body += "<text x=\"12\" y=\"" + text(++rows * kLineHeight + 8) + "\">" + escape_xml(line) +
            "</text>\n";
    start = end + 1;
  }
  const auto width = static_cast<std::size_t>(kCharacterWidth * static_cast<double>(columns)) + 24;
  const std::string size =
      " width=\"" + text(width) + "\" height=\"" + text(rows * kLineHeight + 20) + "\"";
  return "<svg xmlns=\"http://www.w3.org/2000/svg\"" + size +
         " font-family=\"monospace\" font-size=\"12\" fill=\"#1B2430\" xml:space=\"preserve\">\n"
         "<rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"#F6F8FA\" stroke=\"#808080\"/>\n" +
         body + "</svg>\n";
}

}  // namespace
}  // namespace detail

template <class T>
std::string graph_dot(const Variable<T>& x) {
  const detail::State<T>& s = detail::state("graph_dot", x);
  return detail::dot_of(static_cast<const detail::Node<T>*>(s.node), s.values.shape());
}

template <class T>
std::string graph_text(const Variable<T>& x) {
  const detail::State<T>& s = detail::state("graph_text", x);
  if (s.node == nullptr) return "constant " + detail::text(s.values.shape()) + "\n";
  return detail::TextTree<T>(s.node).draw();
}

template <class T>
std::string graph_svg(const Variable<T>& x) {
  (void)detail::state("graph_svg", x);
  const std::string drawn = detail::run_dot(graph_dot(x));
  return drawn.empty() ? detail::svg_of_text(graph_text(x)) : drawn;
}

#define XGRAD_INSTANTIATE(T)                          \
  template std::string graph_dot(const Variable<T>&); \
  template std::string graph_svg(const Variable<T>&); \
  template std::string graph_text(const Variable<T>&);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
