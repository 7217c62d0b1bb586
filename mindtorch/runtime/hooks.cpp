#include "mindtorch/runtime/hooks.h"

#include <mutex>

#include "mindtorch/base/error.h"

namespace mindtorch::runtime {
namespace {

std::mutex& list_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

// Set while a callback runs on this thread.
class Entered {
 public:
  explicit Entered(bool& flag) : flag_(flag) { flag_ = true; }
  ~Entered() { flag_ = false; }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  bool& flag_;
};

constinit thread_local bool t_in_before_sync = false;
constinit thread_local bool t_in_memory_pressure = false;

}  // namespace

template <typename Function>
void CallbackList<Function>::add(Function* callback) {
  std::lock_guard lock(list_mutex());
  const size_t used = used_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < used; ++i) {
    if (slots_[i].load(std::memory_order_relaxed) == callback) return;
  }
  for (size_t i = 0; i < kCapacity; ++i) {
    if (slots_[i].load(std::memory_order_relaxed) != nullptr) continue;
    slots_[i].store(callback, std::memory_order_release);
    if (i == used) used_.store(used + 1, std::memory_order_release);
    return;
  }
  MT_THROW(RuntimeError, "at most ", kCapacity, " hooks of a kind can be installed");
}

template <typename Function>
void CallbackList<Function>::remove(Function* callback) noexcept {
  std::lock_guard lock(list_mutex());
  size_t used = used_.load(std::memory_order_relaxed);
  for (size_t i = 0; i < used; ++i) {
    if (slots_[i].load(std::memory_order_relaxed) == callback) slots_[i].store(nullptr);
  }
  while (used > 0 && slots_[used - 1].load(std::memory_order_relaxed) == nullptr) --used;
  used_.store(used, std::memory_order_release);
}

template class CallbackList<void(SyncPoint)>;
template class CallbackList<bool()>;
template class CallbackList<void()>;

void BeforeSync::run(SyncPoint point) const {
  if (t_in_before_sync) return;
  const Entered entered(t_in_before_sync);
  each([point](auto* callback) { callback(point); });
}

bool OnMemoryPressure::run() const {
  if (t_in_memory_pressure) return false;
  const Entered entered(t_in_memory_pressure);
  bool freed = false;
  each([&freed](auto* callback) { freed |= callback(); });
  return freed;
}

Hooks& hooks() noexcept {
  static Hooks& hooks = *new Hooks;
  return hooks;
}

}  // namespace mindtorch::runtime
