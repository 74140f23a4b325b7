#ifndef XGRAD_DISPLAY_CHARTS_HPP
#define XGRAD_DISPLAY_CHARTS_HPP

#include <string>
#include <vector>

#include <xgrad/display/picture.hpp>
#include <xgrad/mha/attention_kernel.hpp>

namespace xg {

/// Attention weights as a heat map for each head, queries downwards and keys to the right.
///
///     std::vector<std::string> words = {"the", "cat", "sat"};
///     xg::show(xg::heads(attention.weights, words, words));
///
/// Shapes: [Q,K], [H,Q,K] or [B,H,Q,K]. A cell is as strong as its weight, from 0 to 1; a weight
/// of exactly 0 is a dot. Without labels the queries and keys are numbered. Many of them are drawn
/// in blocks, each as strong as its largest weight; beyond 16 maps the rest is left out.
/// Throws ShapeError for another number of axes, ArgumentError unless there is a label for each
/// query and each key, or none, and for more than 2^26 weights in a head.
template <class T>
XGRAD_API Picture heads(const Variable<T>& weights, const std::vector<std::string>& queries = {},
                        const std::vector<std::string>& keys = {});
template <class T>
Picture picture(const Attention<T>& attention) {
  return heads(attention.weights);
}

/// One line of a plot: its values at the steps 0, 1, 2, ...
struct Series {
  std::string name;
  std::vector<double> values;
};

/// Training curves.
///
///     xg::show(xg::plot({{"training", losses}, {"validation", others}}, "loss"));
///
/// A line breaks where its values are not finite. A long one is thinned out, but keeps its peaks.
XGRAD_API Picture plot(const std::vector<Series>& series, const std::string& title = "");
XGRAD_API Picture plot(const std::vector<double>& values, const std::string& title = "");

}  // namespace xg

#endif
