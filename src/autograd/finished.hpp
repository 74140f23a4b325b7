#ifndef XGRAD_AUTOGRAD_FINISHED_HPP
#define XGRAD_AUTOGRAD_FINISHED_HPP

// Private: results in an interpreter.

#include <utility>

namespace xg::detail {

/// Moves a result to where the caller wants it. Cling keeps the value of an expression statement;
/// it would destroy one again that had been built there until an exception came.
template <class R>
R finished(R result) {
  return result;
}

}  // namespace xg::detail

#endif
