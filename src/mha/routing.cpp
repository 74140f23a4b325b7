#include <xgrad/mha/routing.hpp>

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <limits>
#include <sstream>
#include <type_traits>

#include <xgrad/autograd/message.hpp>
#include <xgrad/autograd/number_text.hpp>
#include <xgrad/mha/multi_head_attention.hpp>
#include <xgrad/mha/routing_expected.hpp>
#include <xgrad/ops/arithmetic.hpp>

namespace xg {
namespace {

using detail::kRoutingHeads;
using detail::kRoutingKeys;
using detail::kRoutingQueries;
using detail::kRoutingWidth;

const Shape kWeightsShape = {1, kRoutingHeads, kRoutingQueries, kRoutingKeys};
const Shape kFeaturesShape = {1, kRoutingQueries, kRoutingWidth};

template <class T>
constexpr double kTolerance = std::is_same_v<T, float> ? 1e-5 : 1e-12;

template <class T>
struct Outcome {
  Attention<T> result;
  std::string thrown;
};

template <class T>
Outcome<T> call(const AttentionFunction<T>& f, const Variable<T>& w_o) {
  const RoutingInputs<T> in = routing_inputs<T>();
  try {
    return {f(in.query, in.key, in.value, in.w_q, in.w_k, in.w_v, w_o, in.num_heads, {}), {}};
  } catch (const std::exception& error) {
    return {{}, std::string("threw: ") + error.what()};
  } catch (...) {
    return {{}, "threw something that is not a std::exception"};
  }
}

template <class T>
Variable<T> identity() {
  std::vector<T> values(kRoutingWidth * kRoutingWidth);
  for (int i = 0; i < kRoutingWidth; ++i) values[i * kRoutingWidth + i] = 1;
  return from_data(values.data(), {kRoutingWidth, kRoutingWidth});
}

/// x's elements if it has this shape, else nothing.
template <class T>
std::vector<double> elements(const Variable<T>& x, const Shape& shape) {
  if (!x.defined() || x.shape() != shape) return {};
  const std::vector<T> values = x.to_vector();
  return {values.begin(), values.end()};
}

template <class T>
std::string shape_text(const Variable<T>& x) {
  return x.defined() ? "shape " + detail::text(Dims(x.shape()).values()) : "an undefined Variable";
}

/// A row for each query.
std::string rows_text(const std::vector<double>& values) {
  std::string out;
  const std::size_t width = values.size() / kRoutingQueries;
  for (std::size_t i = 0; i < values.size(); ++i) {
    out += (i == 0 ? "[" : i % width == 0 ? "] [" : ", ");
    out += detail::short_number(values[i]);
  }
  return out + "]";
}

void compare(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
             RoutingCheck& check) {
  check.passed = true;
  check.difference = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double difference = std::abs(got[i] - want[i]);
    if (!(difference <= tolerance * (1 + std::abs(want[i])))) check.passed = false;
    if (std::isnan(difference) || difference > check.difference) check.difference = difference;
  }
}

std::vector<double> head_of(const std::vector<double>& weights, std::size_t head) {
  constexpr auto size = std::size_t{kRoutingQueries} * kRoutingKeys;
  if (weights.empty()) return {};
  const auto first = weights.begin() + static_cast<std::ptrdiff_t>(head * size);
  return {first, first + size};
}

RoutingValues expected_values() {
  const detail::RoutingExpected expected = detail::routing_expected();
  const auto flat = [](const auto& array) {
    const auto* first = reinterpret_cast<const double*>(&array);
    return std::vector<double>(first, first + sizeof(array) / sizeof(double));
  };
  return {flat(expected.weights), flat(expected.concatenation), flat(expected.output)};
}

template <class T>
RoutingRun run(std::string label, const AttentionFunction<T>& f, const RoutingValues& want) {
  const Outcome<T> projected = call(f, routing_inputs<T>().w_o);
  // With the identity as w_o the output is the concatenation itself.
  const Outcome<T> joined = call(f, identity<T>());

  RoutingRun result;
  result.label = std::move(label);
  result.values = {elements(projected.result.weights, kWeightsShape),
                   elements(joined.result.output, kFeaturesShape),
                   elements(projected.result.output, kFeaturesShape)};

  const auto check = [&](std::string name, const Outcome<T>& outcome, const Variable<T>& got,
                         const Shape& shape, const std::vector<double>& got_values,
                         const std::vector<double>& want_values) {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    RoutingCheck c{std::move(name), false, nan, {}, rows_text(want_values)};
    if (!outcome.thrown.empty()) {
      c.got = outcome.thrown;
    } else if (got_values.empty()) {
      c.got = shape_text(got);
      c.want = "shape " + detail::text(Dims(shape).values());
    } else {
      c.got = rows_text(got_values);
      compare(got_values, want_values, kTolerance<T>, c);
    }
    result.checks.push_back(std::move(c));
  };
  for (std::size_t head = 0; head < kRoutingHeads; ++head) {
    check("weights of head " + std::to_string(head), projected, projected.result.weights,
          kWeightsShape, head_of(result.values.weights, head), head_of(want.weights, head));
  }
  check("concatenation", joined, joined.result.output, kFeaturesShape, result.values.concatenation,
        want.concatenation);
  check("output", projected, projected.result.output, kFeaturesShape, result.values.output,
        want.output);
  return result;
}

template <class T>
Variable<T> output_projection() {
  std::vector<T> values;
  for (const auto& row : detail::kRoutingOutputProjection) {
    for (double value : row) values.push_back(static_cast<T>(value));
  }
  return from_data(values.data(), {kRoutingWidth, kRoutingWidth});
}

}  // namespace

// The matrices have no structure that would hide a mistake: none is symmetric, a permutation or
// equal to another. w_q carries sqrt(d), so that the scores come out whole.
template <class T>
RoutingInputs<T> routing_inputs() {
  RoutingInputs<T> in;
  in.query = Variable<T>({{{2, -1, 2, 1, 1, 1}, {-1, 1, -1, 0, -1, -1}}});
  in.key = Variable<T>({{{2, 0, 0, 0, 1, -2}, {0, 0, 1, -1, -1, 0}, {0, 1, -2, 1, 1, -2}}});
  in.value = Variable<T>({{{2, -1, -2, 2, -2, 1}, {-2, 1, 0, -1, -1, 0}, {2, -2, 1, 0, 2, 0}}});
  in.w_q = std::sqrt(T{3}) * Variable<T>({{-1, -1, 2, -2, 1, -2},
                                          {-2, 1, 0, 0, 1, 2},
                                          {-1, -1, -2, 2, 2, 1},
                                          {0, 1, 1, 1, -2, 2},
                                          {0, 2, 1, -1, 0, 2},
                                          {1, 1, -1, 0, -1, 2}});
  in.w_k = Variable<T>({{2, -1, -2, -2, 1, 0},
                        {-1, -1, -1, -2, 3, 0},
                        {0, -2, 2, -1, 0, 0},
                        {3, -2, -1, -3, 3, -3},
                        {-1, -2, 2, 1, -2, 2},
                        {1, -1, -2, -2, 1, 0}});
  in.w_v = Variable<T>({{2, -2, -1, 0, -1, 1},
                        {2, -1, -2, -3, -2, 1},
                        {-1, -4, 4, 1, 2, 3},
                        {-2, -2, 1, -1, 1, -1},
                        {1, 2, -1, -2, -2, -2},
                        {4, 3, 3, -2, -4, 3}});
  in.w_o = output_projection<T>();
  return in;
}

bool RoutingRun::passed() const {
  return std::all_of(checks.begin(), checks.end(), [](const auto& check) { return check.passed; });
}

std::string RoutingRun::to_string() const {
  std::ostringstream out;
  out << std::setprecision(2) << label << ": " << (passed() ? "passed" : "FAILED") << "\n";
  for (const RoutingCheck& check : checks) {
    out << "  " << (check.passed ? "ok    " : "WRONG ") << check.name;
    if (!std::isnan(check.difference)) out << ", largest difference " << check.difference;
    out << "\n";
    if (!check.passed) {
      out << "          got  " << check.got << "\n          want " << check.want << "\n";
    }
  }
  return out.str();
}

std::string RoutingResult::to_string() const {
  return submitted.to_string() + reference_preview.to_string();
}

namespace detail {

template <class T>
RoutingResult run_routing(const AttentionFunction<T>& f) {
  const RoutingValues want = expected_values();
  return {run<T>("submitted function", f, want),
          run<T>("reference preview", multi_head_attention<T>, want), want};
}

template RoutingResult run_routing(const AttentionFunction<float>&);
template RoutingResult run_routing(const AttentionFunction<double>&);

}  // namespace detail

template RoutingInputs<float> routing_inputs();
template RoutingInputs<double> routing_inputs();

}  // namespace xg
