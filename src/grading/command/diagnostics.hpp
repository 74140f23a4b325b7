#ifndef XGRAD_GRADING_COMMAND_DIAGNOSTICS_HPP
#define XGRAD_GRADING_COMMAND_DIAGNOSTICS_HPP

// Private: a compiler's errors, the reader's own lines first.

#include <string>

namespace xg::grading {

struct FoldedErrors {
  std::string text;
  bool in_file = false;  // a line of the file leads to one
};

/// Each error with the line of `file` that leads to it, whatever templates lie between; the rest of
/// the compiler's text is counted, not shown.
FoldedErrors fold_errors(const std::string& compiler_output, const std::string& file);

}  // namespace xg::grading

#endif
