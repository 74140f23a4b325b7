#ifndef XGRAD_MHA_ROUTING_HPP
#define XGRAD_MHA_ROUTING_HPP

/// The routing experiment: two queries read three tokens through two heads. Query 0 reads key 0
/// through head 0 and key 2 through head 1; query 1 reads key 1 through head 0 and all keys alike
/// through head 1. The inputs are made so that every score is a whole number, so the right answer
/// is known exactly. Not part of the umbrella <xgrad/xgrad.hpp>.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <xgrad/mha/attention_kernel.hpp>

namespace xg {

/// The arguments of multi_head_attention in the experiment: B = 1, Q = 2, K = 3, D = 6, H = 2.
template <class T>
struct RoutingInputs {
  Variable<T> query, key, value, w_q, w_k, w_v, w_o;
  std::int64_t num_heads = 2;
};
template <class T>
XGRAD_API RoutingInputs<T> routing_inputs();

/// Row-major; empty where a function gave nothing of the right shape.
struct RoutingValues {
  std::vector<double> weights;        ///< [H,Q,K] = [2,2,3]
  std::vector<double> concatenation;  ///< [Q,D] = [2,6]: the heads joined, before w_o
  std::vector<double> output;         ///< [Q,D] = [2,6]
};

/// One comparison. `got` and `want` are numbers, or shapes where those differ, or what was thrown.
struct RoutingCheck {
  std::string name;  ///< "weights of head 0", "weights of head 1", "concatenation" or "output"
  bool passed = false;
  double difference;  ///< the largest absolute one; NaN where something else is wrong
  std::string got;
  std::string want;
};

/// What one function made of the experiment.
struct XGRAD_API RoutingRun {
  std::string label;
  RoutingValues values;
  std::vector<RoutingCheck> checks;

  bool passed() const;
  std::string to_string() const;
};

/// The submitted function's run decides; the library's own is there to compare with.
struct XGRAD_API RoutingResult {
  RoutingRun submitted;
  RoutingRun reference_preview;
  RoutingValues expected;

  bool passed() const { return submitted.passed(); }
  std::string to_string() const;
};

template <class T>
using AttentionFunction = std::function<Attention<T>(
    const Variable<T>& query, const Variable<T>& key, const Variable<T>& value,
    const Variable<T>& w_q, const Variable<T>& w_k, const Variable<T>& w_v, const Variable<T>& w_o,
    std::int64_t num_heads, const Mask& mask)>;

namespace detail {
template <class T>
XGRAD_API RoutingResult run_routing(const AttentionFunction<T>& f);
}

/// Runs any f with multi_head_attention's signature. Checks the weights of each head, the
/// concatenation of the heads (f's output with the identity as w_o) and the output, to 1e-12 for
/// double and 1e-5 for float. What f throws fails the checks that needed it and goes no further.
///
///     auto result = xg::run_routing<double>(my::multi_head_attention<double>);
///     std::cout << result.to_string();
template <class T = double, class F>
RoutingResult run_routing(F&& f) {
  return detail::run_routing<T>(AttentionFunction<T>(std::forward<F>(f)));
}

}  // namespace xg

#endif
