#ifndef XGRAD_GRADING_ORACLE_HPP
#define XGRAD_GRADING_ORACLE_HPP

// Private: multi-head attention and its gradients in plain loops over std::vector<double>, with a
// choice at each step. The default choices are right; each mistake is a changed choice or two, and
// two mistakes together are both changes. Uses none of xgrad's operations.

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <xgrad/autograd/lists.hpp>

namespace xg::grading {

struct Values {
  Shape shape;
  std::vector<double> data;  // row-major
};

struct Sizes {
  std::size_t B, Q, K, D, H;
};

/// query, key, value, w_q, w_k, w_v, w_o.
constexpr std::size_t kInputs = 7;
constexpr std::array<const char*, kInputs> kInputNames = {"query", "key", "value", "w_q",
                                                          "w_k",   "w_v", "w_o"};

/// The arguments of one call, and the cotangents of its results.
struct Case {
  std::string name;
  Sizes n{};
  std::array<std::vector<double>, kInputs> inputs;
  Shape mask_shape;  // empty: no mask
  std::vector<bool> mask;
  bool self = false;                      // one variable is query, key and value
  std::vector<double> output_cotangent;   // [B,Q,D]; empty: the case is about values only
  std::vector<double> weights_cotangent;  // [B,H,Q,K]

  bool masked() const { return !mask.empty(); }
  Shape shape(std::size_t input) const;
  /// mask[b,h,q,k], broadcast; true without a mask.
  bool visible(std::size_t b, std::size_t h, std::size_t q, std::size_t k) const;
};

enum class Axis { keys, queries, heads, batch };
enum class Normalise { softmax, nothing, sigmoid };
enum class Hide {
  exactly,  // weight 0
  nowhere,
  in_output,  // the returned weights know no mask
  inverted,
  add_number,  // 0 or 1 added to the score
  multiply,    // score times 0 or 1
  afterwards,  // weights times 0 or 1
  fill,        // score replaced by `fill`
  fill_added   // `fill` added to the score
};
enum class MaskPart {
  all,
  transposed,
  first_item,
  first_head,
  first_query,
  items_as_heads,
  heads_as_items,
  items_and_heads_swapped,
  heads_merged
};
enum class Causal { no, upper_left, lower_right };
enum class Features { slices, reshape, interleaved, reversed };
enum class Heads {
  each,
  first_weights,  // in both results
  first_weights_in_output,
  first_weights_returned,
  first_output,
  summed,
  averaged
};
enum class HeadCount { given, one, two, swapped };
/// The blocks are d x d: which rows and columns of w_o a head meets.
enum class OutputMatrix {
  full,
  none,
  twice,
  diagonal_blocks,
  first_block,
  first_columns,
  first_rows
};
enum class Residual { no, query, projected_query, query_before_projection };
enum class Keys { all, as_many_as_queries, without_last };
enum class Mixed { no, position_major, item_major };
enum class Returned {
  weights,
  averaged,           // [B,Q,K]
  averaged_kept,      // [B,1,Q,K]
  averaged_repeated,  // [B,H,Q,K]
  transposed,
  queries_first,
  scores,
  raw_scores,
  logarithm
};
enum class After { nothing, relu, leaky_relu, gelu, gelu_tanh, silu, tanh, sigmoid };

/// What the softmax rule's sum, which is subtracted, runs over.
enum class RowSum { keys, none, queries, heads, batch, everything, itself };
enum class Parameter { sum, averaged, averaged_rows, last_item, first_item, first_head };

struct Choices {
  std::array<int, 3> source = {0, 1, 2};     // what q, k and v are made of
  std::array<int, 4> matrix = {0, 1, 2, 3};  // whose w; -1: none
  std::array<bool, 4> transposed = {};
  std::array<Mixed, 4> mixed = {};  // q, k, v, output
  bool first_items_keys = false;
  bool first_items_values = false;
  Keys keys = Keys::all;
  bool pad_weights = false;  // zeros for keys that were left out
  HeadCount head_count = HeadCount::given;
  bool repeat_weights = false;  // of the one head
  Features split = Features::slices;
  Features merge = Features::slices;
  double (*scale)(double d, const Sizes& n) = nullptr;  // nullptr: 1 / sqrt(d)
  double (*scale_after)(double d) = nullptr;            // of the weights
  bool scale_after_in_output = false;                   // and not of the returned ones
  Normalise normalise = Normalise::softmax;
  Axis axis = Axis::keys;
  int softmaxes = 1;
  double base = 0;  // 0: e
  double epsilon = 0;
  bool subtract_maximum = true;
  Hide hide = Hide::exactly;
  double fill = 0;
  MaskPart mask_part = MaskPart::all;
  Causal causal = Causal::no;
  bool mean_of_values = false;
  Heads heads = Heads::each;
  OutputMatrix output_matrix = OutputMatrix::full;
  Residual residual = Residual::no;
  After after = After::nothing;
  After after_joining = After::nothing;
  Returned returned = Returned::weights;
  bool results_swapped = false;

  // Gradients.
  std::array<bool, kInputs> missing = {};
  bool weights_detached_in_product = false;
  bool weights_detached = false;
  bool weights_cotangent_ignored = false;
  bool output_cotangent_ones = false;
  RowSum row_sum = RowSum::keys;
  int backward_scales = 1;
  std::array<Parameter, 4> parameter = {};
  std::array<bool, 4> parameter_transposed = {};
  std::array<bool, 4> input_not_transposed = {};
  bool value_not_transposed = false;
  bool query_from_query = false;
  bool key_from_key = false;
  bool first_head_gradient = false;      // of the heads' output
  bool first_head_projections = false;   // of q, k and v
  bool heads_averaged_gradient = false;  // of q, k and v
  bool heads_averaged_first = false;     // of the heads' output
  bool heads_averaged_scores = false;
  bool heads_averaged_weights = false;
  bool first_head_weights = false;  // the gradient through the weights
  double factor = 1;
  int self_keeps = -1;  // where one variable is query, key and value: whose gradient stays
};

/// What a call gives, or would give with a mistake.
struct Outcome {
  bool specified = true;  // false: what happens depends on how the mistake is written
  Values output, weights;
  std::array<std::vector<double>, kInputs> gradients;  // if asked for
};

/// With gradients the choices of the forward part must be the right ones.
Outcome attend(const Case& c, const Choices& choices, bool gradients);

}  // namespace xg::grading

#endif
