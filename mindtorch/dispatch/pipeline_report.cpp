#include "mindtorch/dispatch/pipeline_report.h"

#include <algorithm>
#include <map>

#include "mindtorch/dispatch/window.h"
#include "mindtorch/driver/driver.h"

namespace mindtorch::dispatch {
namespace {

// Storages have no names: "s3" is the fourth that the window met.
std::string storage_name(const Recording& recording, uint32_t tensor) {
  const uint32_t storage = recording.tensors[tensor].storage;
  return storage == kNumberStorage ? "number" : mindtorch::detail::concat("s", storage);
}

std::string tensor_text(const Recording& recording, uint32_t tensor) {
  return mindtorch::detail::concat(storage_name(recording, tensor), ":",
                                   recording.describe(tensor));
}

CallSiteText site_text(CallSite site) {
  return site.code == nullptr ? CallSiteText() : call_site_hooks().describe(site);
}

// " (op 3 of flush 1, at submit: aten::add(float32[2], float32[2]) from train.py:12 in step)"
std::string place_text(const PipelineError& told) {
  std::string text = mindtorch::detail::concat(" (op ", told.op_number, " of flush ", told.flush_id,
                                               ", at ", told.phase, ": ", told.schema, "(");
  for (size_t i = 0; i < told.reads.size(); ++i) {
    text += mindtorch::detail::concat(i == 0 ? "" : ", ", told.reads[i]);
  }
  text += ")";
  if (told.site.line != 0) {
    text += mindtorch::detail::concat(" from ", told.site.file, ":", told.site.line, " in ",
                                      told.site.function);
  }
  return text + ")";
}

void add_message(const std::exception_ptr& error, PipelineError& told) {
  try {
    std::rethrow_exception(error);
  } catch (Error& e) {
    told.message = e.what();
    if (const auto* const vendors = dynamic_cast<const driver::DriverError*>(&e)) {
      told.runtime_code = vendors->code();
    }
    e.append(place_text(told));
  } catch (const std::exception& e) {
    told.message = e.what();
  } catch (...) {
    told.message = "unknown error";
  }
}

// The last op before this one that writes what it reads or writes.
void add_edges(const Recording& recording, size_t number, PipelineError& told) {
  const OpRecord& op = recording.ops[number];
  const auto add = [&](uint32_t tensor, const char* reason) {
    const uint32_t storage = recording.tensors[tensor].storage;
    for (size_t from = number; storage != kNumberStorage && from-- > 0;) {
      for (const uint32_t output : recording.outputs(recording.ops[from])) {
        if (recording.tensors[output].storage != storage) continue;
        told.edges.push_back(
            {from, number,
             output == tensor
                 ? reason
                 : mindtorch::detail::concat("alias_set:", storage_name(recording, tensor))});
        return;
      }
    }
  };
  for (const uint32_t tensor : recording.operands(op)) {
    if (tensor != kNoTensor) add(tensor, "write->read");
  }
  for (const uint32_t tensor : recording.outputs(op)) add(tensor, "write->write");
}

void add_aliases(const Recording& recording, const OpRecord& op, PipelineError& told) {
  std::map<uint32_t, std::vector<uint32_t>> tensors;  // by storage
  for (size_t i = 0; i < size_t{op.operand_count} + op.output_count; ++i) {
    const uint32_t tensor = recording.links[op.first_link + i];
    if (tensor == kNoTensor || recording.tensors[tensor].storage == kNumberStorage) continue;
    std::vector<uint32_t>& same = tensors[recording.tensors[tensor].storage];
    if (std::ranges::find(same, tensor) == same.end()) same.push_back(tensor);
  }
  for (const auto& [storage, same] : tensors) {
    if (same.size() > 1) told.aliases.push_back(mindtorch::detail::concat("s", storage));
  }
}

}  // namespace

PipelineError describe_error(Window& window, const WindowError& failure, uint64_t flush_id) {
  const Recording& recording = window.recording();
  const OpRecord& op = recording.ops[failure.number];
  PipelineError told;
  told.flush_id = flush_id;
  told.op_number = failure.number;
  told.op_name = op.op->schema.name;
  told.schema = op.op->schema.full_name();
  told.phase = failure.is_plan ? "plan" : "submit";
  told.device = op.device.str();
  told.site = site_text(window.site(failure.number));
  for (const uint32_t tensor : recording.operands(op)) {
    if (tensor != kNoTensor) told.reads.push_back(tensor_text(recording, tensor));
  }
  for (const uint32_t tensor : recording.outputs(op)) {
    told.writes.push_back(tensor_text(recording, tensor));
    told.versions.push_back(mindtorch::detail::concat(storage_name(recording, tensor), ":+1"));
  }
  add_aliases(recording, op, told);
  add_edges(recording, failure.number, told);
  add_message(failure.error, told);
  return told;
}

std::vector<OpReport> describe_ops(Window& window) {
  const Recording& recording = window.recording();
  std::vector<OpReport> reports;
  for (size_t i = 0; i < recording.ops.size(); ++i) {
    reports.push_back({i, recording.ops[i].op->schema.name, site_text(window.site(i))});
  }
  return reports;
}

}  // namespace mindtorch::dispatch
