#ifndef XGRAD_AUTOGRAD_GROUP_HPP
#define XGRAD_AUTOGRAD_GROUP_HPP

// Private: which operations belong together in a picture of the graph.

#include <memory>
#include <string>

namespace xg::detail {

/// What this thread records while it lives is one call of the named function.
class Group {
 public:
  explicit Group(const char* name);
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

 private:
  const std::shared_ptr<const std::string> name_;
  const std::shared_ptr<const std::string>* const outer_;
};

/// The innermost group's name, one object per call; null outside of any.
const std::shared_ptr<const std::string>* current_group() noexcept;

}  // namespace xg::detail

#endif
