#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "simulator/ascend/core/address_map.h"
#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/memory.h"
#include "simulator/ascend/core/stream.h"

namespace sim {

Physical::~Physical() {
  if (file >= 0) close(file);
}

aclError granularity_of(aclrtMemAttr attribute, size_t* bytes) {
  switch (attribute) {
    case ACL_HBM_MEM_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G:
      *bytes = kGiantPage;
      return ACL_SUCCESS;
    case ACL_HBM_MEM_NORMAL:
    case ACL_HBM_MEM_P2P_NORMAL:
    case ACL_DDR_MEM_NORMAL:
    case ACL_DDR_MEM_P2P_NORMAL:
      *bytes = 4096;
      return ACL_SUCCESS;
    case ACL_HBM_MEM_HUGE:
    case ACL_HBM_MEM_P2P_HUGE:
    case ACL_DDR_MEM_HUGE:
    case ACL_DDR_MEM_P2P_HUGE:
    case ACL_HBM_MEM:
    case ACL_DDR_MEM:
      *bytes = kHugePage;
      return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "there is no memory attribute " + std::to_string(attribute));
}

aclError reserve_addresses(size_t bytes, void** pointer) {
  const size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  // One page more, to start at a whole huge page.
  void* raw = mmap(nullptr, whole + kHugePage, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "no addresses are left");
  auto* first = static_cast<char*>(raw);
  char* base = first + (kHugePage - reinterpret_cast<uintptr_t>(first) % kHugePage) % kHugePage;
  if (base > first) munmap(first, static_cast<size_t>(base - first));
  const size_t tail = static_cast<size_t>(first + kHugePage - base);
  if (tail) munmap(base + whole, tail);
  address_map().reservations[base] = {whole, -1};
  *pointer = base;
  return ACL_SUCCESS;
}

static std::map<char*, Reservation>::iterator reservation_of(char* address) {
  auto& all = address_map().reservations;
  auto found = all.upper_bound(address);
  if (found == all.begin()) return all.end();
  --found;
  return address < found->first + found->second.bytes ? found : all.end();
}

bool is_reserved(const void* address) {
  auto* at = static_cast<char*>(const_cast<void*>(address));
  return reservation_of(at) != address_map().reservations.end();
}

std::shared_ptr<Block> next_mapped(const Block& block) {
  const auto reserved = reservation_of(block.data);
  const auto next = address_map().live.lower_bound(block.data + block.bytes);
  if (reserved == address_map().reservations.end() || next == address_map().live.end() ||
      next->first >= reserved->first + reserved->second.bytes) {
    return nullptr;
  }
  return next->second;
}

aclError release_addresses(void* pointer) {
  const auto found = address_map().reservations.find(static_cast<char*>(pointer));
  if (found == address_map().reservations.end()) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "the addresses were not reserved");
  }
  const auto mapped = address_map().mappings.lower_bound(found->first);
  if (mapped != address_map().mappings.end() &&
      mapped->first < found->first + found->second.bytes) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "memory is mapped to the addresses still");
  }
  munmap(found->first, found->second.bytes);
  address_map().reservations.erase(found);
  return ACL_SUCCESS;
}

aclError allocate_physical(size_t bytes,
                           const aclrtPhysicalMemProp& prop,
                           aclrtDrvMemHandle* handle) {
  if (prop.location.type != ACL_MEM_LOCATION_TYPE_DEVICE ||
      prop.allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "only pinned memory of a device can be had");
  }
  if (const aclError code = check_device(prop.location.id)) return code;
  size_t page = 0;
  if (const aclError code = granularity_of(prop.memAttr, &page)) return code;
  if (bytes % page) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "the size is no multiple of " + std::to_string(page) + " bytes");
  }
  const auto device = static_cast<int32_t>(prop.location.id);
  if (bytes > free_bytes(device)) return out_of_memory(device, bytes);
  auto physical = std::make_shared<Physical>();
  physical->device = device;
  physical->bytes = bytes;
  physical->page_bytes = static_cast<uint32_t>(page);
  physical->file = memfd_create("ascend_simulator", MFD_CLOEXEC);
  if (physical->file < 0 ||
      ftruncate(physical->file, static_cast<off_t>(bytes + bytes_behind_memory()))) {
    return out_of_memory(device, bytes);
  }
  physical->number = ++address_map().allocations;
  charge(runtime().devices[prop.location.id], bytes);
  *handle = runtime().physical.add(physical);
  return ACL_SUCCESS;
}

static void release_if_unused(const Physical& physical) {
  if (!physical.freed || physical.mappings || physical.imported) return;
  runtime().devices[static_cast<size_t>(physical.device)].used_bytes -= physical.bytes;
}

aclError find_physical(aclrtDrvMemHandle handle, std::shared_ptr<Physical>& physical) {
  physical = runtime().physical.find(handle);
  if (physical) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_INVALID_HANDLE, runtime().physical.was(handle)
                                               ? "the physical memory was freed"
                                               : "this is no physical memory");
}

aclError free_physical(aclrtDrvMemHandle handle) {
  std::shared_ptr<Physical> physical;
  if (const aclError code = find_physical(handle, physical)) return code;
  physical->freed = true;
  runtime().physical.remove(handle);
  release_if_unused(*physical);
  return ACL_SUCCESS;
}

aclError map_memory(void* pointer, size_t bytes, aclrtDrvMemHandle handle) {
  std::shared_ptr<Physical> physical;
  if (const aclError code = find_physical(handle, physical)) return code;
  auto* base = static_cast<char*>(pointer);
  const auto reserved = reservation_of(base);
  if (reserved == address_map().reservations.end() ||
      base + bytes > reserved->first + reserved->second.bytes) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "the addresses were not reserved");
  }
  if (bytes != physical->bytes) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "the size must be that of the physical memory, " + std::to_string(physical->bytes));
  }
  if (reserved->second.device >= 0 && reserved->second.device != physical->device) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "one reservation takes memory of one device only");
  }
  auto next = address_map().live.lower_bound(base + bytes);
  if (next != address_map().live.begin() && (--next)->first + next->second->bytes > base) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "memory is mapped to these addresses already");
  }
  if (mmap(base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical->file, 0) ==
      MAP_FAILED) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the memory could not be mapped");
  }
  reserved->second.device = physical->device;
  auto block = std::make_shared<Block>();
  block->is_virtual = true;
  block->data = base;
  block->bytes = block->mapped_bytes = bytes;
  block->device = physical->device;
  block->page_bytes = physical->page_bytes;
  block->number = physical->number;
  block->all_written = physical->mapped_before;  // what earlier mappings wrote is not known here
  physical->mapped_before = true;
  ++physical->mappings;
  address_map().live[base] = block;
  address_map().mappings[base] = {physical};
  on_allocate(*block);
  return ACL_SUCCESS;
}

aclError unmap_memory(Lock& lock, void* pointer) {
  auto* base = static_cast<char*>(pointer);
  const auto found = address_map().mappings.find(base);
  if (found == address_map().mappings.end()) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "nothing is mapped there");
  }
  const std::shared_ptr<Physical> physical = found->second.physical;
  const std::shared_ptr<Block> block = address_map().live[base];
  on_free(*block);
  block->freed = true;
  address_map().live.erase(base);
  address_map().mappings.erase(base);
  // A device would fault; the process must not: what has started ends, the rest fails.
  for (Work* work : block->pending) {
    if (work->started) continue;
    work->poison = ACL_ERROR_RT_AICORE_EXCEPTION;
    work->poison_text = "its memory was unmapped";
  }
  const auto started = [](const Work* work) { return work->started; };
  while (std::any_of(block->pending.begin(), block->pending.end(), started)) {
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    lock.lock();
  }
  mmap(base, block->bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
       0);
  --physical->mappings;
  release_if_unused(*physical);
  const auto reserved = reservation_of(base);
  const auto other = address_map().mappings.lower_bound(reserved->first);
  if (other == address_map().mappings.end() ||
      other->first >= reserved->first + reserved->second.bytes) {
    reserved->second.device = -1;
  }
  return ACL_SUCCESS;
}

}  // namespace sim
