// Allocation, registered host memory, memory information, virtual memory.
#include "simulator/ascend/core/memory.h"

#include <cstring>

#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/runtime.h"
#include "simulator/ascend/core/settings.h"
#include "simulator/ascend/core/stream.h"

using namespace sim;

static aclError allocate(void** devPtr, size_t size, aclrtMemMallocPolicy policy, Padding padding) {
  if (!devPtr) return fail_null("devPtr");
  if (!size) return fail(ACL_ERROR_INVALID_PARAM, "size is 0");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  return allocate_device(context->device, size, policy, padding, devPtr);
}

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  if (const aclError code = enter("aclrtMalloc", {{"size", size}, {"policy", policy}})) return code;
  return allocate(devPtr, size, policy, Padding::kPadded);
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  if (const aclError code = enter("aclrtMallocAlign32", {{"size", size}, {"policy", policy}})) {
    return code;
  }
  return allocate(devPtr, size, policy, Padding::kNone);
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  if (const aclError code = enter("aclrtMallocCached", {{"size", size}, {"policy", policy}})) {
    return code;
  }
  return allocate(devPtr, size, policy, Padding::kPadded);
}

aclError aclrtMallocWithCfg(void** devPtr,
                            size_t size,
                            aclrtMemMallocPolicy policy,
                            aclrtMallocConfig* cfg) {
  if (const aclError code =
          enter("aclrtMallocWithCfg", {{"size", size}, {"policy", policy}, {"cfg", cfg}})) {
    return code;
  }
  return allocate(devPtr, size, policy, Padding::kPadded);
}

aclError aclrtMallocForTaskScheduler(void** devPtr,
                                     size_t size,
                                     aclrtMemMallocPolicy policy,
                                     aclrtMallocConfig* cfg) {
  if (const aclError code = enter("aclrtMallocForTaskScheduler",
                                  {{"size", size}, {"policy", policy}, {"cfg", cfg}})) {
    return code;
  }
  return allocate(devPtr, size, policy, Padding::kPadded);
}

aclError aclrtFree(void* devPtr) {
  if (const aclError code = enter("aclrtFree", {{"devPtr", devPtr}})) return code;
  if (!devPtr) return fail_null("devPtr");
  const Lock lock(runtime().mutex);
  return free_device(devPtr);
}

aclError aclrtFreeWithDevSync(void* devPtr) {
  if (const aclError code = enter("aclrtFreeWithDevSync", {{"devPtr", devPtr}})) return code;
  if (!devPtr) return fail_null("devPtr");
  Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  if (const aclError code = synchronize_device(lock, context->device, -1)) return code;
  return free_device(devPtr);
}

static aclError allocate_host(void** hostPtr, size_t size) {
  if (!hostPtr) return fail_null("hostPtr");
  if (!size) return fail(ACL_ERROR_INVALID_PARAM, "size is 0");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  return allocate_pinned(size, hostPtr);
}

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  if (const aclError code = enter("aclrtMallocHost", {{"size", size}})) return code;
  return allocate_host(hostPtr, size);
}

aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  if (const aclError code = enter("aclrtMallocHostWithCfg", {{"size", size}, {"cfg", cfg}})) {
    return code;
  }
  return allocate_host(ptr, size);
}

aclError aclrtFreeHost(void* hostPtr) {
  if (const aclError code = enter("aclrtFreeHost", {{"hostPtr", hostPtr}})) return code;
  if (!hostPtr) return fail_null("hostPtr");
  const Lock lock(runtime().mutex);
  return free_pinned(hostPtr);
}

// ACL_HOST_REG_PINNED asks that the memory be pinned, which what aclrtMallocHost gave is already.
static constexpr uint32_t kToBePinned = 0x10000000;

static aclError register_memory(void* ptr, uint64_t size, uint32_t flags) {
  if (!ptr) return fail_null("ptr");
  if (!size) return fail(ACL_ERROR_INVALID_PARAM, "size is 0");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  return register_host(ptr, size, (flags & kToBePinned) != 0);
}

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  if (const aclError code =
          enter("aclrtHostRegister", {{"ptr", ptr}, {"size", size}, {"type", type}})) {
    return code;
  }
  if (!devPtr) return fail_null("devPtr");
  if (type != ACL_HOST_REGISTER_MAPPED) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "only ACL_HOST_REGISTER_MAPPED is simulated");
  }
  if (const aclError code = register_memory(ptr, size, 0)) return code;
  *devPtr = ptr;
  return ACL_SUCCESS;
}

aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  if (const aclError code =
          enter("aclrtHostRegisterV2", {{"ptr", ptr}, {"size", size}, {"flag", flag}})) {
    return code;
  }
  return register_memory(ptr, size, flag);
}

aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag) {
  if (const aclError code =
          enter("aclrtHostGetDevicePointer", {{"pHost", pHost}, {"flag", flag}})) {
    return code;
  }
  if (!pHost || !pDevice) return fail_null("pHost or pDevice");
  const Lock lock(runtime().mutex);
  const auto block = find_block(pHost);
  if (!block || block->freed || !block->registered) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "the memory is not registered");
  }
  *pDevice = pHost;
  return ACL_SUCCESS;
}

aclError aclrtHostUnregister(void* ptr) {
  if (const aclError code = enter("aclrtHostUnregister", {{"ptr", ptr}})) return code;
  if (!ptr) return fail_null("ptr");
  const Lock lock(runtime().mutex);
  return unregister_host(ptr);
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  if (const aclError code = enter("aclrtGetMemInfo", {{"attr", attr}})) return code;
  if (!free || !total) return fail_null("free or total");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  if (attr < ACL_DDR_MEM || attr > ACL_HBM_MEM_P2P_HUGE1G) {
    return fail(ACL_ERROR_INVALID_PARAM, "there is no memory attribute " + std::to_string(attr));
  }
  const bool is_ddr = attr == ACL_DDR_MEM || attr == ACL_DDR_MEM_HUGE ||
                      attr == ACL_DDR_MEM_NORMAL || attr == ACL_DDR_MEM_P2P_HUGE ||
                      attr == ACL_DDR_MEM_P2P_NORMAL;
  // 310P has DDR only and answers questions about HBM with it; the others have HBM only.
  const bool has = !is_ddr || settings().is_310p();
  *free = has ? free_bytes(context->device) : 0;
  *total = has ? settings().memory_bytes : 0;
  return ACL_SUCCESS;
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  if (const aclError code = enter("aclrtPointerGetAttributes", {{"ptr", ptr}})) return code;
  if (!ptr || !attributes) return fail_null("ptr or attributes");
  static const int kUnregistered = 2;  // newer than 8.1, which lacks the name
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  const auto block = find_block(ptr);
  *attributes = {};
  if (!block || block->freed) {
    std::memcpy(&attributes->location.type, &kUnregistered, sizeof kUnregistered);
    return ACL_SUCCESS;
  }
  const bool on_device = block->place == Place::kDevice;
  attributes->location.id = on_device ? static_cast<uint32_t>(block->device) : 0;
  attributes->location.type = on_device ? ACL_MEM_LOCATION_TYPE_DEVICE : ACL_MEM_LOCATION_TYPE_HOST;
  attributes->pageSize = block->page_bytes;
  return ACL_SUCCESS;
}

aclError aclrtMemFlush(void* devPtr, size_t size) {
  if (const aclError code = enter("aclrtMemFlush", {{"devPtr", devPtr}, {"size", size}}))
    return code;
  return devPtr && size ? ACL_SUCCESS : fail(ACL_ERROR_INVALID_PARAM, "devPtr or size is 0");
}

aclError aclrtMemInvalidate(void* devPtr, size_t size) {
  if (const aclError code = enter("aclrtMemInvalidate", {{"devPtr", devPtr}, {"size", size}})) {
    return code;
  }
  return devPtr && size ? ACL_SUCCESS : fail(ACL_ERROR_INVALID_PARAM, "devPtr or size is 0");
}

aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, aclrtStream stream) {
  if (const aclError code =
          enter("aclrtCmoAsync",
                {{"src", src}, {"size", size}, {"cmoType", cmoType}, {"stream", stream}})) {
    return code;
  }
  if (!src) return fail_null("src");
  Task task;
  task.name = "aclrtCmoAsync";
  return enqueue(stream, std::move(task));
}

aclError aclrtReserveMemAddress(
    void** virPtr, size_t size, size_t alignment, void* expectPtr, uint64_t flags) {
  if (const aclError code = enter(
          "aclrtReserveMemAddress",
          {{"size", size}, {"alignment", alignment}, {"expectPtr", expectPtr}, {"flags", flags}})) {
    return code;
  }
  if (!virPtr) return fail_null("virPtr");
  if (!size) return fail(ACL_ERROR_INVALID_PARAM, "size is 0");
  if (alignment) return fail(ACL_ERROR_RT_PARAM_INVALID, "alignment must be 0");
  if (flags > 1) return fail(ACL_ERROR_RT_PARAM_INVALID, "flags must be 0 or 1");
  const Lock lock(runtime().mutex);
  return reserve_addresses(size, virPtr);
}

aclError aclrtReleaseMemAddress(void* virPtr) {
  if (const aclError code = enter("aclrtReleaseMemAddress", {{"virPtr", virPtr}})) return code;
  if (!virPtr) return fail_null("virPtr");
  const Lock lock(runtime().mutex);
  return release_addresses(virPtr);
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle,
                             size_t size,
                             const aclrtPhysicalMemProp* prop,
                             uint64_t flags) {
  if (const aclError code = enter("aclrtMallocPhysical", {{"size", size}, {"flags", flags}})) {
    return code;
  }
  if (!handle || !prop) return fail_null("handle or prop");
  if (!size) return fail(ACL_ERROR_INVALID_PARAM, "size is 0");
  if (flags) return fail(ACL_ERROR_RT_PARAM_INVALID, "flags must be 0");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  return allocate_physical(size, *prop, handle);
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  if (const aclError code = enter("aclrtFreePhysical", {{"handle", handle}})) return code;
  if (!handle) return fail_null("handle");
  const Lock lock(runtime().mutex);
  return free_physical(handle);
}

aclError aclrtMapMem(
    void* virPtr, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
  if (const aclError code = enter("aclrtMapMem", {{"virPtr", virPtr},
                                                  {"size", size},
                                                  {"offset", offset},
                                                  {"handle", handle},
                                                  {"flags", flags}})) {
    return code;
  }
  if (!virPtr || !handle) return fail_null("virPtr or handle");
  if (offset || flags) return fail(ACL_ERROR_RT_PARAM_INVALID, "offset and flags must be 0");
  const Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  return map_memory(virPtr, size, handle);
}

aclError aclrtUnmapMem(void* virPtr) {
  if (const aclError code = enter("aclrtUnmapMem", {{"virPtr", virPtr}})) return code;
  if (!virPtr) return fail_null("virPtr");
  Lock lock(runtime().mutex);
  return unmap_memory(lock, virPtr);
}

aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
                                          aclrtMemGranularityOptions option,
                                          size_t* granularity) {
  if (const aclError code = enter("aclrtMemGetAllocationGranularity", {{"option", option}})) {
    return code;
  }
  if (!prop || !granularity) return fail_null("prop or granularity");
  if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
      option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "there is no such option");
  }
  const Lock lock(runtime().mutex);
  return granularity_of(prop->memAttr, granularity);
}

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle,
                                         aclrtMemHandleType handleType,
                                         uint64_t flags,
                                         uint64_t* shareableHandle) {
  if (const aclError code =
          enter("aclrtMemExportToShareableHandle", {{"handle", handle}, {"flags", flags}})) {
    return code;
  }
  if (!shareableHandle) return fail_null("shareableHandle");
  if (handleType != ACL_MEM_HANDLE_TYPE_NONE || flags > 1) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "handleType must be NONE, flags 0 or 1");
  }
  const Lock lock(runtime().mutex);
  return export_physical(handle, /*anybody=*/flags == 1, shareableHandle);
}

aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid, size_t pidNum) {
  if (const aclError code = enter("aclrtMemSetPidToShareableHandle",
                                  {{"shareableHandle", shareableHandle}, {"pidNum", pidNum}})) {
    return code;
  }
  if (!pid) return fail_null("pid");
  if (!pidNum) return fail(ACL_ERROR_INVALID_PARAM, "pidNum is 0");
  const Lock lock(runtime().mutex);
  return admit(shareableHandle, pid, pidNum);
}

aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle,
                                           int32_t deviceId,
                                           aclrtDrvMemHandle* handle) {
  if (const aclError code = enter("aclrtMemImportFromShareableHandle",
                                  {{"shareableHandle", shareableHandle}, {"deviceId", deviceId}})) {
    return code;
  }
  if (!handle) return fail_null("handle");
  const Lock lock(runtime().mutex);
  return import_physical(shareableHandle, deviceId, handle);
}

// What runs on the simulator is one component, whose memory all of it is.
aclError aclrtGetMemUsageInfo(int32_t deviceId,
                              aclrtMemUsageInfo* memUsageInfo,
                              size_t inputNum,
                              size_t* outputNum) {
  if (const aclError code =
          enter("aclrtGetMemUsageInfo", {{"deviceId", deviceId}, {"inputNum", inputNum}})) {
    return code;
  }
  if (!memUsageInfo) return fail_null("memUsageInfo");
  if (!outputNum) return fail_null("outputNum");
  if (!inputNum) return fail(ACL_ERROR_RT_PARAM_INVALID, "inputNum is 0");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  const Device& device = runtime().devices[static_cast<size_t>(deviceId)];
  *memUsageInfo = {"APP", device.used_bytes, device.peak_bytes, {}};
  *outputNum = 1;
  return ACL_SUCCESS;
}

// The memory of this machine has no errors to report.
aclError aclrtGetMemUceInfo(int32_t deviceId,
                            aclrtMemUceInfo* memUceInfoArray,
                            size_t arraySize,
                            size_t* retSize) {
  if (const aclError code =
          enter("aclrtGetMemUceInfo", {{"deviceId", deviceId}, {"arraySize", arraySize}})) {
    return code;
  }
  if (!memUceInfoArray) return fail_null("memUceInfoArray");
  if (!retSize) return fail_null("retSize");
  const Lock lock(runtime().mutex);
  if (const aclError code = check_device(deviceId)) return code;
  *retSize = 0;
  return ACL_SUCCESS;
}
