#include "simulator/ascend/core/runtime.h"

#include <algorithm>

#include "simulator/ascend/core/capture.h"
#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/event.h"
#include "simulator/ascend/core/faults.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/memory.h"
#include "simulator/ascend/core/quick.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/stream.h"

namespace sim {

static thread_local void* context_of_thread = nullptr;

void apply_settings(Runtime& r) {
  r.devices.resize(static_cast<size_t>(settings().devices));
  set_faults(settings().faults);
  set_log_capacity(settings().log_entries);
  if (!settings().trace.empty()) write_trace_at_exit();
  refresh_modes();
}

Runtime& runtime() {
  // Never destroyed: streams' threads may outlive main().
  static Runtime* the_runtime = [] {
    read_environment();
    auto* made = new Runtime;
    apply_settings(*made);
    return made;
  }();
  return *the_runtime;
}

void charge(Device& device, size_t bytes) {
  device.used_bytes += bytes;
  device.peak_bytes = std::max(device.peak_bytes, device.used_bytes);
}

aclError check_device(int64_t device) {
  if (device >= 0 && device < static_cast<int64_t>(runtime().devices.size())) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_INVALID_DEVICEID, "device " + std::to_string(device) +
                                                 " does not exist; there are " +
                                                 std::to_string(runtime().devices.size()));
}

void set_current_context(void* handle) { context_of_thread = handle; }

void* current_context_handle() { return context_of_thread; }

aclError current_context(std::shared_ptr<Context>& context) {
  if (!context_of_thread) {
    return fail(ACL_ERROR_RT_CONTEXT_NULL,
                "this thread has no context; call aclrtSetDevice or aclrtSetCurrentContext first");
  }
  context = runtime().contexts.find(context_of_thread);
  if (context) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_CONTEXT_NULL, "this thread's context was destroyed");
}

std::shared_ptr<Context> make_context(int32_t device, bool is_default) {
  auto context = std::make_shared<Context>();
  context->device = device;
  context->is_default = is_default;
  runtime().contexts.add(context);
  context->default_stream = make_stream(*context, 0, 0);
  context->default_stream->is_default = true;
  return context;
}

void destroy_context(Lock& lock, const std::shared_ptr<Context>& context) {
  std::vector<std::shared_ptr<Stream>> own;
  for (const auto& [_, stream] : runtime().streams) {
    if (stream->context == context->handle) own.push_back(stream);
  }
  for (const auto& stream : own) destroy_stream(lock, stream, /*wait=*/true);
  runtime().contexts.remove(context->handle);
  ++runtime().generation;
}

void destroy_default_context(Lock& lock, int32_t device) {
  const auto context = std::move(runtime().devices[static_cast<size_t>(device)].default_context);
  runtime().devices[static_cast<size_t>(device)].default_context = nullptr;
  if (context) destroy_context(lock, context);
}

void reset_runtime() {
  Runtime& r = runtime();
  Lock lock(r.mutex);
  ++r.generation;
  r.captures.clear();
  std::vector<std::shared_ptr<Stream>> all;
  for (const auto& [_, stream] : r.streams) all.push_back(stream);
  for (const auto& stream : all) stream->capture = nullptr;
  for (const auto& stream : all) destroy_stream(lock, stream, /*wait=*/false);
  for (const auto& stream : all) wait_for_worker(lock, *stream);
  r.contexts.clear();
  r.events.clear();
  r.models.clear();
  r.physical.clear();
  forget_memory();
  reset_checks();
  r.devices.clear();
  r.init_count = 0;
  r.finalized = false;
  r.system_parameters.clear();
  r.exception_callback = nullptr;
  r.next_stream_id = 0;
  context_of_thread = nullptr;
  forget_errors();
  read_environment();
  apply_settings(r);
}

}  // namespace sim
