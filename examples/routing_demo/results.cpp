#include "results.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <iostream>

#include "options.hpp"

namespace fs = std::filesystem;
namespace report = xg::report;

bool all_passed(const std::vector<report::GradientRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.passed; });
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (std::isnan(difference) || difference > largest) largest = difference;
  }
  return largest;
}

std::string numbers(const double* first, std::size_t count) {
  std::string line;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = report::fixed(first[i], 4);
    line += std::string(number.size() < 10 ? 10 - number.size() : 1, ' ') + number;
  }
  return line;
}

void print_gradient_header() {
  std::cout << "  argument shape                norm   differences along     error / norm\n";
}

void print_gradient(const report::GradientRow& row) {
  std::cout << "  " << std::left << std::setw(7) << row.name << std::setw(15) << row.shape
            << std::right << std::setw(11) << report::fixed(row.norm, 4) << "   " << std::left
            << std::setw(22) << row.directions << std::right << std::setw(9)
            << report::scientific(row.error) << (row.passed ? "  ok" : "  WRONG") << std::endl;
}

report::Tile gradient_tile(const std::vector<report::GradientRow>& rows) {
  double largest = 0;
  for (const auto& row : rows) largest = std::max(largest, row.error);
  const auto right = std::count_if(rows.begin(), rows.end(), [](auto& row) { return row.passed; });
  return {"Gradients", std::to_string(right) + " of " + std::to_string(rows.size()) + " agree",
          "finite differences, to " + report::scientific(largest),
          all_passed(rows) ? report::Tile::Tone::good : report::Tile::Tone::bad};
}

fs::path write_report(const fs::path& folder, const report::Page& page) {
  fs::create_directories(folder);
  const fs::path path = folder / "xgrad_report.html";
  std::ofstream file(path, std::ios::binary);
  file << page.html();
  file.close();
  if (!file) {
    std::error_code ignored;
    fs::remove(path, ignored);
    throw UserError("cannot write " + path.string());
  }
  return path;
}
