#ifndef XGRAD_AUTOGRAD_CONFIG_HPP
#define XGRAD_AUTOGRAD_CONFIG_HPP

#define XGRAD_VERSION_MAJOR 0
#define XGRAD_VERSION_MINOR 1
#define XGRAD_VERSION_PATCH 0
#define XGRAD_VERSION "0.1.0"

#define XGRAD_API __attribute__((visibility("default")))

// For a class whose temporaries a call makes of its arguments: a destructor in the library. Where a
// notebook's cell ends without `;`, clang-repl calls the destructors of the last line's temporaries
// but does not compile inline ones any more; it finds none, and every function that the line uses
// is lost until the kernel restarts.
#define XGRAD_DESTRUCTOR(Class)                 \
  Class(const Class&) = default;                \
  Class(Class&&) noexcept = default;            \
  Class& operator=(const Class&) = default;     \
  Class& operator=(Class&&) noexcept = default; \
  ~Class()

namespace xg {

/// The version of the loaded library, "major.minor.patch"; XGRAD_VERSION is the header's.
XGRAD_API const char* version() noexcept;

}  // namespace xg

#endif
