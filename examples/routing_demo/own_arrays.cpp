#include <algorithm>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

#include <xgrad/report/attention.hpp>
#include <xgrad/xgrad.hpp>

#include "gradients.hpp"
#include "options.hpp"
#include "results.hpp"

namespace fs = std::filesystem;
namespace report = xg::report;

namespace {

using Tokens = std::vector<std::vector<std::string>>;  // of each item

Tokens read_tokens(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw UserError("cannot read " + path);
  Tokens tokens;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    tokens.emplace_back();
    for (std::string word; words >> word;) tokens.back().push_back(word);
  }
  return tokens;
}

std::vector<std::string> problems_of_tokens(const Tokens& tokens, const xg::Shape& key) {
  std::vector<std::string> problems;
  if (tokens.size() != key[0]) {
    problems.push_back(std::to_string(tokens.size()) +
                       " lines, expected one for each of B = " + std::to_string(key[0]) + " items");
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].size() == key[1]) continue;
    problems.push_back("line " + std::to_string(i + 1) + ": " + std::to_string(tokens[i].size()) +
                       " tokens, expected K = " + std::to_string(key[1]));
  }
  return problems;
}

void throw_if_any(const std::string& source, const std::vector<std::string>& problems) {
  if (problems.empty()) return;
  std::string text = source + " cannot be used; nothing was written";
  for (const auto& problem : problems) text += "\n  " + problem;
  throw UserError(text);
}

template <class T>
std::vector<double> elements(const xg::Variable<T>& x) {
  const std::vector<T> values = x.to_vector();
  return {values.begin(), values.end()};
}

std::vector<double> elements(const xg::NpyArray& array) {
  return array.dtype == "float32" ? elements(array.to_variable<float>())
                                  : elements(array.to_variable<double>());
}

struct Difference {
  std::string name;
  double largest;
};

template <class T>
std::vector<Difference> differences(const xg::Attention<T>& got, const Arrays& expected) {
  std::vector<Difference> result;
  if (const auto want = expected.find("expected_output"); want != expected.end()) {
    const auto features = static_cast<std::int64_t>(want->second.shape[2]);
    result.push_back({"output", largest_difference(elements(xg::slice(got.output, 2, 0, features)),
                                                   elements(want->second))});
  }
  if (const auto want = expected.find("expected_weights"); want != expected.end()) {
    result.push_back(
        {"weights", largest_difference(elements(got.weights), elements(want->second))});
  }
  return result;
}

/// The largest weight of each query that sees a key, on average: 1 if a head reads one key alone.
double focus(const std::vector<double>& weights, std::size_t K) {
  double sum = 0;
  double rows = 0;
  for (auto row = weights.begin(); row != weights.end(); row += static_cast<std::ptrdiff_t>(K)) {
    const double largest = *std::max_element(row, row + static_cast<std::ptrdiff_t>(K));
    sum += largest;
    rows += largest > 0 ? 1 : 0;
  }
  return rows > 0 ? sum / rows : 0;
}

std::vector<std::string> labels(std::size_t count) {
  std::vector<std::string> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(std::to_string(i));
  return result;
}

/// The weights [B,H,Q,K] as one section for each item, a heat map for each head. What is too much
/// for a page is cut, and the section says so.
template <class T>
std::vector<report::Section> head_sections(const xg::Variable<T>& weights, const Tokens& tokens) {
  constexpr std::size_t kMostTokens = 48;
  constexpr std::size_t kMostMaps = 96;
  const xg::Shape shape = weights.shape();
  const std::size_t B = shape[0], H = shape[1], Q = shape[2], K = shape[3];
  const std::size_t items = std::clamp<std::size_t>(kMostMaps / H, 1, B);
  const std::size_t heads = std::min(H, kMostMaps);
  const std::size_t queries = std::min(Q, kMostTokens);
  const std::size_t keys = std::min(K, kMostTokens);

  std::string cut;
  const auto say = [&](std::size_t shown, std::size_t all, const char* what) {
    if (shown == all) return;
    cut += " The first " + std::to_string(shown) + " of " + std::to_string(all) + " " + what + ".";
  };
  say(items, B, "items");
  say(heads, H, "heads");
  say(queries, Q, "queries");
  say(keys, K, "keys");

  std::vector<report::Section> sections;
  const auto at = [](std::size_t i) { return static_cast<std::int64_t>(i); };
  for (std::size_t b = 0; b < items; ++b) {
    report::Section section{"What each head reads: item " + std::to_string(b),
                            "Rows are queries, columns keys; a row sums to one. A dot is a weight "
                            "of exactly 0, as hidden keys have. Focus is the mean of each query's "
                            "largest weight." +
                                cut,
                            {}};
    report::HeatMap map;
    map.columns = tokens.empty() ? labels(K) : tokens[b];
    map.rows = Q == K ? map.columns : labels(Q);
    map.columns.resize(keys);
    map.rows.resize(queries);
    section.body = report::weight_legend({map.color}) + "<div class=\"row three\">";
    for (std::size_t h = 0; h < heads; ++h) {
      const auto head = xg::slice(xg::slice(weights, 0, at(b), at(b + 1)), 1, at(h), at(h + 1));
      map.weights = elements(xg::slice(xg::slice(head, 2, 0, at(queries)), 3, 0, at(keys)));
      section.body +=
          report::figure("Head " + std::to_string(h) + " <span class=\"soft\">\u00b7 focus " +
                             report::fixed(focus(elements(head), K), 2) + "</span>",
                         report::heat_map(map));
    }
    section.body += "</div>\n";
    sections.push_back(std::move(section));
  }
  return sections;
}

template <class T>
void print_weights(const xg::Variable<T>& weights) {
  constexpr std::size_t kFew = 60;
  const xg::Shape shape = weights.shape();
  const std::size_t H = shape[1], Q = shape[2], K = shape[3];
  const std::vector<double> values = elements(weights);
  if (values.size() <= kFew) {
    std::cout << "\nWeights, a column for each key\n";
    for (std::size_t row = 0; row * K < values.size(); ++row) {
      std::cout << "  item " << row / Q / H << " head " << row / Q % H << " query " << row % Q
                << numbers(&values[row * K], K) << "\n";
    }
    return;
  }
  std::cout << "\nFocus of each head: the mean of each query's largest weight\n";
  for (std::size_t h = 0; h < H; ++h) {
    const auto at = static_cast<std::int64_t>(h);
    const double value = focus(elements(xg::slice(weights, 1, at, at + 1)), K);
    std::cout << "  head " << std::setw(2) << h << numbers(&value, 1) << "\n";
  }
}

template <class T>
bool run(const Options& options, const Arrays& arrays, const Arrays& expected,
         const Tokens& tokens) {
  const Arguments<T> x = arguments_from<T>(arrays, options.heads);
  const xg::Shape query = x.arrays[0].shape();
  const std::size_t B = query[0], Q = query[1], D = query[2];
  const std::size_t K = x.arrays[1].shape()[1];
  const auto H = static_cast<std::size_t>(options.heads);
  const char* dtype = std::is_same_v<T, float> ? "float32" : "float64";
  const std::string sizes = "B = " + std::to_string(B) + ", Q = " + std::to_string(Q) +
                            ", K = " + std::to_string(K) + ", D = " + std::to_string(D) +
                            ", H = " + std::to_string(H) + ", " + dtype +
                            (x.mask.defined() ? ", with a mask" : ", without a mask");
  std::cout << options.input << ": " << sizes << std::endl;

  const Seeds<T> seeds{xg::ones<T>(query), xg::zeros<T>({B, H, Q, K})};
  const Pass<T> pass = forward_and_backward(x, seeds);
  print_weights(pass.result.weights);
  const std::vector<Difference> far = differences(pass.result, expected);
  if (!far.empty()) std::cout << "\nLargest difference from " << options.expected << "\n";
  for (const auto& [name, largest] : far) {
    std::cout << "  " << name << " " << report::scientific(largest) << "\n";
  }
  std::cout << "\nGradients of sum(output)" << std::endl;
  const auto rows = check_gradients(x, pass.gradients, seeds);

  report::Page page;
  page.title = std::to_string(H) + (H == 1 ? " head" : " heads") + " of attention";
  page.lead = "<code>xg::multi_head_attention</code> on <code>" + report::escape(options.input) +
              "</code>: " + sizes + ".";
  for (const auto& [name, largest] : far) {
    page.tiles.push_back({"Difference of the " + name, report::scientific(largest),
                          "largest, from expected_" + name});
  }
  page.tiles.push_back(gradient_tile(rows));
  page.sections = head_sections(pass.result.weights, tokens);
  page.sections.push_back(report::gradients(
      "Of <code>sum(output)</code>: the cotangent of every output is one. Backpropagation through "
      "the graph, against differences at four points, computed in float64.",
      rows));
  page.sections.push_back(report::graph(pass.graph));

  fs::create_directories(options.output);
  const fs::path results = options.output / "xgrad_result.npz";
  std::vector<xg::NpzItem> items = {{"output", pass.result.output},
                                    {"weights", pass.result.weights}};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    items.emplace_back(std::string("grad_") + kNames[i], pass.gradients[i]);
  }
  xg::save_npz(results.string(), items);
  fs::path written;
  try {
    written = write_report(options.output, page);
  } catch (...) {
    fs::remove(results);
    throw;
  }
  std::cout << "\nResults: " << results.string() << "  (output, weights, grad_query to grad_w_o)\n"
            << "Report:  " << written.string() << "\n";
  return all_passed(rows);
}

}  // namespace

bool run_own_arrays(const Options& options) {
  const Arrays arrays = read_arrays(options.input);
  throw_if_any(options.input, problems_of(arrays, options.heads));
  const Arrays expected = options.expected.empty() ? Arrays{} : read_arrays(options.expected);
  if (!options.expected.empty()) {
    throw_if_any(options.expected, problems_of_expected(expected, arrays, options.heads));
  }
  const Tokens tokens = options.tokens.empty() ? Tokens{} : read_tokens(options.tokens);
  if (!options.tokens.empty()) {
    throw_if_any(options.tokens, problems_of_tokens(tokens, arrays.at("key").shape));
  }
  return arrays.at("query").dtype == "float32" ? run<float>(options, arrays, expected, tokens)
                                               : run<double>(options, arrays, expected, tokens);
}
