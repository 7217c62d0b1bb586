#pragma once

#include <memory>
#include <string>
#include <vector>

#include "simulator/ascend/core/runtime.h"
#include "simulator/ascend/core/site.h"

namespace sim {

struct Work;
struct PastAccess;

inline constexpr size_t kHugePage = size_t{2} << 20;
inline constexpr size_t kGiantPage = size_t{1} << 30;

enum class Place { kDevice, kPinned, kRegistered };

// One allocation, one mapping, or one range of registered host memory.
struct Block {
  char* data = nullptr;
  size_t bytes = 0;          // what was asked for
  size_t mapped_bytes = 0;   // what the operating system gave
  size_t charged_bytes = 0;  // of the device's budget
  Place place = Place::kDevice;
  int32_t device = -1;
  uint32_t page_bytes = 4096;
  bool is_virtual = false;  // mapped by aclrtMapMem
  bool freed = false;
  bool registered = false;     // host memory that the device may touch
  uint64_t number = 0;         // of the allocation
  std::vector<Work*> pending;  // queued work that touches it
  Site site;                   // return addresses at the allocation
  Site free_site;
  std::unique_ptr<uint8_t[]> written;  // a bit for each byte, made at the first need
  bool all_written = false;
  std::vector<PastAccess> past;  // for the race check

  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
};

struct Physical {
  void* handle = nullptr;
  int32_t device = 0;
  size_t bytes = 0;
  uint32_t page_bytes = 0;
  int file = -1;
  int mappings = 0;
  bool mapped_before = false;
  bool freed = false;
  bool imported = false;  // belongs to another handle, maybe of another process
  uint64_t number = 0;
  ~Physical();
};

enum class Padding { kPadded, kNone };

// The functions below want the lock.

// 207001 when the device's budget, or a fault, says so.
aclError allocate_device(
    int32_t device, size_t bytes, aclrtMemMallocPolicy policy, Padding padding, void** pointer);
aclError free_device(void* pointer);
aclError allocate_pinned(size_t bytes, void** pointer);
aclError free_pinned(void* pointer);
// `pin`: memory that is pinned already is refused, else registered as well.
aclError register_host(void* pointer, size_t bytes, bool pin);
aclError unregister_host(void* pointer);

// The block that holds the address: alive, else freed and not yet forgotten, else null.
std::shared_ptr<Block> find_block(const void* address);
// The block that is mapped behind this mapped one in the same reservation, with or without a gap
// between them, or null.
std::shared_ptr<Block> next_mapped(const Block& block);
size_t free_bytes(int32_t device);

// "device 0 memory #12 of 4096 bytes at 0x..."
std::string describe(const Block& block);

aclError reserve_addresses(size_t bytes, void** pointer);
aclError release_addresses(void* pointer);
// Reserved, whether or not something is mapped there.
bool is_reserved(const void* address);
aclError allocate_physical(size_t bytes,
                           const aclrtPhysicalMemProp& prop,
                           aclrtDrvMemHandle* handle);
aclError free_physical(aclrtDrvMemHandle handle);
aclError find_physical(aclrtDrvMemHandle handle, std::shared_ptr<Physical>& physical);
// Note [Sharing].
aclError export_physical(aclrtDrvMemHandle handle, bool anybody, uint64_t* shared);
aclError admit(uint64_t shared, const int32_t* pids, size_t count);
aclError import_physical(uint64_t shared, int32_t device, aclrtDrvMemHandle* handle);
size_t bytes_behind_memory();
aclError map_memory(void* pointer, size_t bytes, aclrtDrvMemHandle handle);
aclError unmap_memory(Lock& lock, void* pointer);
aclError granularity_of(aclrtMemAttr attribute, size_t* bytes);

// Live blocks, for the leak check.
std::vector<std::shared_ptr<Block>> live_blocks();
void forget_memory();

}  // namespace sim
