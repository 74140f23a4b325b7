#ifndef ROUTING_DEMO_RESULTS_HPP
#define ROUTING_DEMO_RESULTS_HPP

#include <filesystem>
#include <string>
#include <vector>

#include <xgrad/report/attention.hpp>

// What both forms of the demo print and show.

bool all_passed(const std::vector<xg::report::GradientRow>& rows);
/// NaN if there is one.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

/// A line of numbers in columns.
std::string numbers(const double* first, std::size_t count);
void print_gradient_header();
void print_gradient(const xg::report::GradientRow& row);

xg::report::Tile gradient_tile(const std::vector<xg::report::GradientRow>& rows);

/// Writes the page into a folder, which is made if need be, and returns its path. Throws UserError.
std::filesystem::path write_report(const std::filesystem::path& folder,
                                   const xg::report::Page& page);

#endif
