// PinnedPool: what happens to blocks that are given back. See pinned_pool.h.
#include <algorithm>
#include <chrono>
#include <utility>

#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/pinned_pool.h"

namespace mindtorch::runtime {
namespace {

// A poll looks past this many unfinished blocks: one slow stream must not hide the others.
constexpr int kUnfinishedToSee = 8;

// This thread looks at freed blocks, of some pool: a driver may come back here.
constinit thread_local bool t_polling = false;

}  // namespace

void PinnedPool::Queue::push(Block* block) noexcept {
  block->next = nullptr;
  (last != nullptr ? last->next : first) = block;
  last = block;
}

PinnedPool::Block* PinnedPool::Queue::pop() noexcept {
  Block* block = first;
  if (block == nullptr) return nullptr;
  first = block->next;
  if (first == nullptr) last = nullptr;
  return block;
}

void PinnedPool::Queue::append(Queue& other) noexcept {
  if (other.first == nullptr) return;
  (last != nullptr ? last->next : first) = other.first;
  last = other.last;
  other = {};
}

PinnedPool::Block* PinnedPool::find(const void* data) {
  const auto address = reinterpret_cast<uintptr_t>(data);
  auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  Block& block = std::prev(after)->second;
  return address - reinterpret_cast<uintptr_t>(block.data) < block.size ? &block : nullptr;
}

bool PinnedPool::owns(const void* data) const {
  if (forked()) return false;
  std::lock_guard lock(mutex_);
  const Block* block = const_cast<PinnedPool*>(this)->find(data);
  return block != nullptr && block->state == State::kInUse;
}

bool PinnedPool::record_use(const void* data, Stream stream) {
  if (!owns(data)) return false;
  const bool capturing = stream.is_capturing();
  std::lock_guard lock(mutex_);
  Block* block = find(data);
  if (block == nullptr || block->state != State::kInUse) return false;
  block->captured |= capturing;
  const auto same = [&](const Wait& wait) { return wait.stream == &stream.state(); };
  if (std::none_of(block->waits.begin(), block->waits.end(), same)) {
    block->waits.push_back({&stream.state(), nullptr});
  }
  return true;
}

void PinnedPool::release(Allocation allocation) noexcept {
  if (allocation.data == nullptr || forked()) return;
  Dropped dropped;
  {
    Relockable lock(mutex_);
    Block* block = find(allocation.data);
    if (block == nullptr || block->state != State::kInUse) return;
    block->state = State::kPending;
    if (block->captured) return;  // kept for the graph
    if (block->waits.empty()) {
      reclaim(*block, dropped);
    } else {
      lock.unlock();  // the block is on no list: nobody else looks at it
      for (Wait& wait : block->waits) record(wait);
      lock.lock();
      pending_.push(block);
      pending_count_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  give_back(std::move(dropped));
}

void PinnedPool::record(Wait& wait) noexcept {
  DeviceRuntime& on = wait.stream->runtime;
  driver::EventHandle event = nullptr;
  try {
    if (Stream(*wait.stream).is_capturing()) return;  // an event would go into the graph
    event = on.events().take();
    on.driver().record_event(event, on.device(), wait.stream->handle);
    wait.event = event;
  } catch (...) {
    if (event != nullptr) on.events().give(event);
    keep_error(wait);
  }
}

void PinnedPool::keep_error(const Wait& wait) noexcept {
  wait.stream->runtime.async_errors().keep(wait.stream->handle, std::current_exception());
}

bool PinnedPool::finished(Block& block, bool wait) noexcept {
  while (!block.waits.empty()) {
    Wait& next = block.waits.back();
    if (next.event == nullptr) record(next);
    if (next.event == nullptr) return false;
    const int on = next.stream->runtime.device();
    try {
      if (wait) driver_.wait_event(on, next.event);
      if (!wait && !driver_.query_event(on, next.event)) return false;
    } catch (...) {
      keep_error(next);
      return false;
    }
    next.stream->runtime.events().give(next.event);
    block.waits.pop_back();
  }
  return true;
}

void PinnedPool::poll(bool wait) noexcept {
  if (pending_count_.load(std::memory_order_relaxed) == 0) return;
  Queue looked_at;
  {
    Relockable lock(mutex_);
    while (wait && !t_polling && polling_) polled_.wait(lock.waiting());
    if (polling_) return;
    polling_ = true;
    looked_at.append(pending_);
  }
  const bool nested = std::exchange(t_polling, true);
  Queue done;
  Queue left;
  int unfinished = 0;
  while (Block* block = looked_at.pop()) {
    if (unfinished < kUnfinishedToSee && finished(*block, wait)) {
      done.push(block);
    } else {
      left.push(block);
      unfinished += !wait;
    }
  }
  Dropped dropped;
  {
    std::lock_guard lock(mutex_);
    left.append(pending_);  // freed meanwhile
    pending_ = left;
    polling_ = false;
    t_polling = nested;
    polled_.notify_all();
    while (Block* block = done.pop()) {
      pending_count_.fetch_sub(1, std::memory_order_relaxed);
      reclaim(*block, dropped);
    }
  }
  give_back(std::move(dropped));
}

void PinnedPool::reclaim(Block& block, Dropped& dropped) noexcept {
  block.state = State::kFree;
  segment_.busy -= block.in_segment;
  stats_.active_requests.add(-1);
  stats_.active_bytes.add(-static_cast<int64_t>(block.size));
  if (block.size > settings_.max_cached_size && !block.in_segment) {
    drop(block, dropped);
  } else {
    block.next = *block.top;
    *block.top = &block;
  }
}

void PinnedPool::drop(Block& block, Dropped& dropped) noexcept {
  stats_.allocations.add(-1);
  stats_.allocated_bytes.add(-static_cast<int64_t>(block.size));
  dropped.blocks.insert(blocks_.extract(reinterpret_cast<uintptr_t>(block.data)));
}

void PinnedPool::drop_free(Dropped& dropped) noexcept {
  const bool with_segment = segment_.data != nullptr && segment_.busy == 0;
  for (auto& [size, top] : free_) {
    Queue kept;
    while (Block* block = top) {
      top = block->next;
      if (block->in_segment && !with_segment) {
        kept.push(block);
      } else {
        drop(*block, dropped);
      }
    }
    top = kept.first;
  }
  if (with_segment) {
    dropped.segment = segment_.data;
    segment_ = {};
    segment_tried_ = false;
  }
}

void PinnedPool::empty_cache() noexcept {
  if (forked()) return;
  poll(false);
  Dropped dropped;
  {
    std::lock_guard lock(mutex_);
    drop_free(dropped);
  }
  give_back(std::move(dropped));
}

void PinnedPool::give_back(Dropped dropped) noexcept {
  for (const auto& [address, block] : dropped.blocks) {
    if (!block.in_segment) give_to_driver(block.data);
  }
  if (dropped.segment != nullptr) give_to_driver(dropped.segment);
}

void PinnedPool::give_to_driver(char* data) noexcept {
  const auto start = std::chrono::steady_clock::now();
  driver_.release_pinned(data);
  const auto elapsed = std::chrono::steady_clock::now() - start;
  const int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
  std::lock_guard lock(mutex_);
  stats_.host_free_time.add(us);
}

void PinnedPool::close() noexcept {
  if (forked()) return;
  poll(true);
  Dropped dropped;
  {
    std::lock_guard lock(mutex_);
    for (auto& [address, block] : blocks_) {
      for (const Wait& wait : block.waits) {
        if (wait.event != nullptr) wait.stream->runtime.events().give(wait.event);
      }
    }
    pending_ = {};
    pending_count_.store(0, std::memory_order_relaxed);
    for (auto& [size, top] : free_) top = nullptr;
    dropped.blocks.swap(blocks_);
    dropped.segment = std::exchange(segment_, {}).data;
    stats_.allocations.add(-stats_.allocations.current);
    stats_.allocated_bytes.add(-stats_.allocated_bytes.current);
    stats_.active_requests.add(-stats_.active_requests.current);
    stats_.active_bytes.add(-stats_.active_bytes.current);
  }
  give_back(std::move(dropped));
}

}  // namespace mindtorch::runtime
