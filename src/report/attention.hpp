#ifndef XGRAD_REPORT_ATTENTION_HPP
#define XGRAD_REPORT_ATTENTION_HPP

// Private: the parts of a report about attention.

#include <cstdint>
#include <string>
#include <vector>

#include <xgrad/mha/routing.hpp>
#include <xgrad/report/charts.hpp>
#include <xgrad/report/html.hpp>

namespace xg::report {

/// The heat maps of one item's heads.
std::vector<HeatMap> routing_maps(const RoutingValues& values);
Section routing_weights(const RoutingResult& result);
Section routing_features(const RoutingResult& result);
Section routing_checks(const RoutingResult& result);

/// One argument's gradient and how far it is from finite differences.
struct GradientRow {
  std::string name;
  std::string shape;
  double norm;
  std::string directions;  // "all 12 entries" or "1 random direction"
  double error;            // relative to the norm
  bool passed;
};
/// `text` is HTML and says what is differentiated.
Section gradients(const std::string& text, const std::vector<GradientRow>& rows);

/// What graph_svg drew.
Section graph(const std::string& svg);

}  // namespace xg::report

#endif
