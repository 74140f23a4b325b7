#ifndef XGRAD_GRADING_NAMING_HPP
#define XGRAD_GRADING_NAMING_HPP

// Private: which mistake of the catalogue explains what a submission gave.

#include <string>
#include <vector>

#include <xgrad/grading/catalogue.hpp>
#include <xgrad/grading/report.hpp>
#include <xgrad/grading/submission.hpp>

namespace xg::grading {

/// A case, what the submission made of it, and what is right.
struct Judged {
  Graded graded;
  Observed seen;
  Outcome want;
  bool right = false;
  std::string why;  // where it is wrong

  Kind kind() const { return graded.kind; }
};

struct Tolerances {
  double values;
  double gradients;
  bool in_double;
};

struct Named {
  std::vector<GradeFinding> findings;
  std::vector<std::string> notes;
};

Judged judge(Graded graded, const Runner& run, const Tolerances& tolerances);

/// Values first; gradients only where the values are right.
Named name_mistakes(const std::vector<Judged>& values, const std::vector<Judged>& gradients,
                    const Runner& run, const Tolerances& tolerances);

/// A finding with evidence from the smallest input on which the submission differs.
GradeFinding finding(const std::string& id, const std::string& evidence);

}  // namespace xg::grading

#endif
