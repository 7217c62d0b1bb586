#pragma once

#include <exception>
#include <mutex>
#include <unordered_map>

#include "mindtorch/tensor/storage.h"

namespace mindtorch::dispatch {

// What is left of windows that failed: the storages that they were to write throw their error. One
// object for all of them and never freed, since any thread may come with a storage that named it a
// moment ago.
class FailedWork final : public PendingWork {
 public:
  static FailedWork& instance();

  void add(StorageImpl& storage, const std::exception_ptr& error) noexcept;
  void materialize(StorageImpl& storage) override;
  void forget(StorageImpl& storage) noexcept override;

 private:
  std::mutex mutex_;
  std::unordered_map<const StorageImpl*, std::exception_ptr> errors_;
};

}  // namespace mindtorch::dispatch
