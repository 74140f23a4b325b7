#include <xgrad/mha/routing_expected.hpp>

#include <cmath>
#include <cstddef>

namespace xg::detail {
namespace {

/// (query w_q)(key w_k)^T / sqrt(d) of each head.
constexpr double kLogits[kRoutingHeads][kRoutingQueries][kRoutingKeys] = {
    {{3, 1, 0}, {-1, 2, 1}},  // head 0: query 0 prefers key 0, query 1 prefers key 1
    {{0, 0, 2}, {1, 1, 1}}};  // head 1: query 0 prefers key 2, query 1 has no preference

/// value w_v, cut into heads.
constexpr double kValues[kRoutingHeads][kRoutingKeys][kRoutingHeadWidth] = {
    {{2, 0, -1}, {-1, 3, 0}, {1, -2, 4}}, {{1, -2, 0}, {0, 1, 2}, {3, 0, -1}}};

}  // namespace

RoutingExpected routing_expected() {
  RoutingExpected expected = {};
  for (int head = 0; head < kRoutingHeads; ++head) {
    for (int query = 0; query < kRoutingQueries; ++query) {
      const double* logits = kLogits[head][query];
      double total = 0;
      for (int key = 0; key < kRoutingKeys; ++key) total += std::exp(logits[key]);
      double* features = expected.concatenation[query] + std::ptrdiff_t{head} * kRoutingHeadWidth;
      for (int key = 0; key < kRoutingKeys; ++key) {
        const double weight = std::exp(logits[key]) / total;
        expected.weights[head][query][key] = weight;
        for (int i = 0; i < kRoutingHeadWidth; ++i) features[i] += weight * kValues[head][key][i];
      }
    }
  }
  for (int query = 0; query < kRoutingQueries; ++query) {
    for (int column = 0; column < kRoutingWidth; ++column) {
      for (int row = 0; row < kRoutingWidth; ++row) {
        expected.output[query][column] +=
            expected.concatenation[query][row] * kRoutingOutputProjection[row][column];
      }
    }
  }
  return expected;
}

}  // namespace xg::detail
