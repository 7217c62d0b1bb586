#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

#include "mindtorch/base/macros.h"
#include "mindtorch/base/thread_safety.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/async_errors.h"
#include "mindtorch/runtime/event_pool.h"

namespace mindtorch::runtime {

// What must outlive the work queued on one stream: executors, staging buffers, callbacks. An entry
// is released once the work that was queued before it was pushed is done; always in the order of
// the pushes, each exactly once. One event marks many entries, and is looked at when the queue
// grows, so that a push costs no driver call as a rule.
//
// Owned by the stream's StreamState. Thread-safe; no lock is held while the driver or a release
// function is called, and a release function may push, or synchronise. A driver call that fails
// keeps the entries; its error goes to AsyncErrors, as does whatever a release function throws.
class MT_API DeferredRelease {
 public:
  using Release = void (*)(void* context);
  // Entries that one event marks.
  static constexpr uint64_t kBatch = 32;

  DeferredRelease(driver::DeviceDriver& driver,
                  int device,
                  driver::StreamHandle stream,
                  EventPool& events,
                  AsyncErrors& async_errors);
  // Releases what is left: the owner has waited for the stream.
  ~DeferredRelease();
  DeferredRelease(const DeferredRelease&) = delete;
  DeferredRelease& operator=(const DeferredRelease&) = delete;

  void push(Release release, void* context) noexcept;

  // Releases what events show to be done; never waits for the device. With `all`, marks the
  // newest entries too, so that a later poll finds them.
  void poll(bool all = false) noexcept;

  // To be taken before a wait for the stream, and given to release_through() after it.
  uint64_t mark() const;
  void release_through(uint64_t mark) noexcept;

  size_t size() const;

 private:
  struct Entry {
    Release release;
    void* context;
  };
  struct Batch {
    driver::EventHandle event;
    uint64_t end;  // marks the entries numbered below
  };
  using Lock = Relockable<std::mutex>;

  void seal() noexcept;
  void run_ready(Lock& lock, bool wait) noexcept MT_REQUIRES(mutex_);
  bool may_record();

  driver::DeviceDriver& driver_;
  const int device_;
  const driver::StreamHandle stream_;
  EventPool& events_;
  AsyncErrors& async_errors_;
  const uint32_t fork_generation_;

  // Entries carry consecutive numbers: released < ready <= sealed or not <= pushed.
  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::deque<Entry> entries_ MT_GUARDED_BY(mutex_);
  std::deque<Batch> batches_ MT_GUARDED_BY(mutex_);
  uint64_t pushed_ MT_GUARDED_BY(mutex_) = 0;
  uint64_t sealed_ MT_GUARDED_BY(mutex_) = 0;  // entries below have an event, or are ready
  uint64_t ready_ MT_GUARDED_BY(mutex_) = 0;   // entries below may be released
  uint64_t retry_at_ MT_GUARDED_BY(mutex_) =
      0;  // after a failure: not to call a broken driver at every push
  bool sealing_ MT_GUARDED_BY(mutex_) = false;
  bool polling_ MT_GUARDED_BY(mutex_) = false;
  std::thread::id releasing_
      MT_GUARDED_BY(mutex_);  // the thread that runs release functions, if any
};

}  // namespace mindtorch::runtime
