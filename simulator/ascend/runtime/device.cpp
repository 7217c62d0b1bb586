// Devices, contexts, their attributes.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "simulator/ascend/core/capture.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/memory.h"
#include "simulator/ascend/core/runtime.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/stream.h"
#include "simulator/ascend/core/units.h"

using namespace sim;

static Device& device_at(int32_t index) { return runtime().devices[static_cast<size_t>(index)]; }

static aclError check_initialized() {
  if (runtime().init_count) return ACL_SUCCESS;
  return fail(ACL_ERROR_UNINITIALIZE, "call aclInit first");
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  if (const aclError code = enter("aclrtGetDeviceCount", {})) return code;
  if (!count) return fail_null("count");
  const Lock lock(runtime().mutex);
  *count = static_cast<uint32_t>(runtime().devices.size());
  return ACL_SUCCESS;
}

aclError aclrtSetDevice(int32_t deviceId) {
  if (const aclError code = enter("aclrtSetDevice", {{"deviceId", deviceId}})) return code;
  const Lock lock(runtime().mutex);
  if (const aclError code = check_initialized()) return code;
  if (const aclError code = check_device(deviceId)) return code;
  Device& device = device_at(deviceId);
  ++device.references;
  if (!device.default_context) device.default_context = make_context(deviceId, true);
  set_current_context(device.default_context->handle);
  return ACL_SUCCESS;
}

static aclError reset_device(int32_t deviceId, bool force) {
  Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  Device& device = device_at(deviceId);
  if (!device.references) {
    return fail(ACL_ERROR_RT_CONTEXT_NULL, "the device was not set");
  }
  device.references = force ? 0 : device.references - 1;
  if (!device.references) destroy_default_context(lock, deviceId);
  return ACL_SUCCESS;
}

aclError aclrtResetDevice(int32_t deviceId) {
  if (const aclError code = enter("aclrtResetDevice", {{"deviceId", deviceId}})) return code;
  return reset_device(deviceId, /*force=*/false);
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  if (const aclError code = enter("aclrtResetDeviceForce", {{"deviceId", deviceId}})) return code;
  return reset_device(deviceId, /*force=*/true);
}

aclError aclrtGetDevice(int32_t* deviceId) {
  if (const aclError code = enter("aclrtGetDevice", {})) return code;
  if (!deviceId) return fail_null("deviceId");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  *deviceId = context->device;
  return ACL_SUCCESS;
}

aclError aclrtSynchronizeDevice() {
  if (const aclError code = enter("aclrtSynchronizeDevice", {})) return code;
  Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  return synchronize_device(lock, context->device, -1);
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  if (const aclError code = enter("aclrtSynchronizeDeviceWithTimeout", {{"timeout", timeout}})) {
    return code;
  }
  if (timeout < -1) return fail(ACL_ERROR_RT_PARAM_INVALID, "timeout is below -1");
  Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  return synchronize_device(lock, context->device, timeout);
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  if (const aclError code = enter("aclrtGetRunMode", {})) return code;
  if (!runMode) return fail_null("runMode");
  *runMode = ACL_HOST;
  return ACL_SUCCESS;
}

aclError aclrtCreateContext(aclrtContext* context, int32_t deviceId) {
  if (const aclError code = enter("aclrtCreateContext", {{"deviceId", deviceId}})) return code;
  if (!context) return fail_null("context");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_initialized()) return code;
  if (const aclError code = check_device(deviceId)) return code;
  *context = make_context(deviceId, false)->handle;
  set_current_context(*context);
  return ACL_SUCCESS;
}

static aclError find_context(aclrtContext handle, std::shared_ptr<Context>& context) {
  if (!handle) return fail_null("context");
  context = runtime().contexts.find(handle);
  if (context) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_CONTEXT_NULL, runtime().contexts.was(handle)
                                             ? "the context was destroyed"
                                             : "this is not a context");
}

aclError aclrtDestroyContext(aclrtContext handle) {
  if (const aclError code = enter("aclrtDestroyContext", {{"context", handle}})) return code;
  Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = find_context(handle, context)) return code;
  if (context->is_default) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "a default context goes with aclrtResetDevice");
  }
  destroy_context(lock, context);
  return ACL_SUCCESS;
}

aclError aclrtSetCurrentContext(aclrtContext handle) {
  if (const aclError code = enter("aclrtSetCurrentContext", {{"context", handle}})) return code;
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = find_context(handle, context)) return code;
  set_current_context(handle);
  return ACL_SUCCESS;
}

aclError aclrtGetCurrentContext(aclrtContext* handle) {
  if (const aclError code = enter("aclrtGetCurrentContext", {})) return code;
  if (!handle) return fail_null("context");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  *handle = context->handle;
  return ACL_SUCCESS;
}

aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t* flags, int32_t* active) {
  if (const aclError code = enter("aclrtGetPrimaryCtxState", {{"deviceId", deviceId}})) return code;
  if (flags) return fail(ACL_ERROR_INVALID_PARAM, "flags must be null");
  if (!active) return fail_null("active");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  *active = device_at(deviceId).default_context ? 1 : 0;
  return ACL_SUCCESS;
}

aclError aclrtCtxGetCurrentDefaultStream(aclrtStream* stream) {
  if (const aclError code = enter("aclrtCtxGetCurrentDefaultStream", {})) return code;
  if (!stream) return fail_null("stream");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  *stream = context->default_stream->handle;
  return ACL_SUCCESS;
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  if (const aclError code = enter("aclrtDeviceCanAccessPeer",
                                  {{"deviceId", deviceId}, {"peerDeviceId", peerDeviceId}})) {
    return code;
  }
  if (!canAccessPeer) return fail_null("canAccessPeer");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  if (const aclError code = check_device(peerDeviceId)) return code;
  if (deviceId == peerDeviceId) return fail(ACL_ERROR_RT_PARAM_INVALID, "the devices are the same");
  *canAccessPeer = 1;
  return ACL_SUCCESS;
}

static aclError set_peer(int32_t peer, bool enable) {
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  if (const aclError code = check_device(peer)) return code;
  if (peer == context->device) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "a device is not its own peer");
  }
  auto& peers = device_at(context->device).peers;
  if (enable) {
    peers.insert(peer);
  } else if (!peers.erase(peer)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "peer access was not enabled");
  }
  return ACL_SUCCESS;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  if (const aclError code = enter("aclrtDeviceEnablePeerAccess",
                                  {{"peerDeviceId", peerDeviceId}, {"flags", flags}})) {
    return code;
  }
  if (flags) return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "flags must be 0");
  return set_peer(peerDeviceId, true);
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  if (const aclError code =
          enter("aclrtDeviceDisablePeerAccess", {{"peerDeviceId", peerDeviceId}})) {
    return code;
  }
  return set_peer(peerDeviceId, false);
}

aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t* status) {
  if (const aclError code = enter("aclrtDevicePeerAccessStatus",
                                  {{"deviceId", deviceId}, {"peerDeviceId", peerDeviceId}})) {
    return code;
  }
  if (!status) return fail_null("status");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  if (const aclError code = check_device(peerDeviceId)) return code;
  *status = device_at(deviceId).peers.count(peerDeviceId) ? 1 : 0;
  return ACL_SUCCESS;
}

static constexpr int64_t kL2Bytes = int64_t{192} << 20;

aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t* value) {
  if (const aclError code =
          enter("aclGetDeviceCapability", {{"deviceId", deviceId}, {"deviceInfo", deviceInfo}})) {
    return code;
  }
  if (!value) return fail_null("value");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  switch (deviceInfo) {
    case ACL_DEVICE_INFO_AI_CORE_NUM:
      *value = settings().cube_cores();
      return ACL_SUCCESS;
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
      *value = settings().vector_cores();
      return ACL_SUCCESS;
    case ACL_DEVICE_INFO_L2_SIZE:
      *value = kL2Bytes;
      return ACL_SUCCESS;
    default:
      return fail(ACL_ERROR_INVALID_PARAM, "there is no such information");
  }
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  if (const aclError code = enter("aclrtGetDeviceInfo", {{"deviceId", deviceId}, {"attr", attr}})) {
    return code;
  }
  if (!value) return fail_null("value");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  switch (attr) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
      *value = 6;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_CUBE_CORE_NUM:
      *value = settings().cube_cores();
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
      *value = settings().vector_cores();
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE:
      *value = 192 << 10;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE:
      *value = static_cast<int64_t>(settings().memory_bytes);
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = kL2Bytes;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_PHY_CHIP_ID:
      *value = deviceId;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_IS_VIRTUAL:
      *value = 0;
      return ACL_SUCCESS;
    default:
      return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "this attribute is not simulated");
  }
}

aclError aclrtGetDeviceCapability(int32_t deviceId,
                                  aclrtDevFeatureType devFeatureType,
                                  int32_t* value) {
  if (const aclError code = enter("aclrtGetDeviceCapability",
                                  {{"deviceId", deviceId}, {"devFeatureType", devFeatureType}})) {
    return code;
  }
  if (!value) return fail_null("value");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  *value = 0;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo* utilizationInfo) {
  if (const aclError code = enter("aclrtGetDeviceUtilizationRate", {{"deviceId", deviceId}})) {
    return code;
  }
  if (!utilizationInfo) return fail_null("utilizationInfo");
  if (utilizationInfo->utilizationExtend) {
    return fail(ACL_ERROR_INVALID_PARAM, "utilizationExtend must be null");
  }
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  const int32_t cores = utilization(deviceId);
  *utilizationInfo = {cores, cores, 0, -1, nullptr};
  return ACL_SUCCESS;
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  if (const aclError code = enter("aclrtQueryDeviceStatus", {{"deviceId", deviceId}})) return code;
  if (!deviceStatus) return fail_null("deviceStatus");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  if (const aclError code = enter("aclrtDeviceGetBareTgid", {})) return code;
  if (!pid) return fail_null("pid");
  *pid = static_cast<int32_t>(getpid());
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid) {
  if (const aclError code = enter("aclrtDeviceGetUuid", {{"deviceId", deviceId}})) return code;
  if (!uuid) return fail_null("uuid");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  std::memcpy(uuid->bytes, "SIMULATEDDEVICE", 15);
  uuid->bytes[15] = static_cast<char>(deviceId);
  return ACL_SUCCESS;
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  if (const aclError code = enter("aclrtSetDeviceSatMode", {{"mode", mode}})) return code;
  if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "there is no such mode");
  }
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  device_at(context->device).overflow_mode = mode;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  if (const aclError code = enter("aclrtGetDeviceSatMode", {})) return code;
  if (!mode) return fail_null("mode");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  *mode = device_at(context->device).overflow_mode;
  return ACL_SUCCESS;
}

static aclError check_parameter(aclSysParamOpt opt) {
  if (opt == ACL_OPT_DETERMINISTIC || opt == ACL_OPT_ENABLE_DEBUG_KERNEL) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "there is no option " + std::to_string(opt));
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  if (const aclError code = enter("aclrtSetSysParamOpt", {{"opt", opt}, {"value", value}})) {
    return code;
  }
  if (const aclError code = check_parameter(opt)) return code;
  const Lock lock(runtime().mutex);
  runtime().system_parameters[opt] = value;
  return ACL_SUCCESS;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  if (const aclError code = enter("aclrtGetSysParamOpt", {{"opt", opt}})) return code;
  if (!value) return fail_null("value");
  if (const aclError code = check_parameter(opt)) return code;
  const Lock lock(runtime().mutex);
  *value = runtime().system_parameters[opt];
  return ACL_SUCCESS;
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  if (const aclError code = enter("aclrtCtxSetSysParamOpt", {{"opt", opt}, {"value", value}})) {
    return code;
  }
  if (const aclError code = check_parameter(opt)) return code;
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  context->system_parameters[opt] = value;
  return ACL_SUCCESS;
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  if (const aclError code = enter("aclrtCtxGetSysParamOpt", {{"opt", opt}})) return code;
  if (!value) return fail_null("value");
  if (const aclError code = check_parameter(opt)) return code;
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  const auto found = context->system_parameters.find(opt);
  if (found == context->system_parameters.end()) {
    return fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "the option was never set in this context");
  }
  *value = found->second;
  return ACL_SUCCESS;
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
  return enter("aclrtSetOpWaitTimeout", {{"timeout", timeout}});
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
  return enter("aclrtSetOpExecuteTimeOut", {{"timeout", timeout}});
}

aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout) {
  return enter("aclrtSetOpExecuteTimeOutWithMs", {{"timeout", timeout}});
}

// The device counts an op's time in steps, 254 at most.
static uint64_t timeout_step_us() {
  return settings().is_310p() ? 2147484 : settings().is_910a() ? 8589935 : 4294967;
}

aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t* actualTimeout) {
  if (const aclError code = enter("aclrtSetOpExecuteTimeOutV2", {{"timeout", timeout}})) {
    return code;
  }
  if (!actualTimeout) return fail_null("actualTimeout");
  constexpr uint64_t kMostSteps = 254;
  const Lock lock(runtime().mutex);
  const uint64_t step = timeout_step_us();
  const uint64_t steps = timeout / step + (timeout % step != 0);
  *actualTimeout = step * (timeout ? std::min(steps, kMostSteps) : kMostSteps);
  return ACL_SUCCESS;
}

aclError aclrtGetOpTimeOutInterval(uint64_t* interval) {
  if (const aclError code = enter("aclrtGetOpTimeOutInterval", {})) return code;
  if (!interval) return fail_null("interval");
  const Lock lock(runtime().mutex);
  *interval = timeout_step_us();
  return ACL_SUCCESS;
}

static constexpr uint32_t kMostTypes = 2;
static thread_local uint32_t limits[kMostTypes] = {0, 0};

aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type, uint32_t value) {
  if (const aclError code = enter("aclrtSetDeviceResLimit",
                                  {{"deviceId", deviceId}, {"type", type}, {"value", value}})) {
    return code;
  }
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  if (static_cast<uint32_t>(type) >= kMostTypes) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "there is no such resource");
  }
  limits[type] = value;
  return ACL_SUCCESS;
}

aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t* value) {
  if (const aclError code = enter("aclrtGetResInCurrentThread", {{"type", type}})) return code;
  if (!value) return fail_null("value");
  if (static_cast<uint32_t>(type) >= kMostTypes) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "there is no such resource");
  }
  const Lock lock(runtime().mutex);
  const int64_t cores =
      type == ACL_RT_DEV_RES_CUBE_CORE ? settings().cube_cores() : settings().vector_cores();
  *value = limits[type] ? limits[type] : static_cast<uint32_t>(cores);
  return ACL_SUCCESS;
}

aclError aclrtDeviceTaskAbort(int32_t deviceId, uint32_t timeout) {
  if (const aclError code =
          enter("aclrtDeviceTaskAbort", {{"deviceId", deviceId}, {"timeout", timeout}})) {
    return code;
  }
  Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  std::vector<std::shared_ptr<Stream>> aborted;
  for (const auto& [_, stream] : runtime().streams) {
    if (stream->device != deviceId) continue;
    if (!stream->queue.idle()) {
      stream->error = ACL_ERROR_RT_DEVICE_TASK_ABORT;
      stream->error_text = "the device's tasks were aborted";
    }
    abort_stream(*stream, ACL_ERROR_RT_DEVICE_TASK_ABORT);
    aborted.push_back(stream);
  }
  for (const auto& stream : aborted) {
    if (!wait_stream(lock, *stream, timeout ? int64_t{timeout} : -1)) {
      return fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "a task is still at work");
    }
  }
  return ACL_SUCCESS;
}
