// The sanitizers' options, so that a target behaves alike from any shell. An allocation of more
// than 64 MB fails at once, as on a machine that has no more.

extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1:max_allocation_size_mb=64";
}

extern "C" const char* __ubsan_default_options() { return "halt_on_error=1:print_stacktrace=1"; }
