#include <xgrad/grading/catalogue.hpp>

#include <cmath>
#include <limits>

#include <xgrad/autograd/message.hpp>

namespace xg::grading {
namespace {

using C = Choices&;

/// The scale for the number of heads that was asked for, however many there are.
double given_width(double, const Sizes& n) {
  const std::size_t d = n.D / n.H;
  return 1 / std::sqrt(double(d));
}

constexpr const char* kScores = "scores = q k^T / sqrt(d)";
constexpr const char* kSoftmax = "weights = softmax(scores), each query's row over its keys";
constexpr const char* kMask = "the mask inside the softmax: hidden scores get weight 0";
constexpr const char* kSplit = "splitting the heads: [B,N,D] -> [B,N,H,D/H] -> [B,H,N,D/H]";
constexpr const char* kMerge = "joining the heads: [B,H,Q,D/H] -> [B,Q,H,D/H] -> [B,Q,D]";
constexpr const char* kProjection = "the projections q = query w_q, k = key w_k, v = value w_v";
constexpr const char* kOutput = "output = Concat(head_1, ..., head_H) w_o";
constexpr const char* kRoles =
    "Attention(query, key, value): who asks, who is matched, who is read";
constexpr const char* kReturn = "the returned pair (output [B,Q,D], weights [B,H,Q,K])";
constexpr const char* kCall = "the function as a whole";
constexpr const char* kBackward = "the way back, from the results to the seven inputs";
constexpr const char* kSoftmaxRule = "the softmax rule: d scores = weights (g - sum of weights g)";
constexpr const char* kMatmulRule = "the product rule: y = x w has dx = dy w^T and dw = x^T dy";

constexpr const char* kHintScale =
    "Which width grows the variance of a dot product, and by what power? Try heads of width 1.";
constexpr const char* kHintAxis =
    "Sum the returned weights along each axis. Which sums should be one?";
constexpr const char* kHintMask =
    "Try one query and two keys, one of them hidden. What must its weight be, exactly?";
constexpr const char* kHintMaskAxes =
    "The mask broadcasts to [B,H,Q,K]. Try one that differs along each axis and print which key "
    "each query sees.";
constexpr const char* kHintFull =
    "What does your softmax give for a row in which every key is hidden?";
constexpr const char* kHintSplit =
    "Fill the projected features with 0, 1, 2, ... and print what each head gets.";
constexpr const char* kHintTranspose =
    "x @ w, the paper's orientation. Try a w with a single 1 away from the diagonal.";
constexpr const char* kHintMatrix =
    "Give each of the four matrices its own scale and see where it ends up.";
constexpr const char* kHintRoles =
    "Use cross-attention with three arrays that have nothing in common, and follow each of them.";
constexpr const char* kHintKeys = "Give the last key a value that nothing else has.";
constexpr const char* kHintBatch = "An item's result must not change when the other items do.";
constexpr const char* kHintShape = "Print both shapes for B, H, Q, K that are all different.";
constexpr const char* kHintOutput = "The formula ends with the product with w_o.";
constexpr const char* kHintGradient =
    "Compare each of the seven gradients with differences: xg::gradcheck names the argument.";
constexpr const char* kHintSoftmaxRule =
    "Weights of a row sum to one, so adding a constant to g must change nothing.";
constexpr const char* kHintHidden =
    "Nothing that a hidden key holds reaches the results. So how much can it matter?";

}  // namespace

const std::vector<Mistake>& forward_mistakes() {
  static const std::vector<Mistake> all = {
      {"scale-sqrt-model-width",
       "the scores are divided by sqrt(D), not by sqrt(d)",
       kScores,
       kHintScale,
       {[](C c) { c.scale = [](double, const Sizes& n) { return 1 / std::sqrt(double(n.D)); }; }}},
      {"scale-none", "the scores are not scaled", kScores, kHintScale, {[](C c) {
         c.scale = [](double, const Sizes&) { return 1.0; };
       }}},
      {"scale-by-d",
       "the scores are divided by d: by d itself, or twice by its root",
       kScores,
       "Count how often the scores are scaled on the way. Does attention_kernel scale already?",
       {[](C c) { c.scale = [](double d, const Sizes&) { return 1 / d; }; }}},
      {"scale-multiplied", "the scores are multiplied by sqrt(d)", kScores, kHintScale, {[](C c) {
         c.scale = [](double d, const Sizes&) { return std::sqrt(d); };
       }}},
      {"scale-fixed-half",
       "the scores are multiplied by 0.5 whatever d is",
       kScores,
       kHintScale,
       {[](C c) { c.scale = [](double, const Sizes&) { return 0.5; }; }}},
      {"scale-sqrt-heads", "the scores are divided by sqrt(H)", kScores, kHintScale, {[](C c) {
         c.scale = [](double, const Sizes& n) { return 1 / std::sqrt(double(n.H)); };
       }}},
      {"scale-sqrt-keys", "the scores are divided by sqrt(K)", kScores, kHintScale, {[](C c) {
         c.scale = [](double, const Sizes& n) { return 1 / std::sqrt(double(n.K)); };
       }}},
      {"scale-twice", "the scores are divided by d sqrt(d)", kScores, kHintScale, {[](C c) {
         c.scale = [](double d, const Sizes&) { return 1 / (d * std::sqrt(d)); };
       }}},
      {"scale-after-softmax",
       "the scale comes after the softmax",
       kScores,
       "Do the rows of your weights sum to one?",
       {[](C c) {
          c.scale = [](double, const Sizes&) { return 1.0; };
          c.scale_after = [](double d) { return 1 / std::sqrt(d); };
        },
        [](C c) {
          c.scale = [](double, const Sizes&) { return 1.0; };
          c.scale_after = [](double d) { return 1 / std::sqrt(d); };
          c.scale_after_in_output = true;
        }}},

      {"softmax-over-queries", "the softmax runs over the queries", kSoftmax, kHintAxis, {[](C c) {
         c.axis = Axis::queries;
       }}},
      {"softmax-over-heads", "the softmax runs over the heads", kSoftmax, kHintAxis, {[](C c) {
         c.axis = Axis::heads;
       }}},
      {"softmax-over-batch", "the softmax runs over the batch", kSoftmax, kHintAxis, {[](C c) {
         c.axis = Axis::batch;
       }}},
      {"softmax-twice",
       "the softmax is applied twice",
       kSoftmax,
       "Let one score be far above the others: how close to one does its weight come?",
       {[](C c) { c.softmaxes = 2; }}},
      {"softmax-missing",
       "the scores are used as weights, without a softmax",
       kSoftmax,
       "Can a weight be negative?",
       {[](C c) { c.normalise = Normalise::nothing; },
        [](C c) {
          c.normalise = Normalise::nothing;
          c.scale = [](double, const Sizes&) { return 1.0; };
        }}},
      {"softmax-sigmoid",
       "a sigmoid stands in the place of the softmax",
       kSoftmax,
       "Do the rows of your weights sum to one?",
       {[](C c) { c.normalise = Normalise::sigmoid; }}},
      {"softmax-epsilon",
       "a small constant is added to the softmax's denominator",
       kSoftmax,
       "Which problem should the constant solve, and does it arise once the maximum is subtracted?",
       {[](C c) { c.epsilon = 1e-6; }, [](C c) { c.epsilon = 1e-5; }, [](C c) { c.epsilon = 1e-3; },
        [](C c) { c.epsilon = 1; }}},
      {"softmax-base-two",
       "the softmax uses powers of two instead of e",
       kSoftmax,
       "What is the ratio of two weights whose scores differ by one?",
       {[](C c) { c.base = 2; }}},

      {"mask-inverted",
       "the mask is read the wrong way round: true hides",
       kMask,
       kHintMask,
       {[](C c) { c.hide = Hide::inverted; }}},
      {"mask-added-as-number",
       "the mask is added to the scores as 0 and 1",
       kMask,
       kHintMask,
       {[](C c) { c.hide = Hide::add_number; }}},
      {"mask-after-softmax",
       "the mask is applied after the softmax, so the rest does not sum to one",
       kMask,
       kHintMask,
       {[](C c) { c.hide = Hide::afterwards; }}},
      {"mask-multiplied-scores",
       "the scores are multiplied by the mask",
       kMask,
       kHintMask,
       {[](C c) { c.hide = Hide::multiply; }}},
      {"mask-fill-finite",
       "hidden scores are filled with a finite number, so a row without visible keys is uniform",
       kMask,
       kHintFull,
       {[](C c) {
          c.hide = Hide::fill;
          c.fill = -1e30;
        },
        [](C c) {
          c.hide = Hide::fill_added;
          c.fill = -1e9;
        }}},
      {"mask-fill-inf",
       "a row without visible keys is NaN (0/0, as when hidden scores are filled with -inf)",
       kMask,
       kHintFull,
       {[](C c) {
         c.hide = Hide::fill;
         c.fill = -std::numeric_limits<double>::infinity();
       }}},
      {"mask-fill-weak",
       "hidden scores are filled with a number that is not small enough",
       kMask,
       "Can a visible score lie below your number?",
       {[](C c) {
          c.hide = Hide::fill;
          c.fill = -1e4;
        },
        [](C c) {
          c.hide = Hide::fill_added;
          c.fill = -1e4;
        }}},
      {"mask-transposed", "the mask is read as [.., K, Q]", kMask, kHintMaskAxes, {[](C c) {
         c.mask_part = MaskPart::transposed;
       }}},
      {"mask-first-item-only",
       "every item of the batch gets the first item's mask",
       kMask,
       kHintMaskAxes,
       {[](C c) { c.mask_part = MaskPart::first_item; }}},
      {"mask-first-head-only",
       "every head gets the first head's mask",
       kMask,
       kHintMaskAxes,
       {[](C c) { c.mask_part = MaskPart::first_head; }}},
      {"mask-first-query-only",
       "every query gets the first query's mask",
       kMask,
       kHintMaskAxes,
       {[](C c) { c.mask_part = MaskPart::first_query; }}},
      {"mask-ignored", "the mask is not used", kMask, kHintMask, {[](C c) {
         c.hide = Hide::nowhere;
       }}},
      {"mask-ignored-in-weights",
       "the returned weights are from before the mask",
       kMask,
       kHintMask,
       {[](C c) { c.hide = Hide::in_output; }}},
      {"mask-items-read-as-heads",
       "the mask's batch axis is taken for its head axis",
       kMask,
       kHintMaskAxes,
       {[](C c) { c.mask_part = MaskPart::items_as_heads; },
        [](C c) { c.mask_part = MaskPart::heads_as_items; },
        [](C c) { c.mask_part = MaskPart::items_and_heads_swapped; }}},
      {"mask-always-causal",
       "a causal mask is always applied",
       kMask,
       "Without a mask every query sees every key.",
       {[](C c) { c.causal = Causal::upper_left; }, [](C c) { c.causal = Causal::lower_right; }}},
      {"mask-heads-merged",
       "a key that any head may see is visible to all heads",
       kMask,
       kHintMaskAxes,
       {[](C c) { c.mask_part = MaskPart::heads_merged; }}},

      {"split-by-reshape",
       "the features are split into heads by a reshape alone",
       kSplit,
       kHintSplit,
       {[](C c) { c.split = Features::reshape; }}},
      {"merge-by-reshape",
       "the heads are joined by a reshape alone",
       kMerge,
       "Give head i the value i everywhere and print the joined features of query 0.",
       {[](C c) { c.merge = Features::reshape; }}},
      {"split-and-merge-by-reshape",
       "the heads are split and joined by a reshape alone",
       kSplit,
       kHintSplit,
       {[](C c) { c.split = c.merge = Features::reshape; }}},
      {"heads-interleaved",
       "the heads take every H-th feature instead of consecutive ones",
       kSplit,
       kHintSplit,
       {[](C c) { c.split = c.merge = Features::interleaved; }}},
      {"heads-interleaved-split",
       "the heads are split from every H-th feature, but joined as consecutive ones",
       kSplit,
       kHintSplit,
       {[](C c) { c.split = Features::interleaved; }}},
      {"heads-reversed", "the heads come in reverse order", kSplit, kHintSplit, {[](C c) {
         c.split = Features::reversed;
       }}},
      {"heads-merged-reversed",
       "the heads are joined in reverse order",
       kMerge,
       "Give head i the value i everywhere and print the joined features of query 0.",
       {[](C c) { c.merge = Features::reversed; }}},
      {"heads-first-weights",
       "all heads use the first head's weights",
       "head_i = Attention(query W_i^Q, key W_i^K, value W_i^V)",
       "Are the rows of head 1 the same as those of head 0?",
       {[](C c) { c.heads = Heads::first_weights; },
        [](C c) { c.heads = Heads::first_weights_in_output; },
        [](C c) { c.heads = Heads::first_weights_returned; }}},
      {"heads-first-output",
       "the first head's output is repeated for all heads",
       kMerge,
       "Give head i the value i everywhere and print the joined features of query 0.",
       {[](C c) { c.heads = Heads::first_output; }}},
      {"heads-summed",
       "the heads are added up instead of joined",
       kMerge,
       "How many features does each head contribute to the joined ones?",
       {[](C c) { c.heads = Heads::summed; }, [](C c) { c.heads = Heads::averaged; }}},
      {"heads-as-one",
       "there is one head, whatever num_heads is",
       kSplit,
       kHintSplit,
       {[](C c) { c.head_count = HeadCount::one; },
        [](C c) {
          c.head_count = HeadCount::one;
          c.repeat_weights = true;
        },
        [](C c) {
          c.head_count = HeadCount::one;
          c.returned = Returned::averaged;
        },
        [](C c) {
          c.head_count = HeadCount::one;
          c.scale = given_width;
        },
        [](C c) {
          c.head_count = HeadCount::one;
          c.repeat_weights = true;
          c.scale = given_width;
        },
        [](C c) {
          c.head_count = HeadCount::one;
          c.returned = Returned::averaged;
          c.scale = given_width;
        }}},
      {"heads-hard-coded",
       "there are two heads, whatever num_heads is",
       kSplit,
       "Try three heads, and one.",
       {[](C c) { c.head_count = HeadCount::two; },
        [](C c) {
          c.head_count = HeadCount::two;
          c.scale = given_width;
        }}},
      {"heads-width-swapped",
       "the number of heads and their width are swapped",
       kSplit,
       "Try D = 6 with two heads and print the shape of q.",
       {[](C c) { c.head_count = HeadCount::swapped; },
        [](C c) {
          c.head_count = HeadCount::swapped;
          c.scale = given_width;
        }}},

      {"transposed-w-q", "w_q is transposed", kProjection, kHintTranspose, {[](C c) {
         c.transposed[0] = true;
       }}},
      {"transposed-w-k", "w_k is transposed", kProjection, kHintTranspose, {[](C c) {
         c.transposed[1] = true;
       }}},
      {"transposed-w-v", "w_v is transposed", kProjection, kHintTranspose, {[](C c) {
         c.transposed[2] = true;
       }}},
      {"transposed-w-o", "w_o is transposed", kOutput, kHintTranspose, {[](C c) {
         c.transposed[3] = true;
       }}},
      {"transposed-all",
       "all four projections are transposed",
       kProjection,
       kHintTranspose,
       {[](C c) {
         c.transposed = {true, true, true, true};
       }}},
      {"w-q-for-keys", "w_q projects the keys too", kProjection, kHintMatrix, {[](C c) {
         c.matrix[1] = 0;
       }}},
      {"w-k-for-queries", "w_k projects the queries too", kProjection, kHintMatrix, {[](C c) {
         c.matrix[0] = 1;
       }}},
      {"w-k-for-values", "w_k projects the values too", kProjection, kHintMatrix, {[](C c) {
         c.matrix[2] = 1;
       }}},
      {"w-v-for-keys", "w_v projects the keys too", kProjection, kHintMatrix, {[](C c) {
         c.matrix[1] = 2;
       }}},
      {"w-q-for-values", "w_q projects the values too", kProjection, kHintMatrix, {[](C c) {
         c.matrix[2] = 0;
       }}},
      {"w-q-w-k-swapped", "w_q and w_k are swapped", kProjection, kHintMatrix, {[](C c) {
         std::swap(c.matrix[0], c.matrix[1]);
       }}},
      {"w-k-w-v-swapped", "w_k and w_v are swapped", kProjection, kHintMatrix, {[](C c) {
         std::swap(c.matrix[1], c.matrix[2]);
       }}},
      {"w-v-w-o-swapped", "w_v and w_o are swapped", kProjection, kHintMatrix, {[](C c) {
         std::swap(c.matrix[2], c.matrix[3]);
       }}},
      {"w-v-for-output", "w_v stands in the place of w_o", kOutput, kHintMatrix, {[](C c) {
         c.matrix[3] = 2;
       }}},
      {"no-w-q", "the queries are not projected", kProjection, kHintMatrix, {[](C c) {
         c.matrix[0] = -1;
       }}},
      {"no-w-k", "the keys are not projected", kProjection, kHintMatrix, {[](C c) {
         c.matrix[1] = -1;
       }}},
      {"no-w-v", "the values are not projected", kProjection, kHintMatrix, {[](C c) {
         c.matrix[2] = -1;
       }}},
      {"no-w-o", "the output projection is missing", kOutput, kHintOutput, {[](C c) {
         c.output_matrix = OutputMatrix::none;
       }}},
      {"w-o-per-head",
       "w_o is applied to each head apart, so the heads never mix",
       kOutput,
       "Which rows of w_o can a feature of head 0 meet?",
       {[](C c) { c.output_matrix = OutputMatrix::diagonal_blocks; },
        [](C c) { c.output_matrix = OutputMatrix::first_block; },
        [](C c) { c.output_matrix = OutputMatrix::first_columns; },
        [](C c) { c.output_matrix = OutputMatrix::first_rows; }}},
      {"w-o-twice",
       "w_o is applied twice",
       kOutput,
       "Doubling w_o must double the output.",
       {[](C c) { c.output_matrix = OutputMatrix::twice; }}},

      {"key-value-swapped", "key and value are swapped", kRoles, kHintRoles, {[](C c) {
         std::swap(c.source[1], c.source[2]);
       }}},
      {"query-as-key", "the query is used as key", kRoles, kHintRoles, {[](C c) {
         c.source[1] = 0;
       }}},
      {"key-as-value", "the key is used as value", kRoles, kHintRoles, {[](C c) {
         c.source[2] = 1;
       }}},
      {"value-as-key", "the value is used as key", kRoles, kHintRoles, {[](C c) {
         c.source[1] = 2;
       }}},
      {"query-key-swapped",
       "query and key are swapped: the keys attend to the queries",
       kRoles,
       kHintRoles,
       {[](C c) { std::swap(c.source[0], c.source[1]); },
        [](C c) {
          c.source = {1, 0, 0};
        }}},
      {"key-as-query", "the key is used as query", kRoles, kHintRoles, {[](C c) {
         c.source[0] = 1;
       }}},
      {"values-not-weighted",
       "the values are averaged without the weights",
       "head = weights v",
       "Must the output change when only the query does?",
       {[](C c) { c.mean_of_values = true; }}},
      {"keys-cut-to-queries",
       "only as many keys as there are queries are read",
       kRoles,
       kHintKeys,
       {[](C c) { c.keys = Keys::as_many_as_queries; },
        [](C c) {
          c.keys = Keys::as_many_as_queries;
          c.pad_weights = true;
        }}},
      {"keys-last-dropped",
       "the last key is left out",
       kRoles,
       kHintKeys,
       {[](C c) { c.keys = Keys::without_last; },
        [](C c) {
          c.keys = Keys::without_last;
          c.pad_weights = true;
        }}},
      {"batch-first-only",
       "every item reads the first item's keys and values",
       kRoles,
       kHintBatch,
       {[](C c) { c.first_items_keys = c.first_items_values = true; },
        [](C c) { c.first_items_values = true; }, [](C c) { c.first_items_keys = true; }}},
      {"batch-mixed",
       "the items of the batch are mixed",
       kSplit,
       kHintBatch,
       {[](C c) { c.mixed[0] = c.mixed[1] = c.mixed[2] = Mixed::position_major; },
        [](C c) { c.mixed[0] = c.mixed[1] = c.mixed[2] = Mixed::item_major; },
        [](C c) { c.mixed[1] = c.mixed[2] = Mixed::position_major; },
        [](C c) { c.mixed[1] = c.mixed[2] = Mixed::item_major; },
        [](C c) { c.mixed[0] = Mixed::position_major; },
        [](C c) { c.mixed[0] = Mixed::item_major; },
        [](C c) { c.mixed[1] = Mixed::position_major; },
        [](C c) { c.mixed[1] = Mixed::item_major; },
        [](C c) { c.mixed[2] = Mixed::position_major; },
        [](C c) { c.mixed[2] = Mixed::item_major; },
        [](C c) { c.mixed[3] = Mixed::position_major; },
        [](C c) { c.mixed[3] = Mixed::item_major; },
        [](C c) {
          c.mixed = {Mixed::position_major, Mixed::position_major, Mixed::position_major,
                     Mixed::item_major};
        },
        [](C c) {
          c.mixed = {Mixed::item_major, Mixed::item_major, Mixed::item_major,
                     Mixed::position_major};
        }}},

      {"weights-averaged",
       "the returned weights are averaged over the heads",
       kReturn,
       kHintShape,
       {[](C c) { c.returned = Returned::averaged; },
        [](C c) { c.returned = Returned::averaged_kept; },
        [](C c) { c.returned = Returned::averaged_repeated; }}},
      {"weights-transposed",
       "the weights are returned as [B,H,K,Q]",
       kReturn,
       kHintShape,
       {[](C c) { c.returned = Returned::transposed; }}},
      {"weights-queries-first",
       "the weights are returned as [B,Q,H,K]",
       kReturn,
       kHintShape,
       {[](C c) { c.returned = Returned::queries_first; }}},
      {"weights-are-scores",
       "the scores are returned instead of the weights",
       kReturn,
       "Do the rows of the returned weights sum to one?",
       {[](C c) { c.returned = Returned::scores; },
        [](C c) { c.returned = Returned::raw_scores; }}},
      {"weights-are-log",
       "the logarithms of the weights are returned",
       kReturn,
       "Can a weight be negative?",
       {[](C c) { c.returned = Returned::logarithm; }}},
      {"results-swapped",
       "the results are returned in the wrong order",
       kReturn,
       kHintShape,
       {[](C c) { c.results_swapped = true; }}},
      {"residual-added",
       "the query is added to the output",
       kOutput,
       "A Transformer's block does more than its attention. Which part does not belong here?",
       {[](C c) { c.residual = Residual::query; },
        [](C c) { c.residual = Residual::projected_query; },
        [](C c) { c.residual = Residual::query_before_projection; }}},
      {"output-activation",
       "an activation function is applied to the output",
       kOutput,
       "Doubling w_o must double the output.",
       {[](C c) { c.after = After::relu; }, [](C c) { c.after = After::gelu; },
        [](C c) { c.after = After::gelu_tanh; }, [](C c) { c.after = After::tanh; },
        [](C c) { c.after = After::sigmoid; }, [](C c) { c.after = After::silu; },
        [](C c) { c.after = After::leaky_relu; }, [](C c) { c.after_joining = After::relu; },
        [](C c) { c.after_joining = After::gelu; }, [](C c) { c.after_joining = After::gelu_tanh; },
        [](C c) { c.after_joining = After::tanh; }}},
  };
  return all;
}

const std::vector<Mistake>& gradient_mistakes() {
  static const std::vector<Mistake> all = {
      {"grad-missing-query", "query gets no gradient", kBackward, kHintGradient, {[](C c) {
         c.missing[0] = true;
       }}},
      {"grad-missing-key", "key gets no gradient", kBackward, kHintGradient, {[](C c) {
         c.missing[1] = true;
       }}},
      {"grad-missing-value", "value gets no gradient", kBackward, kHintGradient, {[](C c) {
         c.missing[2] = true;
       }}},
      {"grad-missing-w-q", "w_q gets no gradient", kBackward, kHintGradient, {[](C c) {
         c.missing[3] = true;
       }}},
      {"grad-missing-w-k", "w_k gets no gradient", kBackward, kHintGradient, {[](C c) {
         c.missing[4] = true;
       }}},
      {"grad-missing-w-v", "w_v gets no gradient", kBackward, kHintGradient, {[](C c) {
         c.missing[5] = true;
       }}},
      {"grad-missing-w-o", "w_o gets no gradient", kBackward, kHintGradient, {[](C c) {
         c.missing[6] = true;
       }}},
      {"grad-weights-detached",
       "the attention weights are treated as constants",
       kSoftmaxRule,
       "Which of the seven inputs reach the output through the weights alone?",
       {[](C c) { c.weights_detached_in_product = true; }, [](C c) { c.weights_detached = true; }}},
      {"grad-softmax-no-row-sum",
       "the softmax rule lacks its sum",
       kSoftmaxRule,
       kHintSoftmaxRule,
       {[](C c) { c.row_sum = RowSum::none; }}},
      {"grad-softmax-wrong-axis",
       "the softmax rule sums over the wrong axis",
       kSoftmaxRule,
       kHintSoftmaxRule,
       {[](C c) { c.row_sum = RowSum::queries; }, [](C c) { c.row_sum = RowSum::heads; },
        [](C c) { c.row_sum = RowSum::batch; }, [](C c) { c.row_sum = RowSum::everything; }}},
      {"grad-softmax-diagonal",
       "the softmax rule has dy_i/dx_i only",
       kSoftmaxRule,
       "Which y_i change when one x_j grows?",
       {[](C c) { c.row_sum = RowSum::itself; }}},
      {"grad-scale-missing",
       "the scale is missing on the way back",
       kScores,
       "What is the derivative of the scores in q?",
       {[](C c) { c.backward_scales = 0; }}},
      {"grad-scale-twice",
       "the scale is applied twice on the way back",
       kScores,
       "What is the derivative of the scores in q?",
       {[](C c) { c.backward_scales = 2; }}},
      {"grad-w-averaged",
       "a parameter's gradient is averaged over the batch",
       kMatmulRule,
       "The loss is a sum over the items, and so is its gradient.",
       {[](C c) { c.parameter.fill(Parameter::averaged); },
        [](C c) { c.parameter.fill(Parameter::averaged_rows); },
        [](C c) { c.parameter[0] = Parameter::averaged; },
        [](C c) { c.parameter[1] = Parameter::averaged; },
        [](C c) { c.parameter[2] = Parameter::averaged; },
        [](C c) { c.parameter[3] = Parameter::averaged; },
        [](C c) {
          c.parameter.fill(Parameter::averaged);
          c.parameter[3] = Parameter::sum;
        }}},
      {"grad-w-last-item",
       "a parameter's gradient comes from one item of the batch only",
       kMatmulRule,
       "The loss is a sum over the items, and so is its gradient.",
       {[](C c) { c.parameter.fill(Parameter::last_item); },
        [](C c) { c.parameter[0] = Parameter::last_item; },
        [](C c) { c.parameter[1] = Parameter::last_item; },
        [](C c) { c.parameter[2] = Parameter::last_item; },
        [](C c) { c.parameter[3] = Parameter::last_item; },
        [](C c) {
          c.parameter.fill(Parameter::last_item);
          c.parameter[3] = Parameter::sum;
        },
        [](C c) { c.parameter.fill(Parameter::first_item); }}},
      {"grad-w-transposed",
       "a parameter's gradient is transposed",
       kMatmulRule,
       "Compare the shapes for a w that is not square: which product gives w's shape?",
       {[](C c) { c.parameter_transposed.fill(true); },
        [](C c) { c.parameter_transposed[0] = true; },
        [](C c) { c.parameter_transposed[1] = true; },
        [](C c) { c.parameter_transposed[2] = true; },
        [](C c) { c.parameter_transposed[3] = true; },
        [](C c) {
          c.parameter_transposed = {true, true, true, false};
        }}},
      {"grad-input-w-not-transposed",
       "an input's gradient uses w instead of its transpose",
       kMatmulRule,
       "Compare the shapes for a w that is not square: which product gives x's shape?",
       {[](C c) { c.input_not_transposed.fill(true); },
        [](C c) { c.input_not_transposed[0] = true; },
        [](C c) { c.input_not_transposed[1] = true; },
        [](C c) { c.input_not_transposed[2] = true; },
        [](C c) { c.input_not_transposed[3] = true; },
        [](C c) {
          c.input_not_transposed = {true, true, true, false};
        }}},
      {"grad-weights-cotangent-ignored",
       "what the loss wants of the weights is lost",
       kBackward,
       "Differentiate a loss of the returned weights alone.",
       {[](C c) { c.weights_cotangent_ignored = true; }}},
      {"grad-output-cotangent-ones",
       "the cotangent of the output is replaced by ones",
       kBackward,
       "Differentiate sum(3 output): is it three times that of sum(output)?",
       {[](C c) { c.output_cotangent_ones = true; }}},
      {"grad-overwritten",
       "one variable used three times gets one gradient instead of the sum",
       kBackward,
       "What is the derivative of x + x?",
       {[](C c) { c.self_keeps = 0; }, [](C c) { c.self_keeps = 1; },
        [](C c) { c.self_keeps = 2; }}},
      {"grad-negated", "the gradients have the wrong sign", kBackward, kHintGradient, {[](C c) {
         c.factor = -1;
       }}},
      {"grad-doubled", "the gradients are twice too large", kBackward, kHintGradient, {[](C c) {
         c.factor = 2;
       }}},
      {"grad-value-not-transposed",
       "the gradient of v uses the weights, not their transpose",
       "head = weights v: dv = weights^T d head",
       "Compare the shapes where Q and K differ.",
       {[](C c) { c.value_not_transposed = true; }}},
      {"grad-first-head-only",
       "the gradient comes through the first head only",
       kMerge,
       "Which heads contribute to the output, and so to its gradient?",
       {[](C c) { c.first_head_projections = true; }, [](C c) { c.first_head_gradient = true; },
        [](C c) {
          c.first_head_projections = true;
          c.parameter[3] = Parameter::first_head;
        },
        [](C c) {
          c.first_head_gradient = true;
          c.parameter[3] = Parameter::first_head;
        },
        [](C c) { c.parameter[3] = Parameter::first_head; },
        [](C c) { c.first_head_weights = true; }}},
      {"grad-query-from-query",
       "the gradient of q is computed from q, or that of k from k",
       "scores = q k^T / sqrt(d): dq = d scores k",
       "What is the derivative of a b in a?",
       {[](C c) { c.query_from_query = true; }, [](C c) { c.key_from_key = true; },
        [](C c) { c.query_from_query = c.key_from_key = true; }}},
      {"grad-heads-averaged",
       "the gradient is averaged over the heads",
       kMerge,
       "Heads are joined, not averaged: each keeps its own gradient.",
       {[](C c) { c.heads_averaged_gradient = true; }, [](C c) { c.heads_averaged_first = true; },
        [](C c) { c.heads_averaged_scores = true; }, [](C c) { c.heads_averaged_weights = true; }}},
  };
  return all;
}

const std::vector<Mistake>& law_mistakes() {
  static const std::vector<Mistake> all = {
      {"softmax-no-max",
       "the softmax overflows for large scores",
       kSoftmax,
       "exp(1000) is inf. What can be subtracted from a row without changing its softmax?",
       {}},
      {"output-not-merged", "the heads' outputs are not joined", kMerge, kHintShape, {}},
      {"layer-norm-added",
       "the output is normalised",
       kOutput,
       "A Transformer's block does more than its attention. Which part does not belong here?",
       {}},
      {"dropout-added",
       "dropout is applied",
       kCall,
       "Call it twice with the same inputs, and look for weights that are exactly 0.",
       {}},
      {"computed-in-float",
       "double inputs are computed in float",
       kCall,
       "Look for a type or a conversion that names float.",
       {}},
      {"inputs-changed",
       "the inputs are changed",
       kCall,
       "A handle shares its values with the caller's. Where do you write?",
       {}},
      {"strides-ignored",
       "inputs that are not contiguous in memory are read as if they were",
       kCall,
       "Call it with transpose(x), then with transpose(x).clone().",
       {}},
      {"heads-unchecked",
       "a number of heads that does not divide D is not an error",
       "num_heads: positive, and D/H is whole",
       "What should H = 0, H = -1, and D = 5 with H = 2 do?",
       {}},
      {"keys-counted-as-queries",
       "it throws unless there are as many keys as queries",
       kRoles,
       "key and value have a length of their own. Whose length do your shapes use?",
       {}},
      {"undefined-result",
       "an undefined Variable is returned",
       kReturn,
       "Is each of the two results assigned on every path?",
       {}},
      {"not-repeatable",
       "a second call with the same inputs gives another result",
       kCall,
       "What does your function remember from one call to the next?",
       {}},
      {"grad-reaches-masked", "hidden keys get gradient", kMask, kHintHidden, {}},
      {"grad-fully-masked-nan",
       "a row without visible keys makes gradients NaN",
       kMask,
       kHintFull,
       {}},
      {"grad-fully-masked-uniform",
       "a row without visible keys sends gradient as if it saw all keys",
       kMask,
       kHintFull,
       {}},
      {"grad-clipped",
       "the gradients are clipped",
       kBackward,
       "Double the loss. What must happen to every gradient?",
       {}},
      {"grad-in-float",
       "double gradients are computed in float",
       kBackward,
       "Look for a type or a conversion that names float.",
       {}},
  };
  return all;
}

const Mistake& mistake(const std::string& id) {
  for (const auto* list : {&forward_mistakes(), &gradient_mistakes(), &law_mistakes()}) {
    for (const Mistake& one : *list) {
      if (id == one.id) return one;
    }
  }
  detail::fail<ArgumentError>("grade", "no such mistake", id, "an id of docs/grading.md");
}

}  // namespace xg::grading
