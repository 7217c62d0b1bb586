#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "mindtorch/base/macros.h"
#include "mindtorch/base/options.h"
#include "mindtorch/driver/driver.h"
#include "mindtorch/runtime/alloc_conf.h"
#include "mindtorch/runtime/device_runtime.h"
#include "mindtorch/runtime/fork_guard.h"
#include "mindtorch/runtime/pinned_pool.h"

namespace mindtorch::runtime {

// One driver and what the program uses of it: a DeviceRuntime per device, made at first use, and
// the pinned host memory all its devices share. Thread-safe. Those that register_driver() makes
// live until the process ends, whatever the order of its ending; in a test, an Accelerator of its
// own gives everything back.
class MT_API Accelerator {
 public:
  static constexpr int kMaxDevices = 64;

  explicit Accelerator(driver::DeviceDriver& driver);
  ~Accelerator();
  Accelerator(const Accelerator&) = delete;
  Accelerator& operator=(const Accelerator&) = delete;

  driver::DeviceDriver& driver() const noexcept { return driver_; }
  const char* kind() const noexcept { return kind_; }
  int device_count() const noexcept;

  // Throws RuntimeError if there is no such device, or if a parent process used the driver.
  DeviceRuntime& runtime(int device);
  // Null: not used so far.
  DeviceRuntime* find_runtime(int device) const noexcept;
  // Throws RuntimeError if a parent process used the driver.
  PinnedPool& pinned();
  // Lets `device` reach the memory of `peer`, once per pair. False: the hardware cannot.
  bool reach_peer(int device, int peer);
  // The settings of the environment, read at first use; what is wrong in them goes to warn().
  const AllocConf& alloc_conf();

  // True once a device was used in this process. A child starts with false.
  bool initialized() const noexcept;
  // Throws RuntimeError, with the advice torch gives, in a child of a process that used the driver.
  void check_usable() const {
    if (MT_UNLIKELY(forked())) refuse_fork();
  }
  bool forked() const noexcept {
    const uint32_t used_in = used_in_.load(std::memory_order_relaxed);
    return used_in != kUnused && used_in != fork_generation();
  }
  // Throws RuntimeError.
  void check_device(int device) const;

  // Where a thread keeps its current device.
  uint32_t slot() const noexcept { return slot_; }

 private:
  static constexpr uint32_t kUnused = ~uint32_t{0};
  [[noreturn]] void refuse_fork() const;

  driver::DeviceDriver& driver_;
  const char* const kind_;
  const uint32_t slot_;
  std::atomic<uint32_t> used_in_{kUnused};  // the fork generation of first use
  std::mutex mutex_;                        // making runtimes
  std::array<std::atomic<DeviceRuntime*>, kMaxDevices> runtimes_{};
  PinnedPool pinned_;
  enum class Reach : uint8_t { kUnknown, kYes, kNo };
  std::array<std::array<std::atomic<Reach>, kMaxDevices>, kMaxDevices> reach_{};
  std::once_flag conf_read_;
  AllocConf conf_;
};

// Registers the drivers of this build; defined in library.cpp, called before the first look-up.
void install_drivers();

// The drivers this process knows, by DeviceDriver::kind(). Never destroyed.
MT_API Accelerator& register_driver(std::unique_ptr<driver::DeviceDriver> driver);
MT_API Accelerator* find_accelerator(std::string_view kind) noexcept;  // null: not registered
MT_API Accelerator& accelerator(std::string_view kind);                // throws RuntimeError
MT_API std::vector<Accelerator*> accelerators();                       // in order of registration
// Every environment variable: those of each of these devices, then those of the library.
MT_API std::vector<const Option*> all_options();
MT_API DeviceRuntime& runtime_for(std::string_view kind, int device);

}  // namespace mindtorch::runtime
