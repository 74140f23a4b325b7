#ifndef XGRAD_DISPLAY_HOOK_HPP
#define XGRAD_DISPLAY_HOOK_HPP

#include <xgrad/display/picture.hpp>

extern "C" {

/// Makes `xg::show` hand its pictures to f, and print their text again if f is null. A notebook
/// kernel's display comes in here; in C, so that it can be looked up by name.
XGRAD_API void xgrad_set_display(void (*f)(const xg::Picture&)) noexcept;
}

#endif
