#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "simulator/ascend/core/task.h"

namespace sim {

// One argument of a call, for the log. Costs nothing to make.
struct Argument {
  const char* name;
  int64_t value;
  bool is_pointer;

  template <class T>
  Argument(const char* argument, T* pointer)
      : name(argument), value(reinterpret_cast<int64_t>(pointer)), is_pointer(true) {}
  template <class T, std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>, int> = 0>
  Argument(const char* argument, T number)
      : name(argument), value(static_cast<int64_t>(number)), is_pointer(false) {}
};

// As enter_call(function), with the arguments that the log shows.
SIM_API aclError enter(const char* function, std::initializer_list<Argument> arguments);

void set_log_capacity(size_t entries);  // 0: off; empties the log
bool log_is_on();
void log_task(const std::string& name,
              int32_t device,
              int32_t stream_id,
              uint64_t delay_ns,  // before it started
              uint64_t start_ns,
              uint64_t end_ns,
              aclError code);
// One JSON object per line, oldest first.
std::string log_lines();
// For chrome://tracing and Perfetto: a lane for each stream and each host thread.
std::string log_trace();
bool write_trace(const std::string& path);
// Also for programs that end without aclFinalize.
void write_trace_at_exit();

}  // namespace sim
