#pragma once

#include <exception>
#include <mutex>
#include <unordered_map>

#include "mindtorch/base/thread_safety.h"
#include "mindtorch/tensor/storage.h"

namespace mindtorch::dispatch {

// The errors of flushes that failed: storages that were still to be written point here and throw
// their error when read. One object for all, never freed: any thread may use a pointer that it read
// from a storage a moment ago.
class FailedWork final : public PendingWork {
 public:
  static FailedWork& instance();

  void add(StorageImpl& storage, const std::exception_ptr& error) noexcept;
  void materialize(StorageImpl& storage) override;
  void forget(StorageImpl& storage) noexcept override;

 private:
  std::mutex mutex_;
  std::unordered_map<const StorageImpl*, std::exception_ptr> errors_ MT_GUARDED_BY(mutex_);
};

}  // namespace mindtorch::dispatch
