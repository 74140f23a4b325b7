// Each mutant of the second set makes its mistake, and no other one.

#include <map>
#include <set>
#include <string>
#include <type_traits>

#include "../support/allclose.hpp"
#include "mutants.hpp"

using mutants::Function;
using mutants::Mutant;
using xg::Mask;
using xg::Variable;

namespace {

template <class T>
struct Case {
  std::vector<Variable<T>> x;  // query, key, value, w_q, w_k, w_v, w_o
  std::int64_t heads;
  Mask mask;
};

enum class Scene {
  plain,
  masked,          // by item, head and query, with a fully masked row
  square_masked,   // the same with Q = K
  item_masks,      // [B,1,1,K] with B = H
  symmetric_mask,  // [Q,K]
  causal,
  last_hidden,  // the last key
  all_hidden,
  huge,         // scores that overflow
  three_heads,  // d = 4
  even,         // H = d
  narrow,       // d = 1
  one_head,
  one_item,
  one_key,
  one_query,
  single,  // B = Q = K = H = 1
  symmetric_weights,
  equal_weights,
  identity_weights,
  self_attention,
  fresh,  // of a shape that no other has
};

template <class T>
Case<T> of_sizes(std::int64_t B, std::int64_t Q, std::int64_t K, std::int64_t D, std::int64_t H) {
  Case<T> out{{}, H, {}};
  const std::vector<xg::Dims> shapes{{B, Q, D}, {B, K, D}, {B, K, D}, {D, D},
                                     {D, D},    {D, D},    {D, D}};
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    out.x.push_back(xg::uniform<T>(shapes[i], -1, 1, i + 1));
  }
  return out;
}

/// Row 1 of each item is fully masked; every other one sees key 0 and some more.
Mask random_mask(const xg::Dims& shape) {
  const auto line = [](std::int64_t n) { return xg::arange<double>(0, static_cast<double>(n)); };
  const Mask seen = xg::uniform<double>(shape, 0, 1, 21) < 0.6;
  const Mask rows = reshape(line(shape[1] * shape[2]), {shape[1], shape[2], 1}) != 1;
  return (seen | (line(shape[3]) < 0.5)) & rows;
}

template <class T>
Case<T> masked(Case<T> c) {
  const auto B = c.x[0].shape()[0], Q = c.x[0].shape()[1], K = c.x[1].shape()[1];
  c.mask = random_mask({B, c.heads, Q, K});
  return c;
}

template <class T>
Case<T> scene(Scene which) {
  Case<T> c = of_sizes<T>(2, 3, 5, 6, 2);
  Case<T> square = of_sizes<T>(2, 4, 4, 6, 2);
  switch (which) {
    case Scene::plain:
      return c;
    case Scene::masked:
      return masked(c);
    case Scene::square_masked:
      return masked(square);
    case Scene::item_masks:
      c.mask = xg::padding_mask({2, 4}, 5);
      return c;
    case Scene::symmetric_mask:
      square.mask = Mask{{true, false, true, false},
                         {false, true, true, true},
                         {true, true, true, false},
                         {false, true, false, true}};
      return square;
    case Scene::causal:
      square.mask = xg::causal_mask(4, 4);
      return square;
    case Scene::last_hidden:
      c.mask = Mask{true, true, true, true, false};
      return c;
    case Scene::all_hidden:
      c.mask = Mask{false};
      return c;
    case Scene::huge:
      c.x[3] = c.x[3] * 3000;
      return c;
    case Scene::three_heads:
      c = of_sizes<T>(2, 3, 4, 12, 3);
      c.mask = random_mask({2, 1, 3, 4});
      return c;
    case Scene::even:
      return masked(of_sizes<T>(2, 3, 5, 4, 2));
    case Scene::narrow:
      return masked(of_sizes<T>(2, 3, 5, 2, 2));
    case Scene::one_head:
      return masked(of_sizes<T>(2, 3, 5, 6, 1));
    case Scene::one_item:
      return masked(of_sizes<T>(1, 3, 5, 6, 2));
    case Scene::one_key:
      return masked(of_sizes<T>(2, 3, 1, 6, 2));
    case Scene::one_query:
      return masked(of_sizes<T>(2, 1, 5, 6, 2));
    case Scene::single:
      return of_sizes<T>(1, 1, 1, 6, 1);
    case Scene::symmetric_weights:
      for (std::size_t i = 3; i < 7; ++i) c.x[i] = c.x[i] + transpose(c.x[i]);
      return masked(c);
    case Scene::equal_weights:
      for (std::size_t i = 4; i < 7; ++i) c.x[i] = c.x[3];
      return masked(c);
    case Scene::identity_weights: {
      const auto line = xg::arange<T>(0, 6);
      const auto unit = where(line == reshape(line, {6, 1}), xg::ones<T>({6, 6}), 0);
      for (std::size_t i = 3; i < 7; ++i) c.x[i] = unit;
      return masked(c);
    }
    case Scene::self_attention:
      square.x[1] = square.x[2] = square.x[0];
      return masked(square);
    case Scene::fresh:
      break;
  }
  return of_sizes<T>(1, 2, 7, 4, 2);
}

template <class T>
Function<T> typed(const Mutant& mutant) {
  if constexpr (std::is_same_v<T, double>) {
    return mutant.in_double;
  } else {
    return mutant.in_float;
  }
}

template <class T>
constexpr test::Tolerance tolerance =
    std::is_same_v<T, double> ? test::Tolerance{1e-10, 1e-10} : test::Tolerance{2e-4, 2e-4};

template <class T>
xg::Attention<T> call(Function<T> f, const Case<T>& c) {
  const auto& x = c.x;
  return f(x[0], x[1], x[2], x[3], x[4], x[5], x[6], c.heads, c.mask);
}

enum class Part { both, output, weights, none };

/// Empty if f is right, else in what it is not.
template <class T>
std::string fault(Function<T> f, Scene which, Part part = Part::both) {
  const Case<T> c = scene<T>(which);
  const auto want = call<T>(xg::multi_head_attention<T>, c);
  try {
    const auto got = call<T>(f, c);
    std::string text;
    if (part != Part::weights) text += test::difference(got.output, want.output, tolerance<T>);
    if (part != Part::output) text += test::difference(got.weights, want.weights, tolerance<T>);
    return text;
  } catch (const std::exception& error) {
    return error.what();
  }
}

template <class T>
bool throws(Function<T> f, const Case<T>& c) {
  try {
    call<T>(f, c);
    return false;
  } catch (const std::exception&) {
    return true;
  }
}

template <class T>
std::vector<std::vector<T>> values(const std::vector<Variable<T>>& x) {
  std::vector<std::vector<T>> out;
  for (const auto& one : x) out.push_back(one.defined() ? one.to_vector() : std::vector<T>());
  return out;
}

/// What does not show in the results of one call on arrays that lie row by row.
template <class T>
std::string misconduct(Function<T> f) {
  for (const auto& [width, heads] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{5, 2}, {6, 0}, {6, -2}}) {
    if (!throws<T>(f, of_sizes<T>(2, 4, 4, width, heads))) return "heads unchecked";
  }
  Case<T> c = of_sizes<T>(2, 4, 4, 6, 2);
  const auto results = [&] {
    const auto got = call<T>(f, c);
    return values<T>({got.output, got.weights});
  };
  const auto before = values(c.x);
  const auto first = results();
  if (values(c.x) != before) return "inputs changed";
  if (results() != first) return "not repeatable";
  for (auto& x : c.x) x = swapaxes(swapaxes(x, -1, -2).clone(), -1, -2);
  const auto strided = results();
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (!test::difference(strided[i], first[i], tolerance<T>).empty()) return "strides ignored";
  }
  return "";
}

struct Forward {
  Scene sees, blind;         // where the mistake shows, and where it cannot
  Part part = Part::both;    // what is right in the blind scene
  const char* conduct = "";  // if the mistake is one, `sees` stands for nothing
};

const std::map<std::string, Forward>& forward_rows() {
  static const std::map<std::string, Forward> rows{
      {"scale-sqrt-model-width", {Scene::plain, Scene::one_head}},
      {"scale-none", {Scene::plain, Scene::narrow}},
      {"scale-by-d", {Scene::plain, Scene::narrow}},
      {"scale-multiplied", {Scene::plain, Scene::narrow}},
      {"scale-fixed-half", {Scene::plain, Scene::three_heads}},
      {"scale-sqrt-heads", {Scene::plain, Scene::even}},
      {"scale-sqrt-keys", {Scene::plain, Scene::one_key}},
      {"scale-twice", {Scene::plain, Scene::narrow}},
      {"scale-after-softmax", {Scene::plain, Scene::narrow}},
      {"softmax-over-queries", {Scene::plain, Scene::single}},
      {"softmax-over-heads", {Scene::plain, Scene::single}},
      {"softmax-over-batch", {Scene::plain, Scene::single}},
      {"softmax-twice", {Scene::plain, Scene::one_key}},
      {"softmax-missing", {Scene::plain, Scene::all_hidden}},
      {"softmax-sigmoid", {Scene::plain, Scene::all_hidden}},
      {"softmax-no-max", {Scene::huge, Scene::masked}},
      {"softmax-epsilon", {Scene::plain, Scene::all_hidden}},
      {"softmax-base-two", {Scene::plain, Scene::one_key}},
      {"mask-inverted", {Scene::masked, Scene::plain}},
      {"mask-added-as-number", {Scene::masked, Scene::plain}},
      {"mask-after-softmax", {Scene::masked, Scene::plain}},
      {"mask-multiplied-scores", {Scene::masked, Scene::plain}},
      {"mask-fill-finite", {Scene::masked, Scene::causal}},
      {"mask-fill-inf", {Scene::masked, Scene::causal}},
      {"mask-fill-weak", {Scene::masked, Scene::plain}},
      {"mask-transposed", {Scene::square_masked, Scene::symmetric_mask}},
      {"mask-first-item-only", {Scene::masked, Scene::one_item}},
      {"mask-first-head-only", {Scene::masked, Scene::item_masks}},
      {"mask-first-query-only", {Scene::masked, Scene::item_masks}},
      {"mask-ignored", {Scene::masked, Scene::plain}},
      {"mask-ignored-in-weights", {Scene::masked, Scene::masked, Part::output}},
      {"mask-items-read-as-heads", {Scene::item_masks, Scene::masked}},
      {"mask-always-causal", {Scene::plain, Scene::causal}},
      {"mask-heads-merged", {Scene::masked, Scene::item_masks}},
      {"split-by-reshape", {Scene::plain, Scene::one_head}},
      {"merge-by-reshape", {Scene::plain, Scene::one_query}},
      {"split-and-merge-by-reshape", {Scene::plain, Scene::one_head}},
      {"heads-interleaved", {Scene::plain, Scene::one_head}},
      {"heads-interleaved-split", {Scene::plain, Scene::one_head}},
      {"heads-reversed", {Scene::plain, Scene::one_head}},
      {"heads-merged-reversed", {Scene::plain, Scene::masked, Part::weights}},
      {"heads-first-weights", {Scene::plain, Scene::one_head}},
      {"heads-first-output", {Scene::plain, Scene::masked, Part::weights}},
      {"heads-summed", {Scene::plain, Scene::masked, Part::weights}},
      {"heads-as-one", {Scene::plain, Scene::one_head}},
      {"heads-hard-coded", {Scene::three_heads, Scene::masked}},
      {"heads-width-swapped", {Scene::three_heads, Scene::even}},
      {"transposed-w-q", {Scene::plain, Scene::symmetric_weights}},
      {"transposed-w-k", {Scene::plain, Scene::symmetric_weights}},
      {"transposed-w-v", {Scene::plain, Scene::symmetric_weights}},
      {"transposed-w-o", {Scene::plain, Scene::symmetric_weights}},
      {"transposed-all", {Scene::plain, Scene::symmetric_weights}},
      {"w-q-for-keys", {Scene::plain, Scene::equal_weights}},
      {"w-k-for-queries", {Scene::plain, Scene::equal_weights}},
      {"w-k-for-values", {Scene::plain, Scene::equal_weights}},
      {"w-v-for-keys", {Scene::plain, Scene::equal_weights}},
      {"w-q-for-values", {Scene::plain, Scene::equal_weights}},
      {"w-q-w-k-swapped", {Scene::plain, Scene::equal_weights}},
      {"w-k-w-v-swapped", {Scene::plain, Scene::equal_weights}},
      {"w-v-w-o-swapped", {Scene::plain, Scene::equal_weights}},
      {"w-v-for-output", {Scene::plain, Scene::equal_weights}},
      {"no-w-q", {Scene::plain, Scene::identity_weights}},
      {"no-w-k", {Scene::plain, Scene::identity_weights}},
      {"no-w-v", {Scene::plain, Scene::identity_weights}},
      {"no-w-o", {Scene::plain, Scene::identity_weights}},
      {"w-o-per-head", {Scene::plain, Scene::identity_weights}},
      {"w-o-twice", {Scene::plain, Scene::identity_weights}},
      {"key-value-swapped", {Scene::plain, Scene::self_attention}},
      {"query-as-key", {Scene::square_masked, Scene::self_attention}},
      {"key-as-value", {Scene::plain, Scene::self_attention}},
      {"value-as-key", {Scene::plain, Scene::self_attention}},
      {"query-key-swapped", {Scene::square_masked, Scene::self_attention}},
      {"key-as-query", {Scene::square_masked, Scene::self_attention}},
      {"values-not-weighted", {Scene::plain, Scene::masked, Part::weights}},
      {"keys-cut-to-queries", {Scene::plain, Scene::square_masked}},
      {"keys-counted-as-queries", {Scene::plain, Scene::square_masked}},
      {"keys-last-dropped", {Scene::plain, Scene::last_hidden}},
      {"batch-first-only", {Scene::plain, Scene::one_item}},
      {"batch-mixed", {Scene::plain, Scene::one_item}},
      {"weights-averaged", {Scene::plain, Scene::masked, Part::output}},
      {"weights-transposed", {Scene::plain, Scene::masked, Part::output}},
      {"weights-queries-first", {Scene::plain, Scene::masked, Part::output}},
      {"weights-are-scores", {Scene::plain, Scene::masked, Part::output}},
      {"weights-are-log", {Scene::plain, Scene::masked, Part::output}},
      {"results-swapped", {Scene::plain, Scene::plain, Part::none}},
      {"output-not-merged", {Scene::plain, Scene::masked, Part::weights}},
      {"residual-added", {Scene::plain, Scene::masked, Part::weights}},
      {"layer-norm-added", {Scene::plain, Scene::masked, Part::weights}},
      {"dropout-added", {Scene::plain, Scene::all_hidden}},
      {"output-activation", {Scene::plain, Scene::masked, Part::weights}},
      {"computed-in-float", {Scene::plain, Scene::all_hidden}},
      {"inputs-changed", {Scene::plain, Scene::masked, Part::both, "inputs changed"}},
      {"strides-ignored", {Scene::plain, Scene::masked, Part::both, "strides ignored"}},
      {"heads-unchecked", {Scene::plain, Scene::masked, Part::both, "heads unchecked"}},
      {"undefined-result", {Scene::plain, Scene::masked, Part::output}},
      {"not-repeatable", {Scene::plain, Scene::fresh, Part::both, "not repeatable"}},
  };
  return rows;
}

struct Gradient {
  Scene sees;
  const char* wrong;  // of query, key, value, w_q, w_k, w_v, w_o there
  Scene blind;
};

const std::map<std::string, Gradient>& gradient_rows() {
  constexpr const char* kScores = "qk.qk..";
  static const std::map<std::string, Gradient> rows{
      {"grad-missing-query", {Scene::plain, "q......", Scene::all_hidden}},
      {"grad-missing-key", {Scene::plain, ".k.....", Scene::one_key}},
      {"grad-missing-value", {Scene::plain, "..v....", Scene::all_hidden}},
      {"grad-missing-w-q", {Scene::plain, "...q...", Scene::one_key}},
      {"grad-missing-w-k", {Scene::plain, "....k..", Scene::one_key}},
      {"grad-missing-w-v", {Scene::plain, ".....v.", Scene::all_hidden}},
      {"grad-missing-w-o", {Scene::plain, "......o", Scene::all_hidden}},
      {"grad-weights-detached", {Scene::plain, kScores, Scene::one_key}},
      {"grad-softmax-no-row-sum", {Scene::plain, kScores, Scene::all_hidden}},
      {"grad-softmax-wrong-axis", {Scene::plain, kScores, Scene::single}},
      {"grad-softmax-diagonal", {Scene::plain, kScores, Scene::all_hidden}},
      {"grad-scale-missing", {Scene::plain, kScores, Scene::narrow}},
      {"grad-scale-twice", {Scene::plain, kScores, Scene::narrow}},
      {"grad-w-averaged", {Scene::plain, "...qkvo", Scene::one_item}},
      {"grad-w-last-item", {Scene::plain, "...qkvo", Scene::one_item}},
      {"grad-w-transposed", {Scene::plain, "......o", Scene::all_hidden}},
      {"grad-input-w-not-transposed", {Scene::plain, "qkv....", Scene::symmetric_weights}},
      {"grad-reaches-masked", {Scene::masked, kScores, Scene::plain}},
      {"grad-fully-masked-nan", {Scene::masked, kScores, Scene::causal}},
      {"grad-fully-masked-uniform", {Scene::masked, kScores, Scene::causal}},
      {"grad-weights-cotangent-ignored", {Scene::plain, kScores, Scene::one_key}},
      {"grad-output-cotangent-ones", {Scene::plain, "qkvqkvo", Scene::all_hidden}},
      {"grad-overwritten", {Scene::self_attention, "qkv....", Scene::square_masked}},
      {"grad-negated", {Scene::plain, kScores, Scene::one_key}},
      {"grad-doubled", {Scene::plain, "qkvqkvo", Scene::all_hidden}},
      {"grad-value-not-transposed", {Scene::square_masked, "..v..v.", Scene::masked}},
      {"grad-first-head-only", {Scene::plain, "qkvqkv.", Scene::one_head}},
      {"grad-query-from-query", {Scene::square_masked, ".k..k..", Scene::masked}},
      {"grad-clipped", {Scene::plain, "qkvqkvo", Scene::all_hidden}},
      {"grad-in-float", {Scene::plain, "qkvqkvo", Scene::all_hidden}},
      {"grad-heads-averaged", {Scene::plain, "qkv....", Scene::one_head}},
  };
  return rows;
}

/// Gradients of a generic loss of output and weights; undefined where there is none.
template <class T>
std::vector<Variable<T>> gradients(Function<T> f, Scene which) {
  Case<T> c = scene<T>(which);
  std::vector<Variable<T>> leaves;
  for (std::size_t i = 0; i < c.x.size(); ++i) {
    const bool shared = which == Scene::self_attention && (i == 1 || i == 2);
    leaves.push_back(shared ? leaves[0] : c.x[i].clone().set_requires_grad());
  }
  c.x = leaves;
  const auto got = call<T>(f, c);
  Variable<T> loss = sum(got.output * xg::uniform<T>(got.output.shape(), -1, 1, 31)) +
                     sum(got.weights * xg::uniform<T>(got.weights.shape(), -1, 1, 32));
  return xg::grad({loss}, leaves, {}, xg::allow_unused);
}

/// Which gradients differ from the right ones, as in `Gradient::wrong`.
template <class T>
std::string wrong_gradients(Function<T> f, Scene which) {
  const auto got = gradients<T>(f, which);
  const auto want = gradients<T>(xg::multi_head_attention<T>, which);
  std::string out = "qkvqkvo";
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Variable<T> one = got[i].defined() ? got[i] : want[i] * 0;
    if (test::difference(one, want[i], tolerance<T>).empty()) out[i] = '.';
  }
  return out;
}

std::set<std::string> ids(const std::vector<Mutant>& all) {
  std::set<std::string> out;
  for (const Mutant& one : all) out.insert(one.id);
  return out;
}

template <class Row>
std::set<std::string> ids(const std::map<std::string, Row>& rows) {
  std::set<std::string> out;
  for (const auto& row : rows) out.insert(row.first);
  return out;
}

}  // namespace

TEST_CASE("every id has one mutant in the second set") {
  CHECK(mutants::second_forward().size() == 96);
  CHECK(ids(mutants::second_forward()) == ids(forward_rows()));
  CHECK(mutants::second_gradient().size() == 31);
  CHECK(ids(mutants::second_gradient()) == ids(gradient_rows()));
}

TEST_CASE_TEMPLATE("a forward mutant is wrong where its mistake shows and right elsewhere", T,
                   float, double) {
  const std::set<std::string> below_rounding_in_float{"computed-in-float", "softmax-epsilon"};
  for (const Mutant& mutant : mutants::second_forward()) {
    CAPTURE(std::string(mutant.id));
    const Forward row = forward_rows().at(mutant.id);
    const Function<T> f = typed<T>(mutant);
    if (row.part != Part::none) CHECK(fault<T>(f, row.blind, row.part) == "");
    CHECK(misconduct<T>(f) == row.conduct);
    if (*row.conduct != '\0') continue;
    if (std::is_same_v<T, float> && below_rounding_in_float.count(mutant.id) != 0) continue;
    CHECK(fault<T>(f, row.sees) != "");
  }
}

TEST_CASE_TEMPLATE("a gradient mutant has right values and these wrong gradients", T, float,
                   double) {
  for (const Mutant& mutant : mutants::second_gradient()) {
    CAPTURE(std::string(mutant.id));
    const Gradient row = gradient_rows().at(mutant.id);
    const Function<T> f = typed<T>(mutant);
    for (Scene which : {Scene::plain, Scene::masked, Scene::square_masked, Scene::item_masks,
                        Scene::huge, Scene::three_heads, Scene::self_attention}) {
      CHECK(fault<T>(f, which) == "");
    }
    CHECK(misconduct<T>(f) == "");
    CHECK(wrong_gradients<T>(f, row.blind) == ".......");
    if (std::is_same_v<T, float> && std::string(mutant.id) == "grad-in-float") continue;
    CHECK(wrong_gradients<T>(f, row.sees) == row.wrong);
  }
}

TEST_CASE_TEMPLATE("with nothing visible a mutant gives zeros, unless that is its mistake", T,
                   float, double) {
  const std::set<std::string> output_not{
      "mask-inverted",  "mask-added-as-number", "mask-multiplied-scores", "mask-fill-finite",
      "mask-fill-inf",  "mask-fill-weak",       "mask-ignored",           "values-not-weighted",
      "residual-added", "not-repeatable"};
  std::set<std::string> weights_not{"mask-ignored-in-weights", "weights-are-scores",
                                    "weights-are-log", "undefined-result"};
  weights_not.insert(output_not.begin(), output_not.end());
  weights_not.erase("values-not-weighted");
  weights_not.erase("residual-added");
  weights_not.erase("not-repeatable");  // cut to the keys of this call
  const auto zero = [](const Variable<T>& x) {
    return x.defined() && test::difference(x, x * 0, test::exactly).empty();
  };
  for (const Mutant& mutant : mutants::second_forward()) {
    CAPTURE(std::string(mutant.id));
    Case<T> c = of_sizes<T>(2, 4, 4, 6, 2);
    c.mask = Mask{false};
    call<T>(typed<T>(mutant), c);
    const auto got = call<T>(typed<T>(mutant), c);
    CHECK(zero(got.output) == (output_not.count(mutant.id) == 0));
    CHECK(zero(got.weights) == (weights_not.count(mutant.id) == 0));
  }
}

TEST_CASE("a forward mutant's gradients are those of its values, wrong as these are") {
  const std::set<std::string> not_smooth{"computed-in-float", "not-repeatable", "undefined-result"};
  for (const Mutant& mutant : mutants::second_forward()) {
    if (not_smooth.count(mutant.id) != 0) continue;
    CAPTURE(std::string(mutant.id));
    Case<double> c = of_sizes<double>(2, 4, 4, 6, 2);
    const auto loss = [&](const std::vector<Variable<double>>& x) {
      const auto got = call<double>(mutant.in_double, {x, c.heads, c.mask});
      return sum(got.output * xg::uniform<double>(got.output.shape(), -1, 1, 31)) +
             sum(got.weights * xg::uniform<double>(got.weights.shape(), -1, 1, 32));
    };
    for (const Mask& mask : {Mask(), xg::causal_mask(4, 4)}) {
      if (mask.defined() && std::string(mutant.id) == "weights-are-log") continue;  // -inf
      c.mask = mask;
      // Along one direction in all inputs at once, by central differences.
      const double h = 1e-5;
      std::vector<Variable<double>> x, right, left;
      for (const auto& one : c.x) {
        const auto u = xg::uniform<double>(one.shape(), -1, 1, 41);
        x.push_back(one.clone().set_requires_grad());
        right.push_back(one + u * h);
        left.push_back(one - u * h);
      }
      const auto gradients = xg::grad({loss(x)}, x, {}, xg::allow_unused);
      double slope = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!gradients[i].defined()) continue;
        slope += sum(gradients[i] * xg::uniform<double>(x[i].shape(), -1, 1, 41)).item();
      }
      const double want = (loss(right).item() - loss(left).item()) / (2 * h);
      CHECK_CLOSE(std::vector<double>{slope}, {want}, test::Tolerance{1e-6, 1e-6});
    }
  }
}
