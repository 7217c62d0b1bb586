#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/base/thread_safety.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/allocator.h"
#include "mindtorch/runtime/host_stats.h"
#include "mindtorch/runtime/stream.h"

namespace mindtorch::runtime {

// torch's options of the same names, in bytes.
struct PinnedSettings {
  size_t max_cached_size = std::numeric_limits<size_t>::max();      // larger blocks are not kept
  size_t max_round_threshold = std::numeric_limits<size_t>::max();  // larger ones are not rounded
  size_t reserve_segment_size = 0;  // taken at once, for the first blocks to be cut from
};

// Host memory that a device reads and writes directly. Getting it from the driver is slow, so
// blocks are kept: rounded to eighths of a power of two (12.5 % at most is lost, from 4 KiB on),
// last in first out, never cut; a request that finds none of its size takes the smallest cached
// one up to twice that. A freed block is handed out again only when every stream that was recorded
// for it has passed the point of the free. Work recorded into a graph may run at any time: blocks
// it uses are never handed out again.
//
// One per Accelerator. Thread-safe; the driver is called without a lock. Throws OutOfMemoryError
// after the cache was emptied in vain, or what the driver throws. Failing driver calls while a
// block waits keep the block, and go to AsyncErrors.
class MT_API PinnedPool final : public Allocator {
 public:
  explicit PinnedPool(driver::DeviceDriver& driver, PinnedSettings settings = {});
  ~PinnedPool() override;  // close()
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;

  Allocation allocate(size_t bytes) override;  // null for 0 bytes
  void release(Allocation allocation) noexcept override;

  // Work queued on `stream` uses the memory at `data`, which may lie inside a block. False: not
  // from this pool. Before the work is queued, so that a failure leaves none behind.
  bool record_use(const void* data, Stream stream);
  bool owns(const void* data) const;

  // Gives unused blocks back to the driver. Does not wait.
  void empty_cache() noexcept;
  void configure(PinnedSettings settings);

  HostStats stats() const;
  void reset_peak_stats();
  void reset_accumulated_stats();

  // Waits for what still uses freed blocks, then gives every block back, in use or not.
  void close() noexcept;

  static size_t round(size_t bytes, const PinnedSettings& settings) noexcept;

 private:
  struct Wait {
    StreamState* stream;
    driver::EventHandle event;  // null: still to be recorded
  };
  enum class State : uint8_t { kInUse, kPending, kFree };
  struct Block {
    char* data = nullptr;
    size_t size = 0;
    Block** top = nullptr;  // of the free list of its size
    Block* next = nullptr;  // in that list, or among the pending
    std::vector<Wait> waits;
    State state = State::kInUse;
    bool in_segment = false;  // cut from the reserved segment
    bool captured = false;    // used by a graph
  };
  // By address. Nodes move between maps, so that giving up blocks needs no memory.
  using Blocks = std::map<uintptr_t, Block>;
  struct Segment {
    char* data = nullptr;
    size_t size = 0;
    size_t used = 0;
    size_t busy = 0;  // blocks cut from it that are not free
  };
  struct Queue {
    Block* first = nullptr;
    Block* last = nullptr;
    void push(Block* block) noexcept;
    Block* pop() noexcept;
    void append(Queue& other) noexcept;  // takes all of it
  };
  struct Dropped {  // to be given to the driver once the lock is free
    Blocks blocks;
    char* segment = nullptr;
  };

  Allocation take_cached(size_t size);
  Allocation grow(size_t size, size_t requested);
  char* reclaim_and_allocate(size_t size, std::exception_ptr& error);
  char* from_driver(size_t size, std::exception_ptr& error);
  char* cut_from_segment(size_t size);
  void make_segment(size_t size);
  [[noreturn]] void throw_out_of_memory(size_t bytes);

  void poll(bool wait) noexcept;
  bool finished(Block& block, bool wait) noexcept;
  static void record(Wait& wait) noexcept;
  static void keep_error(const Wait& wait) noexcept;
  bool forked() const noexcept;

  Block* find(const void* data) MT_REQUIRES(mutex_);
  void reclaim(Block& block, Dropped& dropped) noexcept MT_REQUIRES(mutex_);
  void drop(Block& block, Dropped& dropped) noexcept MT_REQUIRES(mutex_);
  void drop_free(Dropped& dropped) noexcept MT_REQUIRES(mutex_);

  void give_back(Dropped dropped) noexcept;
  void give_to_driver(char* data) noexcept;

  driver::DeviceDriver& driver_;
  std::atomic<uint32_t> used_in_;  // the fork generation of first use
  std::atomic<size_t> pending_count_{0};
  mutable std::mutex mutex_;
  PinnedSettings settings_ MT_GUARDED_BY(mutex_);
  Blocks blocks_ MT_GUARDED_BY(mutex_);
  std::map<size_t, Block*> free_
      MT_GUARDED_BY(mutex_);             // tops of the free lists, by size; entries stay
  Queue pending_ MT_GUARDED_BY(mutex_);  // oldest first
  bool polling_ MT_GUARDED_BY(mutex_) = false;
  std::condition_variable polled_;
  Segment segment_ MT_GUARDED_BY(mutex_);
  bool segment_tried_ MT_GUARDED_BY(mutex_) = false;
  HostStats stats_ MT_GUARDED_BY(mutex_);
};

}  // namespace mindtorch::runtime
