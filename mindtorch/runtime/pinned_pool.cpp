#include "mindtorch/runtime/pinned_pool.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include "mindtorch/base/error.h"
#include "mindtorch/base/round_up.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/fork_guard.h"
#include "mindtorch/runtime/hooks.h"

namespace mindtorch::runtime {
namespace {

constexpr size_t kUnit = 512;
constexpr size_t kPage = 4096;
constexpr uint32_t kUnused = ~uint32_t{0};

std::string mebibytes(size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f MiB", static_cast<double>(bytes) / 1048576.0);
  return text;
}

}  // namespace

PinnedPool::PinnedPool(driver::DeviceDriver& driver, PinnedSettings settings)
    : driver_(driver), used_in_(kUnused), settings_(settings) {}

PinnedPool::~PinnedPool() { close(); }

bool PinnedPool::forked() const noexcept {
  const uint32_t used_in = used_in_.load(std::memory_order_relaxed);
  return used_in != kUnused && used_in != fork_generation();
}

size_t PinnedPool::round(size_t bytes, const PinnedSettings& settings) noexcept {
  if (bytes > settings.max_round_threshold || bytes > settings.max_cached_size) return bytes;
  const size_t unit = std::max(kUnit, std::bit_floor(bytes) / 8);
  return bytes > SIZE_MAX - unit ? bytes : round_up(bytes, unit);
}

// --- Getting memory --------------------------------------------------------------------------

Allocation PinnedPool::allocate(size_t bytes) {
  if (bytes == 0) return {};
  poll(false);
  size_t size = 0;
  {
    std::lock_guard lock(mutex_);
    size = round(bytes, settings_);
  }
  const Allocation cached = take_cached(size);
  return cached.data != nullptr ? cached : grow(size, bytes);
}

Allocation PinnedPool::take_cached(size_t size) {
  std::lock_guard lock(mutex_);
  const size_t limit = size > SIZE_MAX / 2 ? SIZE_MAX : 2 * size;
  for (auto list = free_.lower_bound(size); list != free_.end() && list->first <= limit; ++list) {
    Block* block = list->second;
    if (block == nullptr) continue;
    list->second = block->next;
    block->state = State::kInUse;
    segment_.busy += block->in_segment;
    stats_.active_requests.add(1);
    stats_.active_bytes.add(static_cast<int64_t>(block->size));
    return {block->data, block->size};
  }
  return {};
}

Allocation PinnedPool::grow(size_t size, size_t requested) {
  // The entry is made first, so that nothing can fail once the memory is there.
  Blocks made;
  Block& block = made[0];
  {
    std::lock_guard lock(mutex_);
    block.top = &free_[size];
    used_in_.store(fork_generation(), std::memory_order_relaxed);
  }
  block.size = size;
  std::exception_ptr error;
  block.data = cut_from_segment(size);
  block.in_segment = block.data != nullptr;
  if (block.data == nullptr) block.data = from_driver(size, error);
  if (block.data == nullptr) {
    poll(true);
    const Allocation cached = take_cached(size);
    if (cached.data != nullptr) return cached;
    block.data = reclaim_and_allocate(size, error);
  }
  if (block.data == nullptr) {
    if (error) std::rethrow_exception(error);
    throw_out_of_memory(requested);
  }
  std::lock_guard lock(mutex_);
  auto node = made.extract(made.begin());
  node.key() = reinterpret_cast<uintptr_t>(block.data);
  blocks_.insert(std::move(node));
  const auto bytes = static_cast<int64_t>(size);
  stats_.allocations.add(1);
  stats_.allocated_bytes.add(bytes);
  stats_.active_requests.add(1);
  stats_.active_bytes.add(bytes);
  return {block.data, size};
}

char* PinnedPool::reclaim_and_allocate(size_t size, std::exception_ptr& error) {
  empty_cache();
  char* data = from_driver(size, error);
  if (data != nullptr || !hooks().on_memory_pressure()) return data;
  poll(true);
  empty_cache();
  return from_driver(size, error);
}

char* PinnedPool::from_driver(size_t size, std::exception_ptr& error) {
  const auto start = std::chrono::steady_clock::now();
  char* data = nullptr;
  error = nullptr;
  try {
    data = static_cast<char*>(driver_.allocate_pinned(size));
  } catch (...) {
    error = std::current_exception();
  }
  if (data == nullptr) return nullptr;
  const auto elapsed = std::chrono::steady_clock::now() - start;
  const int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
  std::lock_guard lock(mutex_);
  stats_.host_alloc_time.add(us);
  return data;
}

char* PinnedPool::cut_from_segment(size_t size) {
  size_t segment_size = 0;
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(segment_tried_, true)) segment_size = settings_.reserve_segment_size;
  }
  if (segment_size != 0) make_segment(segment_size);
  std::lock_guard lock(mutex_);
  const size_t left = segment_.size - segment_.used;
  if (size > left || round_up(size, kPage) > left) return nullptr;
  char* data = segment_.data + segment_.used;
  segment_.used += round_up(size, kPage);
  ++segment_.busy;
  return data;
}

void PinnedPool::make_segment(size_t size) {
  std::exception_ptr error;
  char* data = from_driver(size, error);
  if (data == nullptr) return;  // blocks then come one by one
  std::lock_guard lock(mutex_);
  segment_ = {data, size, 0, 0};
}

void PinnedPool::throw_out_of_memory(size_t bytes) {
  const HostStats now = stats();
  const auto active = static_cast<size_t>(now.active_bytes.current);
  const auto held = static_cast<size_t>(now.allocated_bytes.current);
  MT_THROW(OutOfMemoryError, driver_.kind(), " out of memory. Tried to allocate ", mebibytes(bytes),
           " of pinned host memory. ", mebibytes(active), " in ", now.active_requests.current,
           " blocks are in use, ", mebibytes(held - active),
           " are cached. The host, or its limit on locked memory (ulimit -l), has no more.");
}

// --- Settings and statistics -----------------------------------------------------------------

void PinnedPool::configure(PinnedSettings settings) {
  std::lock_guard lock(mutex_);
  settings_ = settings;
}

HostStats PinnedPool::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void PinnedPool::reset_peak_stats() {
  std::lock_guard lock(mutex_);
  stats_.reset_peak();
}

void PinnedPool::reset_accumulated_stats() {
  std::lock_guard lock(mutex_);
  stats_.reset_accumulated();
}

}  // namespace mindtorch::runtime
