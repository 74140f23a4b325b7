#ifndef XGRAD_GRADING_REPORT_HPP
#define XGRAD_GRADING_REPORT_HPP

#include <string>
#include <vector>

#include <xgrad/display/picture.hpp>
#include <xgrad/mha/routing.hpp>

namespace xg {

/// One thing that was looked at.
struct GradeCheck {
  std::string level;  ///< "T0" interface, "T1" oracle, "T2" properties, "T3" routing experiment
  std::string name;
  bool passed = false;
  std::string detail;  ///< where it failed: index, got and want
};

/// A mistake that was recognised.
struct GradeFinding {
  std::string id;        ///< as in docs/grading.md
  std::string name;      ///< what the submission does
  std::string place;     ///< where in the formula
  std::string evidence;  ///< numbers from the smallest input that shows it
  std::string hint;      ///< a way to find it that does not give the answer away
};

/// What `grade` says of a submission.
class XGRAD_API GradeReport {
 public:
  std::string title;
  std::vector<GradeCheck> checks;
  std::vector<GradeFinding> findings;
  /// What is known of a failure that no finding explains.
  std::vector<std::string> notes;
  /// T3; empty where the exercise has none.
  std::vector<RoutingResult> routing;

  /// True if every check passed.
  bool passed() const;
  /// The ids of the findings.
  std::vector<std::string> mistakes() const;
  std::string to_string() const;
  /// A self-contained page with charts.
  std::string to_html() const;
};

/// The verdict, and the lines of the report.
XGRAD_API Picture picture(const GradeReport& report);

}  // namespace xg

#endif
