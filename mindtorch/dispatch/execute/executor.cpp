#include "mindtorch/dispatch/execute/executor.h"

#include <utility>

namespace mindtorch::dispatch {
namespace detail {

constinit ImmediateExecutor g_immediate;
constinit thread_local ExecutorEntry* t_entry __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace detail

using detail::t_entry;

ExecutorEntry* enter_executor(Executor& executor) {
  return t_entry = new ExecutorEntry{&executor, t_entry, std::this_thread::get_id()};
}

void leave_executor(ExecutorEntry& entry) noexcept {
  entry.executor.store(nullptr, std::memory_order_release);
}

ExecutorEntry* innermost_executor() noexcept {
  while (t_entry != nullptr && t_entry->executor.load(std::memory_order_acquire) == nullptr) {
    delete std::exchange(t_entry, t_entry->outer);
  }
  return t_entry;
}

NoRecordGuard::NoRecordGuard() noexcept : entered_(std::exchange(t_entry, nullptr)) {}
NoRecordGuard::~NoRecordGuard() { t_entry = entered_; }

}  // namespace mindtorch::dispatch
