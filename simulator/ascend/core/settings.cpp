#include "simulator/ascend/core/settings.h"

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>

#include "simulator/ascend/core/reports.h"

namespace sim {

static bool starts_with(const std::string& text, const char* prefix) {
  return text.rfind(prefix, 0) == 0;
}

bool Settings::any_check() const {
  return check_memory || check_lifetime || check_leaks || check_uninitialized || check_races;
}

bool Settings::any_delay() const { return latency_ns || jitter_ns || slowness > 1; }

bool Settings::is_910a() const {
  return soc == "Ascend910A" || soc == "Ascend910ProA" || soc == "Ascend910PremiumA" ||
         soc == "Ascend910B" || soc == "Ascend910ProB";
}

bool Settings::is_310p() const { return starts_with(soc, "Ascend310P"); }

bool Settings::is_950() const { return starts_with(soc, "Ascend950"); }

uint32_t Settings::most_streams() const { return is_310p() ? 1024 : is_910a() ? 2048 : 1984; }

uint32_t Settings::most_events() const { return is_310p() ? 1023 : is_910a() ? 65535 : 65536; }

Settings& settings() {
  static auto* the_settings = new Settings;
  return *the_settings;
}

static bool parse_number(const std::string& text, double& number) {
  if (text.empty()) return false;
  char* end = nullptr;
  number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  if (unit == "K" || unit == "k") number *= 1024.0;
  if (unit == "M" || unit == "m") number *= 1048576.0;
  if (unit == "G" || unit == "g") number *= 1073741824.0;
  return end != text.c_str() && unit.size() <= 1 && number >= 0 &&
         (unit.empty() || std::string("KMGkmg").find(unit) != std::string::npos);
}

static std::atomic<bool> some_check{true};

bool any_check_is_on() { return some_check.load(std::memory_order_relaxed); }

static std::map<std::string, bool*> check_flags() {
  Settings& s = settings();
  return {{"memory", &s.check_memory},
          {"lifetime", &s.check_lifetime},
          {"leaks", &s.check_leaks},
          {"uninitialized", &s.check_uninitialized},
          {"races", &s.check_races}};
}

static bool set_checks(const std::string& text) {
  const bool all = text == "all" || text == "1";
  const auto names = check_flags();
  std::map<std::string, bool> wanted;
  if (!all && text != "none" && text != "0") {
    std::istringstream list(text);
    for (std::string name; std::getline(list, name, ',');) {
      if (!names.count(name)) return false;
      wanted[name] = true;
    }
  }
  for (auto& [name, flag] : names) *flag = all || wanted.count(name);
  some_check = all || !wanted.empty();
  return true;
}

bool set_setting(const std::string& name, const std::string& value) {
  Settings& s = settings();
  if (name == "soc") {
    s.soc = value;
    return starts_with(value, "Ascend");
  }
  if (name == "checks") return set_checks(value);
  if (name == "trace") {
    s.trace = value;
    return true;
  }
  if (name == "faults") {
    s.faults = value;
    return true;
  }
  double number = 0;
  if (!parse_number(value, number)) return false;
  const auto whole = static_cast<uint64_t>(number);
  const std::map<std::string, std::function<void()>> numbers = {
      {"devices", [&] { s.devices = static_cast<int32_t>(whole); }},
      {"memory", [&] { s.memory_bytes = whole; }},
      {"abort", [&] { s.abort_on_report = whole != 0; }},
      {"print", [&] { s.print_reports = whole != 0; }},
      {"latency", [&] { s.latency_ns = static_cast<uint64_t>(number * 1000); }},
      {"jitter", [&] { s.jitter_ns = static_cast<uint64_t>(number * 1000); }},
      {"seed", [&] { s.seed = whole; }},
      {"slowness", [&] { s.slowness = number; }},
      {"compute", [&] { s.compute = whole != 0; }},
      {"log", [&] { s.log_entries = whole == 1 ? 65536 : whole; }},
  };
  const auto found = numbers.find(name);
  if (found == numbers.end()) return false;
  found->second();
  configure_reports(s.print_reports, s.abort_on_report);
  return true;
}

std::string settings_text() {
  const Settings& s = settings();
  std::string checks;
  for (const auto& [name, flag] : check_flags()) {
    if (*flag) checks += (checks.empty() ? "" : ",") + name;
  }
  const auto decimal = [](double number) {
    std::ostringstream text;
    text << number;
    return text.str();
  };
  const auto microseconds = [&](uint64_t ns) { return decimal(static_cast<double>(ns) / 1000); };
  std::string text;
  for (const auto& [name, value] : std::map<std::string, std::string>{
           {"devices", std::to_string(s.devices)},
           {"memory", std::to_string(s.memory_bytes)},
           {"soc", s.soc},
           {"checks", checks.empty() ? "none" : checks},
           {"abort", std::to_string(s.abort_on_report)},
           {"print", std::to_string(s.print_reports)},
           {"latency", microseconds(s.latency_ns)},
           {"jitter", microseconds(s.jitter_ns)},
           {"seed", std::to_string(s.seed)},
           {"slowness", decimal(s.slowness)},
           {"log", std::to_string(s.log_entries)},
           {"trace", s.trace},
           {"faults", s.faults},
       }) {
    text += (text.empty() ? "{" : ", ") + json_string(name) + ": " + json_string(value);
  }
  return text + "}";
}

void read_environment() {
  settings() = Settings{};
  some_check = true;
  configure_reports(true, false);
  for (const char* name : {"devices", "memory", "soc", "checks", "abort", "print", "latency",
                           "jitter", "seed", "slowness", "compute", "log", "trace", "faults"}) {
    std::string variable = "MINDTORCH_SIM_";
    for (const char* c = name; *c; ++c) {
      variable += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
    }
    const char* value = std::getenv(variable.c_str());
    if (value && !set_setting(name, value)) {
      report("setting", variable + " is not understood: \"" + value + "\"");
    }
  }
}

}  // namespace sim
