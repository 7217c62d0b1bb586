#include "mindtorch/dispatch/record/pipeline_report.h"

#include <algorithm>
#include <map>

#include "mindtorch/driver/driver.h"

namespace mindtorch::dispatch {
namespace {

// Storages have no names: "s3" is the fourth that the trace uses.
std::string storage_name(const Trace& trace, uint32_t tensor) {
  const uint32_t storage = trace.tensors[tensor].storage;
  return storage == kNumberStorage ? "number" : mindtorch::detail::concat("s", storage);
}

std::string tensor_text(const Trace& trace, uint32_t tensor) {
  return mindtorch::detail::concat(storage_name(trace, tensor), ":", trace.describe(tensor));
}

CallSiteText site_text(CallSite site) {
  return site.code == nullptr ? CallSiteText() : call_site_hooks().describe(site);
}

// " (op 3 of flush 1, at submit: aten::add(float32[2], float32[2]) from train.py:12 in step)"
std::string place_text(const PipelineError& report) {
  std::string text =
      mindtorch::detail::concat(" (op ", report.op_number, " of flush ", report.flush_id, ", at ",
                                report.phase, ": ", report.schema, "(");
  for (size_t i = 0; i < report.reads.size(); ++i) {
    text += mindtorch::detail::concat(i == 0 ? "" : ", ", report.reads[i]);
  }
  text += ")";
  if (report.site.line != 0) {
    text += mindtorch::detail::concat(" from ", report.site.file, ":", report.site.line, " in ",
                                      report.site.function);
  }
  return text + ")";
}

void add_message(const std::exception_ptr& error, PipelineError& report) {
  try {
    std::rethrow_exception(error);
  } catch (Error& e) {
    report.message = e.what();
    if (const auto* const vendors = dynamic_cast<const driver::DriverError*>(&e)) {
      report.runtime_code = vendors->code();
    }
    e.append(place_text(report));
  } catch (const std::exception& e) {
    report.message = e.what();
  } catch (...) {
    report.message = "unknown error";
  }
}

// The last op before this one that writes what it reads or writes.
void add_edges(const Trace& trace, size_t number, PipelineError& report) {
  const OpRecord& op = trace.ops[number];
  const auto add = [&](uint32_t tensor, const char* reason) {
    const uint32_t storage = trace.tensors[tensor].storage;
    for (size_t from = number; storage != kNumberStorage && from-- > 0;) {
      for (const uint32_t output : trace.outputs(trace.ops[from])) {
        if (trace.tensors[output].storage != storage) continue;
        report.edges.push_back({from, number,
                                output == tensor ? reason
                                                 : mindtorch::detail::concat(
                                                       "alias_set:", storage_name(trace, tensor))});
        return;
      }
    }
  };
  for (const uint32_t tensor : trace.operands(op)) {
    if (tensor != kNoTensor) add(tensor, "write->read");
  }
  for (const uint32_t tensor : trace.outputs(op)) add(tensor, "write->write");
}

void add_aliases(const Trace& trace, const OpRecord& op, PipelineError& report) {
  std::map<uint32_t, std::vector<uint32_t>> tensors;  // by storage
  for (size_t i = 0; i < size_t{op.operand_count} + op.output_count; ++i) {
    const uint32_t tensor = trace.tensor_ids[op.first_id + i];
    if (tensor == kNoTensor || trace.tensors[tensor].storage == kNumberStorage) continue;
    std::vector<uint32_t>& same = tensors[trace.tensors[tensor].storage];
    if (std::ranges::find(same, tensor) == same.end()) same.push_back(tensor);
  }
  for (const auto& [storage, same] : tensors) {
    if (same.size() > 1) report.aliases.push_back(mindtorch::detail::concat("s", storage));
  }
}

}  // namespace

PipelineError describe_error(const Trace& trace,
                             size_t index,
                             CallSite site,
                             const char* phase,
                             uint64_t flush_id,
                             const std::exception_ptr& error) {
  const OpRecord& op = trace.ops[index];
  PipelineError report;
  report.flush_id = flush_id;
  report.op_number = index;
  report.op_name = op.op->schema.name;
  report.schema = op.op->schema.full_name();
  report.phase = phase;
  report.device = op.device.str();
  report.site = site_text(site);
  for (const uint32_t tensor : trace.operands(op)) {
    if (tensor != kNoTensor) report.reads.push_back(tensor_text(trace, tensor));
  }
  for (const uint32_t tensor : trace.outputs(op)) {
    report.writes.push_back(tensor_text(trace, tensor));
    report.versions.push_back(mindtorch::detail::concat(storage_name(trace, tensor), ":+1"));
  }
  add_aliases(trace, op, report);
  add_edges(trace, index, report);
  add_message(error, report);
  return report;
}

std::vector<OpReport> describe_ops(const Trace& trace, std::span<const CallSite> sites) {
  std::vector<OpReport> reports;
  for (size_t i = 0; i < trace.ops.size(); ++i) {
    reports.push_back({i, trace.ops[i].op->schema.name, site_text(sites[i])});
  }
  return reports;
}

}  // namespace mindtorch::dispatch
