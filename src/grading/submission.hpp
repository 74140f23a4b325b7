#ifndef XGRAD_GRADING_SUBMISSION_HPP
#define XGRAD_GRADING_SUBMISSION_HPP

// Private: one call of a submission, and all that can be seen of it.

#include <functional>

#include <xgrad/grading/cases.hpp>
#include <xgrad/mha/calls.hpp>
#include <xgrad/mha/routing.hpp>

namespace xg::grading {

struct Observed {
  std::string thrown;      // what it threw, or how it crashed; empty if it returned
  bool crashed = false;    // no further call is safe
  std::string undefined;   // which result is
  std::string changed;     // which input is
  bool reference = false;  // it called what it should be itself
  Values output, weights;
  std::array<bool, kInputs> has_gradient = {};
  std::array<std::vector<double>, kInputs> gradients;
  std::string gradient_error;

  bool returned() const { return thrown.empty() && undefined.empty(); }
};

/// Calls the submission on a case; with gradients if the case has cotangents.
using Runner = std::function<Observed(const Case& c, Layout layout)>;

template <class T>
Runner make_runner(AttentionFunction<T> f, std::vector<detail::Called> forbidden);

/// Calls f; a division by zero or a bad pointer inside comes back as text. What f throws comes
/// through.
std::string survive(const std::function<void()>& f);
/// The same, with exceptions as text too: "threw ...".
std::string attempt(const std::function<void()>& f, bool& crashed);

}  // namespace xg::grading

#endif
