#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <unordered_map>

#include "mindtorch/base/macros.h"
#include "mindtorch/base/thread_safety.h"
#include "mindtorch/driver/driver.h"

namespace mindtorch::runtime {

// Errors of a stream that were seen where they could not be thrown: while memory was freed, or
// inside an unrelated allocation. Kept, the first one per stream, until a call that synchronises
// raises them. Thread-safe.
class MT_API AsyncErrors {
 public:
  void keep(driver::StreamHandle stream, std::exception_ptr error) noexcept;
  // Throws and forgets what is kept for the stream, if anything.
  void raise(driver::StreamHandle stream);
  // The same for all streams of the device: throws the first kept, forgets them all.
  void raise_any();

 private:
  std::atomic<bool> any_{false};  // so that the usual answer costs no lock
  std::mutex mutex_;
  std::exception_ptr first_ MT_GUARDED_BY(mutex_);
  std::unordered_map<driver::StreamHandle, std::exception_ptr> errors_ MT_GUARDED_BY(mutex_);
};

}  // namespace mindtorch::runtime
