#include "mindtorch/backends/ascend/driver.h"

#include "mindtorch/backends/ascend/acl_api.h"
#include "mindtorch/backends/ascend/acl_error.h"
#include "mindtorch/backends/ascend/chip.h"
#include "mindtorch/backends/ascend/options.h"
#include "mindtorch/backends/ascend/virtual_memory.h"
#include "mindtorch/driver/device_row.h"

namespace mindtorch::ascend {
namespace {

using driver::CopyKind;
using driver::EventFlags;
using driver::EventHandle;
using driver::StreamHandle;

// CANN numbers priorities from 0, the highest, to 7; torch from 0, the lowest, down.
constexpr int kPriorities = 8;

constexpr driver::DeviceRow kRow{
    .name = "npu",
    .title = "NPU",
    .noun = "NPU",
    .dispatch_key = "PrivateUse1",
    .torch_type = 20,
    .dlpack_type = 12,  // an extension
    .variables = options::kAll,
    .alloc_conf = options::kAllocConfs,
    .pipeline_graphs = &options::kPipelineGraphs,
    .takes_int32_indices = true,
    .reduces_float32 = true,
};

constexpr aclError kOutOfMemory = ACL_ERROR_RT_MEMORY_ALLOCATION;

constinit thread_local int t_device = -1;  // the device this thread has set

aclrtStream to_acl(StreamHandle stream) { return reinterpret_cast<aclrtStream>(stream); }
aclrtEvent to_acl(EventHandle event) { return reinterpret_cast<aclrtEvent>(event); }
aclrtMemcpyKind to_acl(CopyKind kind) {
  switch (kind) {
    case CopyKind::kHostToDevice:
      return ACL_MEMCPY_HOST_TO_DEVICE;
    case CopyKind::kDeviceToHost:
      return ACL_MEMCPY_DEVICE_TO_HOST;
    case CopyKind::kDeviceToDevice:
      break;
  }
  return ACL_MEMCPY_DEVICE_TO_DEVICE;
}

class PeerToPeer final : public driver::PeerAccess {
 public:
  bool can_access(int device, int peer) override {
    if (device == peer) return false;
    int32_t answer = 0;
    MT_ACL(aclrtDeviceCanAccessPeer, &answer, device, peer);
    return answer != 0;
  }
  void enable(int device, int peer) override {
    bind(device);
    MT_ACL(aclrtDeviceEnablePeerAccess, peer, 0);
  }
  void disable(int device, int peer) override {
    bind(device);
    MT_ACL(aclrtDeviceDisablePeerAccess, peer);
  }
};

class Capture final : public driver::GraphCapture {
 public:
  void begin(int device, StreamHandle stream, driver::CaptureMode mode) override {
    bind(device);
    MT_ACL(aclmdlRICaptureBegin, to_acl(stream), static_cast<aclmdlRICaptureMode>(mode));
  }
  driver::GraphHandle end(int device, StreamHandle stream) override {
    bind(device);
    aclmdlRI graph = nullptr;
    MT_ACL(aclmdlRICaptureEnd, to_acl(stream), &graph);
    return reinterpret_cast<driver::GraphHandle>(graph);
  }
  bool is_capturing(int device, StreamHandle stream) override {
    bind(device);
    aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
    aclmdlRI graph = nullptr;
    MT_ACL(aclmdlRICaptureGetInfo, to_acl(stream), &status, &graph);
    return status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
  }
  void replay(driver::GraphHandle graph, int device, StreamHandle stream) override {
    bind(device);
    MT_ACL(aclmdlRIExecuteAsync, reinterpret_cast<aclmdlRI>(graph), to_acl(stream));
  }
  void destroy(driver::GraphHandle graph) noexcept override {
    acl().aclmdlRIDestroy(reinterpret_cast<aclmdlRI>(graph));
  }
};

class AscendDriver final : public driver::DeviceDriver {
 public:
  const driver::DeviceRow& row() const noexcept override { return kRow; }

  // As it was at the first use: a child of this process may ask, too.
  int device_count() noexcept override {
    const LoadReport& report = load_report();
    // Whoever uses a device asks first how many there are.
    if (report.device_count > 0) use_chip_of_devices();
    return report.device_count;
  }

  std::string unavailable_reason() noexcept override { return load_report().reason; }

  driver::DeviceProperties properties(int device) override {
    driver::DeviceProperties result;
    if (acl().aclrtGetSocName != nullptr) {
      if (const char* name = acl().aclrtGetSocName()) result.name = name;
    }
    result.total_memory_bytes = memory_info(device).total_bytes;
    int64_t cores = 0;
    if (acl().aclGetDeviceCapability != nullptr &&
        acl().aclGetDeviceCapability(static_cast<uint32_t>(device), ACL_DEVICE_INFO_AI_CORE_NUM,
                                     &cores) == ACL_SUCCESS) {
      result.multi_processor_count = static_cast<int>(cores);
    }
    result.least_priority = 0;
    result.greatest_priority = 1 - kPriorities;
    return result;
  }

  driver::MemoryInfo memory_info(int device) override {
    bind(device);
    driver::MemoryInfo info;
    MT_ACL(aclrtGetMemInfo, ACL_HBM_MEM, &info.free_bytes, &info.total_bytes);
    return info;
  }

  void bind_thread(int device) override { bind(device); }

  void wait_device(int device) override {
    bind(device);
    MT_ACL(aclrtSynchronizeDevice);
  }

  // The allocator's blocks are multiples of 512 bytes and need no padding at their ends.
  void* allocate(int device, size_t bytes) override {
    bind(device);
    void* data = nullptr;
    const auto function =
        acl().aclrtMallocAlign32 != nullptr ? acl().aclrtMallocAlign32 : acl().aclrtMalloc;
    const aclError code = function(&data, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    if (code == kOutOfMemory) {
      acl().aclGetRecentErrMsg();  // expected: its text is cleared
      return nullptr;
    }
    check(code, "aclrtMallocAlign32");
    return data;
  }
  void release(int device, void* data) noexcept override {
    bind_quietly(device);
    acl().aclrtFree(data);
  }
  void* allocate_pinned(size_t bytes) override {
    bind(t_device < 0 ? 0 : t_device);
    void* data = nullptr;
    const aclError code = acl().aclrtMallocHost(&data, bytes);
    if (code == kOutOfMemory) return nullptr;
    check(code, "aclrtMallocHost");
    return data;
  }
  void release_pinned(void* data) noexcept override {
    bind_quietly(t_device < 0 ? 0 : t_device);
    acl().aclrtFreeHost(data);
  }

  void copy_async(void* to,
                  const void* from,
                  size_t bytes,
                  CopyKind kind,
                  int device,
                  StreamHandle stream) override {
    bind(device);
    MT_ACL(aclrtMemcpyAsync, to, bytes, from, bytes, to_acl(kind), to_acl(stream));
  }
  void fill_async(void* to, uint8_t value, size_t bytes, int device, StreamHandle stream) override {
    bind(device);
    MT_ACL(aclrtMemsetAsync, to, bytes, value, bytes, to_acl(stream));
  }

  StreamHandle create_stream(int device, int priority) override {
    bind(device);
    aclrtStream stream = nullptr;
    const auto level = static_cast<uint32_t>(kPriorities - 1 + priority);
    MT_ACL(aclrtCreateStreamWithConfig, &stream, level,
           ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC);
    return reinterpret_cast<StreamHandle>(stream);
  }
  void destroy_stream(int device, StreamHandle stream) noexcept override {
    bind_quietly(device);
    acl().aclrtDestroyStream(to_acl(stream));
  }
  bool query_stream(int device, StreamHandle stream) override {
    bind(device);
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    MT_ACL(aclrtStreamQuery, to_acl(stream), &status);
    return status == ACL_STREAM_STATUS_COMPLETE;
  }
  void wait_stream(int device, StreamHandle stream) override {
    bind(device);
    MT_ACL(aclrtSynchronizeStream, to_acl(stream));
  }

  EventHandle create_event(int device, EventFlags flags) override {
    bind(device);
    const uint32_t acl_flags =
        has(flags, EventFlags::kTiming) ? ACL_EVENT_TIME_LINE | ACL_EVENT_SYNC : ACL_EVENT_SYNC;
    aclrtEvent event = nullptr;
    // The newer kind can be recorded again and is not limited in number.
    if (acl().aclrtCreateEventExWithFlag != nullptr) {
      MT_ACL(aclrtCreateEventExWithFlag, &event, acl_flags);
    } else {
      MT_ACL(aclrtCreateEventWithFlag, &event, acl_flags);
    }
    return reinterpret_cast<EventHandle>(event);
  }
  void destroy_event(int device, EventHandle event) noexcept override {
    bind_quietly(device);
    acl().aclrtDestroyEvent(to_acl(event));
  }
  void record_event(EventHandle event, int device, StreamHandle stream) override {
    bind(device);
    MT_ACL(aclrtRecordEvent, to_acl(event), to_acl(stream));
  }
  void block_stream(int device, StreamHandle stream, EventHandle event) override {
    bind(device);
    MT_ACL(aclrtStreamWaitEvent, to_acl(stream), to_acl(event));
  }
  bool query_event(int device, EventHandle event) override {
    bind(device);
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    MT_ACL(aclrtQueryEventStatus, to_acl(event), &status);
    return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
  }
  void wait_event(int device, EventHandle event) override {
    bind(device);
    MT_ACL(aclrtSynchronizeEvent, to_acl(event));
  }
  float elapsed_ms(int device, EventHandle start, EventHandle end) override {
    bind(device);
    float ms = 0;
    MT_ACL(aclrtEventElapsedTime, &ms, to_acl(start), to_acl(end));
    return ms;
  }

  void set_deterministic(bool on) override {
    if (!load_report().usable || acl().aclrtSetSysParamOpt == nullptr) return;
    MT_ACL(aclrtSetSysParamOpt, ACL_OPT_DETERMINISTIC, on ? 1 : 0);
  }

  driver::VirtualMemory* virtual_memory() noexcept override {
    return load_report().usable && MappedMemory::available() ? &memory_ : nullptr;
  }
  driver::PeerAccess* peer_access() noexcept override {
    return load_report().usable && acl().aclrtDeviceCanAccessPeer != nullptr ? &peer_ : nullptr;
  }
  driver::GraphCapture* graph_capture() noexcept override {
    return load_report().usable && acl().aclmdlRICaptureBegin != nullptr ? &capture_ : nullptr;
  }

 private:
  MappedMemory memory_;
  PeerToPeer peer_;
  Capture capture_;
};

}  // namespace

void bind(int device) {
  if (MT_LIKELY(t_device == device)) return;
  MT_ACL(aclrtSetDevice, device);
  t_device = device;
}

void bind_quietly(int device) noexcept {
  if (t_device == device) return;
  if (acl().aclrtSetDevice(device) == ACL_SUCCESS) t_device = device;
}

std::unique_ptr<driver::DeviceDriver> make_driver() { return std::make_unique<AscendDriver>(); }

}  // namespace mindtorch::ascend
