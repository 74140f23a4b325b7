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
#endif

namespace xg::detail {

inline void* load_library() {
  for (const char* path : {XGRAD_LIBRARY, "libxgrad.so"}) {
    if (void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL)) return library;
  }
  // Not an xg::Error: that class lives in the library.
  throw std::runtime_error(std::string("[xgrad] cannot load the library: ") + dlerror());
}

inline void* const library = load_library();

}  // namespace xg::detail

#endif
#endif
