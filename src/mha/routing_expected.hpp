#ifndef XGRAD_MHA_ROUTING_EXPECTED_HPP
#define XGRAD_MHA_ROUTING_EXPECTED_HPP

// Private: the routing experiment worked out on paper. Neither this header nor its source includes
// any other header of xgrad, so that nothing that is tested takes part in the answer.

namespace xg::detail {

constexpr int kRoutingHeads = 2;
constexpr int kRoutingQueries = 2;
constexpr int kRoutingKeys = 3;
constexpr int kRoutingHeadWidth = 3;
constexpr int kRoutingWidth = kRoutingHeads * kRoutingHeadWidth;

/// w_o, [D,D].
constexpr double kRoutingOutputProjection[kRoutingWidth][kRoutingWidth] = {
    {-0.5, -0.5, -1, -1, 0.5, -0.5}, {1, 0, 0.5, -0.5, 1, 1},  {1, -1, -0.5, 1, 1, -1},
    {1, -0.5, 0, -1, 0.5, 0.5},      {-1, -1, 1, -1, -0.5, 1}, {1, 1, -0.5, 0.5, 0, -0.5}};

struct RoutingExpected {
  double weights[kRoutingHeads][kRoutingQueries][kRoutingKeys];
  double concatenation[kRoutingQueries][kRoutingWidth];
  double output[kRoutingQueries][kRoutingWidth];
};

RoutingExpected routing_expected();

}  // namespace xg::detail

#endif
