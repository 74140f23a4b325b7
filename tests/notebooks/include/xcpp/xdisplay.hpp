// Stand-in for the kernels' header of the same name: hands a mime bundle to run_notebook.py.
#ifndef XCPP_DISPLAY_HPP
#define XCPP_DISPLAY_HPP

#include <iostream>

#include "xcpp/xmime.hpp"

namespace xcpp {

template <class T>
void display(const T& value) {
  using ::xcpp::mime_bundle_repr;
  const nl::json bundle = mime_bundle_repr(value);
  std::cout << "\036mime " << bundle.dump() << std::endl;
}

}  // namespace xcpp

#endif
