// The routing experiment, or the same on arrays of your own: what each head reads, the output, the
// seven gradients checked by finite differences, and one HTML page that shows it all.

#include <charconv>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "routing_demo/options.hpp"

namespace {

constexpr const char* kUsage = R"(usage: routing_demo [--output DIR]
       routing_demo --input FILE.npz|FOLDER --heads N [--expected FILE.npz|FOLDER]
                    [--tokens FILE] [--output DIR]

Without --input: two queries read three tokens through two heads, checked against numbers worked
out apart from the library. With it: attention on your own arrays query [B,Q,D], key and value
[B,K,D], w_q, w_k, w_v and w_o [D,D] (float32 or float64; used as x @ w) and, if there is one, mask
(bool, true = visible, broadcasts to [B,H,Q,K]).

  --heads N        number of heads, a divisor of D
  --expected FILE  arrays expected_output and expected_weights to compare with; expected_output
                   may hold the first features only
  --tokens FILE    the keys' names for the report: a line for each item, separated by spaces
  --output DIR     where xgrad_report.html and, with --input, xgrad_result.npz go (default: .)
)";

std::int64_t positive_integer(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) {
    throw UserError("--heads: got '" + text + "', expected a positive integer");
  }
  return number;
}

/// Nothing if the usage was asked for.
std::optional<Options> parse(const std::vector<std::string>& words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string& name = words[i];
    if (name == "--help" || name == "-h") return std::nullopt;
    if (name != "--input" && name != "--heads" && name != "--expected" && name != "--tokens" &&
        name != "--output") {
      throw UserError("unknown argument '" + name + "' (try --help)");
    }
    if (i + 1 == words.size()) throw UserError(name + " needs a value (try --help)");
    const std::string& value = words[i + 1];
    if (name == "--input") options.input = value;
    if (name == "--heads") options.heads = positive_integer(value);
    if (name == "--expected") options.expected = value;
    if (name == "--tokens") options.tokens = value;
    if (name == "--output") options.output = value;
  }
  if (options.input.empty() &&
      (options.heads != 0 || !options.expected.empty() || !options.tokens.empty())) {
    throw UserError("--heads, --expected and --tokens go with --input (try --help)");
  }
  if (!options.input.empty() && options.heads == 0) throw UserError("--input needs --heads N");
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = parse({argv + 1, argv + argc});
    if (!options) {
      std::cout << kUsage;
      return 0;
    }
    const bool passed =
        options->input.empty() ? run_experiment(*options) : run_own_arrays(*options);
    return passed ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << "routing_demo: " << error.what() << "\n";
    return 1;
  }
}
