// What torch.profiler is made of: sessions of the recorder and what they saw, as plain Python data.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <time.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bindings/interpreter/frames.h"
#include "bindings/interpreter/gil.h"
#include "bindings/interpreter/interpreter_end.h"
#include "bindings/interpreter/python_context.h"
#include "mindtorch/dispatch/op_arguments.h"
#include "mindtorch/profiler/recorder.h"

namespace nb = nanobind;

namespace mindtorch::python {
namespace {

using dispatch::OpArgument;
using dispatch::TensorArgument;
using ops::ValueKind;

// The calling thread is where it was then.
bool is_at(const std::vector<CodeSite>& sites) {
  size_t depth = 0;
  bool is_same = true;
  each_frame(current_frame(), [&](PyFrameObject* frame, PyCodeObject* code) {
    const CodeSite here{reinterpret_cast<PyObject*>(code), instruction_of(frame)};
    is_same = depth < sites.size() && sites[depth] == here;
    ++depth;
    return is_same;
  });
  return is_same && depth == sites.size();
}

// Ops of a loop come from the same place again and again, and share what is kept of it.
std::shared_ptr<const void> take_stack() {
  if (interpreter_ends() || PyGILState_GetThisThreadState() == nullptr) return nullptr;
  const GilHold gil;
  static thread_local std::weak_ptr<const runtime::CallContext> last;
  const std::shared_ptr<const runtime::CallContext> known = last.lock();
  if (known != nullptr && is_at(static_cast<const PythonContext&>(*known).sites())) return known;
  const std::shared_ptr<const runtime::CallContext> taken = take_python_context();
  last = taken;
  return taken;
}

nb::object integer(int64_t number) { return nb::steal(PyLong_FromLongLong(number)); }

nb::list list_of(const std::vector<int64_t>& numbers) {
  nb::list list;
  for (const int64_t number : numbers) list.append(integer(number));
  return list;
}

nb::tuple tensor_of(const TensorArgument& tensor) {
  const std::string_view dtype = name(tensor.dtype);
  return nb::make_tuple(nb::str(dtype.data(), dtype.size()), list_of(tensor.sizes),
                        list_of(tensor.strides));
}

nb::object number_of(const Scalar& number) {
  switch (number.kind()) {
    case Scalar::Kind::kBool:
      return nb::bool_(number.to_bool());
    case Scalar::Kind::kInt:
      return integer(number.to_int());
    case Scalar::Kind::kUnsigned:
      return nb::steal(PyLong_FromUnsignedLongLong(number.to<uint64_t>()));
    case Scalar::Kind::kFloat:
      return nb::float_(number.to_double());
    case Scalar::Kind::kComplex:
      break;
  }
  return nb::steal(PyComplex_FromDoubles(number.to_double(), number.imag()));
}

// A pair: what it is, and its value.
nb::tuple argument_of(const OpArgument& argument) {
  switch (argument.kind) {
    case ValueKind::kTensor:
      return nb::make_tuple("tensor", tensor_of(argument.tensors[0]));
    case ValueKind::kTensorList: {
      nb::list tensors;
      for (const TensorArgument& tensor : argument.tensors) tensors.append(tensor_of(tensor));
      return nb::make_tuple("tensors", tensors);
    }
    case ValueKind::kScalar:
    case ValueKind::kInt:
    case ValueKind::kFloat:
    case ValueKind::kBool:
      return nb::make_tuple("number", number_of(argument.number));
    case ValueKind::kIntList:
      return nb::make_tuple("list", list_of(argument.integers));
    case ValueKind::kFloatList: {
      nb::list floats;
      for (const double number : argument.floats) floats.append(number);
      return nb::make_tuple("list", floats);
    }
    case ValueKind::kDType: {
      const std::string_view dtype = name(static_cast<DType>(argument.integers[0]));
      return nb::make_tuple("dtype", nb::str(dtype.data(), dtype.size()));
    }
    case ValueKind::kMemoryFormat:
      return nb::make_tuple("number", integer(argument.integers[0]));
    case ValueKind::kDevice:
    case ValueKind::kString:
      return nb::make_tuple("text", nb::str(argument.text.c_str(), argument.text.size()));
    case ValueKind::kNone:
    case ValueKind::kGenerator:
      break;
  }
  return nb::make_tuple("none", nb::none());
}

// One Python object for each way into the program, and one for each place there.
class Stacks {
 public:
  explicit Stacks(std::vector<std::string> prefixes) : prefixes_(std::move(prefixes)) {}

  nb::object operator[](const std::shared_ptr<const void>& stack) {
    if (stack == nullptr) return nb::none();
    const auto* const context = static_cast<const runtime::CallContext*>(stack.get());
    const auto& sites = static_cast<const PythonContext*>(context)->sites();
    const std::string key(reinterpret_cast<const char*>(sites.data()),
                          sites.size() * sizeof(CodeSite));
    nb::object& known = lists_[key];
    if (!known.is_valid()) {
      nb::list list;
      for (const CodeSite& site : sites) list.append(place(site));
      known = list;
    }
    return known;
  }

 private:
  nb::object place(const CodeSite& site) {
    const runtime::Frame frame = PythonContext::frame(site);
    std::string_view file = frame.filename;
    for (const std::string& prefix : prefixes_) {
      if (!file.starts_with(prefix)) continue;
      file.remove_prefix(prefix.size());
      break;
    }
    const std::string text =
        std::string(file) + "(" + std::to_string(frame.line) + "): " + frame.name;
    nb::object& known = places_[text];
    if (!known.is_valid()) known = nb::str(text.c_str(), text.size());
    return known;
  }

  const std::vector<std::string> prefixes_;
  std::unordered_map<std::string, nb::object> lists_;
  std::unordered_map<std::string, nb::object> places_;
};

nb::tuple event_of(const profiler::HostEvent& event,
                   const profiler::ThreadRecording& thread,
                   Stacks& stacks) {
  nb::object arguments = nb::none();
  if (event.argument_count != 0) {
    const std::span numbers(thread.arguments.data() + event.first_argument, event.argument_count);
    nb::list list;
    for (const OpArgument& argument : dispatch::decode_arguments(numbers)) {
      list.append(argument_of(argument));
    }
    arguments = list;
  }
  return nb::make_tuple(event.id, event.parent, static_cast<int>(event.kind), event.is_async,
                        event.name, event.detail, event.start_ns, event.end_ns, event.sequence,
                        arguments, stacks[event.stack]);
}

nb::tuple memory_of(const profiler::MemoryEvent& event) {
  return nb::make_tuple(event.time_ns, event.inside, reinterpret_cast<uintptr_t>(event.address),
                        event.bytes, event.allocated_bytes, event.reserved_bytes, event.device_kind,
                        event.device_index);
}

nb::tuple device_of(const profiler::DeviceEvent& event) {
  return nb::make_tuple(event.id, event.launched_by, event.launch_thread, event.launch_ns,
                        event.name, event.device_kind, event.device_index, event.stream,
                        event.start_ns, event.end_ns, event.bytes);
}

int64_t unix_time_ns() {
  timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

nb::dict stop(uint64_t session, std::vector<std::string> prefixes) {
  profiler::Recording recording;
  {
    const GilRelease released(true);
    recording = profiler::stop_session(session);
  }
  Stacks stacks(std::move(prefixes));
  nb::list threads;
  for (const profiler::ThreadRecording& thread : recording.threads) {
    nb::list events;
    for (const profiler::HostEvent& event : thread.events) {
      events.append(event_of(event, thread, stacks));
    }
    nb::list memory;
    for (const profiler::MemoryEvent& event : thread.memory) memory.append(memory_of(event));
    threads.append(nb::make_tuple(thread.number, thread.system_id, thread.name, events, memory));
  }
  nb::list device;
  for (const profiler::DeviceEvent& event : recording.device) device.append(device_of(event));
  nb::dict result;
  result["start_ns"] = recording.start_ns;
  result["end_ns"] = recording.end_ns;
  result["unix_minus_clock_ns"] = unix_time_ns() - profiler::now_ns();
  result["threads"] = threads;
  result["device"] = device;
  return result;
}

nb::object begin_range(const char* name, const char* arguments) {
  if (!profiler::is_recording()) return nb::none();
  profiler::Span span({.kind = profiler::Kind::kUser, .name = name, .detail = arguments});
  if (!span.is_open()) return nb::none();
  return nb::cast(std::move(span));
}

}  // namespace

void bind_profiler(nb::module_& module) {
  profiler::hooks().take_stack = &take_stack;
  nb::class_<profiler::Span>(module, "_ProfilerRange").def("end", &profiler::Span::end);
  module.def("_profiler_start", &profiler::start_session, nb::arg("wanted"));
  module.def("_profiler_change", &profiler::change_session, nb::arg("session"), nb::arg("wanted"));
  module.def("_profiler_stop", &stop, nb::arg("session"), nb::arg("prefixes"));
  module.def("_profiler_is_recording", &profiler::is_recording);
  module.def("_profiler_range", &begin_range, nb::arg("name"), nb::arg("arguments") = "");
}

}  // namespace mindtorch::python
