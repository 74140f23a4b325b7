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

constexpr const char* kGroupName = "multi_head_attention";
constexpr std::size_t kMostBoxes = 400;
constexpr std::size_t kMostOpen = 40;  // nodes of a picture that Fold::automatic leaves open

std::string count(std::size_t n, const char* one, const char* many) {
  return text(n) + " " + (n == 1 ? one : many);
}

template <class T>
struct Input {
  const Node<T>* node;  // null for a constant
  Extents shape;        // of a constant
};

/// A node, or the operations of a folded group.
template <class T>
struct Box {
  bool folded;
  std::size_t nodes = 0;
  std::vector<const Node<T>*> results = {};  // what other boxes read
  std::vector<Input<T>> inputs = {};
  std::size_t uses = 0;
};

/// The boxes behind a variable, nearest first, up to kMostBoxes.
template <class T>
class Picture {
 public:
  Picture(const Node<T>* root, Fold fold) {
    const std::vector<const Node<T>*> nodes = reach(root);
    folds_ = fold == Fold::closed || (fold == Fold::automatic && nodes.size() > kMostOpen);
    std::unordered_map<std::uint64_t, std::size_t> groups;
    for (const Node<T>* node : nodes) {
      ++(node->is_leaf() ? leaves_ : operations_);
      place(node, groups);
    }
    if (folds_) {
      add_result(root);
      for (const Node<T>* node : nodes) {
        for (std::size_t i = 0; i < node->inputs; ++i) {
          const Node<T>* input = node->edge(i);
          if (input != nullptr && input->group != node->group) add_result(input);
        }
      }
    }
    for (std::size_t n = 0; n < boxes.size(); ++n) find_inputs(n);
  }

  /// The number of the box of a node; boxes.size() if it is cut off.
  std::size_t find(const Node<T>* node) const {
    const auto found = box_of_.find(node);
    return found == box_of_.end() ? boxes.size() : found->second;
  }

  std::string summary() const {
    std::string out =
        std::string(std::is_same_v<T, float> ? "Variable<float>: " : "Variable<double>: ") +
        count(operations_, "operation", "operations") + ", " + count(leaves_, "leaf", "leaves");
    if (all_ > boxes.size()) {
      out += "; cut: the " + text(boxes.size()) + " nearest of " + text(all_) + " nodes are shown";
    }
    return out;
  }

  std::vector<Box<T>> boxes;

 private:
  static std::vector<const Node<T>*> reach(const Node<T>* root) {
    std::vector<const Node<T>*> queue;
    std::unordered_set<const Node<T>*> seen;
    const auto meet = [&](const Node<T>* node) {
      if (node != nullptr && seen.insert(node).second) queue.push_back(node);
    };
    meet(root);
    for (std::size_t next = 0; next < queue.size(); ++next) {
      const Node<T>* node = queue[next];
      for (std::size_t i = 0; i < node->inputs; ++i) meet(node->edge(i));
    }
    return queue;
  }

  void place(const Node<T>* node, std::unordered_map<std::uint64_t, std::size_t>& groups) {
    const bool folded = folds_ && node->group != 0;
    const std::size_t at = folded ? groups.emplace(node->group, all_).first->second : all_;
    if (at == all_) {
      ++all_;
      if (at < kMostBoxes) boxes.push_back({folded});
    }
    if (at >= boxes.size()) return;
    box_of_.emplace(node, at);
    ++boxes[at].nodes;
    if (!folded) boxes[at].results.push_back(node);
  }

  void add_result(const Node<T>* node) {
    const std::size_t n = find(node);
    if (n == boxes.size() || !boxes[n].folded) return;
    auto& results = boxes[n].results;
    if (std::find(results.begin(), results.end(), node) == results.end()) results.push_back(node);
  }

  /// In the order in which the operations read them. A folded group lists each of its inputs once.
  void find_inputs(std::size_t n) {
    Box<T>& box = boxes[n];
    std::vector<Input<T>> pending;
    for (std::size_t i = box.results.size(); i-- > 0;) pending.push_back({box.results[i], {}});
    std::unordered_set<const Node<T>*> seen;
    while (!pending.empty()) {
      Input<T> input = std::move(pending.back());
      pending.pop_back();
      const Node<T>* node = input.node;
      if (node != nullptr && !seen.insert(node).second && box.folded) continue;
      const std::size_t from = node == nullptr ? boxes.size() : find(node);
      if (from == n) {
        for (std::size_t i = node->inputs; i-- > 0;) {
          const Node<T>* edge = node->edge(i);
          pending.push_back({edge, edge == nullptr ? node->shape(i) : Extents()});
        }
        continue;
      }
      if (from < boxes.size()) ++boxes[from].uses;
      box.inputs.push_back(std::move(input));
    }
  }

  bool folds_ = false;
  std::size_t all_ = 0;  // boxes, also those cut off
  std::size_t operations_ = 0;
  std::size_t leaves_ = 0;
  std::unordered_map<const Node<T>*, std::size_t> box_of_;
};

template <class T>
std::string shape_text(const Node<T>& node) {
  return text(node.shape(node.inputs));
}

template <class T>
std::string name_of(const Node<T>& node) {
  return node.extra == nullptr ? std::string() : node.extra->name;
}

/// The name that the user gave, and what it is.
template <class T>
std::string label(const Node<T>& node, bool folded) {
  const std::string name = name_of(node);
  if (node.is_leaf()) return name.empty() ? "leaf" : name;
  return (name.empty() ? "" : name + " = ") + (folded ? kGroupName : node.op->name());
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

std::string arrow(const std::string& from, const std::string& to, const std::string& style = "") {
  return "  " + from + " -> " + to + style + ";\n";
}

constexpr const char* kOperation = ", fillcolor=\"#E8F0FE\", color=\"#5C87D6\"";
constexpr const char* kResult = ", fillcolor=\"#FDEBD0\", color=\"#D9822B\", penwidth=2";
constexpr const char* kFolded = ", fillcolor=\"#E9E3FB\", color=\"#7A5CD0\", peripheries=2";
constexpr const char* kLeaf = ", fillcolor=\"#DFF5E3\", color=\"#3A9D5D\", shape=box";
constexpr const char* kConstant =
    ", fillcolor=\"#EEEEEE\", color=\"#8C8C8C\", style=\"rounded,filled,dashed\"";
constexpr const char* kTitle = ", shape=none, style=\"\", fontcolor=\"#808080\"";

template <class T>
std::string dot_label(const Box<T>& box) {
  std::string html =
      "<b>" + (box.folded ? kGroupName : dot_text(label(*box.results.front(), false))) + "</b>";
  for (const Node<T>* result : box.results) {
    const std::string name = box.folded ? name_of(*result) : std::string();
    html += small((name.empty() ? "" : name + " ") + shape_text(*result));
    const std::string norm = gradient_norm(*result);
    if (!norm.empty()) html += small("|grad| " + norm);
  }
  if (box.folded) html += small(count(box.nodes, "operation", "operations"));
  return html;
}

template <class T>
std::string dot_of(const Node<T>* root, const Extents& shape, Fold fold) {
  const Picture<T> picture(root, fold);
  std::string out =
      "digraph xgrad {\n"
      "  graph [bgcolor=\"transparent\", rankdir=TB, nodesep=0.3, ranksep=0.35,\n"
      "         fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, fontcolor=\"#808080\",\n"
      "         labelloc=t, label=<" +
      dot_text(picture.summary()) +
      "<br/><font point-size=\"6\"> </font>>];\n"  // keeps off the boxes
      "  node [shape=box, style=\"rounded,filled\", margin=\"0.14,0.07\", height=0.3,\n"
      "        fontname=\"Helvetica,Arial,sans-serif\", fontsize=12, fontcolor=\"#1B2430\"];\n"
      "  edge [color=\"#808080\", arrowsize=0.6,\n"
      "        fontname=\"Helvetica,Arial,sans-serif\", fontsize=10, fontcolor=\"#808080\"];\n";
  if (root == nullptr) out += dot_node("n0", "constant" + small(text(shape)), kConstant);

  std::string edges;
  std::map<std::uint64_t, std::string> groups;
  for (std::size_t n = 0; n < picture.boxes.size(); ++n) {
    const Box<T>& box = picture.boxes[n];
    const Node<T>& node = *box.results.front();
    const std::string id = "n" + text(n);
    const char* style = node.is_leaf() ? kLeaf : box.folded ? kFolded : kOperation;
    std::string* into = &out;
    if (node.group != 0 && !box.folded) into = &groups[node.group];
    *into += dot_node(id, dot_label(box), n == 0 && !node.is_leaf() ? kResult : style);
    bool cut = false;
    for (std::size_t i = 0; i < box.inputs.size(); ++i) {
      const Input<T>& input = box.inputs[i];
      const std::size_t from = picture.find(input.node);
      if (input.node == nullptr) {
        const std::string constant = id + "_" + text(i);
        *into += dot_node(constant, "constant" + small(text(input.shape)), kConstant);
        edges += arrow(constant, id);
      } else if (from == picture.boxes.size()) {
        cut = true;
      } else if (picture.boxes[from].results.size() > 1) {
        edges += arrow("n" + text(from), id, " [label=<" + shape_text(*input.node) + ">]");
      } else {
        edges += arrow("n" + text(from), id);
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
    const std::string id = text(cluster++);
    out += "  subgraph cluster_" + id +
           " {\n  label=\"\"; style=\"rounded,filled\"; "
           "fillcolor=\"#80808018\"; color=\"#80808080\";\n";
    // Arrows go around a node, and across a cluster's label.
    out += dot_node("title" + id, kGroupName, kTitle) + group.second + "  }\n";
  }
  return out + edges + "}\n";
}

template <class T>
class TextTree {
 public:
  TextTree(const Node<T>* root, Fold fold) : picture_(root, fold) {
    pending_.push_back({{root, {}}, "", "", 0});
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
    Input<T> input;
    std::string prefix;
    std::string next_prefix;
    std::size_t depth;
  };

  void draw_line(const Line& line) {
    out_ += line.prefix;
    if (line.input.node == nullptr) {
      out_ += "constant " + text(line.input.shape) + "\n";
      return;
    }
    const std::size_t start = out_.size();
    const Node<T>* node = line.input.node;
    while (describe(*node, line.depth)) {
      const std::vector<Input<T>>& inputs = picture_.boxes[picture_.find(node)].inputs;
      if (inputs.size() != 1 || inputs[0].node == nullptr || out_.size() - start > kMostColumns) {
        push(inputs, line);
        break;
      }
      out_ += " <- ";
      node = inputs[0].node;
    }
    out_ += "\n";
  }

  /// False if there is nothing to say about its inputs.
  bool describe(const Node<T>& node, std::size_t depth) {
    const std::size_t n = picture_.find(&node);
    if (n == picture_.boxes.size() || depth > kMostDepth) {
      out_ += "...";
      return false;
    }
    const Box<T>& box = picture_.boxes[n];
    out_ += printable(label(node, box.folded)) + " " + shape_text(node);
    if (node.is_leaf() && !name_of(node).empty()) {
      out_ += " leaf";
    } else if (box.uses > 1) {
      const auto [mark, first] = marks_.emplace(n, marks_.size() + 1);
      out_ += " #" + text(mark->second);
      if (!first) return false;
    }
    if (box.folded) out_ += ", " + count(box.nodes, "operation", "operations");
    const std::string norm = gradient_norm(node);
    if (!norm.empty()) out_ += ", |grad| " + norm;
    return !node.is_leaf();
  }

  void push(const std::vector<Input<T>>& inputs, const Line& line) {
    for (std::size_t i = inputs.size(); i-- > 0;) {
      const bool last = i + 1 == inputs.size();
      pending_.push_back({inputs[i], line.next_prefix + (last ? "└─ " : "├─ "),
                          line.next_prefix + (last ? "   " : "│  "), line.depth + 1});
    }
  }

  const Picture<T> picture_;
  std::vector<Line> pending_;
  std::unordered_map<std::size_t, std::size_t> marks_;
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
std::string graph_dot(const Variable<T>& x, Fold fold) {
  const detail::State<T>& s = detail::state("graph_dot", x);
  return detail::dot_of(static_cast<const detail::Node<T>*>(s.node), s.values.shape(), fold);
}

template <class T>
std::string graph_text(const Variable<T>& x, Fold fold) {
  const detail::State<T>& s = detail::state("graph_text", x);
  if (s.node == nullptr) return "constant " + detail::text(s.values.shape()) + "\n";
  return detail::TextTree<T>(s.node, fold).draw();
}

template <class T>
std::string graph_svg(const Variable<T>& x, Fold fold) {
  (void)detail::state("graph_svg", x);
  const std::string drawn = detail::run_dot(graph_dot(x, fold));
  return drawn.empty() ? detail::svg_of_text(graph_text(x, fold)) : drawn;
}

#define XGRAD_INSTANTIATE(T)                                \
  template std::string graph_dot(const Variable<T>&, Fold); \
  template std::string graph_svg(const Variable<T>&, Fold); \
  template std::string graph_text(const Variable<T>&, Fold);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
