#include "mindtorch/runtime/async_errors.h"

#include <utility>

namespace mindtorch::runtime {

void AsyncErrors::keep(driver::StreamHandle stream, std::exception_ptr error) noexcept {
  std::lock_guard lock(mutex_);
  if (!first_) first_ = error;
  try {
    errors_.try_emplace(stream, std::move(error));
  } catch (...) {  // no memory: raise_any() still throws the first
  }
  any_.store(true, std::memory_order_release);
}

void AsyncErrors::raise(driver::StreamHandle stream) {
  if (!any_.load(std::memory_order_acquire)) return;
  std::exception_ptr error;
  {
    std::lock_guard lock(mutex_);
    const auto found = errors_.find(stream);
    if (found == errors_.end()) return;
    error = std::move(found->second);
    errors_.erase(found);
    if (first_ == error) first_ = errors_.empty() ? nullptr : errors_.begin()->second;
    any_.store(first_ != nullptr, std::memory_order_release);
  }
  std::rethrow_exception(error);
}

void AsyncErrors::raise_any() {
  if (!any_.load(std::memory_order_acquire)) return;
  std::exception_ptr error;
  {
    std::lock_guard lock(mutex_);
    error = std::exchange(first_, nullptr);
    errors_.clear();
    any_.store(false, std::memory_order_release);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace mindtorch::runtime
