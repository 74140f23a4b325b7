#ifndef ROUTING_DEMO_OPTIONS_HPP
#define ROUTING_DEMO_OPTIONS_HPP

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

struct Options {
  std::string input;
  std::int64_t heads = 0;
  std::string expected;
  std::string tokens;
  std::filesystem::path output = ".";
};

/// What the user has to put right.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Each prints its findings, writes its files and tells whether every check passed.
bool run_experiment(const Options& options);
bool run_own_arrays(const Options& options);

#endif
