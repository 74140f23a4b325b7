#ifndef XGRAD_DISPLAY_HPP
#define XGRAD_DISPLAY_HPP

/// Rich display in C++ notebook kernels, which find `mime_bundle_repr` by argument-dependent
/// lookup.

#include <nlohmann/json.hpp>

#include <xgrad/autograd/display.hpp>
#include <xgrad/grading/report.hpp>

namespace xg {

/// {"text/plain": as `<<` prints it, "text/html": a table}
template <class T>
nlohmann::json mime_bundle_repr(const Variable<T>& x) {
  return {{"text/plain", detail::display_text(x)}, {"text/html", detail::display_html(x)}};
}
inline nlohmann::json mime_bundle_repr(const Mask& mask) {
  return {{"text/plain", detail::display_text(mask)}, {"text/html", detail::display_html(mask)}};
}
/// {"text/plain": to_string(), "text/html": to_html()}
inline nlohmann::json mime_bundle_repr(const GradeReport& report) {
  return {{"text/plain", report.to_string()}, {"text/html", report.to_html()}};
}

}  // namespace xg

#endif
