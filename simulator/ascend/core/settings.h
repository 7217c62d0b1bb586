#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sim {

// What can be switched. Each name has an environment variable, MINDTORCH_SIM_<NAME>, and is set by
// mtsim_set(name, value).
struct Settings {
  int32_t devices = 8;                     // DEVICES
  size_t memory_bytes = size_t{64} << 30;  // MEMORY: bytes of each device; 512M and 2G also
  std::string soc = "Ascend910B3";         // SOC
  bool check_memory = true;                // CHECKS: all, none, or a list of memory,
  bool check_lifetime = true;              //   lifetime, leaks, uninitialized, races
  bool check_leaks = true;
  bool check_uninitialized = true;
  bool check_races = true;
  bool abort_on_report = false;  // ABORT: 1 ends the process at the first report
  bool print_reports = true;     // PRINT: 0 keeps reports from stderr
  uint64_t latency_ns = 0;       // LATENCY: microseconds before each task
  uint64_t jitter_ns = 0;        // JITTER: up to so many microseconds more
  uint64_t seed = 0;             // SEED of the jitter
  double slowness = 1;           // SLOWNESS: a task takes so many times longer
  uint32_t units = 0;            // UNITS: tasks that a device runs at once; 0: all that are ready
  uint64_t phase_one_ns = 0;  // PHASE_ONE: microseconds of the host that phase one takes at least
  uint64_t repeat_ns = 0;     // REPEAT: the same of phase two of an executor that runs again
  bool compute = true;        // COMPUTE: 0 queues ops and runs everything about them but the loops
  size_t log_entries = 0;     // LOG: entries of the call log's ring; 0: off
  std::string trace;          // TRACE: file written by aclFinalize and at the end
  std::string faults;         // FAULTS: see faults.h

  bool any_check() const;
  bool any_delay() const;
  bool is_910a() const;
  bool is_310p() const;
  bool is_950() const;
  int32_t cube_cores() const;
  int32_t vector_cores() const;
  uint32_t most_streams() const;
  uint32_t most_events() const;
};

// With the runtime's lock held, or before first use.
Settings& settings();
// Needs no lock.
bool any_check_is_on();
// The values in force: {"devices": "8", ...}, as JSON.
std::string settings_text();
// Back to the defaults and the environment.
void read_environment();
// False: no such name, or a value that makes no sense.
bool set_setting(const std::string& name, const std::string& value);
// The values that a setting takes, for people; empty: no such name.
std::string expected_value(const std::string& name);

}  // namespace sim
