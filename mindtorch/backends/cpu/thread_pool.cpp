#include "mindtorch/backends/cpu/thread_pool.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "mindtorch/base/cpu_relax.h"

namespace mindtorch::cpu {
namespace {

constexpr int kMostWorkers = 1023;
// Pauses of 10 to 50 ns each: loops often follow each other within that time.
constexpr int kWorkerSpins = 2000;
constexpr int kCallerSpins = 5000;

// One loop. It lives on its caller's stack, until every worker that began a piece has ended.
struct Job {
  ThreadPool::PieceFn piece;
  const void* body;
  int pieces;
  std::atomic<int> next_unassigned = 0;  // those that found no free worker
  std::atomic<bool> failed = false;
  std::exception_ptr failure = nullptr;

  void run(int i) noexcept {
    try {
      piece(body, i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  }

  void run_unassigned() noexcept {
    for (int i = next_unassigned.fetch_add(1); i < pieces; i = next_unassigned.fetch_add(1)) run(i);
  }
};

enum WorkerState : uint32_t {
  kIdle,     // spins, or is about to
  kAsleep,   // idle, and has to be woken
  kClaimed,  // by a caller that writes what is to be done
  kReady,    // it can be begun, or taken back
  kRunning,
  kAwaited,  // running, and its caller sleeps
  kDone,     // its caller makes it idle again
};

struct alignas(128) Worker {
  std::atomic<uint32_t> state = kIdle;
  // Written by the caller that has claimed it.
  Job* job = nullptr;
  int piece = 0;
  bool was_asleep = false;
  Worker* next = nullptr;  // of those that the same caller has claimed

  [[noreturn]] void work() {
    for (;;) {
      wait_for_job();
      job->run(piece);
      job->run_unassigned();
      if (state.exchange(kDone, std::memory_order_acq_rel) == kAwaited) state.notify_one();
    }
  }

  // Whether it was free. Its caller then calls start() and finish().
  bool claim() {
    uint32_t seen = state.load(std::memory_order_relaxed);
    while (seen == kIdle || seen == kAsleep) {
      if (state.compare_exchange_weak(seen, kClaimed, std::memory_order_acquire)) {
        was_asleep = seen == kAsleep;
        return true;
      }
    }
    return false;
  }

  void start() {
    const bool must_wake = was_asleep;
    state.store(kReady, std::memory_order_release);
    if (must_wake) state.notify_one();
  }

  // Waits until the worker has run its piece, or runs it here if it has not begun.
  void finish() {
    uint32_t seen = kReady;
    if (state.compare_exchange_strong(seen, kClaimed, std::memory_order_acquire)) {
      Job* const own = job;
      const int own_piece = piece;
      state.store(kIdle, std::memory_order_release);
      own->run(own_piece);
      return;
    }
    for (int i = 0; i < kCallerSpins; ++i) {
      if (state.load(std::memory_order_acquire) == kDone) break;
      cpu_relax();
    }
    seen = kRunning;
    if (state.compare_exchange_strong(seen, kAwaited)) {
      while (state.load(std::memory_order_acquire) == kAwaited) state.wait(kAwaited);
    }
    state.store(kIdle, std::memory_order_release);
  }

 private:
  void wait_for_job() {
    for (;;) {
      for (int i = 0; i < kWorkerSpins; ++i) {
        uint32_t seen = state.load(std::memory_order_relaxed);
        if (seen == kReady &&
            state.compare_exchange_strong(seen, kRunning, std::memory_order_acquire)) {
          return;
        }
        cpu_relax();
      }
      uint32_t seen = kIdle;
      if (state.compare_exchange_strong(seen, kAsleep)) state.wait(kAsleep);
    }
  }
};

// The workers of this process.
class Workers {
 public:
  // Claims free workers for pieces 1, 2, ... up to `count`; returns the first, in the order of
  // their pieces.
  Worker* claim(Job& job, int count, int& claimed) {
    if (size_.load(std::memory_order_relaxed) < std::min(count, kMostWorkers)) grow(count);
    Worker* first = nullptr;
    Worker** end = &first;
    const int size = size_.load(std::memory_order_acquire);
    for (int i = 0; i < size && claimed < count; ++i) {
      Worker& worker = *workers_[i];
      if (!worker.claim()) continue;
      worker.job = &job;
      worker.piece = ++claimed;
      worker.next = nullptr;
      *end = &worker;
      end = &worker.next;
    }
    return first;
  }

 private:
  void grow(int count) {
    const std::lock_guard lock(mutex_);
    for (int i = size_.load(std::memory_order_relaxed); i < std::min(count, kMostWorkers); ++i) {
      workers_[i] = std::make_unique<Worker>();
      try {
        std::thread(&Worker::work, workers_[i].get()).detach();
      } catch (const std::system_error&) {
        return;  // as many as the system allows
      }
      size_.store(i + 1, std::memory_order_release);
    }
  }

  std::mutex mutex_;
  std::atomic<int> size_ = 0;
  std::unique_ptr<Worker> workers_[kMostWorkers];
};

// Never destroyed: workers wait in it until the process ends.
std::atomic<Workers*> g_workers = nullptr;

Workers& workers() {
  Workers* found = g_workers.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
  // A child has none of its parent's threads, so it starts its own.
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { g_workers.store(nullptr, std::memory_order_relaxed); });
  static_cast<void>(registered);
  auto made = std::make_unique<Workers>();
  if (g_workers.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) {
    return *made.release();
  }
  return *found;
}

}  // namespace

void ThreadPool::run(int pieces, PieceFn piece, const void* body) {
  Job job = {piece, body, pieces};
  int claimed = 0;
  Worker* const first = workers().claim(job, pieces - 1, claimed);
  job.next_unassigned.store(claimed + 1, std::memory_order_relaxed);
  for (Worker* worker = first; worker != nullptr;) {
    Worker* const next = worker->next;  // once started, it may be idle, and claimed, again
    worker->start();
    worker = next;
  }
  job.run(0);
  job.run_unassigned();
  for (Worker* worker = first; worker != nullptr;) {
    Worker* const next = worker->next;
    worker->finish();
    worker = next;
  }
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace mindtorch::cpu
