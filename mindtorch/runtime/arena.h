#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "mindtorch/base/thread_safety.h"
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
class MT_MUTEX Arena {
 public:
  Arena(driver::StreamHandle stream, PrivatePool* owner, const SplitRules& rules)
      : rules_(rules), stream_(stream), owner_(owner) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // The arena is the mutex of all it holds; it hands the work on to another, out of sight.
  void lock() noexcept MT_ACQUIRE() MT_UNCHECKED_LOCKS { lock_.lock(); }
  void unlock() noexcept MT_RELEASE() MT_UNCHECKED_LOCKS { lock_.unlock(); }

  // Nothing. Said by whoever holds the locks of a whole list, which the analysis cannot count.
  void is_held() const noexcept MT_SAYS_HELD() {}

  // These two may be read without the lock.
  driver::StreamHandle stream() const noexcept { return stream_.load(std::memory_order_relaxed); }
  // Null: the default pool.
  PrivatePool* owner() const noexcept { return owner_.load(std::memory_order_relaxed); }
  // Gives an arena without segments to another stream and pool. Needs no lock: nobody uses it.
  void reassign(driver::StreamHandle stream, PrivatePool* owner) noexcept;

  // The best fitting free block, cut to size and marked as allocated; null when none fits.
  // above_peak() says afterwards whether the statistics passed the arena's allowance.
  Block* take(PoolKind pool, size_t size, size_t requested) noexcept MT_REQUIRES(this);
  // The same at `address`, where a block of that size was before; null when it is not free, and for
  // expandable segments. Walks the blocks of a segment, from the one found last.
  Block* take_at(PoolKind pool, size_t size, size_t requested, const char* address) noexcept
      MT_REQUIRES(this);
  // Marks a free block (not in the index any more) as allocated, cut to `size` where that pays.
  Block* claim(Block* block, size_t size, size_t requested) noexcept MT_REQUIRES(this);
  // Merges the block freed last into its neighbours. See Note [The block freed last].
  void coalesce() noexcept MT_REQUIRES(this) {
    if (last_freed_ != nullptr) merge_and_insert(std::exchange(last_freed_, nullptr));
  }
  // Work queued on another stream uses the block too.
  void record_stream(Block* block, driver::StreamHandle stream) MT_REQUIRES(this);
  // The user is done with the block. True: other streams recorded on it must be waited for first
  // (the block is pending now); otherwise it is free again.
  bool give_back(Block* block) noexcept MT_REQUIRES(this);
  // What a pending block waited for is over.
  void finish_pending(Block* block) noexcept MT_REQUIRES(this);

  // Adds a segment of one free block that is not in the index yet, to be claimed or made available.
  // `page` is not 0: addresses without memory so far, of an expandable segment.
  Segment* add_segment(char* data, size_t size, PoolKind pool, size_t page = 0) MT_REQUIRES(this);
  void make_available(Block* block) MT_REQUIRES(this) { insert_free(block); }
  // The opposite: takes a free block out of the index, for the caller to do something with.
  void withdraw(Block* block) noexcept MT_REQUIRES(this) { remove_free(block); }
  // Takes a free segment out of the arena and its index; the caller owns it, or attaches it again.
  void detach(Segment* segment) noexcept MT_REQUIRES(this);
  void attach(Segment* segment) MT_REQUIRES(this);
  static void destroy(Segment* segment) noexcept;

  Segment* segments() const noexcept MT_REQUIRES(this) { return segments_; }
  // The segment of the pool that has been free as a whole for longest, and on by free_next.
  // Expandable segments are never among them.
  Segment* oldest_free(PoolKind pool) const noexcept MT_REQUIRES(this) {
    return free_segments_[static_cast<int>(pool)].oldest;
  }
  // How many searches ago a free segment became free.
  uint64_t age(const Segment* segment) const noexcept MT_REQUIRES(this) {
    return searches_ - segment->first->freed_at;
  }
  const SizeIndex& index(PoolKind pool) const noexcept MT_REQUIRES(this) {
    return index_[static_cast<int>(pool)];
  }

  // Splits `block` so that it keeps the first `size` bytes; returns the rest, which has the same
  // state and is in no index.
  Block* split(Block* block, size_t size) MT_REQUIRES(this);
  // Merges a block with its free neighbours (taking those out of the index); the result is in no
  // index.
  Block* merge_with_neighbours(Block* block) noexcept MT_REQUIRES(this);

  // Makes one free block of `block`, which is in no index, the one before it if given, which is in
  // none either, and whatever free neighbours they have.
  Block* join(Block* before, Block* block) noexcept MT_REQUIRES(this);

  ArenaStats& stats() noexcept MT_REQUIRES(this) { return stats_; }
  bool above_peak() const noexcept MT_REQUIRES(this) { return above_peak_; }
  // Of the only arena there is: what it holds now is the peak.
  void raise_peak() noexcept MT_REQUIRES(this);
  uint64_t searches_since_rebalance() const noexcept MT_REQUIRES(this) {
    return searches_ - rebalanced_searches_;
  }
  void mark_rebalanced() noexcept MT_REQUIRES(this) {
    above_peak_ = false;
    rebalanced_searches_ = searches_;
  }

 private:
  Block* block_at(PoolKind pool, const char* address) const noexcept MT_REQUIRES(this);
  Block* hand_out(Block* block, size_t requested) noexcept MT_REQUIRES(this);
  Block* cut_front(Block* block, size_t size) noexcept MT_REQUIRES(this);
  void merge_and_insert(Block* block) noexcept MT_REQUIRES(this);
  void insert_free(Block* block) MT_REQUIRES(this);
  void remove_free(Block* block) noexcept MT_REQUIRES(this);
  void link(Segment* segment) noexcept MT_REQUIRES(this);
  void absorb(Block* block, Block* neighbour) noexcept MT_REQUIRES(this);
  Block* new_block() MT_REQUIRES(this);
  void recycle(Block* block) noexcept MT_REQUIRES(this);

  SpinLock lock_;
  bool above_peak_ MT_GUARDED_BY(this) = false;
  const SplitRules& rules_;
  uint64_t searches_ MT_GUARDED_BY(this) = 0;
  // When the allowances were shared out last.
  uint64_t rebalanced_searches_ MT_GUARDED_BY(this) = 0;
  // Note [The block freed last]: programs free a block and ask for its size again all the time.
  // The block freed last is therefore neither merged nor indexed until a caller asks for another
  // size, frees another block or looks at the arena. Handing it out again restores exactly what was
  // before it was freed, so this never adds fragmentation; and it halves the cost of the pair.
  Block* last_freed_ MT_GUARDED_BY(this) = nullptr;
  // By take_at(); null: none, or its segment is gone.
  Block* found_last_ MT_GUARDED_BY(this) = nullptr;
  ArenaStats stats_ MT_GUARDED_BY(this);
  SizeIndex index_[kPoolCount] MT_GUARDED_BY(this);
  Segment* segments_ MT_GUARDED_BY(this) = nullptr;
  struct FreeSegments {
    Segment* oldest = nullptr;
    Segment* newest = nullptr;
  } free_segments_[kPoolCount] MT_GUARDED_BY(this);
  Block* spare_blocks_ MT_GUARDED_BY(this) = nullptr;
  std::atomic<driver::StreamHandle> stream_;
  std::atomic<PrivatePool*> owner_;
};

}  // namespace mindtorch::runtime
