#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mindtorch/driver/driver.h"

// The pieces device memory is made of. See Note [Block lifetime] in caching_allocator.h.
namespace mindtorch::runtime {

class Arena;
class CallContext;  // where in the user's program something happened; see memory_history.h
struct Segment;
struct SizeIndexNode;

enum class PoolKind : uint8_t { kSmall, kLarge };

enum class BlockState : uint8_t {
  kFree,       // in the arena's index, may be handed out
  kAllocated,  // a user holds it
  kPending,    // freed, but another stream may still use it
  kUnmapped,   // addresses without memory, in an expandable segment
  kMapping,    // being mapped or unmapped by some thread
};

// A part of a segment. Blocks tile their segment without gaps.
struct Block {
  char* data = nullptr;
  size_t size = 0;       // a multiple of kMinBlock
  size_t requested = 0;  // what the user asked for; of the last user when free
  size_t fits = 0;       // the rounded size it was handed out for: less than size if left uncut
  Segment* segment = nullptr;
  Block* previous = nullptr;  // neighbours by address
  Block* next = nullptr;
  Block* list_previous = nullptr;  // free blocks of the same size
  Block* list_next = nullptr;
  SizeIndexNode* leaf = nullptr;  // where the index keeps that list
  uint64_t freed_at = 0;          // the arena's search count when it became free
  uint32_t event_count = 0;       // events a pending block waits for
  BlockState state = BlockState::kFree;
  bool oversize = false;                      // counted as an oversize allocation
  std::vector<driver::StreamHandle> streams;  // other streams that used it
  std::shared_ptr<const CallContext> context;

  bool is_split() const noexcept { return previous != nullptr || next != nullptr; }
};

// One allocation of the driver, or one reserved range of addresses that grows. The unit that goes
// back to the driver.
struct Segment {
  Arena* arena = nullptr;
  char* data = nullptr;
  size_t size = 0;
  Block* first = nullptr;
  Block* last = nullptr;
  PoolKind pool = PoolKind::kSmall;
  bool expandable = false;
  bool has_gaps = false;        // expandable: addresses before the last block may be without memory
  size_t page = 0;              // expandable: what is mapped and unmapped at a time
  bool oversize = false;        // counted as an oversize segment
  Segment* previous = nullptr;  // the arena's segments
  Segment* next = nullptr;
  Segment* free_previous = nullptr;  // those of the pool that are free as a whole, oldest first
  Segment* free_next = nullptr;
  std::shared_ptr<const CallContext> context;

  bool is_free() const noexcept {
    return first->state == BlockState::kFree && first->next == nullptr;
  }
};

}  // namespace mindtorch::runtime
