#ifndef ROUTING_DEMO_GRADIENTS_HPP
#define ROUTING_DEMO_GRADIENTS_HPP

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include <xgrad/autograd/graph_picture.hpp>
#include <xgrad/report/attention.hpp>
#include <xgrad/xgrad.hpp>

#include "arguments.hpp"
#include "results.hpp"

/// The loss whose gradients are taken: sum(output * of_output) + sum(weights * of_weights).
template <class T>
struct Seeds {
  xg::Variable<T> of_output;
  xg::Variable<T> of_weights;
};

namespace detail {

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

template <class T>
xg::Variable<double> to_double(const xg::Variable<T>& x) {
  const std::vector<T> values = x.to_vector();
  return xg::from_data(std::vector<double>(values.begin(), values.end()).data(), x.shape());
}

/// The root of the mean square of what is finite: the scale on which steps are taken.
inline double magnitude(const std::vector<double>& values) {
  double sum = 0;
  double count = 0;
  for (double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value * value;
    count += 1;
  }
  return sum > 0 ? std::sqrt(sum / count) : 1;
}

/// The derivative at 0 by differences at four points; its error falls with the fourth power of h.
template <class F>
double derivative(const F& f, double h) {
  return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h);
}

}  // namespace detail

template <class T>
struct Pass {
  xg::Attention<T> result;
  std::vector<xg::Variable<T>> gradients;  // in the order of kNames
  std::string graph;                       // SVG
};

/// Attention on leaves of their own, and the loss's gradients with respect to them.
template <class T>
Pass<T> forward_and_backward(const Arguments<T>& x, const Seeds<T>& seeds) {
  Arguments<T> leaves{{}, x.heads, x.mask};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    leaves.arrays.push_back(x.arrays[i].detach().set_requires_grad().set_name(kNames[i]));
  }
  Pass<T> pass;
  pass.result = attend(leaves);
  pass.gradients = xg::grad({pass.result.output, pass.result.weights}, leaves.arrays,
                            {seeds.of_output, seeds.of_weights});
  for (std::size_t i = 0; i < kNames.size(); ++i) leaves.arrays[i].set_grad(pass.gradients[i]);
  pass.graph = xg::graph_svg(pass.result.output);
  return pass;
}

/// Compares each gradient with finite differences of a double computation, whatever T is: along
/// every entry of a small argument, along one random direction of a large one. Prints each row as
/// soon as it is ready.
template <class T>
std::vector<xg::report::GradientRow> check_gradients(const Arguments<T>& x,
                                                     const std::vector<xg::Variable<T>>& gradients,
                                                     const Seeds<T>& seeds) {
  constexpr std::size_t kSmall = 256;
  constexpr double kTolerance = std::is_same_v<T, float> ? 1e-4 : 1e-8;
  const xg::NoGrad no_grad;
  print_gradient_header();

  Arguments<double> exact{{}, x.heads, x.mask};
  for (const auto& array : x.arrays) exact.arrays.push_back(detail::to_double(array));
  const std::vector<double> of_output = detail::to_double(seeds.of_output).to_vector();
  const std::vector<double> of_weights = detail::to_double(seeds.of_weights).to_vector();

  std::vector<xg::report::GradientRow> rows;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const xg::Variable<double> argument = exact.arrays[i];
    const std::vector<double> gradient = detail::to_double(gradients[i]).to_vector();
    const double norm = std::sqrt(detail::dot(gradient, gradient));
    const double step = 3e-4 * detail::magnitude(argument.to_vector());

    const auto error_along = [&](const xg::Variable<double>& direction) {
      const auto loss = [&](double t) {
        exact.arrays[i] = argument + direction * t;
        const auto [output, weights] = attend(exact);
        return detail::dot(output.to_vector(), of_output) +
               detail::dot(weights.to_vector(), of_weights);
      };
      const double got = detail::dot(gradient, direction.to_vector());
      return std::abs(got - detail::derivative(loss, step)) / (norm > 0 ? norm : 1);
    };

    double error = 0;
    const std::size_t size = gradient.size();
    if (size <= kSmall) {
      std::vector<double> unit(size);
      for (std::size_t entry = 0; entry < size; ++entry) {
        unit[entry] = 1;
        const double one = error_along(xg::from_data(unit.data(), argument.shape()));
        if (std::isnan(one) || one > error) error = one;  // a NaN stays
        unit[entry] = 0;
      }
    } else {
      error = error_along(xg::randn<double>(argument.shape(), i + 1));
    }
    exact.arrays[i] = argument;

    rows.push_back(
        {kNames[i], shape_text(argument.shape()), norm,
         size <= kSmall ? "each of " + std::to_string(size) + " entries" : "one random direction",
         error, error <= kTolerance});
    print_gradient(rows.back());
  }
  return rows;
}

#endif
