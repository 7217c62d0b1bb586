#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mindtorch/base/macros.h"

namespace mindtorch::runtime {

// Why the host is about to look at a device's progress.
enum class SyncPoint : uint8_t {
  kRecordEvent,
  kQueryStream,
  kWaitStream,
  kWaitEvent,
  kWaitDevice,
  kSwitchStream,  // or memory pool: what was recorded belongs to the old one; must not throw
};

// A few functions that a higher layer installs and this one calls, in the order they were added.
// Calling takes no lock. A callback that comes back here on the same thread is not called again.
// Adding and removing are rare and may happen at any time; a callback just removed may still be
// running on another thread.
template <typename Function>
class MT_API CallbackList {
 public:
  static constexpr size_t kCapacity = 8;

  // Adding twice is adding once. Throws RuntimeError when full.
  void add(Function* callback);
  void remove(Function* callback) noexcept;

 protected:
  bool empty() const noexcept { return used_.load(std::memory_order_acquire) == 0; }
  template <typename Call>
  void each(Call call) const {
    const size_t used = used_.load(std::memory_order_acquire);
    for (size_t i = 0; i < used; ++i) {
      if (Function* callback = slots_[i].load(std::memory_order_acquire)) call(callback);
    }
  }

 private:
  std::array<std::atomic<Function*>, kCapacity> slots_{};
  std::atomic<size_t> used_{0};  // slots ever filled
};

// Work that was only recorded must reach its stream before an event is recorded there, and before
// any thread waits. What a callback throws reaches the caller that synchronises.
class MT_API BeforeSync : public CallbackList<void(SyncPoint)> {
 public:
  void operator()(SyncPoint point) const {
    if (MT_UNLIKELY(!empty())) run(point);
  }

 private:
  void run(SyncPoint point) const;
};

// An allocation is about to fail: callbacks free what they can. True: something was freed, so that
// trying again may help.
class MT_API OnMemoryPressure : public CallbackList<bool()> {
 public:
  bool operator()() const { return MT_UNLIKELY(!empty()) && run(); }

 private:
  bool run() const;
};

// The cache of an accelerator is about to be emptied: callbacks drop what they cache there.
class MT_API BeforeEmptyCache : public CallbackList<void()> {
 public:
  void operator()() const {
    each([](auto* callback) { callback(); });
  }
};

struct Hooks {
  BeforeSync before_sync;
  OnMemoryPressure on_memory_pressure;
  BeforeEmptyCache before_empty_cache;
};

// The process's hooks. Thread-safe.
MT_API Hooks& hooks() noexcept;

}  // namespace mindtorch::runtime
