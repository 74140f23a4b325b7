#include <xgrad/grading/report.hpp>

#include <algorithm>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include <xgrad/display/html.hpp>
#include <xgrad/report/attention.hpp>

namespace xg {
namespace {

std::size_t failures(const std::vector<GradeCheck>& checks) {
  return static_cast<std::size_t>(std::count_if(
      checks.begin(), checks.end(), [](const GradeCheck& check) { return !check.passed; }));
}

constexpr const char* kUnexplained =
    "No known mistake explains what failed. What is known stands with each check: where, got and "
    "want.";

constexpr std::size_t kShownChecks = 3;

/// A detail without the numbers in it, which differ between checks that fail alike.
std::string kind_of(const std::string& detail) {
  return detail.substr(0, detail.find_first_of("0123456789"));
}

/// The checks of a level that failed, in the lines of the report.
std::string failed_lines(const std::vector<GradeCheck>& checks, std::string_view level,
                         bool explained) {
  std::vector<const GradeCheck*> failed;
  std::map<std::string, std::size_t> throws;  // the same words
  for (const GradeCheck& check : checks) {
    if (check.level != level || check.passed) continue;
    if (check.detail.rfind("threw", 0) != 0 || throws[check.detail]++ == 0) {
      failed.push_back(&check);
    }
  }
  std::ostringstream out;
  std::map<std::string, std::size_t> shown;
  std::size_t left = 0;
  std::string last;
  for (const GradeCheck* check : failed) {
    const std::size_t same = throws.count(check->detail) == 0 ? 1 : throws[check->detail];
    // More of the same would hide a mistake that is known, and what differs where none is.
    if (shown[explained ? "" : kind_of(check->detail)]++ >= kShownChecks) {
      left += same;
      continue;
    }
    out << "    WRONG " << check->name
        << (same > 1 ? " and " + std::to_string(same - 1) + " more" : "") << "\n          "
        << (check->detail == last ? "the same" : check->detail) << "\n";
    last = check->detail;
  }
  if (left > 0) out << "    ... and " << left << " more\n";
  return out.str();
}

/// How many checks of a level passed, of how many.
std::pair<std::size_t, std::size_t> passed_of(const std::vector<GradeCheck>& checks,
                                              std::string_view level) {
  std::size_t right = 0;
  std::size_t all = 0;
  for (const GradeCheck& check : checks) {
    if (check.level != level) continue;
    ++all;
    right += check.passed ? 1 : 0;
  }
  return {right, all};
}

}  // namespace

bool GradeReport::passed() const { return !checks.empty() && failures(checks) == 0; }

std::vector<std::string> GradeReport::mistakes() const {
  std::vector<std::string> ids;
  for (const GradeFinding& one : findings) ids.push_back(one.id);
  return ids;
}

std::string GradeReport::to_string() const {
  std::ostringstream out;
  const std::size_t failed = failures(checks);
  out << title << ": ";
  if (passed()) {
    out << "passed all " << checks.size() << " checks\n";
  } else {
    out << "FAILED " << failed << " of " << checks.size() << " checks\n";
  }
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const GradeFinding& one = findings[i];
    out << "\n  Mistake" << (findings.size() > 1 ? " " + std::to_string(i + 1) : "") << ": "
        << one.name << "  [" << one.id << "]\n    where     " << one.place << "\n    evidence  "
        << one.evidence << "\n    hint      " << one.hint << "\n";
  }
  if (!passed() && findings.empty() && notes.empty()) out << "\n  " << kUnexplained << "\n";
  for (const std::string& note : notes) out << "\n  " << note << "\n";
  bool after_passed = false;
  for (const char* level : {"T0", "T1", "T2", "T3"}) {
    const auto [right, all] = passed_of(checks, level);
    if (all == 0) continue;
    out << (right == all && after_passed ? "" : "\n") << "  " << level << "  " << right << " of "
        << all << " passed\n";
    after_passed = right == all;
    if (std::string(level) == "T3" && !routing.empty()) break;  // in detail below
    out << failed_lines(checks, level, !findings.empty());
  }
  for (const RoutingResult& one : routing) {
    std::istringstream lines(one.to_string());
    for (std::string line; std::getline(lines, line);) out << "    " << line << "\n";
  }
  return out.str();
}

std::string GradeReport::to_html() const {
  using report::escape;
  report::Page page;
  page.title = title;
  page.lead = passed() ? "Every check passed." : "Not right yet. What is known stands below.";
  for (const char* level : {"T0", "T1", "T2", "T3"}) {
    const auto [right, all] = passed_of(checks, level);
    if (all == 0) continue;
    page.tiles.push_back({level, std::to_string(right) + " of " + std::to_string(all), "passed",
                          right == all ? report::Tile::Tone::good : report::Tile::Tone::bad});
  }
  if (!findings.empty()) {
    std::vector<std::vector<std::string>> rows;
    for (const GradeFinding& one : findings) {
      rows.push_back({escape(one.name) + "<br><code>" + escape(one.id) + "</code>",
                      escape(one.place), escape(one.evidence), escape(one.hint)});
    }
    page.sections.push_back({"What is wrong", "",
                             report::table({"mistake", "where", "evidence", "hint"},
                                           {false, false, false, false}, rows)});
  } else if (!passed()) {
    std::string text = notes.empty() ? escape(kUnexplained) : "";
    for (const std::string& note : notes) text += escape(note);
    page.sections.push_back({"What is wrong", text, ""});
  }
  for (const RoutingResult& one : routing) {
    page.sections.push_back(report::routing_weights(one));
    page.sections.push_back(report::routing_features(one));
    page.sections.push_back(report::routing_checks(one));
  }
  std::vector<std::vector<std::string>> rows;
  for (const GradeCheck& check : checks) {
    rows.push_back(
        {check.level, escape(check.name), escape(check.detail), report::verdict(check.passed)});
  }
  page.sections.push_back({"All checks", "",
                           report::table({"level", "check", "where it fails", ""},
                                         {false, false, false, false}, rows)});
  return page.html();
}

Picture picture(const GradeReport& report) {
  Picture out;
  out.text = report.to_string();
  out.text.pop_back();  // show adds the line's end
  out.html = detail::verdict_html(report.passed(), report.title, out.text);
  return out;
}

}  // namespace xg
