#include "mindtorch/runtime/deferred_release.h"

#include <algorithm>
#include <exception>

#include "mindtorch/runtime/fork_guard.h"

namespace mindtorch::runtime {
namespace {

// Release functions this thread is in, of all queues.
constinit thread_local int t_releasing = 0;

}  // namespace

DeferredRelease::DeferredRelease(driver::DeviceDriver& driver,
                                 int device,
                                 driver::StreamHandle stream,
                                 EventPool& events,
                                 AsyncErrors& async_errors)
    : driver_(driver),
      device_(device),
      stream_(stream),
      events_(events),
      async_errors_(async_errors),
      fork_generation_(fork_generation()) {}

DeferredRelease::~DeferredRelease() {
  if (fork_generation_ == fork_generation()) release_through(mark());
}

void DeferredRelease::push(Release release, void* context) noexcept {
  if (fork_generation_ != fork_generation()) return;  // a child never releases what the parent owns
  bool grown = false;
  try {
    Lock lock(mutex_);
    entries_.push_back({release, context});
    ++pushed_;
    grown = pushed_ - sealed_ >= kBatch && pushed_ >= retry_at_;
  } catch (...) {  // no memory to remember it: wait now
    try {
      const uint64_t waited_for = mark();
      driver_.wait_stream(device_, stream_);
      release_through(waited_for);
      release(context);
    } catch (...) {
      async_errors_.keep(stream_, std::current_exception());
    }
    return;
  }
  if (MT_UNLIKELY(grown)) {
    seal();
    poll();
  }
}

// While a graph is captured an event would mark a place in the graph, not the stream's progress.
bool DeferredRelease::may_record() {
  driver::GraphCapture* capture = driver_.graph_capture();
  return capture == nullptr || !capture->is_capturing(device_, stream_);
}

void DeferredRelease::seal() noexcept {
  uint64_t end = 0;
  {
    Lock lock(mutex_);
    if (sealing_ || pushed_ == sealed_) return;
    sealing_ = true;
    end = pushed_;
  }
  driver::EventHandle event = nullptr;
  bool kept = false;
  try {
    if (may_record()) {
      event = events_.take();
      driver_.record_event(event, device_, stream_);
      Lock lock(mutex_);
      batches_.push_back({event, end});
      sealed_ = std::max(sealed_, end);
      kept = true;
    }
  } catch (...) {
    async_errors_.keep(stream_, std::current_exception());
  }
  if (event != nullptr && !kept) events_.give(event);
  Lock lock(mutex_);
  sealing_ = false;
  if (!kept) retry_at_ = pushed_ + kBatch;
}

void DeferredRelease::poll(bool all) noexcept {
  if (fork_generation_ != fork_generation()) return;
  if (all) seal();
  Lock lock(mutex_);
  if (polling_) return;
  polling_ = true;
  while (!batches_.empty()) {
    const Batch batch = batches_.front();  // stays there: while we poll nobody else removes any
    if (batch.end <= ready_) {
      events_.give(batch.event);
      batches_.pop_front();
      continue;
    }
    lock.unlock();
    bool reached = false;
    try {
      reached = driver_.query_event(device_, batch.event);
    } catch (...) {
      async_errors_.keep(stream_, std::current_exception());
    }
    lock.lock();
    if (!reached) break;
    ready_ = std::max(ready_, batch.end);
  }
  polling_ = false;
  run_ready(lock, false);
}

uint64_t DeferredRelease::mark() const {
  Lock lock(mutex_);
  return pushed_;
}

void DeferredRelease::release_through(uint64_t mark) noexcept {
  Lock lock(mutex_);
  ready_ = std::max(ready_, mark);
  sealed_ = std::max(sealed_, ready_);
  while (!polling_ && !batches_.empty() && batches_.front().end <= ready_) {
    events_.give(batches_.front().event);
    batches_.pop_front();
  }
  run_ready(lock, true);
}

size_t DeferredRelease::size() const {
  Lock lock(mutex_);
  return entries_.size();
}

// One thread at a time releases: that keeps the order. With `wait`, what is ready now has been
// released on return, unless this call comes from a release function: two of those must not wait
// for each other. The lock is the caller's, so that the analysis does not see it given back.
MT_UNCHECKED_LOCKS void DeferredRelease::run_ready(Lock& lock, bool wait) noexcept {
  const auto self = std::this_thread::get_id();
  if (releasing_ == self) return;
  while (releasing_ != std::thread::id()) {
    if (!wait || t_releasing > 0) return;
    released_.wait(lock.waiting());
  }
  releasing_ = self;
  while (pushed_ - entries_.size() < ready_) {
    const Entry entry = entries_.front();
    entries_.pop_front();
    lock.unlock();
    ++t_releasing;
    try {
      entry.release(entry.context);
    } catch (...) {
      async_errors_.keep(stream_, std::current_exception());
    }
    --t_releasing;
    lock.lock();
  }
  releasing_ = std::thread::id();
  released_.notify_all();
}

}  // namespace mindtorch::runtime
