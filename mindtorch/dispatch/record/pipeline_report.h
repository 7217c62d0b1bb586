#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mindtorch/dispatch/record/call_site.h"
#include "mindtorch/dispatch/trace/trace.h"

namespace mindtorch::dispatch {

// One recorded op.
struct OpReport {
  size_t number = 0;
  std::string name;
  CallSiteText site;
};

// Why an op must run after another.
struct DependencyEdge {
  size_t from = 0;
  size_t to = 0;
  std::string reason;
};

// What is known of a flush that failed.
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
  std::vector<std::string> versions;    // of what it writes: how often
  std::optional<int64_t> runtime_code;  // the vendor's
  std::string message;
};

// Op `op` of the trace failed, while the trace was planned or run (`phase`). Also appends to the
// error's own text where it happened.
PipelineError describe_error(const Trace& trace,
                             size_t op,
                             CallSite site,
                             const char* phase,
                             uint64_t flush_id,
                             const std::exception_ptr& error);
std::vector<OpReport> describe_ops(const Trace& trace, std::span<const CallSite> sites);

}  // namespace mindtorch::dispatch
