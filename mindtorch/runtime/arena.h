#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "mindtorch/runtime/block.h"
#include "mindtorch/runtime/memory_stats.h"
#include "mindtorch/runtime/size_index.h"
#include "mindtorch/runtime/spin_lock.h"

namespace mindtorch::runtime {

struct PrivatePool;

inline constexpr size_t kMinBlock = 512;
inline constexpr size_t kSmallLimit = size_t{1} << 20;

// When a block may serve a request, and when it is cut.
struct SplitRules {
  size_t max_split_size = SIZE_MAX;  // larger blocks are never cut
  size_t max_non_split_rounding = size_t{20} << 20;
};

// The memory of one stream in one pool: segments, their blocks, and which of them are free. Blocks
// are found, cut and merged only inside an arena. Member functions need lock() held unless they say
// otherwise; none calls the driver.
class Arena {
 public:
  Arena(driver::StreamHandle stream, PrivatePool* owner, const SplitRules& rules)
      : rules_(rules), stream_(stream), owner_(owner) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

  // These two may be read without the lock.
  driver::StreamHandle stream() const noexcept { return stream_.load(std::memory_order_relaxed); }
  // Null: the default pool.
  PrivatePool* owner() const noexcept { return owner_.load(std::memory_order_relaxed); }
  // Gives an arena without segments to another stream and pool.
  void reassign(driver::StreamHandle stream, PrivatePool* owner) noexcept;

  // The best fitting free block, cut to size and marked as allocated; null when none fits.
  // above_peak() says afterwards whether the statistics passed the arena's allowance.
  Block* take(PoolKind pool, size_t size, size_t requested) noexcept;
  // The same at `address`, where a block of that size was before; null when it is not free, and for
  // expandable segments. Walks the blocks of a segment, from the one found last.
  Block* take_at(PoolKind pool, size_t size, size_t requested, const char* address) noexcept;
  // Marks a free block (not in the index any more) as allocated, cut to `size` where that pays.
  Block* claim(Block* block, size_t size, size_t requested) noexcept;
  // Merges the block freed last into its neighbours. See Note [The block freed last].
  void coalesce() noexcept {
    if (last_freed_ != nullptr) merge_and_insert(std::exchange(last_freed_, nullptr));
  }
  // Work queued on another stream uses the block too.
  void record_stream(Block* block, driver::StreamHandle stream);
  // The user is done with the block. True: other streams recorded on it must be waited for first
  // (the block is pending now); otherwise it is free again.
  bool give_back(Block* block) noexcept;
  // What a pending block waited for is over.
  void finish_pending(Block* block) noexcept;

  // Adds a segment of one free block that is not in the index yet, to be claimed or made available.
  // `page` is not 0: addresses without memory so far, of an expandable segment.
  Segment* add_segment(char* data, size_t size, PoolKind pool, size_t page = 0);
  void make_available(Block* block) { insert_free(block); }
  // The opposite: takes a free block out of the index, for the caller to do something with.
  void withdraw(Block* block) noexcept { remove_free(block); }
  // Takes a free segment out of the arena and its index; the caller owns it, or attaches it again.
  void detach(Segment* segment) noexcept;
  void attach(Segment* segment);
  static void destroy(Segment* segment) noexcept;

  Segment* segments() const noexcept { return segments_; }
  // The segment of the pool that has been free as a whole for longest, and on by free_next.
  // Expandable segments are never among them.
  Segment* oldest_free(PoolKind pool) const noexcept {
    return free_segments_[static_cast<int>(pool)].oldest;
  }
  // How many searches ago a free segment became free.
  uint64_t age(const Segment* segment) const noexcept {
    return searches_ - segment->first->freed_at;
  }
  const SizeIndex& index(PoolKind pool) const noexcept { return index_[static_cast<int>(pool)]; }

  // Splits `block` so that it keeps the first `size` bytes; returns the rest, which has the same
  // state and is in no index.
  Block* split(Block* block, size_t size);
  // Merges a block with its free neighbours (taking those out of the index); the result is in no
  // index.
  Block* merge_with_neighbours(Block* block) noexcept;

  // Makes one free block of `block`, which is in no index, the one before it if given, which is in
  // none either, and whatever free neighbours they have.
  Block* join(Block* before, Block* block) noexcept;

  ArenaStats& stats() noexcept { return stats_; }
  bool above_peak() const noexcept { return above_peak_; }
  // Of the only arena there is: what it holds now is the peak.
  void raise_peak() noexcept;
  uint64_t searches_since_rebalance() const noexcept { return searches_ - rebalanced_searches_; }
  void mark_rebalanced() noexcept {
    above_peak_ = false;
    rebalanced_searches_ = searches_;
  }

 private:
  Block* block_at(PoolKind pool, const char* address) const noexcept;
  Block* hand_out(Block* block, size_t requested) noexcept;
  Block* cut_front(Block* block, size_t size) noexcept;
  void merge_and_insert(Block* block) noexcept;
  void insert_free(Block* block);
  void remove_free(Block* block) noexcept;
  void link(Segment* segment) noexcept;
  void absorb(Block* block, Block* neighbour) noexcept;
  Block* new_block();
  void recycle(Block* block) noexcept;

  SpinLock lock_;
  bool above_peak_ = false;
  const SplitRules& rules_;
  uint64_t searches_ = 0;
  uint64_t rebalanced_searches_ = 0;  // when the allowances were shared out last
  // Note [The block freed last]: programs free a block and ask for its size again all the time.
  // The block freed last is therefore neither merged nor indexed until a caller asks for another
  // size, frees another block or looks at the arena. Handing it out again restores exactly what was
  // before it was freed, so this never adds fragmentation; and it halves the cost of the pair.
  Block* last_freed_ = nullptr;
  Block* found_last_ = nullptr;  // by take_at(); null: none, or its segment is gone
  ArenaStats stats_;
  SizeIndex index_[kPoolCount];
  Segment* segments_ = nullptr;
  struct FreeSegments {
    Segment* oldest = nullptr;
    Segment* newest = nullptr;
  } free_segments_[kPoolCount];
  Block* spare_blocks_ = nullptr;
  std::atomic<driver::StreamHandle> stream_;
  std::atomic<PrivatePool*> owner_;
};

}  // namespace mindtorch::runtime
