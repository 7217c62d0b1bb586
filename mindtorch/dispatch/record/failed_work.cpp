#include "mindtorch/dispatch/record/failed_work.h"

namespace mindtorch::dispatch {

FailedWork& FailedWork::instance() {
  static auto* const work = new FailedWork;
  return *work;
}

void FailedWork::add(StorageImpl& storage, const std::exception_ptr& error) noexcept {
  const std::scoped_lock lock(mutex_);
  try {
    errors_[&storage] = error;
    storage.set_pending(this);
  } catch (const std::bad_alloc&) {  // then the storage is empty, without an error
    storage.set_pending(nullptr);
  }
}

void FailedWork::materialize(StorageImpl& storage) {
  std::exception_ptr error;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = errors_.find(&storage);
    if (found == errors_.end()) return;  // another thread has thrown it
    error = found->second;
    // Bytes that were there before the trace are as they were: usable again once it was thrown.
    if (storage.raw_data() != nullptr) {
      errors_.erase(found);
      storage.set_pending(nullptr);
    }
  }
  std::rethrow_exception(error);
}

void FailedWork::forget(StorageImpl& storage) noexcept {
  const std::scoped_lock lock(mutex_);
  errors_.erase(&storage);
}

}  // namespace mindtorch::dispatch
