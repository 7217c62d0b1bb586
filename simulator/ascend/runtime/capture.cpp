// Capture and replay.
#include "simulator/ascend/core/capture.h"

#include <cstdio>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/reports.h"
#include "simulator/ascend/core/stream.h"

using namespace sim;

static aclError check_mode(aclmdlRICaptureMode mode) {
  if (mode >= ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && mode <= ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_INVALID_PARAM, "there is no capture mode " + std::to_string(mode));
}

static aclError find_model(aclmdlRI handle, std::shared_ptr<Model>& model) {
  if (!handle) return fail_null("modelRI");
  model = runtime().models.find(handle);
  if (model) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_INVALID_HANDLE,
              runtime().models.was(handle) ? "the model was destroyed" : "this is not a model");
}

aclError aclmdlRICaptureBegin(aclrtStream handle, aclmdlRICaptureMode mode) {
  if (const aclError code = enter("aclmdlRICaptureBegin", {{"stream", handle}, {"mode", mode}})) {
    return code;
  }
  if (const aclError code = check_mode(mode)) return code;
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  return begin_capture(stream, mode);
}

aclError aclmdlRICaptureGetInfo(aclrtStream handle,
                                aclmdlRICaptureStatus* status,
                                aclmdlRI* modelRI) {
  if (const aclError code = enter("aclmdlRICaptureGetInfo", {{"stream", handle}})) return code;
  if (!status) return fail_null("status");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  const auto& capture = stream->capture;
  *status = !capture               ? ACL_MODEL_RI_CAPTURE_STATUS_NONE
            : capture->invalidated ? ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED
                                   : ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
  if (modelRI) *modelRI = capture ? capture->model->handle : nullptr;
  return ACL_SUCCESS;
}

aclError aclmdlRICaptureEnd(aclrtStream handle, aclmdlRI* modelRI) {
  if (const aclError code = enter("aclmdlRICaptureEnd", {{"stream", handle}})) return code;
  if (!modelRI) return fail_null("modelRI");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  return end_capture(stream, modelRI);
}

aclError aclmdlRICaptureThreadExchangeMode(aclmdlRICaptureMode* mode) {
  if (const aclError code = enter("aclmdlRICaptureThreadExchangeMode", {})) return code;
  if (!mode) return fail_null("mode");
  if (const aclError code = check_mode(*mode)) return code;
  *mode = exchange_capture_mode(*mode);
  return ACL_SUCCESS;
}

aclError aclmdlRIExecuteAsync(aclmdlRI modelRI, aclrtStream handle) {
  if (const aclError code =
          enter("aclmdlRIExecuteAsync", {{"modelRI", modelRI}, {"stream", handle}})) {
    return code;
  }
  const Lock lock(runtime().mutex);
  std::shared_ptr<Model> model;
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_model(modelRI, model)) return code;
  if (const aclError code = find_stream(handle, stream)) return code;
  return replay(model, *stream);
}

aclError aclmdlRIExecute(aclmdlRI modelRI, int32_t timeout) {
  if (const aclError code =
          enter("aclmdlRIExecute", {{"modelRI", modelRI}, {"timeout", timeout}})) {
    return code;
  }
  Lock lock(runtime().mutex);
  std::shared_ptr<Model> model;
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_model(modelRI, model)) return code;
  if (const aclError code = find_stream(nullptr, stream)) return code;
  if (const aclError code = replay(model, *stream)) return code;
  return synchronize_stream(lock, *stream, timeout);
}

aclError aclmdlRIDestroy(aclmdlRI modelRI) {
  if (const aclError code = enter("aclmdlRIDestroy", {{"modelRI", modelRI}})) return code;
  const Lock lock(runtime().mutex);
  std::shared_ptr<Model> model;
  if (const aclError code = find_model(modelRI, model)) return code;
  if (model->capturing) {
    return fail(ACL_ERROR_RT_MODEL_CAPTURED, "the model is still being captured");
  }
  runtime().models.remove(modelRI);
  return ACL_SUCCESS;
}

aclError aclmdlRIGetId(aclmdlRI modelRI, uint32_t* modelRIId) {
  if (const aclError code = enter("aclmdlRIGetId", {{"modelRI", modelRI}})) return code;
  if (!modelRIId) return fail_null("modelRIId");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Model> model;
  if (const aclError code = find_model(modelRI, model)) return code;
  *modelRIId = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(modelRI) >> 4);
  return ACL_SUCCESS;
}

static std::string to_json(const Model& model) {
  std::string text = "[";
  for (const Step& step : model.steps) {
    const std::string name = !step.event  ? step.task.name
                             : step.waits ? "aclrtStreamWaitEvent"
                                          : "aclrtRecordEvent";
    text += (text.size() > 1 ? ",\n {\"name\": " : "\n {\"name\": ") + json_string(name) + "}";
  }
  return text + "\n]\n";
}

aclError aclmdlRIDebugPrint(aclmdlRI modelRI) {
  if (const aclError code = enter("aclmdlRIDebugPrint", {{"modelRI", modelRI}})) return code;
  const Lock lock(runtime().mutex);
  std::shared_ptr<Model> model;
  if (const aclError code = find_model(modelRI, model)) return code;
  std::fputs(to_json(*model).c_str(), stderr);
  return ACL_SUCCESS;
}

aclError aclmdlRIDebugJsonPrint(aclmdlRI modelRI, const char* path, uint32_t flags) {
  if (const aclError code =
          enter("aclmdlRIDebugJsonPrint", {{"modelRI", modelRI}, {"flags", flags}})) {
    return code;
  }
  if (!path) return fail_null("path");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Model> model;
  if (const aclError code = find_model(modelRI, model)) return code;
  std::FILE* file = std::fopen(path, "w");
  if (!file) return fail(ACL_ERROR_RT_FILE_OPEN, std::string("cannot write ") + path);
  std::fputs(to_json(*model).c_str(), file);
  std::fclose(file);
  return ACL_SUCCESS;
}
