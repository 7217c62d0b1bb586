#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mindtorch/dispatch/call_site.h"

namespace mindtorch::dispatch {

class Window;
struct WindowError;

// One op of a window, in words.
struct OpReport {
  size_t number = 0;
  std::string name;
  CallSiteText site;
};

// Why an op of a window comes after another.
struct DependencyEdge {
  size_t from = 0;
  size_t to = 0;
  std::string reason;
};

// What a failing flush tells.
struct PipelineError {
  uint64_t flush_id = 0;
  size_t op_number = 0;
  std::string op_name;
  std::string schema;
  std::string phase;  // "plan" or "submit"
  std::string device;
  CallSiteText site;
  std::vector<std::string> reads;
  std::vector<std::string> writes;
  std::vector<std::string> aliases;     // sets of arguments that share a storage
  std::vector<DependencyEdge> edges;    // that end at the op
  std::vector<std::string> versions;    // of what it writes: how many writes the window makes
  std::vector<std::string> suppressed;  // errors of work that came after
  std::optional<int64_t> runtime_code;  // the vendor's
  std::string message;
};

// Also appends to the error's own text where it happened.
PipelineError describe_error(Window& window, const WindowError& failure, uint64_t flush_id);
std::vector<OpReport> describe_ops(Window& window);

}  // namespace mindtorch::dispatch
