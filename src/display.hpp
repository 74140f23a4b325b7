#ifndef XGRAD_DISPLAY_HPP
#define XGRAD_DISPLAY_HPP

/// Rich display by the kernels' own means: they find `mime_bundle_repr` by argument-dependent
/// lookup. Included in a cell, it also makes `show` draw pictures, where the library that does it
/// faster is not installed (docs/notebooks.md).

#include <nlohmann/json.hpp>

#include <xgrad/autograd/load_library.hpp>
#include <xgrad/display/charts.hpp>
#include <xgrad/display/picture.hpp>
#include <xgrad/grading/report.hpp>

namespace xg {

/// {"text/plain": ..., and each other form that the picture has}
inline nlohmann::json mime_bundle_repr(const Picture& picture) {
  nlohmann::json bundle = {{"text/plain", picture.text}};
  if (!picture.html.empty()) bundle["text/html"] = picture.html;
  if (!picture.svg.empty()) bundle["image/svg+xml"] = picture.svg;
  if (!picture.vega_lite.empty()) {
    bundle["application/vnd.vegalite.v5+json"] = nlohmann::json::parse(picture.vega_lite);
  }
  return bundle;
}
// One for each type: a template for all of them would be ambiguous with the kernels' own.
template <class T>
nlohmann::json mime_bundle_repr(const Variable<T>& x) {
  return mime_bundle_repr(picture(x));
}
template <class T>
nlohmann::json mime_bundle_repr(const Attention<T>& attention) {
  return mime_bundle_repr(picture(attention));
}
inline nlohmann::json mime_bundle_repr(const Mask& mask) { return mime_bundle_repr(picture(mask)); }
inline nlohmann::json mime_bundle_repr(const GradcheckReport& report) {
  return mime_bundle_repr(picture(report));
}
inline nlohmann::json mime_bundle_repr(const GradeReport& report) {
  return mime_bundle_repr(picture(report));
}

}  // namespace xg

#if defined(__CLING__) || defined(__CLANG_REPL__)
#if __has_include(<xcpp/xdisplay.hpp>)

#include <dlfcn.h>
#include <xcpp/xdisplay.hpp>

#include <xgrad/display/hook.hpp>

namespace xg::detail {

// By name: this cell may be the one that loads the library.
inline bool use_kernel_display() {
  void* const set_display = dlsym(RTLD_DEFAULT, "xgrad_set_display");
  if (set_display == nullptr) return false;
  reinterpret_cast<decltype(&xgrad_set_display)>(set_display)(
      [](const Picture& picture) { xcpp::display(picture); });
  return true;
}

inline const bool kernel_display = use_kernel_display();

}  // namespace xg::detail

#endif
#endif
#endif
