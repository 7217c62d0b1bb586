// Streams and host callbacks.
#include "simulator/ascend/core/stream.h"

#include <cstring>

#include "simulator/ascend/core/callbacks.h"
#include "simulator/ascend/core/capture.h"
#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/settings.h"

using namespace sim;

struct aclrtStreamConfigHandle {
  uint32_t flag = 0;
  uint32_t priority = 0;
};

static aclError create_stream(aclrtStream* stream, uint32_t priority, uint32_t flags) {
  if (!stream) return fail_null("stream");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  if (runtime().devices[static_cast<size_t>(context->device)].streams >=
      settings().most_streams()) {
    return fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "the device has no stream left");
  }
  *stream = make_stream(*context, priority, flags)->handle;
  return ACL_SUCCESS;
}

aclError aclrtCreateStream(aclrtStream* stream) {
  if (const aclError code = enter("aclrtCreateStream", {})) return code;
  return create_stream(stream, 0, 0);
}

aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  if (const aclError code =
          enter("aclrtCreateStreamWithConfig", {{"priority", priority}, {"flag", flag}})) {
    return code;
  }
  return create_stream(stream, priority, flag);
}

aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle() {
  if (enter("aclrtCreateStreamConfigHandle", {})) return nullptr;
  return new aclrtStreamConfigHandle;
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* handle) {
  if (const aclError code = enter("aclrtDestroyStreamConfigHandle", {})) return code;
  if (!handle) return fail_null("handle");
  delete handle;
  return ACL_SUCCESS;
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle,
                                 aclrtStreamConfigAttr attr,
                                 const void* attrValue,
                                 size_t valueSize) {
  if (const aclError code = enter("aclrtSetStreamConfigOpt", {{"attr", attr}})) return code;
  if (!handle || !attrValue) return fail_null("handle or attrValue");
  if (attr != ACL_RT_STREAM_FLAG && attr != ACL_RT_STREAM_PRIORITY) {
    return attr == ACL_RT_STREAM_WORK_ADDR_PTR || attr == ACL_RT_STREAM_WORK_SIZE
               ? ACL_SUCCESS
               : fail(ACL_ERROR_INVALID_PARAM, "there is no such attribute");
  }
  if (valueSize != sizeof(uint32_t)) return fail(ACL_ERROR_INVALID_PARAM, "valueSize must be 4");
  (attr == ACL_RT_STREAM_FLAG ? handle->flag : handle->priority) =
      *static_cast<const uint32_t*>(attrValue);
  return ACL_SUCCESS;
}

aclError aclrtCreateStreamV2(aclrtStream* stream, const aclrtStreamConfigHandle* handle) {
  if (const aclError code = enter("aclrtCreateStreamV2", {{"handle", handle}})) return code;
  if (!handle) return fail_null("handle");
  return create_stream(stream, handle->priority, handle->flag);
}

static aclError destroy(aclrtStream handle, bool wait) {
  if (!handle) return fail_null("stream");
  Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  if (stream->is_default) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "a default stream goes with its context");
  }
  if (stream->capture) return fail_captured(*stream);
  destroy_stream(lock, stream, wait);
  return ACL_SUCCESS;
}

aclError aclrtDestroyStream(aclrtStream stream) {
  if (const aclError code = enter("aclrtDestroyStream", {{"stream", stream}})) return code;
  return destroy(stream, /*wait=*/true);
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
  if (const aclError code = enter("aclrtDestroyStreamForce", {{"stream", stream}})) return code;
  return destroy(stream, /*wait=*/false);
}

aclError aclrtStreamAbort(aclrtStream handle) {
  if (const aclError code = enter("aclrtStreamAbort", {{"stream", handle}})) return code;
  Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  if (!stream->queue.idle()) {
    stream->error = ACL_ERROR_RT_STREAM_ABORT;
    stream->error_text = "the stream was aborted";
  }
  abort_stream(*stream, ACL_ERROR_RT_STREAM_ABORT);
  wait_stream(lock, *stream, -1);  // for what was at work
  return ACL_SUCCESS;
}

static aclError synchronize_stream(aclrtStream handle, int32_t timeout) {
  if (timeout < -1) return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is below -1");
  Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  return synchronize_stream(lock, *stream, timeout);
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
  if (const aclError code = enter("aclrtSynchronizeStream", {{"stream", stream}})) return code;
  return synchronize_stream(stream, -1);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
  if (const aclError code =
          enter("aclrtSynchronizeStreamWithTimeout", {{"stream", stream}, {"timeout", timeout}})) {
    return code;
  }
  return synchronize_stream(stream, timeout);
}

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
  if (const aclError code = enter("aclrtStreamQuery", {{"stream", handle}})) return code;
  if (!status) return fail_null("status");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  if (stream->capture) return fail_captured(*stream);
  const bool idle = stream->queue.idle();
  if (idle) on_host_sync(stream->clock);
  *status = idle ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
  return ACL_SUCCESS;
}

aclError aclrtStreamGetId(aclrtStream handle, int32_t* streamId) {
  if (const aclError code = enter("aclrtStreamGetId", {{"stream", handle}})) return code;
  if (!streamId) return fail_null("streamId");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  *streamId = stream->id;
  return ACL_SUCCESS;
}

aclError aclrtStreamGetPriority(aclrtStream handle, uint32_t* priority) {
  if (const aclError code = enter("aclrtStreamGetPriority", {{"stream", handle}})) return code;
  if (!priority) return fail_null("priority");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  *priority = stream->priority;
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  if (const aclError code = enter("aclrtDeviceGetStreamPriorityRange", {})) return code;
  if (leastPriority) *leastPriority = 7;
  if (greatestPriority) *greatestPriority = 0;
  return ACL_SUCCESS;
}

aclError aclrtGetStreamAvailableNum(uint32_t* streamCount) {
  if (const aclError code = enter("aclrtGetStreamAvailableNum", {})) return code;
  if (!streamCount) return fail_null("streamCount");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  *streamCount =
      settings().most_streams() - runtime().devices[static_cast<size_t>(context->device)].streams;
  return ACL_SUCCESS;
}

aclError aclrtSetStreamFailureMode(aclrtStream handle, uint64_t mode) {
  if (const aclError code =
          enter("aclrtSetStreamFailureMode", {{"stream", handle}, {"mode", mode}})) {
    return code;
  }
  if (mode != ACL_CONTINUE_ON_FAILURE && mode != ACL_STOP_ON_FAILURE) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "there is no such mode");
  }
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  if (stream->failure_mode_set) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "a stream's failure mode can be set once");
  }
  stream->failure_mode_set = true;
  stream->failure_mode = mode;
  return ACL_SUCCESS;
}

aclError aclrtSetStreamOverflowSwitch(aclrtStream handle, uint32_t flag) {
  if (const aclError code =
          enter("aclrtSetStreamOverflowSwitch", {{"stream", handle}, {"flag", flag}})) {
    return code;
  }
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  stream->overflow_switch = flag;
  return ACL_SUCCESS;
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream handle, uint32_t* flag) {
  if (const aclError code = enter("aclrtGetStreamOverflowSwitch", {{"stream", handle}}))
    return code;
  if (!flag) return fail_null("flag");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  *flag = stream->overflow_switch;
  return ACL_SUCCESS;
}

static aclError change_subscription(ReportKind kind,
                                    bool add,
                                    uint64_t thread,
                                    aclrtStream handle) {
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  return add ? subscribe(kind, thread, *stream) : unsubscribe(kind, thread, *stream);
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  if (const aclError code = enter("aclrtSubscribeReport", {{"stream", stream}})) return code;
  return change_subscription(ReportKind::kCallback, true, threadId, stream);
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  if (const aclError code = enter("aclrtUnSubscribeReport", {{"stream", stream}})) return code;
  return change_subscription(ReportKind::kCallback, false, threadId, stream);
}

aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream) {
  if (const aclError code = enter("aclrtSubscribeHostFunc", {{"stream", exeStream}})) return code;
  return change_subscription(ReportKind::kHostFunc, true, hostFuncThreadId, exeStream);
}

aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream) {
  if (const aclError code = enter("aclrtUnSubscribeHostFunc", {{"stream", exeStream}})) return code;
  return change_subscription(ReportKind::kHostFunc, false, hostFuncThreadId, exeStream);
}

static aclError process(ReportKind kind, int32_t timeout) {
  if (timeout == 0 || timeout < -1) {
    return fail(ACL_ERROR_INVALID_PARAM, "timeout must be above 0, or -1");
  }
  Lock lock(runtime().mutex);
  return process_report(lock, kind, timeout);
}

aclError aclrtProcessReport(int32_t timeout) {
  if (const aclError code = enter("aclrtProcessReport", {{"timeout", timeout}})) return code;
  return process(ReportKind::kCallback, timeout);
}

aclError aclrtProcessHostFunc(int32_t timeout) {
  if (const aclError code = enter("aclrtProcessHostFunc", {{"timeout", timeout}})) return code;
  return process(ReportKind::kHostFunc, timeout);
}

aclError aclrtLaunchCallback(aclrtCallback fn,
                             void* userData,
                             aclrtCallbackBlockType blockType,
                             aclrtStream handle) {
  if (const aclError code =
          enter("aclrtLaunchCallback", {{"blockType", blockType}, {"stream", handle}})) {
    return code;
  }
  if (!fn) return fail_null("fn");
  if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK) {
    return fail(ACL_ERROR_INVALID_PARAM, "there is no such blockType");
  }
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  if (!stream->report_thread && !stream->host_func_thread) {
    return fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "no thread is subscribed to the stream");
  }
  if (stream->capture) return fail_captured(*stream);
  auto work = std::make_shared<Work>();
  work->kind = WorkKind::kReport;
  work->task.name = "aclrtLaunchCallback";
  work->callback = std::make_shared<Callback>();
  work->callback->function = fn;
  work->callback->argument = userData;
  work->callback->block = blockType == ACL_CALLBACK_BLOCK;
  work->callback->clock = stream->clock;
  return issue(*stream, std::move(work));
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  if (const aclError code = enter("aclrtLaunchHostFunc", {{"stream", stream}})) return code;
  if (!fn) return fail_null("fn");
  Task task;
  task.name = "aclrtLaunchHostFunc";
  task.tells_host = true;
  task.run = [fn, args] {
    fn(args);
    return ACL_SUCCESS;
  };
  return enqueue(stream, std::move(task));
}

// Ops compute infinities and not-a-numbers, as in the mode INFNAN, where nothing else shows an
// overflow. Saturation, and the status that belongs to it, are not simulated.
static aclError check_infnan() {
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  const auto mode = runtime().devices[static_cast<size_t>(context->device)].overflow_mode;
  if (mode == ACL_RT_OVERFLOW_MODE_INFNAN) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "saturation is not simulated");
}

aclError aclrtGetOverflowStatus(void* outputAddr, size_t outputSize, aclrtStream stream) {
  if (const aclError code =
          enter("aclrtGetOverflowStatus",
                {{"outputAddr", outputAddr}, {"outputSize", outputSize}, {"stream", stream}})) {
    return code;
  }
  if (!outputAddr) return fail_null("outputAddr");
  constexpr size_t kStatusBytes = 64;
  if (outputSize < kStatusBytes) return fail(ACL_ERROR_INVALID_PARAM, "outputSize is below 64");
  if (const aclError code = check_infnan()) return code;
  Task task;
  task.name = "aclrtGetOverflowStatus";
  task.accesses = {{static_cast<char*>(outputAddr), kStatusBytes, true, {}, {}, "outputAddr"}};
  task.run = [outputAddr] {
    std::memset(outputAddr, 0, kStatusBytes);
    return ACL_SUCCESS;
  };
  return enqueue(stream, std::move(task));
}

aclError aclrtResetOverflowStatus(aclrtStream stream) {
  if (const aclError code = enter("aclrtResetOverflowStatus", {{"stream", stream}})) return code;
  if (const aclError code = check_infnan()) return code;
  Task task;
  task.name = "aclrtResetOverflowStatus";
  return enqueue(stream, std::move(task));
}

aclError aclrtGetThreadLastTaskId(uint32_t* taskId) {
  if (const aclError code = enter("aclrtGetThreadLastTaskId", {})) return code;
  if (!taskId) return fail_null("taskId");
  *taskId = static_cast<uint32_t>(last_task_of_thread());
  return ACL_SUCCESS;
}
