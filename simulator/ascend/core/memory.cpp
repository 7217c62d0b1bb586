#include "simulator/ascend/core/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>

#include "simulator/ascend/core/address_map.h"
#include "simulator/ascend/core/checks.h"
#include "simulator/ascend/core/errors.h"
#include "simulator/ascend/core/faults.h"
#include "simulator/ascend/core/settings.h"

namespace sim {

static constexpr size_t kPage = 4096;
static constexpr size_t kHugeFrom = size_t{1} << 20;  // larger requests get huge pages
static constexpr aclError kAlreadyRegistered = 507910;
static constexpr aclError kNotRegistered = 507911;
// Freed blocks whose addresses are kept from reuse, so that late users are found out.
static constexpr size_t kQuarantineBlocks = 512;
static constexpr size_t kQuarantineBytes = size_t{4} << 30;

AddressMap& address_map() {
  static auto* the_map = new AddressMap;
  return *the_map;
}

Block::Block() = default;

Block::~Block() {
  if (place != Place::kRegistered && !is_virtual && data) munmap(data, mapped_bytes);
}

std::shared_ptr<Block> find_block(const void* address) {
  const auto* wanted = static_cast<const char*>(address);
  for (const auto* map : {&address_map().live, &address_map().quarantine}) {
    auto found = map->upper_bound(const_cast<char*>(wanted));
    if (found == map->begin()) continue;
    --found;
    const Block& block = *found->second;
    if (wanted < block.data + std::max(block.bytes, block.mapped_bytes)) return found->second;
  }
  return nullptr;
}

std::string describe(const Block& block) {
  char text[160];
  const char* kind = block.place == Place::kDevice   ? "device"
                     : block.place == Place::kPinned ? "pinned host"
                                                     : "registered host";
  std::snprintf(
      text, sizeof text, "%s%s memory #%llu of %zu bytes at %p", kind,
      block.place == Place::kDevice ? std::string(" ").append(std::to_string(block.device)).c_str()
                                    : "",
      static_cast<unsigned long long>(block.number), block.bytes, static_cast<void*>(block.data));
  return text;
}

size_t free_bytes(int32_t device) {
  const size_t used = runtime().devices[static_cast<size_t>(device)].used_bytes;
  const size_t limit = memory_limit(device);
  return used < limit ? limit - used : 0;
}

aclError out_of_memory(int32_t device, size_t bytes) {
  return fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
              "device " + std::to_string(device) + " has " + std::to_string(free_bytes(device)) +
                  " bytes left, " + std::to_string(bytes) + " were asked for");
}

static char* map_pages(size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<char*>(data);
}

static void enter_books(const std::shared_ptr<Block>& block) {
  block->number = ++address_map().allocations;
  address_map().live[block->data] = block;
  on_allocate(*block);
}

// Which page sizes a policy may use, the preferred one first.
static std::vector<size_t> pages_of(aclrtMemMallocPolicy policy, size_t bytes) {
  switch (static_cast<int>(policy) & 0xff) {
    case ACL_MEM_MALLOC_HUGE_FIRST:
    case ACL_MEM_MALLOC_HUGE_FIRST_P2P:
      return bytes > kHugeFrom ? std::vector<size_t>{kHugePage, kPage} : std::vector<size_t>{kPage};
    case ACL_MEM_MALLOC_HUGE_ONLY:
    case ACL_MEM_MALLOC_HUGE_ONLY_P2P:
      return {kHugePage};
    case ACL_MEM_MALLOC_HUGE1G_ONLY:
    case ACL_MEM_MALLOC_HUGE1G_ONLY_P2P:
      return {kGiantPage};
    default:
      return {kPage};
  }
}

aclError allocate_device(
    int32_t device, size_t bytes, aclrtMemMallocPolicy policy, Padding padding, void** pointer) {
  constexpr int kModifiers = ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH |
                             ACL_MEM_ACCESS_USER_SPACE_READONLY;
  const int plain = static_cast<int>(policy) & ~kModifiers;
  if (plain < 0 || plain > ACL_MEM_MALLOC_HUGE1G_ONLY_P2P) {
    return fail(ACL_ERROR_INVALID_PARAM, "there is no policy " + std::to_string(policy));
  }
  const bool giant = plain >= ACL_MEM_MALLOC_HUGE1G_ONLY;
  if (giant && (settings().is_910a() || settings().is_310p())) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, settings().soc + " has no pages of 1 GiB");
  }
  if (bytes > size_t{1} << 46) return out_of_memory(device, bytes);
  size_t real = (bytes + 31) / 32 * 32;
  if (padding == Padding::kPadded && !giant && !settings().is_950()) real += 32;

  for (const size_t page : pages_of(policy, bytes)) {
    const size_t charged = (real + page - 1) / page * page;
    if (charged > free_bytes(device)) continue;
    auto block = std::make_shared<Block>();
    block->bytes = bytes;
    block->mapped_bytes = (real + kPage - 1) / kPage * kPage;
    block->charged_bytes = charged;
    block->device = device;
    block->page_bytes = static_cast<uint32_t>(page);
    block->data = map_pages(block->mapped_bytes);
    if (!block->data) break;
    charge(runtime().devices[static_cast<size_t>(device)], charged);
    enter_books(block);
    *pointer = block->data;
    return ACL_SUCCESS;
  }
  return out_of_memory(device, bytes);
}

static void put_in_quarantine(const std::shared_ptr<Block>& block) {
  AddressMap& map = address_map();
  block->freed = true;
  map.live.erase(block->data);
  map.quarantine[block->data] = block;
  map.quarantine_order.push_back(block);
  map.quarantine_bytes += block->mapped_bytes;
  while (map.quarantine_order.size() > kQuarantineBlocks ||
         map.quarantine_bytes > kQuarantineBytes) {
    map.quarantine_bytes -= map.quarantine_order.front()->mapped_bytes;
    map.quarantine.erase(map.quarantine_order.front()->data);
    map.quarantine_order.pop_front();
  }
}

static aclError find_own(void* pointer,
                         Place place,
                         bool is_virtual,
                         std::shared_ptr<Block>& block) {
  block = find_block(pointer);
  if (block && !block->freed && block->data == pointer && block->place == place &&
      block->is_virtual == is_virtual) {
    return ACL_SUCCESS;
  }
  const char* why = !block                   ? "the pointer was not allocated here"
                    : block->freed           ? "the memory was freed already"
                    : block->data != pointer ? "the pointer is inside an allocation"
                                             : "the memory is of another kind";
  return fail(ACL_ERROR_RT_PARAM_INVALID, why);
}

aclError free_device(void* pointer) {
  std::shared_ptr<Block> block;
  if (const aclError code = find_own(pointer, Place::kDevice, false, block)) return code;
  on_free(*block);
  runtime().devices[static_cast<size_t>(block->device)].used_bytes -= block->charged_bytes;
  // Queued work may still touch it (and was reported); its pages stay until the work is gone.
  if (block->pending.empty()) madvise(block->data, block->mapped_bytes, MADV_DONTNEED);
  put_in_quarantine(block);
  return ACL_SUCCESS;
}

aclError allocate_pinned(size_t bytes, void** pointer) {
  auto block = std::make_shared<Block>();
  block->place = Place::kPinned;
  block->bytes = bytes;
  if (bytes > size_t{1} << 46) return fail(ACL_ERROR_BAD_ALLOC, "the host has not so much memory");
  block->mapped_bytes = (bytes + kPage - 1) / kPage * kPage;
  block->data = map_pages(block->mapped_bytes);
  if (!block->data) return fail(ACL_ERROR_BAD_ALLOC, "the host has no memory left");
  enter_books(block);
  *pointer = block->data;
  return ACL_SUCCESS;
}

aclError free_pinned(void* pointer) {
  std::shared_ptr<Block> block;
  if (const aclError code = find_own(pointer, Place::kPinned, false, block)) return code;
  on_free(*block);
  if (block->pending.empty()) madvise(block->data, block->mapped_bytes, MADV_DONTNEED);
  put_in_quarantine(block);
  return ACL_SUCCESS;
}

aclError register_host(void* pointer, size_t bytes, bool pin) {
  if (reinterpret_cast<uintptr_t>(pointer) % kPage) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "host memory is registered in pages of 4096 bytes");
  }
  const auto known = find_block(pointer);
  if (known && !known->freed) {
    if (known->place != Place::kPinned || known->registered || pin) {
      return fail(kAlreadyRegistered, "the memory is registered already");
    }
    known->registered = true;
    return ACL_SUCCESS;
  }
  auto block = std::make_shared<Block>();
  block->place = Place::kRegistered;
  block->registered = true;
  block->data = static_cast<char*>(pointer);
  block->bytes = bytes;
  enter_books(block);
  return ACL_SUCCESS;
}

aclError unregister_host(void* pointer) {
  const auto block = find_block(pointer);
  if (!block || block->freed || block->data != pointer || !block->registered) {
    return fail(kNotRegistered, "the memory is not registered");
  }
  block->registered = false;
  if (block->place == Place::kPinned) return ACL_SUCCESS;
  on_free(*block);
  address_map().live.erase(block->data);
  block->freed = true;
  return ACL_SUCCESS;
}

std::vector<std::shared_ptr<Block>> live_blocks() {
  std::vector<std::shared_ptr<Block>> all;
  for (const auto& [_, block] : address_map().live) all.push_back(block);
  return all;
}

void forget_memory() {
  AddressMap& map = address_map();
  for (const auto& [base, reservation] : map.reservations) munmap(base, reservation.bytes);
  map.live.clear();
  map.quarantine.clear();
  map.quarantine_order.clear();
  map.quarantine_bytes = 0;
  map.reservations.clear();
  map.mappings.clear();
}

}  // namespace sim
