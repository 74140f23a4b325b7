#ifndef XGRAD_TESTS_SUPPORT_SMALL_STACK_HPP
#define XGRAD_TESTS_SUPPORT_SMALL_STACK_HPP

#include <exception>
#include <functional>
#include <stdexcept>

#include <pthread.h>

namespace test {

/// Runs f on a thread with a stack of 512 KiB, and throws here what f throws there.
inline void on_small_stack(std::function<void()> f) {
  struct Call {
    std::function<void()> f;
    std::exception_ptr error;
  } call{std::move(f), nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 512 * 1024);
  pthread_t thread;
  const int failed = pthread_create(
      &thread, &attributes,
      [](void* argument) -> void* {
        auto& c = *static_cast<Call*>(argument);
        try {
          c.f();
        } catch (...) {
          c.error = std::current_exception();
        }
        c.f = nullptr;
        return nullptr;
      },
      &call);
  pthread_attr_destroy(&attributes);
  if (failed != 0) throw std::runtime_error("pthread_create failed");
  pthread_join(thread, nullptr);
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace test

#endif
