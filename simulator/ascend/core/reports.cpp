#include "simulator/ascend/core/reports.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace sim {

static constexpr size_t kMostReports = 1000;

namespace {
struct Reports {
  std::mutex mutex;
  std::vector<Report> list;
  bool print = true;
  bool abort = false;
};
}  // namespace

static Reports& reports() {
  static auto* the_reports = new Reports;
  return *the_reports;
}

void report(const std::string& check, const std::string& text) {
  Reports& all = reports();
  const std::lock_guard hold(all.mutex);
  if (all.list.size() < kMostReports) all.list.push_back({check, text});
  if (all.print) {
    std::fprintf(stderr, "ascend simulator: %s: %s\n", check.c_str(), text.c_str());
  }
  if (all.abort) std::abort();
}

void configure_reports(bool print, bool abort) {
  Reports& all = reports();
  const std::lock_guard hold(all.mutex);
  all.print = print;
  all.abort = abort;
}

std::vector<Report> take_reports() {
  Reports& all = reports();
  const std::lock_guard hold(all.mutex);
  std::vector<Report> taken;
  taken.swap(all.list);
  return taken;
}

size_t report_count() {
  Reports& all = reports();
  const std::lock_guard hold(all.mutex);
  return all.list.size();
}

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += ' ';
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace sim
