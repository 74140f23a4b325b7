#include <xgrad/report/attention.hpp>

#include <cmath>
#include <cstddef>

namespace xg::report {
namespace {

constexpr std::size_t kHeads = 2;
constexpr std::size_t kQueries = 2;
constexpr std::size_t kKeys = 3;
constexpr std::size_t kWidth = 6;

Color head_color(std::size_t head) { return head == 0 ? Color::head0 : Color::head1; }

std::string head_legend() {
  return "<span><i class=\"swatch\" style=\"background:var(--head0)\"></i>head 0</span>"
         "<span><i class=\"swatch\" style=\"background:var(--head1)\"></i>head 1</span>";
}

std::string query_features(const std::string& letter, const std::vector<double>& got,
                           const std::vector<double>& want, std::size_t query, bool by_head) {
  Bars chart;
  for (std::size_t i = 0; i < kWidth; ++i) {
    chart.labels.push_back(letter + std::to_string(i));
    chart.got.push_back(got[query * kWidth + i]);
    chart.want.push_back(want[query * kWidth + i]);
    chart.colors.push_back(by_head ? head_color(i / (kWidth / kHeads)) : Color::mixed);
  }
  return bars(chart);
}

/// One line for each query.
std::string lines(const std::string& rows) {
  std::string html = escape(rows);
  for (auto at = html.find("] ["); at != std::string::npos; at = html.find("] [", at)) {
    html.replace(at, 3, "]<br>[");
  }
  return "<code>" + html + "</code>";
}

std::string checks_table(const RoutingRun& run) {
  std::vector<std::vector<std::string>> rows;
  for (const RoutingCheck& check : run.checks) {
    rows.push_back({escape(check.name), lines(check.got), lines(check.want),
                    std::isnan(check.difference) ? "\u2013" : scientific(check.difference),
                    verdict(check.passed)});
  }
  return "<h3>" + escape(run.label) + "</h3>" +
         table({"check", "got", "want", "difference", ""}, {false, false, false, true, false},
               rows);
}

}  // namespace

std::vector<HeatMap> routing_maps(const RoutingValues& values) {
  std::vector<HeatMap> maps;
  if (values.weights.empty()) return maps;
  for (std::size_t head = 0; head < kHeads; ++head) {
    const auto first =
        values.weights.begin() + static_cast<std::ptrdiff_t>(head * kQueries * kKeys);
    maps.push_back({{"query 0", "query 1"},
                    {"key 0", "key 1", "key 2"},
                    {first, first + kQueries * kKeys},
                    head_color(head)});
  }
  return maps;
}

Section routing_weights(const RoutingResult& result) {
  Section section{
      "What each head reads",
      std::string("Two queries, three keys. ") +
          // The figures may show something else.
          (result.submitted.passed() ? "" : "Right is: ") +
          "Query 0 takes key 0 through head 0 and key 2 through head 1: one head alone could only "
          "blend the two. Query 1 takes key 1 through head 0 and all keys alike through head 1. "
          "Each row sums to one.",
      {}};
  const std::vector<HeatMap> maps = routing_maps(result.submitted.values);
  if (maps.empty()) {
    section.body = "<p class=\"bad\">There are no weights of shape [1,2,2,3].</p>";
    return section;
  }
  section.body = weight_legend({Color::head0, Color::head1}) + "<div class=\"row three\">" +
                 figure("Who reads whom", routes(maps)) +
                 figure("Head 0: weight on each key", heat_map(maps[0])) +
                 figure("Head 1: weight on each key", heat_map(maps[1])) + "</div>\n";
  return section;
}

Section routing_features(const RoutingResult& result) {
  const RoutingValues& got = result.submitted.values;
  const RoutingValues& want = result.expected;
  Section section{
      "The feature vectors against the analytic target",
      "Bars are what was computed. The marks are worked out apart "
      "from the library, from the whole-numbered scores with <code>exp</code> alone. The "
      "heads are joined first, three features each; <code>w_o</code> then mixes all "
      "six.",
      {}};
  if (got.concatenation.empty() || got.output.empty()) {
    section.body = "<p class=\"bad\">There is no output of shape [1,2,6].</p>";
    return section;
  }
  section.body = "<div class=\"legend\">" + head_legend() +
                 "<span><i class=\"swatch\" style=\"background:var(--mixed)\"></i>both, mixed by "
                 "<code>w_o</code></span><span><i class=\"mark\"></i>analytic target</span></div>"
                 "<div class=\"row two\">";
  for (std::size_t query = 0; query < kQueries; ++query) {
    const std::string name = "Query " + std::to_string(query);
    section.body += figure(name + " <span class=\"soft\">\u00b7 heads joined</span>",
                           query_features("c", got.concatenation, want.concatenation, query, true));
    section.body += figure(name + " <span class=\"soft\">\u00b7 output</span>",
                           query_features("y", got.output, want.output, query, false));
  }
  section.body += "</div>\n";
  return section;
}

Section routing_checks(const RoutingResult& result) {
  const std::string lines = "A line for each query; differences are the largest absolute ones.";
  if (result.reference_preview.checks.empty()) {
    return {"The checks", lines, checks_table(result.submitted)};
  }
  return {"The checks",
          "The submitted function decides. The reference preview is the library's own attention, "
          "run on the same inputs to compare with. " +
              lines,
          checks_table(result.submitted) + checks_table(result.reference_preview)};
}

Section gradients(const std::string& text, const std::vector<GradientRow>& rows) {
  std::vector<std::vector<std::string>> cells;
  cells.reserve(rows.size());
  for (const GradientRow& row : rows) {
    cells.push_back({"<code>" + escape(row.name) + "</code>", escape(row.shape), fixed(row.norm, 4),
                     escape(row.directions), scientific(row.error), verdict(row.passed)});
  }
  return {"The seven gradients", text,
          table({"argument", "shape", "norm of the gradient", "differences along",
                 "largest error / norm", ""},
                {false, false, true, false, true, false}, cells)};
}

Section graph(const std::string& svg) {
  return {
      "The computation graph",
      "What one call records, and what backward walks through in reverse. Attention is composed of "
      "these operations; none is hidden in a fused one.",
      "<div class=\"scroll graph\">" + svg + "</div>\n"};
}

}  // namespace xg::report
