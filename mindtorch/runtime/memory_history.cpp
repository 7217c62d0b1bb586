#include "mindtorch/runtime/memory_history.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/arena.h"

namespace mindtorch::runtime {
namespace {

std::atomic<ContextSource> g_context_source{nullptr};

int64_t now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace

void set_context_source(ContextSource source) noexcept {
  g_context_source.store(source, std::memory_order_release);
}

const char* action_name(TraceAction action) {
  switch (action) {
    case TraceAction::kAlloc:
      return "alloc";
    case TraceAction::kFreeRequested:
      return "free_requested";
    case TraceAction::kFreeCompleted:
      return "free_completed";
    case TraceAction::kSegmentAlloc:
      return "segment_alloc";
    case TraceAction::kSegmentFree:
      return "segment_free";
    case TraceAction::kSegmentMap:
      return "segment_map";
    case TraceAction::kSegmentUnmap:
      return "segment_unmap";
    case TraceAction::kSnapshot:
      return "snapshot";
    case TraceAction::kOutOfMemory:
      return "oom";
  }
  MT_ASSERT(false);
  return "";
}

void MemoryHistory::configure(const HistorySettings& settings, bool clear) {
  std::vector<TraceEntry> dropped;  // after the lock: contexts may belong to an interpreter
  const std::lock_guard lock(mutex_);
  settings_ = settings;
  settings_.max_entries = std::max<size_t>(settings.max_entries, 1);
  if (!settings.enabled) settings_.context = ContextLevel::kNone;
  if (!settings.enabled || clear) {
    dropped.swap(ring_);
    next_ = 0;
  }
  std::rotate(ring_.begin(), ring_.begin() + static_cast<ptrdiff_t>(next_), ring_.end());
  next_ = 0;
  if (ring_.size() > settings_.max_entries) {
    const auto kept = ring_.end() - static_cast<ptrdiff_t>(settings_.max_entries);
    dropped.assign(std::make_move_iterator(ring_.begin()), std::make_move_iterator(kept));
    ring_.erase(ring_.begin(), kept);
  }
  context_level_.store(settings_.context, std::memory_order_relaxed);
  enabled_.store(settings.enabled, std::memory_order_relaxed);
}

std::shared_ptr<const CallContext> MemoryHistory::context(ContextLevel level) const {
  const ContextLevel wanted = context_level_.load(std::memory_order_relaxed);
  if (wanted == ContextLevel::kNone || wanted < level) return nullptr;
  const ContextSource source = g_context_source.load(std::memory_order_acquire);
  return source != nullptr ? source() : nullptr;
}

std::shared_ptr<const CallContext> MemoryHistory::try_context(ContextLevel level) const noexcept {
  try {
    return context(level);
  } catch (...) {
    return nullptr;
  }
}

void MemoryHistory::record(TraceEntry entry) {
  std::shared_ptr<const CallContext> unwanted;  // as `dropped` above
  const std::lock_guard lock(mutex_);
  if (!settings_.enabled) return;
  if ((settings_.skipped_actions >> static_cast<int>(entry.action) & 1) != 0) return;
  entry.time_us = now_us();  // under the lock, so that times never go back
  // On level kState contexts are kept with the blocks only.
  if (settings_.context < ContextLevel::kAlloc) unwanted = std::move(entry.context);
  if (ring_.size() < settings_.max_entries) {
    ring_.push_back(std::move(entry));
    return;
  }
  std::swap(ring_[next_], entry);  // `entry`, a parameter, outlives the lock
  next_ = (next_ + 1) % ring_.size();
}

void MemoryHistory::trace(TraceAction action,
                          const void* address,
                          size_t size,
                          const Arena& arena,
                          std::shared_ptr<const CallContext> context) noexcept {
  if (!enabled()) return;
  TraceEntry entry{};
  entry.action = action;
  entry.address = reinterpret_cast<uintptr_t>(address);
  entry.size = size;
  entry.stream = arena.stream();
  if (arena.owner() != nullptr) entry.pool_id = arena.owner()->id;
  entry.context = std::move(context);
  try {
    record(std::move(entry));
  } catch (...) {  // no memory for the ring: the history has a gap, the program goes on
  }
}

void MemoryHistory::trace_allocation(Block& block,
                                     std::shared_ptr<const CallContext> context) noexcept {
  if (!enabled()) return;
  block.context = context;
  trace(TraceAction::kAlloc, block.data, block.requested, *block.segment->arena,
        std::move(context));
}

void MemoryHistory::trace_release(const Block& block,
                                  std::shared_ptr<const CallContext> context) noexcept {
  const Arena& arena = *block.segment->arena;
  trace(TraceAction::kFreeRequested, block.data, block.requested, arena, context);
  if (block.streams.empty()) {
    trace(TraceAction::kFreeCompleted, block.data, block.requested, arena, std::move(context));
  }
}

std::vector<TraceEntry> MemoryHistory::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<TraceEntry> result;
  result.reserve(ring_.size());
  for (size_t i = 0; i < ring_.size(); ++i) {
    result.push_back(ring_[(next_ + i) % ring_.size()]);
  }
  return result;
}

}  // namespace mindtorch::runtime
