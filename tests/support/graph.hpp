#ifndef XGRAD_TESTS_SUPPORT_GRAPH_HPP
#define XGRAD_TESTS_SUPPORT_GRAPH_HPP

#include <map>
#include <set>
#include <string>
#include <vector>

#include <xgrad/autograd/node.hpp>
#include <xgrad/xgrad.hpp>

namespace test {

/// How often each operation occurs in the graph behind x.
template <class T>
std::map<std::string, int> operations_behind(const xg::Variable<T>& x) {
  using Node = xg::detail::Node<T>;
  std::map<std::string, int> count;
  std::set<const Node*> seen;
  std::vector<const Node*> waiting{xg::detail::Access::node(x)};
  while (!waiting.empty()) {
    const Node* node = waiting.back();
    waiting.pop_back();
    if (node == nullptr || node->is_leaf() || !seen.insert(node).second) continue;
    ++count[node->op->name()];
    for (std::size_t i = 0; i < node->inputs; ++i) waiting.push_back(node->edge(i));
  }
  return count;
}

}  // namespace test

#endif
