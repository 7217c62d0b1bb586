#pragma once

#include <atomic>
#include <cstdint>

#include "mindtorch/driver/device_row.h"
#include "mindtorch/driver/driver.h"

namespace mindtorch::runtime {

// A device of endless memory that does nothing: addresses count up, everything is always done.
class CountingDriver final : public driver::DeviceDriver {
 public:
  const driver::DeviceRow& row() const noexcept override {
    static constexpr driver::DeviceRow kRow{.name = "counting",
                                            .title = "COUNTING",
                                            .noun = "device",
                                            .dispatch_key = "",
                                            .torch_type = 0,
                                            .dlpack_type = 0};
    return kRow;
  }
  int device_count() noexcept override { return 1; }
  driver::DeviceProperties properties(int) override { return {}; }
  driver::MemoryInfo memory_info(int) override { return {kTotal, kTotal}; }
  void bind_thread(int) override {}
  void wait_device(int) override {}
  void* allocate(int, size_t bytes) override {
    return reinterpret_cast<void*>(next_.fetch_add((bytes + 4095) / 4096 * 4096));
  }
  void release(int, void*) noexcept override {}
  void* allocate_pinned(size_t) override { return nullptr; }
  void release_pinned(void*) noexcept override {}
  void copy_async(
      void*, const void*, size_t, driver::CopyKind, int, driver::StreamHandle) override {}
  void fill_async(void*, uint8_t, size_t, int, driver::StreamHandle) override {}
  driver::StreamHandle create_stream(int, int) override { return nullptr; }
  void destroy_stream(int, driver::StreamHandle) noexcept override {}
  bool query_stream(int, driver::StreamHandle) override { return true; }
  void wait_stream(int, driver::StreamHandle) override {}
  driver::EventHandle create_event(int, driver::EventFlags) override { return nullptr; }
  void destroy_event(int, driver::EventHandle) noexcept override {}
  void record_event(driver::EventHandle, int, driver::StreamHandle) override {}
  void block_stream(int, driver::StreamHandle, driver::EventHandle) override {}
  bool query_event(int, driver::EventHandle) override { return true; }
  void wait_event(int, driver::EventHandle) override {}
  float elapsed_ms(int, driver::EventHandle, driver::EventHandle) override { return 0; }

 private:
  static constexpr size_t kTotal = size_t{1} << 46;
  std::atomic<uintptr_t> next_{uintptr_t{1} << 40};
};

}  // namespace mindtorch::runtime
