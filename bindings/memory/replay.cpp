// Replays of recorded memory traces.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <unordered_map>

#include "bindings/interpreter/python_ref.h"
#include "mindtorch/runtime/replay.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using runtime::AllocConf;
using runtime::ReplayResult;
using runtime::ReplaySettings;
using runtime::TraceAction;
using runtime::TraceEntry;

const std::unordered_map<std::string, TraceAction>& actions() {
  static const auto* const table = new std::unordered_map<std::string, TraceAction>{
      {"alloc", TraceAction::kAlloc},
      {"free_requested", TraceAction::kFreeRequested},
      {"free_completed", TraceAction::kFreeCompleted},
      {"free", TraceAction::kFreeCompleted}};
  return *table;
}

// A trace in torch's form, read once for any number of replays.
class RecordedTrace {
 public:
  explicit RecordedTrace(const nb::list& entries) {
    trace_.reserve(entries.size());
    size_t number = 0;
    // A tuple: reading an entry may run Python code, which may change the list.
    for (nb::handle item : nb::tuple(entries)) {
      try {
        add(nb::cast<nb::dict>(item));
      } catch (const std::exception&) {  // a key is missing, or a value is none
        MT_THROW(ValueError, "entry ", number,
                 " of the trace is damaged: ", nb::repr(item).c_str());
      }
      ++number;
    }
  }

  size_t size() const { return trace_.size(); }

  nb::dict replay(const std::string& conf,
                  std::optional<size_t> device_bytes,
                  bool virtual_memory,
                  const nb::object& progress) const {
    ReplaySettings settings;
    nb::list mistakes;
    settings.conf = AllocConf::parse(
        conf, [&mistakes](const std::string& warning) { mistakes.append(warning); });
    settings.device_bytes = device_bytes.value_or(SIZE_MAX);
    settings.virtual_memory = virtual_memory;
    if (!progress.is_none()) {
      settings.progress = [&progress](size_t done) {
        const GilHold gil;
        progress(done);
      };
    }
    ReplayResult result;
    {
      const GilRelease unlocked(true);
      result = runtime::replay(trace_, settings);
    }
    nb::dict answer;
    answer["peak_reserved_bytes"] = result.peak_reserved_bytes;
    answer["peak_active_bytes"] = result.peak_active_bytes;
    answer["fragmentation_at_peak"] = result.fragmentation_at_peak;
    answer["device_allocations"] = result.device_allocations;
    answer["device_frees"] = result.device_frees;
    answer["allocations"] = result.allocations;
    answer["out_of_memory_at"] =
        result.out_of_memory ? nb::cast(result.out_of_memory_at) : nb::none();
    answer["out_of_memory_bytes"] =
        result.out_of_memory ? nb::cast(result.out_of_memory_bytes) : nb::none();
    answer["warnings"] = mistakes;
    return answer;
  }

 private:
  void add(const nb::dict& entry) {
    const auto action = actions().find(nb::cast<std::string>(entry["action"]));
    if (action == actions().end()) return;
    TraceEntry result{};
    result.action = action->second;
    result.address = nb::cast<uint64_t>(entry["addr"]);
    result.size = nb::cast<size_t>(entry["size"]);
    result.stream = reinterpret_cast<driver::StreamHandle>(nb::cast<uintptr_t>(entry["stream"]));
    trace_.push_back(std::move(result));
  }

  std::vector<TraceEntry> trace_;
};

}  // namespace

void bind_replay(nb::module_& module) {
  nb::class_<RecordedTrace>(module, "_RecordedTrace",
                            "Allocations and frees of one device, to be replayed.")
      .def(nb::init<const nb::list&>(), nb::arg("entries"))
      .def("__len__", &RecordedTrace::size)
      .def("replay", &RecordedTrace::replay, nb::arg("conf") = "",
           nb::arg("device_bytes") = nb::none(), nb::arg("virtual_memory") = true,
           nb::arg("progress") = nb::none());
}

}  // namespace mindtorch::python
