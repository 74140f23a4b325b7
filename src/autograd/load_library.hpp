#ifndef XGRAD_AUTOGRAD_LOAD_LIBRARY_HPP
#define XGRAD_AUTOGRAD_LOAD_LIBRARY_HPP

// An interpreter (xeus-cling, xeus-cpp) has no link step: it finds the library's symbols once the
// process has loaded it, so the header does that. Include it in a cell of its own.

#if defined(__CLING__) || defined(__CLANG_REPL__)

#include <dlfcn.h>

#include <xgrad/autograd/error.hpp>

#if __has_include(<xgrad/autograd/library_path.hpp>)
#include <xgrad/autograd/library_path.hpp>  // made by the installation
#else
#define XGRAD_LIBRARY "libxgrad.so"
#define XGRAD_KERNEL_LIBRARY "libxgrad_kernel.so"
#endif

namespace xg::detail {

inline void* load_library(const char* installed, const char* name) {
  void* library = dlopen(installed, RTLD_NOW | RTLD_GLOBAL);
  return library != nullptr ? library : dlopen(name, RTLD_NOW | RTLD_GLOBAL);
}

inline void* load_libraries() {
  void* library = load_library(XGRAD_LIBRARY, "libxgrad.so");
  // Not an xg::Error: that class lives in the library.
  if (library == nullptr) {
    throw std::runtime_error(std::string("[xgrad] cannot load the library: ") + dlerror());
  }
  // The kernel's display: without it, or outside a kernel, `show` prints text.
  load_library(XGRAD_KERNEL_LIBRARY, "libxgrad_kernel.so");
  return library;
}

inline void* const library = load_libraries();

}  // namespace xg::detail

#endif
#endif
