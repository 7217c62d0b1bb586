#include "mindtorch/backends/ascend/virtual_memory.h"

#include <vector>

#include "mindtorch/backends/ascend/acl_api.h"
#include "mindtorch/backends/ascend/acl_error.h"
#include "mindtorch/backends/ascend/driver.h"

namespace mindtorch::ascend {
namespace {

constexpr uint64_t kHugePages = 1;  // what other users of CANN pass to reserve

aclrtPhysicalMemProp properties(int device) {
  aclrtPhysicalMemProp prop = {};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.id = static_cast<uint32_t>(device);
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  return prop;
}

}  // namespace

bool MappedMemory::available() noexcept {
  const AclApi& api = acl();
  return api.aclrtReserveMemAddress != nullptr && api.aclrtReleaseMemAddress != nullptr &&
         api.aclrtMallocPhysical != nullptr && api.aclrtFreePhysical != nullptr &&
         api.aclrtMapMem != nullptr && api.aclrtUnmapMem != nullptr;
}

size_t MappedMemory::granularity(int device) {
  size_t bytes = size_t{2} << 20;
  if (acl().aclrtMemGetAllocationGranularity != nullptr) {
    bind(device);
    aclrtPhysicalMemProp prop = properties(device);
    MT_ACL(aclrtMemGetAllocationGranularity, &prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &bytes);
  }
  return bytes;
}

void* MappedMemory::reserve(int device, size_t bytes) {
  bind(device);
  void* address = nullptr;
  const aclError code = acl().aclrtReserveMemAddress(&address, bytes, 0, nullptr, kHugePages);
  if (code == ACL_ERROR_RT_MEMORY_ALLOCATION) return nullptr;
  check(code, "aclrtReserveMemAddress");
  return address;
}

void MappedMemory::unreserve(int device, void* address, size_t) noexcept {
  bind_quietly(device);
  acl().aclrtReleaseMemAddress(address);
}

bool MappedMemory::map(int device, void* address, size_t bytes) {
  bind(device);
  const aclrtPhysicalMemProp prop = properties(device);
  aclrtDrvMemHandle handle = nullptr;
  const aclError code = acl().aclrtMallocPhysical(&handle, bytes, &prop, 0);
  if (code == ACL_ERROR_RT_MEMORY_ALLOCATION) {
    acl().aclGetRecentErrMsg();  // expected: its text is cleared
    return false;
  }
  check(code, "aclrtMallocPhysical");
  if (const aclError mapped = acl().aclrtMapMem(address, bytes, 0, handle, 0);
      mapped != ACL_SUCCESS) {
    acl().aclrtFreePhysical(handle);
    raise("aclrtMapMem", mapped);
  }
  std::lock_guard lock(mutex_);
  handles_.emplace(address, handle);
  return true;
}

void MappedMemory::unmap(int device, void* address, size_t bytes) noexcept {
  bind_quietly(device);
  std::vector<std::pair<void*, aclrtDrvMemHandle>> gone;
  {
    std::lock_guard lock(mutex_);
    const auto first = handles_.lower_bound(address);
    const auto last = handles_.lower_bound(static_cast<char*>(address) + bytes);
    gone.assign(first, last);
    handles_.erase(first, last);
  }
  for (const auto& [at, handle] : gone) {
    acl().aclrtUnmapMem(at);
    acl().aclrtFreePhysical(handle);
  }
}

}  // namespace mindtorch::ascend
