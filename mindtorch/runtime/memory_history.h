#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/base/thread_safety.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/private_pool.h"

namespace mindtorch::runtime {

class Arena;
struct Block;

struct Frame {
  std::string name;
  std::string filename;
  int64_t line = 0;
};

// Where in the user's program something happened. Cheap to take, resolved when it is read.
class CallContext {
 public:
  virtual ~CallContext() = default;
  virtual std::vector<Frame> frames() const = 0;  // innermost first
};

// Takes the context of the calling thread; installed by bindings/ (Python frames). May return null.
using ContextSource = std::shared_ptr<const CallContext> (*)();
MT_API void set_context_source(ContextSource source) noexcept;

enum class TraceAction : uint8_t {
  kAlloc,
  kFreeRequested,
  kFreeCompleted,
  kSegmentAlloc,
  kSegmentFree,
  kSegmentMap,
  kSegmentUnmap,
  kSnapshot,
  kOutOfMemory,
};
MT_API const char* action_name(TraceAction action);

struct TraceEntry {
  TraceAction action;
  uint64_t address = 0;  // of kOutOfMemory: the device's free bytes
  size_t size = 0;
  driver::StreamHandle stream = nullptr;
  int64_t time_us = 0;  // since 1970
  PoolId pool_id;
  std::shared_ptr<const CallContext> context;
};

enum class ContextLevel : uint8_t { kNone, kState, kAlloc, kAll };

struct HistorySettings {
  bool enabled = false;
  ContextLevel context = ContextLevel::kNone;
  size_t max_entries = SIZE_MAX;
  uint32_t skipped_actions = 0;  // bit 1 << TraceAction
};

// What the allocator did, newest last, in a ring of settable length. Thread-safe.
class MT_API MemoryHistory {
 public:
  void configure(const HistorySettings& settings, bool clear);
  bool enabled() const noexcept { return enabled_.load(std::memory_order_relaxed); }

  // The caller's context if one is wanted on `level` or a lower one; null otherwise. May run code
  // of the interpreter: hold no lock.
  std::shared_ptr<const CallContext> context(ContextLevel level) const;
  // The same; null also where that fails.
  std::shared_ptr<const CallContext> try_context(ContextLevel level) const noexcept;
  // Keeps `entry`, with the time filled in; drops its context where it is not wanted.
  void record(TraceEntry entry);
  // Shorter forms, which do nothing while the history is off, and lose the entry when there is no
  // memory for it. Under the arena's lock, so that a snapshot and the trace agree.
  void trace(TraceAction action,
             const void* address,
             size_t size,
             const Arena& arena,
             std::shared_ptr<const CallContext> context) noexcept;
  void trace_allocation(Block& block, std::shared_ptr<const CallContext> context) noexcept;
  void trace_release(const Block& block, std::shared_ptr<const CallContext> context) noexcept;
  std::vector<TraceEntry> entries() const;

 private:
  std::atomic<bool> enabled_{false};
  std::atomic<ContextLevel> context_level_{ContextLevel::kNone};
  mutable std::mutex mutex_;
  HistorySettings settings_ MT_GUARDED_BY(mutex_);
  std::vector<TraceEntry> ring_ MT_GUARDED_BY(mutex_);
  size_t next_ MT_GUARDED_BY(mutex_) = 0;  // the oldest entry, once the ring is full
};

}  // namespace mindtorch::runtime
