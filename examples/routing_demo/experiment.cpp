#include <algorithm>
#include <iostream>

#include <xgrad/mha/routing.hpp>
#include <xgrad/report/attention.hpp>
#include <xgrad/xgrad.hpp>

#include "gradients.hpp"
#include "options.hpp"
#include "results.hpp"

namespace report = xg::report;

namespace {

report::Tile run_tile(const std::string& label, const xg::RoutingRun& run) {
  const auto right =
      std::count_if(run.checks.begin(), run.checks.end(), [](auto& check) { return check.passed; });
  return {label, run.passed() ? "passed" : "failed",
          std::to_string(right) + " of " + std::to_string(run.checks.size()) + " checks",
          run.passed() ? report::Tile::Tone::good : report::Tile::Tone::bad};
}

void print_routing(const xg::RoutingResult& result) {
  std::cout << result.submitted.to_string() << "\nWeights            key 0     key 1     key 2\n";
  const auto& got = result.submitted.values;
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t query = 0; query < 2; ++query) {
      std::cout << "  head " << head << " query " << query
                << numbers(&got.weights[(head * 2 + query) * 3], 3) << "\n";
    }
  }
  std::cout << "\nOutput against the analytic target\n";
  for (std::size_t query = 0; query < 2; ++query) {
    std::cout << "  query " << query << " got " << numbers(&got.output[query * 6], 6) << "\n"
              << "          want" << numbers(&result.expected.output[query * 6], 6) << "\n";
  }
  std::cout << "  largest difference "
            << report::scientific(largest_difference(got.output, result.expected.output)) << "\n";
}

}  // namespace

bool run_experiment(const Options& options) {
  std::cout << "Two queries read three tokens through two heads (float64)\n\n";
  xg::RoutingResult routing = xg::run_routing(xg::multi_head_attention<double>);
  // Nobody submitted anything, and the preview is the same function.
  routing.submitted.label = "xg::multi_head_attention";
  routing.reference_preview = {};
  print_routing(routing);

  const auto in = xg::routing_inputs<double>();
  const Arguments<double> x{
      {in.query, in.key, in.value, in.w_q, in.w_k, in.w_v, in.w_o}, in.num_heads, {}};
  const Seeds<double> seeds{xg::uniform<double>({1, 2, 6}, -1, 1, 1),
                            xg::uniform<double>({1, 2, 2, 3}, -1, 1, 2)};
  const Pass<double> pass = forward_and_backward(x, seeds);
  std::cout << "\nGradients of sum(output * G) + sum(weights * A), G and A random and fixed\n";
  const auto rows = check_gradients(x, pass.gradients, seeds);

  report::Page page;
  page.title = "Two heads, two routes";
  page.lead =
      "Multi-head attention (<i>Attention Is All You Need</i>, section 3.2.2) on an input whose "
      "right answer is known exactly: two queries read three tokens through two heads, width six. "
      "The function under test is <code>xg::multi_head_attention</code>, in float64.";
  page.tiles = {run_tile("Forward", routing.submitted),
                {"Output",
                 report::scientific(
                     largest_difference(routing.submitted.values.output, routing.expected.output)),
                 "largest distance from the analytic target"},
                gradient_tile(rows)};
  page.sections = {
      report::routing_weights(routing), report::routing_features(routing),
      report::gradients("Of <code>sum(output \u2218 G) + sum(weights \u2218 A)</code>, with fixed "
                        "random <code>G</code> and <code>A</code>, so that both results take part. "
                        "Backpropagation through the graph, against differences at four points.",
                        rows),
      report::graph(pass.graph), report::routing_checks(routing)};
  std::cout << "\nReport: " << write_report(options.output, page).string() << "\n";
  return routing.passed() && all_passed(rows);
}
