#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include <xgrad/autograd/finished.hpp>
#include <xgrad/autograd/grad_mode.hpp>
#include <xgrad/autograd/node.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/kernels/kernels.hpp>
#include <xgrad/ops/loops.hpp>

namespace xg {
namespace detail {
namespace {

/// Node -> cotangent, for the nodes that wait their turn: open addressing, linear probing.
template <class T>
class CotangentMap {
 public:
  CotangentMap() : cells_(16) {}

  /// The cotangent of `node`; undefined if it is new here.
  Variable<T>& operator[](Node<T>* node) {
    if (2 * (used_ + 1) > cells_.size()) grow();
    const std::size_t i = find(node);
    if (cells_[i].node == nullptr) {
      cells_[i].node = node;
      ++used_;
    }
    return cells_[i].cotangent;
  }

  Variable<T> take(Node<T>* node) {
    std::size_t hole = find(node);
    Variable<T> out = std::move(cells_[hole].cotangent);
    const std::size_t mask = cells_.size() - 1;
    for (std::size_t i = (hole + 1) & mask; cells_[i].node != nullptr; i = (i + 1) & mask) {
      // Move back every cell that a probe would no longer reach across the hole.
      if (((i - home(cells_[i].node)) & mask) < ((i - hole) & mask)) continue;
      cells_[hole] = std::move(cells_[i]);
      hole = i;
    }
    cells_[hole] = Cell();
    --used_;
    return out;
  }

 private:
  struct Cell {
    Node<T>* node = nullptr;
    Variable<T> cotangent;
  };

  std::size_t home(const Node<T>* node) const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(node);
    return (address * 0x9E3779B97F4A7C15U >> 32) & (cells_.size() - 1);
  }
  std::size_t find(const Node<T>* node) const noexcept {
    std::size_t i = home(node);
    while (cells_[i].node != nullptr && cells_[i].node != node) i = (i + 1) & (cells_.size() - 1);
    return i;
  }
  void grow() {
    std::vector<Cell> old(2 * cells_.size());
    old.swap(cells_);
    for (Cell& cell : old) {
      if (cell.node != nullptr) cells_[find(cell.node)] = std::move(cell);
    }
  }

  std::vector<Cell> cells_;
  std::size_t used_ = 0;
};

template <class T>
bool all_finite(const Array<T>& values) {
  bool finite = true;
  for_each([&](T x) { finite &= std::isfinite(x); }, values);
  return finite;
}

/// Can `held` be added to in place? Only if nobody else sees its memory.
template <class T>
bool exclusive(const Variable<T>& held) {
  const State<T>* s = Access::state(held);
  return s->references.load(std::memory_order_acquire) == 1 && s->node == nullptr &&
         s->values.unique() && s->values.distinct();
}

template <class T>
void add_in_place(Variable<T>& held, const Variable<T>& more) {
  Array<T>& sum = Access::state(held)->values;
  map(sum, kernels<T>().add, sum, Access::state(more)->values);
}

/// Backward calls that run inside each other on this thread. A hook or a rule that calls backward
/// on its own graph would end in a stack overflow.
class Nesting {
 public:
  Nesting() {
    if (depth_ == kMost) {
      fail<GraphError>("backward", "too many backward calls inside each other", text(kMost + 1),
                       "at most " + text(kMost),
                       "does a hook or a rule call backward on its own graph?");
    }
    ++depth_;
  }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  ~Nesting() { --depth_; }

 private:
  static constexpr int kMost = 32;
  static thread_local int depth_;
};
thread_local int Nesting::depth_ = 0;

/// One backward sweep, in reverse topological order. A node's depth exceeds that of each of its
/// inputs, so taking the deepest waiting node first runs every rule once, after all its consumers.
template <class T>
class Sweep {
 public:
  explicit Sweep(GradFlags flags)
      : record_(has(flags, GradFlags::create_graph)),
        retain_(record_ || has(flags, GradFlags::retain_graph)) {}

  /// For `grad`: only the ways to these nodes are walked, and their cotangents are kept here.
  void aim_at(const std::vector<Node<T>*>& targets, const std::vector<Node<T>*>& roots);

  void add(Node<T>* node, Variable<T> cotangent) {
    Variable<T>& held = cotangents_[node];
    if (!held.defined()) {
      held = std::move(cotangent);
      waiting_.push_back({node->depth, order_++, node});
      std::push_heap(waiting_.begin(), waiting_.end());
    } else if (!record_ && exclusive(held)) {
      add_in_place(held, cotangent);
    } else if (!record_ && exclusive(cotangent)) {
      add_in_place(cotangent, held);
      held = std::move(cotangent);
    } else {
      held = std::move(held) + std::move(cotangent);
    }
  }

  /// Adds a gradient that is 0 but in one part: see Pullback::give_part.
  void add_part(Node<T>* node, const typename Pullback<T>::Part& part) {
    Variable<T>& held = cotangents_[node];
    if (!held.defined()) {
      Array<T> whole(node->shape(node->inputs));
      std::fill_n(whole.data(), whole.size(), T(0));
      add(node, from_array(std::move(whole)));
    }
    Variable<T>& sum = cotangents_[node];
    if (!exclusive(sum) || !Access::state(sum)->values.contiguous()) {
      sum = from_array(Access::state(sum)->values.copy());
    }
    const Array<T>& values = Access::state(part.gradient)->values;
    Array<T>& whole = Access::state(sum)->values;
    Array<T> place(whole, whole.data() + part.offset, values.shape(), part.strides);
    map(place, kernels<T>().add, place, values);
  }

  void run() {
    const Nesting nesting;
    const ModeGuard mode(ModeGuard::Mode::grad, record_);
    const Progress* const progress = backward_progress();
    while (!waiting_.empty()) {
      std::pop_heap(waiting_.begin(), waiting_.end());
      Node<T>* node = waiting_.back().node;
      waiting_.pop_back();
      visit(*node, cotangents_.take(node));
      if (progress != nullptr && ++visited_ % progress->every == 0) progress->report(visited_);
    }
  }

  /// Adds the leaves' gradients, all or none.
  void commit();
  Variable<T> result(Node<T>* target) const {
    const auto found = results_.find(target);
    return found == results_.end() ? Variable<T>() : alias(found->second, record_);
  }

 private:
  struct Waiting {
    std::uint64_t depth;
    std::uint64_t order;  // ties go to the earlier one, so that sums have one order (S18)
    Node<T>* node;
    friend bool operator<(const Waiting& a, const Waiting& b) noexcept {
      return a.depth != b.depth ? a.depth < b.depth : a.order > b.order;
    }
  };

  void visit(Node<T>& node, Variable<T> cotangent);
  Variable<T> run_hooks(Node<T>& node, Variable<T> cotangent);
  void check(const Node<T>& node, std::size_t i, const Variable<T>& gradient) const;
  void check_finite(const Node<T>& node, std::size_t i, const Array<T>& values) const;
  bool leads_to_target(Node<T>* node) const {
    return !aimed_ || relevant_.find(node) != relevant_.end();
  }

  bool record_;
  bool retain_;
  bool aimed_ = false;
  std::uint64_t order_ = 0;
  std::size_t visited_ = 0;
  std::vector<Waiting> waiting_;
  CotangentMap<T> cotangents_;
  std::vector<std::pair<Node<T>*, Variable<T>>> gradients_;
  std::unordered_map<Node<T>*, bool> relevant_;  // true for a target
  std::unordered_map<Node<T>*, Variable<T>> results_;
};

template <class T>
void Sweep<T>::aim_at(const std::vector<Node<T>*>& targets, const std::vector<Node<T>*>& roots) {
  aimed_ = true;
  std::uint64_t shallowest = ~std::uint64_t{0};
  for (Node<T>* target : targets) {
    relevant_[target] = true;
    shallowest = std::min(shallowest, target->depth);
  }
  std::vector<Node<T>*> reached;
  std::unordered_map<Node<T>*, bool> seen;
  const auto reach = [&](Node<T>* node) {
    if (node != nullptr && node->depth > shallowest && seen.emplace(node, true).second) {
      reached.push_back(node);
    }
  };
  for (Node<T>* root : roots) reach(root);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (std::size_t k = 0; k < reached[i]->inputs; ++k) reach(reached[i]->edge(k));
  }
  std::sort(reached.begin(), reached.end(),
            [](const Node<T>* a, const Node<T>* b) { return a->depth < b->depth; });
  for (Node<T>* node : reached) {
    for (std::size_t k = 0; k < node->inputs; ++k) {
      if (relevant_.find(node->edge(k)) != relevant_.end()) {
        relevant_.emplace(node, false);
        break;
      }
    }
  }
}

template <class T>
Variable<T> Sweep<T>::run_hooks(Node<T>& node, Variable<T> cotangent) {
  const auto hooks = node.extra->hooks;  // a hook may remove itself
  for (const auto& hook : hooks) {
    const Variable<T> replaced = hook.second(alias(cotangent, record_));
    if (!replaced.defined()) continue;
    if (extents("hook", replaced) != node.shape(node.inputs)) {
      fail<GraphError>("hook", "wrong shape", text(extents("hook", replaced)),
                       text(node.shape(node.inputs)));
    }
    (void)array("hook", replaced);
    cotangent = alias(replaced, record_);
  }
  return cotangent;
}

template <class T>
void Sweep<T>::check(const Node<T>& node, std::size_t i, const Variable<T>& gradient) const {
  const char* op = node.op->name();
  if (!gradient.defined()) {
    fail<GraphError>(op, "missing gradient of input " + text(i), "an undefined variable",
                     "shape " + text(node.shape(i)));
  }
  const Array<T>& values = array(op, gradient);
  if (values.shape() != node.shape(i)) {
    fail<GraphError>(op, "wrong gradient of input " + text(i), "shape " + text(values.shape()),
                     "shape " + text(node.shape(i)));
  }
  check_finite(node, i, values);
}

template <class T>
void Sweep<T>::check_finite(const Node<T>& node, std::size_t i, const Array<T>& values) const {
  if (anomaly_enabled() && !all_finite(values)) {
    const std::string where = node.extra == nullptr || node.extra->recorded.empty()
                                  ? "record under AnomalyMode to see from what it was recorded"
                                  : "recorded as " + node.extra->recorded;
    fail<GraphError>(node.op->name(), "gradient of input " + text(i) + " is not finite",
                     "NaN or inf", "finite values", where);
  }
}

template <class T>
void Sweep<T>::visit(Node<T>& node, Variable<T> cotangent) {
  bool any = false;
  bool few[8];
  std::unique_ptr<bool[]> many;
  bool* wanted = few;
  if (node.inputs > 8) {
    many.reset(new bool[node.inputs]);
    wanted = many.get();
  }
  for (std::size_t i = 0; i < node.inputs; ++i) {
    wanted[i] = node.edge(i) != nullptr && leads_to_target(node.edge(i));
    any |= wanted[i];
  }
  if (any) {
    if (node.used) {
      fail<GraphError>("backward", "graph used already",
                       std::string("a second backward through ") + node.op->name(),
                       "one backward, or retain_graph in the first",
                       "backward frees what the graph saved; pass xg::retain_graph to keep it");
    }
    node.used = !retain_;
  }
  if (node.extra != nullptr) {
    if (!node.extra->hooks.empty()) cotangent = run_hooks(node, std::move(cotangent));
    if (!aimed_ && node.extra->keeper != nullptr) gradients_.emplace_back(&node, cotangent);
  }
  if (aimed_) {
    const auto found = relevant_.find(&node);
    if (found != relevant_.end() && found->second) results_[&node] = cotangent;
  }
  if (!any) return;
  Pullback<T> pullback(node, std::move(cotangent), wanted, record_);
  node.op->backward(pullback);
  const bool part = pullback.part().gradient.defined();
  if (part) check_finite(node, 0, array(node.op->name(), pullback.part().gradient));
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (wanted[i] && !part) check(node, i, pullback.given(i));
  }
  if (!retain_) node.forget_values();
  if (part) {
    add_part(node.edge(0), pullback.part());
    return;
  }
  for (std::size_t i = 0; i < node.inputs; ++i) {
    if (wanted[i]) add(node.edge(i), std::move(pullback.given(i)));
  }
}

template <class T>
void Sweep<T>::commit() {
  using Own = typename State<T>::Own;
  std::vector<std::pair<Own*, Variable<T>>> replace;  // on return: the old ones, freed unlocked
  std::vector<std::pair<Own*, const Variable<T>*>> add;
  replace.reserve(gradients_.size());
  add.reserve(gradients_.size());
  const ModeGuard mode(ModeGuard::Mode::grad, record_);
  const GradLock lock;
  for (auto& [node, gradient] : gradients_) {
    State<T>* const keeper = node->extra->keeper;
    if (keeper == nullptr) continue;
    Own& own = keeper->need_own();
    if (!own.grad.defined() || own.zeroed) {
      replace.emplace_back(&own, std::move(gradient));
    } else if (!record_ && exclusive(own.grad)) {
      add.emplace_back(&own, &gradient);
    } else {
      replace.emplace_back(&own, own.grad + gradient);
    }
  }
  // Nothing below can fail.
  for (auto& [own, gradient] : add) add_in_place(own->grad, *gradient);
  for (auto& [own, gradient] : replace) {
    std::swap(own->grad, gradient);
    own->zeroed = false;
  }
}

template <class T>
Variable<T> checked_seed(const char* op, const Variable<T>& output, const Variable<T>& seed,
                         GradFlags flags) {
  const Extents& shape = extents(op, output);
  if (!seed.defined()) {
    if (size_of(shape) != 1) {
      fail<ShapeError>(op, "no seed for an output that is not a scalar", "shape " + text(shape),
                       "one element, or a seed of that shape");
    }
    return ones<T>(Dims(shape));
  }
  if (array(op, seed).shape() != shape) {
    fail<ShapeError>(op, "wrong seed", "shape " + text(extents(op, seed)), "shape " + text(shape));
  }
  return alias(seed, has(flags, GradFlags::create_graph));
}

template <class T>
Node<T>* checked_root(const char* op, const Variable<T>& output) {
  Node<T>* node = state(op, output).node;
  if (node == nullptr) {
    fail<GraphError>(op, "nothing to differentiate", "an output that does not require grad",
                     "one that depends on a variable that does",
                     "was it computed under NoGrad, or from detached values?");
  }
  return node;
}

}  // namespace

template <class T>
Pullback<T>::Pullback(Node<T>& node, Variable<T> grad, const bool* wanted, bool record)
    : node_(node), grad_(std::move(grad)), gradients_(inline_), wanted_(wanted), record_(record) {
  if (node.inputs > kInline) gradients_ = new Variable<T>[node.inputs];
}

template <class T>
Pullback<T>::~Pullback() {
  if (gradients_ != inline_) delete[] gradients_;
}

template <class T>
std::size_t Pullback<T>::inputs() const noexcept {
  return node_.inputs;
}

template <class T>
Variable<T> Pullback<T>::input(std::size_t i) const {
  Node<T>* edge = record_ ? node_.edge(i) : nullptr;
  auto* state = new State<T>(node_.values(i), edge);
  if (edge != nullptr) edge->retain();
  return Access::wrap(state);
}

template <class T>
Variable<T> Pullback<T>::output() const {
  auto* state = new State<T>(node_.values(node_.inputs), record_ ? &node_ : nullptr);
  if (record_) node_.retain();
  return Access::wrap(state);
}

template <class T>
Extents Pullback<T>::shape(std::size_t i) const {
  return node_.shape(i);
}

template class Pullback<float>;
template class Pullback<double>;

}  // namespace detail

template <class T>
void Variable<T>::backward(GradFlags flags) const {
  backward(Variable(), flags);
}

template <class T>
void Variable<T>::backward(const Variable& seed, GradFlags flags) const {
  const Variable alive = *this;  // a hook or a rule may drop the caller's handle
  detail::Node<T>* root = detail::checked_root("backward", alive);
  detail::Sweep<T> sweep(flags);
  sweep.add(root, detail::checked_seed("backward", alive, seed, flags));
  sweep.run();
  sweep.commit();
}

template <class T>
std::vector<Variable<T>> grad(const std::vector<Variable<T>>& outputs,
                              detail::same_t<detail::VariableList<T>> inputs,
                              detail::same_t<detail::VariableList<T>> seeds, GradFlags flags) {
  // A hook or a rule may drop the caller's handles.
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization)
  const std::vector<Variable<T>> alive = outputs;
  if (!seeds.items.empty() && seeds.items.size() != outputs.size()) {
    detail::fail<ArgumentError>("grad", "wrong number of seeds", detail::text(seeds.items.size()),
                                detail::text(outputs.size()) + ", one for each output");
  }
  std::vector<detail::Node<T>*> roots;
  roots.reserve(outputs.size());
  for (const auto& output : outputs) roots.push_back(detail::checked_root("grad", output));
  std::vector<detail::Node<T>*> targets;
  targets.reserve(inputs.items.size());
  for (const auto& input : inputs.items) {
    targets.push_back(detail::state("grad", input).node);
    if (targets.back() == nullptr) {
      detail::fail<GraphError>("grad", "input outside the graph",
                               "a variable that does not require grad", "one that does");
    }
  }
  detail::Sweep<T> sweep(flags);
  sweep.aim_at(targets, roots);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Variable<T> seed = seeds.items.empty() ? Variable<T>() : seeds.items[i];
    sweep.add(roots[i], detail::checked_seed("grad", outputs[i], seed, flags));
  }
  sweep.run();
  std::vector<Variable<T>> results;
  results.reserve(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    results.push_back(sweep.result(targets[i]));
    if (!results.back().defined() && !has(flags, GradFlags::allow_unused)) {
      detail::fail<GraphError>("grad", "input " + detail::text(i) + " was not used",
                               "outputs that do not depend on it", "inputs of the outputs' graph",
                               "pass xg::allow_unused to get an undefined gradient instead");
    }
  }
  return detail::finished(std::move(results));
}

#define XGRAD_INSTANTIATE(T)                                                                       \
  template void Variable<T>::backward(GradFlags) const;                                            \
  template void Variable<T>::backward(const Variable<T>&, GradFlags) const;                        \
  template std::vector<Variable<T>> grad(const std::vector<Variable<T>>&, detail::VariableList<T>, \
                                         detail::VariableList<T>, GradFlags);
XGRAD_INSTANTIATE(float)
XGRAD_INSTANTIATE(double)
#undef XGRAD_INSTANTIATE

}  // namespace xg
