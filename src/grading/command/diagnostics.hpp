#ifndef XGRAD_GRADING_COMMAND_DIAGNOSTICS_HPP
#define XGRAD_GRADING_COMMAND_DIAGNOSTICS_HPP

// Private: a compiler's errors, the reader's own lines first.

#include <string>

namespace xg::grading {

/// Each error with the line of `file` that leads to it, whatever templates lie between; the rest of
/// the compiler's text is counted, not shown.
std::string fold_errors(const std::string& compiler_output, const std::string& file);

}  // namespace xg::grading

#endif
