#pragma once

#include <string>
#include <vector>

namespace sim {

struct Report {
  std::string check;  // memory, lifetime, leaks, uninitialized, races, copy, setting
  std::string text;
};

// Keeps a report, and prints it unless `print` is off. Needs no lock and may be called with any.
void report(const std::string& check, const std::string& text);
void configure_reports(bool print, bool abort);
std::vector<Report> take_reports();
size_t report_count();

std::string json_string(const std::string& text);

}  // namespace sim
