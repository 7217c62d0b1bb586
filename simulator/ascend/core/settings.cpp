#include "simulator/ascend/core/settings.h"

#include <atomic>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <sstream>
#include <type_traits>

#include "simulator/ascend/core/reports.h"

namespace sim {

static constexpr size_t kDefaultLog = 65536;

static bool starts_with(const std::string& text, const char* prefix) {
  return text.rfind(prefix, 0) == 0;
}

bool Settings::any_check() const {
  return check_memory || check_lifetime || check_leaks || check_uninitialized || check_races;
}

bool Settings::any_delay() const { return latency_ns || jitter_ns || slowness > 1 || units; }

bool Settings::is_910a() const {
  return soc == "Ascend910A" || soc == "Ascend910ProA" || soc == "Ascend910PremiumA" ||
         soc == "Ascend910B" || soc == "Ascend910ProB";
}

bool Settings::is_310p() const { return starts_with(soc, "Ascend310P"); }

bool Settings::is_950() const { return starts_with(soc, "Ascend950"); }

int32_t Settings::cube_cores() const { return is_310p() ? 8 : is_910a() ? 32 : 20; }

int32_t Settings::vector_cores() const { return is_310p() ? 7 : is_910a() ? 0 : 40; }

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

static std::string checks_text() {
  std::string checks;
  for (const auto& [name, flag] : check_flags()) {
    if (*flag) checks += (checks.empty() ? "" : ",") + name;
  }
  return checks.empty() ? "none" : checks;
}

namespace {
// One setting: how it is read, false for a value that makes no sense, how it is written, and which
// values make sense.
struct Setting {
  std::function<bool(const std::string&)> set;
  std::function<std::string()> get;
  std::string expected;
};
}  // namespace

static std::string number_text(double number) {
  std::ostringstream text;
  text.precision(15);
  text << number;
  return text.str();
}

static Setting text_entry(std::string& text) {
  return {[&](const std::string& value) { return text = value, true; }, [&] { return text; },
          "a text"};
}

// A number from 0 to `most`; the field holds `unit` times as much. What is counted has no
// fractions.
template <class T>
static Setting number_entry(T& field, double most, double unit = 1) {
  const auto set = [&field, most, unit](const std::string& value) {
    double number = 0;
    if (!parse_number(value, number) || number > most) return false;
    if (std::is_integral_v<T> && unit == 1 && std::floor(number) != number) return false;
    field = static_cast<T>(number * unit);
    return true;
  };
  const auto get = [&field, unit] { return number_text(static_cast<double>(field) / unit); };
  return {set, get, "a number from 0 to " + number_text(most)};
}

static Setting flag_entry(bool& flag) {
  Setting entry = number_entry(flag, 1);
  entry.expected = "0 or 1";
  return entry;
}

static std::map<std::string, Setting> all_settings() {
  // Beyond these a machine would run out of memory, or a task would never end.
  constexpr double kMostDevices = 64;
  constexpr double kMostMemory = 1ull << 50;
  constexpr double kMostMicroseconds = 3600e6;
  constexpr double kMostSlowness = 1e6;
  constexpr double kMostUnits = 65536;
  constexpr double kMostLog = 1ull << 24;
  constexpr double kMostSeed = 1ull << 53;
  Settings& s = settings();
  std::map<std::string, Setting> all = {
      {"devices", number_entry(s.devices, kMostDevices)},
      {"memory", number_entry(s.memory_bytes, kMostMemory)},
      {"soc", text_entry(s.soc)},
      {"checks",
       {set_checks, checks_text,
        "all, none, or some of memory, lifetime, leaks, uninitialized, races"}},
      {"abort", flag_entry(s.abort_on_report)},
      {"print", flag_entry(s.print_reports)},
      {"latency", number_entry(s.latency_ns, kMostMicroseconds, 1000)},
      {"jitter", number_entry(s.jitter_ns, kMostMicroseconds, 1000)},
      {"seed", number_entry(s.seed, kMostSeed)},
      {"slowness", number_entry(s.slowness, kMostSlowness)},
      {"units", number_entry(s.units, kMostUnits)},
      {"phase_one", number_entry(s.phase_one_ns, kMostMicroseconds, 1000)},
      {"repeat", number_entry(s.repeat_ns, kMostMicroseconds, 1000)},
      {"compute", flag_entry(s.compute)},
      {"log", number_entry(s.log_entries, kMostLog)},
      {"trace", text_entry(s.trace)},
      {"faults", text_entry(s.faults)},
  };
  all["soc"].expected = "the name of a chip, such as Ascend910B3";
  all["memory"].expected = "a number of bytes up to 1048576G";
  return all;
}

std::string expected_value(const std::string& name) {
  const auto all = all_settings();
  const auto found = all.find(name);
  return found == all.end() ? "" : found->second.expected;
}

bool set_setting(const std::string& name, const std::string& value) {
  if (name == "soc" && !starts_with(value, "Ascend")) return false;
  const auto all = all_settings();
  const auto found = all.find(name);
  if (found == all.end() || !found->second.set(value)) return false;
  Settings& s = settings();
  if (s.log_entries == 1) s.log_entries = kDefaultLog;
  configure_reports(s.print_reports, s.abort_on_report);
  return true;
}

std::string settings_text() {
  std::string text;
  for (const auto& [name, entry] : all_settings()) {
    text += (text.empty() ? "{" : ", ") + json_string(name) + ": " + json_string(entry.get());
  }
  return text + "}";
}

void read_environment() {
  settings() = Settings{};
  some_check = true;
  configure_reports(true, false);
  for (const auto& [name, _] : all_settings()) {
    std::string variable = "MINDTORCH_SIM_";
    for (const char c : name) {
      variable += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    const char* value = std::getenv(variable.c_str());
    if (value && !set_setting(name, value)) {
      report("setting",
             variable + " is not understood: \"" + value + "\"; it takes " + expected_value(name));
    }
  }
}

}  // namespace sim
