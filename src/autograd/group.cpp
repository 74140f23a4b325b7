#include <xgrad/autograd/group.hpp>

namespace xg::detail {
namespace {

thread_local const std::shared_ptr<const std::string>* innermost = nullptr;

}  // namespace

Group::Group(const char* name)
    : name_(std::make_shared<const std::string>(name)), outer_(innermost) {
  innermost = &name_;
}

Group::~Group() { innermost = outer_; }

const std::shared_ptr<const std::string>* current_group() noexcept { return innermost; }

}  // namespace xg::detail
