// Preloaded into clang-repl: catches an exception that leaves a cell, as the xeus-cpp kernel does
// around the same call. clang-repl itself would end.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <exception>

// llvm::Error clang::Interpreter::ParseAndExecute(llvm::StringRef, clang::Value*) as the Itanium
// ABI passes it; a null llvm::Error is success.
using ParseAndExecute = void**(void** error, void* interpreter, const char* code, std::size_t size,
                               void* value);

extern "C" void** _ZN5clang11Interpreter15ParseAndExecuteEN4llvm9StringRefEPNS_5ValueE(
    void** error, void* interpreter, const char* code, std::size_t size, void* value) {
  static const auto original = reinterpret_cast<ParseAndExecute*>(dlsym(RTLD_NEXT, __func__));
  try {
    return original(error, interpreter, code, size, value);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "exception: %s\n", exception.what());
  } catch (...) {
    std::fprintf(stderr, "exception of unknown type\n");
  }
  *error = nullptr;
  return error;
}
