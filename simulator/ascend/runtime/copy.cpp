// Copies and fills.
#include <cstring>

#include "simulator/ascend/core/capture.h"
#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/log.h"
#include "simulator/ascend/core/memory.h"
#include "simulator/ascend/core/reports.h"
#include "simulator/ascend/core/stream.h"

using namespace sim;

namespace {
// A copy of `height` rows of `width` bytes.
struct Copy {
  char* to;
  size_t to_pitch;
  char* from;
  size_t from_pitch;
  size_t width;
  size_t height;
  aclrtMemcpyKind kind;
};
}  // namespace

static bool is_device(const Block* block) {
  return block && (block->place == Place::kDevice || block->registered);
}

static aclError check_kind(aclrtMemcpyKind kind) {
  if (kind >= ACL_MEMCPY_HOST_TO_HOST && kind <= ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_INVALID_PARAM, "there is no kind of copy " + std::to_string(kind));
}

// What the kind says of one side against what the pointer is. CANN takes the direction from the
// pointers; a device address that is none would fault.
static aclError check_side(const char* side, const void* pointer, bool should_be_device) {
  const auto block = find_block(pointer);
  if (is_device(block.get()) == should_be_device) return ACL_SUCCESS;
  if (block && (block->registered || block->freed)) return ACL_SUCCESS;
  const std::string text = std::string(current_function()) + ": " + side + " is " +
                           (block ? describe(*block) : std::string("ordinary host memory")) +
                           ", but the kind says " + (should_be_device ? "device" : "host") +
                           describe_site(call_site());
  report("copy", text);
  if (should_be_device && !block) {
    return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, std::string(side) + " is no device memory");
  }
  return ACL_SUCCESS;
}

static aclError check_sides(const Copy& copy) {
  if (copy.kind == ACL_MEMCPY_DEFAULT) return ACL_SUCCESS;
  const bool to_device = copy.kind == ACL_MEMCPY_HOST_TO_DEVICE ||
                         copy.kind == ACL_MEMCPY_DEVICE_TO_DEVICE ||
                         copy.kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE;
  const bool from_device =
      copy.kind == ACL_MEMCPY_DEVICE_TO_HOST || copy.kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  if (const aclError code = check_side("dst", copy.to, to_device)) return code;
  return check_side("src", copy.from, from_device);
}

// Device memory of one device and another wants peer access, in either direction.
static aclError check_peers(const Copy& copy) {
  const auto to = find_block(copy.to);
  const auto from = find_block(copy.from);
  if (!to || !from || to->place != Place::kDevice || from->place != Place::kDevice ||
      to->device == from->device) {
    return ACL_SUCCESS;
  }
  const auto& devices = runtime().devices;
  if (devices[static_cast<size_t>(to->device)].peers.count(from->device) ||
      devices[static_cast<size_t>(from->device)].peers.count(to->device)) {
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_RT_PARAM_INVALID, "peer access between devices " +
                                              std::to_string(from->device) + " and " +
                                              std::to_string(to->device) + " is not enabled");
}

static Access rows(char* data, size_t pitch, const Copy& copy, bool write) {
  Access access;
  access.data = data;
  access.bytes = copy.width;
  access.write = write;
  access.name = write ? "dst" : "src";
  if (copy.height > 1) {
    access.shape = {static_cast<int64_t>(copy.height)};
    access.strides = {static_cast<int64_t>(pitch)};
  }
  return access;
}

static void move(const Copy& copy) {
  for (size_t row = 0; row < copy.height; ++row) {
    std::memmove(copy.to + row * copy.to_pitch, copy.from + row * copy.from_pitch, copy.width);
  }
}

static Task task_of(const Copy& copy) {
  Task task;
  task.name = current_function();
  task.moves = true;
  task.accesses = {rows(copy.to, copy.to_pitch, copy, true),
                   rows(copy.from, copy.from_pitch, copy, false)};
  task.run = [copy] {
    move(copy);
    return ACL_SUCCESS;
  };
  return task;
}

static aclError copy_now(Lock& lock, const Copy& copy) {
  if (const aclError code = on_host_access(task_of(copy))) return code;
  const auto to = find_block(copy.to);  // kept while the lock is away
  const auto from = find_block(copy.from);
  lock.unlock();
  move(copy);
  lock.lock();
  return ACL_SUCCESS;
}

static aclError copy_sync(const Copy& copy) {
  Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  if (const aclError code = check_not_capturing()) return code;
  if (const aclError code = check_sides(copy)) return code;
  if (const aclError code = check_peers(copy)) return code;
  return copy_now(lock, copy);
}

static aclError copy_staged(const Copy& copy, Stream& stream) {
  auto staged = std::make_shared<std::vector<char>>(copy.width);
  std::memcpy(staged->data(), copy.from, copy.width);
  Task task = task_of(copy);
  task.accesses.pop_back();
  task.run = [copy, staged] {
    std::memcpy(copy.to, staged->data(), copy.width);
    return ACL_SUCCESS;
  };
  if (stream.capture) return capture_task(stream, std::move(task));
  auto work = std::make_shared<Work>();
  work->task = std::move(task);
  return issue(stream, std::move(work));
}

static aclError copy_async(const Copy& copy, aclrtStream handle) {
  Lock lock(runtime().mutex);
  std::shared_ptr<Stream> stream;
  if (const aclError code = find_stream(handle, stream)) return code;
  if (copy.kind == ACL_MEMCPY_HOST_TO_HOST) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "no stream copies from host to host");
  }
  if (const aclError code = check_sides(copy)) return code;
  if (const aclError code = check_peers(copy)) return code;
  if (copy.kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) return copy_staged(copy, *stream);
  if (copy.to == copy.from) return ACL_SUCCESS;
  if (!find_block(copy.to) || !find_block(copy.from)) {
    // Pageable host memory: the stream is waited for, and the host copies.
    if (stream->capture) {
      return fail(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, "pageable host memory in a capture");
    }
    if (const aclError code = check_not_capturing()) return code;
    wait_stream(lock, *stream, -1);
    return copy_now(lock, copy);
  }
  if (stream->capture) return capture_task(*stream, task_of(copy));
  auto work = std::make_shared<Work>();
  work->task = task_of(copy);
  return issue(*stream, std::move(work));
}

static aclError check_copy(
    const void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  if (!dst) return fail_null("dst");
  if (!src) return fail_null("src");
  if (const aclError code = check_kind(kind)) return code;
  if (count > destMax) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "count " + std::to_string(count) + " is above destMax " + std::to_string(destMax));
  }
  return ACL_SUCCESS;
}

static Copy plain_copy(void* dst, const void* src, size_t count, aclrtMemcpyKind kind) {
  return {static_cast<char*>(dst),
          count,
          static_cast<char*>(const_cast<void*>(src)),
          count,
          count,
          1,
          kind};
}

aclError aclrtMemcpy(
    void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  if (const aclError code = enter(
          "aclrtMemcpy",
          {{"dst", dst}, {"destMax", destMax}, {"src", src}, {"count", count}, {"kind", kind}})) {
    return code;
  }
  if (const aclError code = check_copy(dst, destMax, src, count, kind)) return code;
  return count ? copy_sync(plain_copy(dst, src, count, kind)) : ACL_SUCCESS;
}

static aclError memcpy_async(void* dst,
                             size_t destMax,
                             const void* src,
                             size_t count,
                             aclrtMemcpyKind kind,
                             aclrtStream stream) {
  if (const aclError code = check_copy(dst, destMax, src, count, kind)) return code;
  return count ? copy_async(plain_copy(dst, src, count, kind), stream) : ACL_SUCCESS;
}

aclError aclrtMemcpyAsync(void* dst,
                          size_t destMax,
                          const void* src,
                          size_t count,
                          aclrtMemcpyKind kind,
                          aclrtStream stream) {
  if (const aclError code = enter("aclrtMemcpyAsync", {{"dst", dst},
                                                       {"destMax", destMax},
                                                       {"src", src},
                                                       {"count", count},
                                                       {"kind", kind},
                                                       {"stream", stream}})) {
    return code;
  }
  return memcpy_async(dst, destMax, src, count, kind, stream);
}

aclError aclrtMemcpyAsyncWithCondition(void* dst,
                                       size_t destMax,
                                       const void* src,
                                       size_t count,
                                       aclrtMemcpyKind kind,
                                       aclrtStream stream) {
  if (const aclError code = enter("aclrtMemcpyAsyncWithCondition", {{"dst", dst},
                                                                    {"destMax", destMax},
                                                                    {"src", src},
                                                                    {"count", count},
                                                                    {"kind", kind},
                                                                    {"stream", stream}})) {
    return code;
  }
  return memcpy_async(dst, destMax, src, count, kind, stream);
}

static aclError check_copy_2d(const void* dst,
                              size_t dpitch,
                              const void* src,
                              size_t spitch,
                              size_t width,
                              size_t height,
                              aclrtMemcpyKind kind,
                              bool async) {
  if (!dst) return fail_null("dst");
  if (!src) return fail_null("src");
  if (const aclError code = check_kind(kind)) return code;
  const bool known = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_HOST ||
                     kind == ACL_MEMCPY_DEFAULT || (async && kind == ACL_MEMCPY_DEVICE_TO_DEVICE);
  if (!known) return fail(ACL_ERROR_INVALID_PARAM, "this kind of copy does not go by rows");
  if (!width || !height || width > dpitch || width > spitch) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "width is 0 or above a pitch, or height is 0");
  }
  if (async && (width > 5000000 || height > size_t{5} << 20)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "width is above 5000000 or height above 5242880");
  }
  return ACL_SUCCESS;
}

aclError aclrtMemcpy2d(void* dst,
                       size_t dpitch,
                       const void* src,
                       size_t spitch,
                       size_t width,
                       size_t height,
                       aclrtMemcpyKind kind) {
  if (const aclError code = enter("aclrtMemcpy2d", {{"dst", dst},
                                                    {"dpitch", dpitch},
                                                    {"src", src},
                                                    {"spitch", spitch},
                                                    {"width", width},
                                                    {"height", height},
                                                    {"kind", kind}})) {
    return code;
  }
  if (const aclError code =
          check_copy_2d(dst, dpitch, src, spitch, width, height, kind, /*async=*/false)) {
    return code;
  }
  return copy_sync({static_cast<char*>(dst), dpitch, static_cast<char*>(const_cast<void*>(src)),
                    spitch, width, height, kind});
}

aclError aclrtMemcpy2dAsync(void* dst,
                            size_t dpitch,
                            const void* src,
                            size_t spitch,
                            size_t width,
                            size_t height,
                            aclrtMemcpyKind kind,
                            aclrtStream stream) {
  if (const aclError code = enter("aclrtMemcpy2dAsync", {{"dst", dst},
                                                         {"dpitch", dpitch},
                                                         {"src", src},
                                                         {"spitch", spitch},
                                                         {"width", width},
                                                         {"height", height},
                                                         {"kind", kind},
                                                         {"stream", stream}})) {
    return code;
  }
  if (const aclError code =
          check_copy_2d(dst, dpitch, src, spitch, width, height, kind, /*async=*/true)) {
    return code;
  }
  return copy_async({static_cast<char*>(dst), dpitch, static_cast<char*>(const_cast<void*>(src)),
                     spitch, width, height, kind},
                    stream);
}

static aclError check_fill(const void* devPtr, size_t maxCount, size_t count) {
  if (!devPtr) return fail_null("devPtr");
  if (count <= maxCount) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "count " + std::to_string(count) + " is above maxCount " + std::to_string(maxCount));
}

static Task fill_task(void* devPtr, int32_t value, size_t count) {
  Task task;
  task.name = current_function();
  task.moves = true;
  Access access;
  access.data = static_cast<char*>(devPtr);
  access.bytes = count;
  access.write = true;
  access.name = "devPtr";
  task.accesses = {access};
  task.run = [devPtr, value, count] {
    std::memset(devPtr, value, count);
    return ACL_SUCCESS;
  };
  return task;
}

static aclError check_known(const void* devPtr) {
  if (find_block(devPtr)) return ACL_SUCCESS;
  report("memory", std::string(current_function()) + " fills ordinary host memory" +
                       describe_site(call_site()));
  return fail(ACL_ERROR_RT_PARAM_INVALID, "devPtr is neither device memory nor acl's host memory");
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  if (const aclError code =
          enter("aclrtMemset",
                {{"devPtr", devPtr}, {"maxCount", maxCount}, {"value", value}, {"count", count}})) {
    return code;
  }
  if (const aclError code = check_fill(devPtr, maxCount, count)) return code;
  if (!count) return ACL_SUCCESS;
  Lock lock(runtime().mutex);
  std::shared_ptr<Context> context;
  if (const aclError code = current_context(context)) return code;
  if (const aclError code = check_not_capturing()) return code;
  if (const aclError code = check_known(devPtr)) return code;
  const Task task = fill_task(devPtr, value, count);
  if (const aclError code = on_host_access(task)) return code;
  const auto kept = find_block(devPtr);
  lock.unlock();
  return task.run();
}

aclError aclrtMemsetAsync(
    void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  if (const aclError code = enter("aclrtMemsetAsync", {{"devPtr", devPtr},
                                                       {"maxCount", maxCount},
                                                       {"value", value},
                                                       {"count", count},
                                                       {"stream", stream}})) {
    return code;
  }
  if (const aclError code = check_fill(devPtr, maxCount, count)) return code;
  if (!count) return ACL_SUCCESS;
  {
    const Lock lock(runtime().mutex);
    if (const aclError code = check_known(devPtr)) return code;
  }
  return enqueue(stream, fill_task(devPtr, value, count));
}

// A copy that is described in memory. The program gives the memory, and may change what it says
// between two copies.
namespace {
struct CopyDesc {
  void* to;
  void* from;
  size_t bytes;
};
}  // namespace

static aclError check_desc_kind(aclrtMemcpyKind kind) {
  if (kind == ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "only copies inside a device (ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) can be described");
}

aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t* descSize) {
  if (const aclError code = enter("aclrtGetMemcpyDescSize", {{"kind", kind}})) return code;
  if (!descSize) return fail_null("descSize");
  if (const aclError code = check_desc_kind(kind)) return code;
  *descSize = sizeof(CopyDesc);
  return ACL_SUCCESS;
}

aclError aclrtSetMemcpyDesc(
    void* desc, aclrtMemcpyKind kind, void* srcAddr, void* dstAddr, size_t count, void* config) {
  if (const aclError code =
          enter("aclrtSetMemcpyDesc",
                {{"desc", desc}, {"srcAddr", srcAddr}, {"dstAddr", dstAddr}, {"count", count}})) {
    return code;
  }
  if (!desc) return fail_null("desc");
  if (config) return fail(ACL_ERROR_INVALID_PARAM, "config must be null");
  if (const aclError code = check_desc_kind(kind)) return code;
  if (const aclError code =
          check_copy(dstAddr, count, srcAddr, count, ACL_MEMCPY_DEVICE_TO_DEVICE)) {
    return code;
  }
  CopyDesc made{dstAddr, srcAddr, count};
  auto* bytes = reinterpret_cast<char*>(&made);
  return copy_sync({static_cast<char*>(desc), sizeof made, bytes, sizeof made, sizeof made, 1,
                    ACL_MEMCPY_DEFAULT});
}

aclError aclrtMemcpyAsyncWithDesc(void* desc, aclrtMemcpyKind kind, aclrtStream stream) {
  if (const aclError code =
          enter("aclrtMemcpyAsyncWithDesc", {{"desc", desc}, {"kind", kind}, {"stream", stream}})) {
    return code;
  }
  if (!desc) return fail_null("desc");
  if (const aclError code = check_desc_kind(kind)) return code;
  CopyDesc made{};
  std::memcpy(&made, desc, sizeof made);
  return copy_async({static_cast<char*>(made.to), made.bytes, static_cast<char*>(made.from),
                     made.bytes, made.bytes, 1, ACL_MEMCPY_DEVICE_TO_DEVICE},
                    stream);
}
