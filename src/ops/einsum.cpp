#include <xgrad/ops/einsum.hpp>

#include <algorithm>
#include <map>

#include <xgrad/autograd/primitive.hpp>
#include <xgrad/ops/arithmetic.hpp>
#include <xgrad/ops/loops.hpp>
#include <xgrad/ops/matmul.hpp>
#include <xgrad/ops/reduce.hpp>
#include <xgrad/ops/views.hpp>

namespace xg {
namespace detail {
namespace {

/// x with axis j merged into axis i < j of the same extent, along their diagonal: a view.
template <class T>
Array<T> diagonal_view(Array<T> x, std::size_t i, std::size_t j) {
  Extents shape = x.shape();
  Extents strides = x.strides();
  strides[i] += strides[j];
  shape.erase(j);
  strides.erase(j);
  return Array<T>(x, x.data(), std::move(shape), std::move(strides));
}

template <class T>
class Diagonal;

/// Zeros of `shape` with x on the diagonal: the gradient of Diagonal.
template <class T>
class Undiagonal final : public Primitive<T> {
 public:
  using value_type = T;
  Undiagonal(std::size_t i, std::size_t j, Extents shape)
      : i_(i), j_(j), shape_(std::move(shape)) {}
  const char* name() const noexcept override { return "undiagonal"; }
  Needs needs() const noexcept override { return Needs::nothing(); }

  Array<T> forward(const Inputs<T>& in) const override {
    Array<T> out{Extents(shape_)};
    std::fill_n(out.data(), out.size(), T(0));
    Array<T> place = diagonal_view(out, i_, j_);
    map(
        place, [](T x) { return x; }, in[0]);
    return out;
  }
  void backward(Pullback<T>& p) const override {
    p.give(0, record(make<Diagonal<T>>(i_, j_), p.take_grad()));
  }

 private:
  std::size_t i_;
  std::size_t j_;
  Extents shape_;
};

template <class T>
class Diagonal final : public Primitive<T> {
 public:
  using value_type = T;
  Diagonal(std::size_t i, std::size_t j) : i_(i), j_(j) {}
  const char* name() const noexcept override { return "diagonal"; }
  Needs needs() const noexcept override { return Needs::nothing(); }
  Array<T> forward(const Inputs<T>& in) const override { return diagonal_view(in[0], i_, j_); }
  void backward(Pullback<T>& p) const override {
    p.give(0, record(make<Undiagonal<T>>(i_, j_, p.shape(0)), p.take_grad()));
  }

 private:
  std::size_t i_;
  std::size_t j_;
};

constexpr const char* kOp = "einsum";

/// Names of axes: letters, and for those under an ellipsis kUnnamed plus the place from the right.
using Labels = std::vector<int>;
constexpr int kEllipsis = 0;  // until the operand's rank says how many axes it stands for
constexpr int kUnnamed = 256;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::string label_text(int label) {
  if (label >= kUnnamed) return "axis " + text(kUnnamed - label - 1) + " of '...'";
  return std::string("'") + static_cast<char>(label) + "'";
}

struct Equation {
  std::string source;
  std::vector<Labels> inputs{1};
  Labels output;
  bool has_output = false;

  explicit Equation(const std::string& equation) : source(equation) {
    for (std::size_t i = 0; i < source.size(); ++i) {
      const char c = source[i];
      Labels& term = has_output ? output : inputs.back();
      if (c == ' ') continue;
      if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        if (has_output) check_output(c, i);
        term.push_back(c);
      } else if (source.compare(i, 3, "...") == 0) {
        if (contains(term, kEllipsis)) wrong("second ellipsis in a term", i, 3, "at most one");
        term.push_back(kEllipsis);
        i += 2;
      } else if (source.compare(i, 2, "->") == 0 && !has_output) {
        has_output = true;
        ++i;
      } else if (c == ',' && !has_output) {
        inputs.emplace_back();
      } else {
        wrong("unexpected character", i, 1,
              has_output ? "letters and '...' after '->'" : "letters, '...', ',' and one '->'");
      }
    }
  }

  /// With every ellipsis spelled out, and the output filled in if it was implied.
  void expand(const std::vector<std::size_t>& ranks) {
    if (inputs.size() != ranks.size()) {
      fail<ArgumentError>(kOp, "wrong number of operands", text(ranks.size()),
                          text(inputs.size()) + ", one for each term of \"" + source + "\"");
    }
    std::size_t most = 0;
    bool any_ellipsis = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const bool ellipsis = contains(inputs[i], kEllipsis);
      const std::size_t letters = inputs[i].size() - (ellipsis ? 1 : 0);
      if (ellipsis ? ranks[i] < letters : ranks[i] != letters) {
        fail<ShapeError>(kOp, "wrong number of axes of operand " + text(i), text(ranks[i]),
                         (ellipsis ? "at least " : "") + text(letters) + " by \"" + source + "\"");
      }
      if (!ellipsis) continue;
      any_ellipsis = true;
      most = std::max(most, ranks[i] - letters);
      spell_out(inputs[i], ranks[i] - letters);
    }
    if (!has_output) {
      if (any_ellipsis) output.push_back(kEllipsis);
      std::map<int, int> count;
      for (const Labels& term : inputs) {
        for (int label : term) ++count[label];
      }
      for (const auto& [label, times] : count) {
        if (label < kUnnamed && times == 1) output.push_back(label);
      }
    }
    if (most > 0 && !contains(output, kEllipsis)) {
      fail<ArgumentError>(kOp, "output without ellipsis", "\"" + source + "\"",
                          "'...' in the output, since the operands have axes under one",
                          "sum() drops them");
    }
    spell_out(output, most);
  }

 private:
  [[noreturn]] void wrong(const char* what, std::size_t position, std::size_t length,
                          const std::string& expected) const {
    // To the end of a character of several bytes.
    while (position + length < source.size() && (source[position + length] & 0xC0) == 0x80)
      ++length;
    fail<ArgumentError>(kOp, what,
                        "'" + source.substr(position, length) + "' at position " + text(position) +
                            " of \"" + source + "\"",
                        expected);
  }
  void check_output(char letter, std::size_t position) const {
    if (contains(output, letter)) {
      wrong("repeated letter in the output", position, 1, "letters that are all different");
    }
    const bool known = std::any_of(inputs.begin(), inputs.end(),
                                   [letter](const Labels& term) { return contains(term, letter); });
    if (!known) wrong("unknown letter in the output", position, 1, "letters that an operand has");
  }
  static void spell_out(Labels& term, std::size_t axes) {
    const auto at = std::find(term.begin(), term.end(), kEllipsis);
    if (at == term.end()) return;
    Labels unnamed;
    for (std::size_t i = axes; i-- > 0;) unnamed.push_back(kUnnamed + static_cast<int>(i));
    term.insert(term.erase(at), unnamed.begin(), unnamed.end());
  }
};

/// An array whose axes have names, all different.
template <class T>
struct Named {
  Variable<T> x;
  Labels labels;

  std::size_t axis(int label) const {
    return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) -
                                    labels.begin());
  }
  std::int64_t extent(int label) const { return extents(kOp, x)[axis(label)]; }
  std::int64_t stride(int label) const { return array(kOp, x).stride(axis(label)); }

  /// A repeated letter becomes a diagonal.
  void take_diagonals() {
    for (std::size_t j = 1; j < labels.size(); ++j) {
      const std::size_t i = axis(labels[j]);
      if (i == j) continue;
      x = record(make<Diagonal<T>>(i, j), std::move(x));
      labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(j));
      --j;
    }
  }
  /// Sums over the axes for which `goes` is true.
  template <class F>
  void sum_where(F goes) {
    Extents axes;
    Labels left;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (goes(labels[i])) {
        axes.push_back(static_cast<std::int64_t>(i));
      } else {
        left.push_back(labels[i]);
      }
    }
    if (axes.empty()) return;
    x = sum(std::move(x), Axes(axes));
    labels = std::move(left);
  }
  /// The axes in another order.
  void arrange(const Labels& order) {
    Extents axes;
    for (int label : order) axes.push_back(static_cast<std::int64_t>(axis(label)));
    x = transpose(std::move(x), Axes(axes));
    labels = order;
  }
  /// Drops an axis of extent 1 that broadcasts against another operand's.
  void drop(int label) {
    x = squeeze(std::move(x), axis(label));
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(axis(label)));
  }
  /// Do these axes, in this order, step through memory as one axis?
  bool steps_evenly(const Labels& axes) const {
    const Array<T>& values = array(kOp, x);
    if (values.size() == 0) return true;
    int inner = 0;
    for (std::size_t i = axes.size(); i-- > 0;) {
      if (extent(axes[i]) == 1) continue;
      if (inner != 0 && stride(axes[i]) != stride(inner) * extent(inner)) return false;
      inner = axes[i];
    }
    return true;
  }
};

/// The labels of `list` for which `keep` is true.
template <class F>
Labels filter(const Labels& list, F keep) {
  Labels out;
  std::copy_if(list.begin(), list.end(), std::back_inserter(out), keep);
  return out;
}

/// One side of a matrix: several axes as one where memory allows, else the last of them, with the
/// others in `looped`, as batch axes.
struct Side {
  Labels merged;
  Labels looped;
};

template <class T, class... Others>
Side matrix_side(Labels axes, const Named<T>& a, const Others&... others) {
  // As they lie in memory: so they most likely merge.
  std::sort(axes.begin(), axes.end(), [&](int i, int j) {
    const auto x = std::abs(a.stride(i));
    const auto y = std::abs(a.stride(j));
    return x != y ? x > y : i < j;
  });
  if (axes.empty() || (a.steps_evenly(axes) && (others.steps_evenly(axes) && ...))) {
    return {axes, {}};
  }
  return {{axes.back()}, Labels(axes.begin(), axes.end() - 1)};
}

template <class T>
std::int64_t extent_of(const Named<T>& a, const Labels& axes) {
  std::int64_t extent = 1;
  for (int label : axes) extent *= a.extent(label);
  return extent;
}

/// [batch..., rows, cols], as a view; batch axes that `a` lacks have extent 1.
template <class T>
Variable<T> as_matrices(Named<T> a, const Labels& batch, const Labels& rows, const Labels& cols) {
  Labels order = filter(batch, [&](int label) { return contains(a.labels, label); });
  Extents shape;
  for (int label : batch) shape.push_back(contains(a.labels, label) ? a.extent(label) : 1);
  shape.push_back(extent_of(a, rows));
  shape.push_back(extent_of(a, cols));
  order.insert(order.end(), rows.begin(), rows.end());
  order.insert(order.end(), cols.begin(), cols.end());
  if (order != a.labels) a.arrange(order);
  return shape == extents(kOp, a.x) ? a.x : reshape(std::move(a.x), Dims(shape));
}

/// How to lay out a product with axes [batch..., rows, cols] so that `wanted` is its row-major
/// order; empty if that cannot be.
Extents layout_for(const Labels& wanted, const Labels& batch, const Labels& rows,
                   const Labels& cols) {
  std::vector<Labels> axes;
  for (int label : batch) axes.push_back({label});
  axes.push_back(rows);
  axes.push_back(cols);
  Extents order;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].empty()) order.push_back(static_cast<std::int64_t>(i));
  }
  for (auto at = wanted.begin(); at != wanted.end();) {
    const auto next = std::find_if(axes.begin(), axes.end(), [&](const Labels& axis) {
      return !axis.empty() && axis.front() == *at;
    });
    if (next == axes.end()) return {};
    for (int label : *next) {
      if (at == wanted.end() || *at++ != label) return {};
    }
    order.push_back(next - axes.begin());
  }
  // The product writes along rows or columns.
  if (order.back() + 2 < static_cast<std::int64_t>(axes.size())) return {};
  return order;
}

/// Sum over `summed` of a b.
template <class T>
Named<T> product(Named<T> a, Named<T> b, const Labels& summed, const Labels& keep) {
  const Labels shared = filter(
      keep, [&](int label) { return contains(a.labels, label) && contains(b.labels, label); });
  const auto only = [&](const Named<T>& x, const Named<T>& other) {
    return filter(keep, [&](int label) {
      return contains(x.labels, label) && !contains(other.labels, label);
    });
  };
  const Side rows = matrix_side(only(a, b), a);
  const Side cols = matrix_side(only(b, a), b);
  const Side inner = matrix_side(summed, a, b);

  Labels batch = shared;
  batch.insert(batch.end(), rows.looped.begin(), rows.looped.end());
  batch.insert(batch.end(), cols.looped.begin(), cols.looped.end());
  Named<T> out;
  out.labels = batch;
  out.labels.insert(out.labels.end(), rows.merged.begin(), rows.merged.end());
  out.labels.insert(out.labels.end(), cols.merged.begin(), cols.merged.end());
  Extents shape;
  for (int label : batch) shape.push_back((contains(a.labels, label) ? a : b).extent(label));
  Extents split = shape;
  for (int label : rows.merged) split.push_back(a.extent(label));
  for (int label : cols.merged) split.push_back(b.extent(label));
  for (std::size_t i = 0; i < inner.looped.size(); ++i) shape.push_back(1);
  shape.push_back(extent_of(a, rows.merged));
  shape.push_back(extent_of(b, cols.merged));

  Extents order;
  if (inner.looped.empty()) {
    const Labels wanted = filter(keep, [&](int label) { return contains(out.labels, label); });
    order = layout_for(wanted, batch, rows.merged, cols.merged);
  }
  batch.insert(batch.end(), inner.looped.begin(), inner.looped.end());
  out.x = summed_matmul(as_matrices(std::move(a), batch, rows.merged, inner.merged),
                        as_matrices(std::move(b), batch, inner.merged, cols.merged), shape, order);
  if (shape != split) out.x = reshape(std::move(out.x), Dims(split));
  return out;
}

/// a b elementwise, with the axes in the order of `keep`.
template <class T>
Named<T> broadcast_product(Named<T> a, Named<T> b, const Labels& keep) {
  const Labels labels = filter(
      keep, [&](int label) { return contains(a.labels, label) || contains(b.labels, label); });
  const auto aligned = [&](Named<T> x) {
    Extents shape;
    for (int label : labels) shape.push_back(contains(x.labels, label) ? x.extent(label) : 1);
    const Labels order = filter(labels, [&](int label) { return contains(x.labels, label); });
    if (order != x.labels) x.arrange(order);
    return shape == extents(kOp, x.x) ? x.x : reshape(std::move(x.x), Dims(shape));
  };
  return {aligned(std::move(a)) * aligned(std::move(b)), labels};
}

/// a b, summed over the axes that `keep` lacks.
template <class T>
Named<T> contract(Named<T> a, Named<T> b, const Labels& keep) {
  for (int label : Labels(a.labels)) {
    if (!contains(b.labels, label) || a.extent(label) == b.extent(label)) continue;
    (a.extent(label) == 1 ? a : b).drop(label);
  }
  const auto unused = [&](const Named<T>& other) {
    return [&](int label) { return !contains(keep, label) && !contains(other.labels, label); };
  };
  a.sum_where(unused(b));
  b.sum_where(unused(a));
  const Labels summed = filter(a.labels, [&](int label) { return !contains(keep, label); });
  if (summed.empty()) return broadcast_product(std::move(a), std::move(b), keep);
  return product(std::move(a), std::move(b), summed, keep);
}

/// Throws ShapeError unless the axes of one letter fit each other.
void check_extents(const Equation& equation, const std::vector<Extents>& shapes) {
  std::map<int, std::int64_t> known;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::map<int, std::int64_t> own;
    for (std::size_t k = 0; k < shapes[i].size(); ++k) {
      const int label = equation.inputs[i][k];
      const std::int64_t extent = shapes[i][k];
      const std::int64_t before = own.emplace(label, extent).first->second;
      std::int64_t& all = known.emplace(label, extent).first->second;
      if (all == 1) all = extent;
      if (extent != before || (extent != 1 && extent != all)) {
        fail<ShapeError>(kOp, "extents of " + label_text(label) + " do not fit",
                         text(extent) + " on axis " + text(k) + " of operand " + text(i) +
                             ", shape " + text(shapes[i]),
                         text(extent != before ? before : all) + " by \"" + equation.source + "\"");
      }
    }
  }
  Extents shape;
  for (int label : equation.output) shape.push_back(known.at(label));
  (void)checked_size(kOp, shape);
}

}  // namespace
}  // namespace detail

template <class T>
Variable<T> einsum(const std::string& source, std::vector<Variable<T>> operands) {
  using detail::Labels;
  using detail::Named;
  detail::Equation equation(source);
  std::vector<Extents> shapes;
  std::vector<std::size_t> ranks;
  for (const Variable<T>& operand : operands) {
    shapes.push_back(detail::array(detail::kOp, operand).shape());
    ranks.push_back(shapes.back().size());
  }
  equation.expand(ranks);
  detail::check_extents(equation, shapes);

  std::vector<Named<T>> named;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    named.push_back({std::move(operands[i]), equation.inputs[i]});
    named.back().take_diagonals();
  }
  Named<T> out = std::move(named[0]);
  for (std::size_t i = 1; i < named.size(); ++i) {
    Labels keep = equation.output;
    for (std::size_t later = i + 1; later < named.size(); ++later) {
      for (int label : named[later].labels) {
        if (!detail::contains(keep, label)) keep.push_back(label);
      }
    }
    out = detail::contract(std::move(out), std::move(named[i]), keep);
  }
  out.sum_where([&](int label) { return !detail::contains(equation.output, label); });
  // Always for one operand: a result is never the operand's own handle.
  if (named.size() == 1 || out.labels != equation.output) out.arrange(equation.output);
  return out.x;
}

template Variable<float> einsum(const std::string&, std::vector<Variable<float>>);
template Variable<double> einsum(const std::string&, std::vector<Variable<double>>);

}  // namespace xg
