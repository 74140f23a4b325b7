// Stand-in for the kernels' header of the same name: hands a mime bundle to run_notebook.py.
#ifndef XCPP_DISPLAY_HPP
#define XCPP_DISPLAY_HPP

#include <iostream>

#include "xcpp/xmime.hpp"

namespace xcpp {

// As in xeus-cpp: without an overload that is no template, clang-repl dies of a second call.
class dummy_display {};
void display(dummy_display) {}

template <class T>
void display(const T& value) {
  using ::xcpp::mime_bundle_repr;
  const nl::json bundle = mime_bundle_repr(value);
  std::cout << "\036mime " << bundle.dump() << std::endl;
}

}  // namespace xcpp

#endif
