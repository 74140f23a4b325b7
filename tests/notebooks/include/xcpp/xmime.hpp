// Stand-in for the kernels' header of the same name.
#ifndef XCPP_MIME_HPP
#define XCPP_MIME_HPP

#include <nlohmann/json.hpp>
#include <sstream>

namespace nl = nlohmann;

namespace xcpp {

template <class T>
nl::json mime_bundle_repr(const T& value) {
  std::ostringstream text;
  text << value;
  return {{"text/plain", text.str()}};
}

}  // namespace xcpp

#endif
