#include <dlfcn.h>

#include <doctest/doctest.h>

// Makes the program need the library.
#include <xgrad/xgrad.hpp>

// What clang-repl looks up by name after a cell that ends without `;` (XGRAD_DESTRUCTOR).
TEST_CASE("the destructors of a call's temporaries are in the library") {
  CHECK(xg::sum(xg::ones<float>({2})).item() == 2);
  for (const char* name :
       {"_ZN2xg8VariableIfED1Ev", "_ZN2xg8VariableIdED1Ev", "_ZN2xg4AxesD1Ev", "_ZN2xg4DimsD1Ev",
        "_ZN2xg8SectionsD1Ev", "_ZN2xg7IndicesD1Ev", "_ZN2xg4MaskD1Ev",
        "_ZN2xg6detail12VariableListIfED1Ev", "_ZN2xg6detail12VariableListIdED1Ev"}) {
    CHECK_MESSAGE(dlsym(RTLD_DEFAULT, name) != nullptr, name);
  }
}
