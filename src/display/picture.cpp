#include <xgrad/display/picture.hpp>

#include <atomic>
#include <iostream>

#include <xgrad/autograd/finished.hpp>
#include <xgrad/display/hook.hpp>
#include <xgrad/display/html.hpp>

namespace {
std::atomic<void (*)(const xg::Picture&)> display_hook{nullptr};
}

void xgrad_set_display(void (*f)(const xg::Picture&)) noexcept { display_hook = f; }

namespace xg {

std::ostream& operator<<(std::ostream& out, const Picture& picture) { return out << picture.text; }

void show(const Picture& picture) {
  if (auto* const display = display_hook.load()) {
    std::cout.flush();  // a kernel sends text when it is flushed: keep it before the picture
    display(picture);
  } else {
    std::cout << picture << std::endl;
  }
}

Picture picture(const GradcheckReport& report) {
  Picture out;
  out.text = report.to_string();
  out.html = detail::verdict_html(report.passed(), "gradcheck", out.text);
  return out;
}

template <class T>
Picture graph(const Variable<T>& x, Fold fold) {
  Picture out;
  out.text = graph_text(x, fold);
  out.text.pop_back();  // show adds the line's end
  out.svg = graph_svg(x, fold);
  return detail::finished(std::move(out));
}
template Picture graph(const Variable<float>&, Fold);
template Picture graph(const Variable<double>&, Fold);

}  // namespace xg
