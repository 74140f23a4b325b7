#ifndef XGRAD_AUTOGRAD_CONFIG_HPP
#define XGRAD_AUTOGRAD_CONFIG_HPP

#define XGRAD_VERSION_MAJOR 0
#define XGRAD_VERSION_MINOR 1
#define XGRAD_VERSION_PATCH 0
#define XGRAD_VERSION "0.1.0"

#define XGRAD_API __attribute__((visibility("default")))

namespace xg {

/// The version of the loaded library, "major.minor.patch"; XGRAD_VERSION is the header's.
XGRAD_API const char* version() noexcept;

}  // namespace xg

#endif
