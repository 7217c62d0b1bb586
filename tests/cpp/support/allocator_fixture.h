#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "mindtorch/runtime/caching_allocator.h"
#include "tests/cpp/support/allocator_inspector.h"
#include "tests/cpp/support/fake_driver.h"

namespace mindtorch::test {

inline constexpr size_t kKiB = 1024;
inline constexpr size_t kMiB = 1024 * kKiB;

// An allocator over a scripted device. At its end no object of the driver may be left.
struct TestDevice {
  explicit TestDevice(size_t memory_bytes = 1024 * kMiB,
                      const runtime::AllocConf& conf = {},
                      FakeOptions options = {})
      : driver([&] {
          options.memory_bytes = memory_bytes;
          return options;
        }()),
        events(std::make_unique<runtime::EventPool>(driver, 0)),
        allocator(
            std::make_unique<runtime::CachingAllocator>(driver, 0, *events, async_errors, conf)) {}
  ~TestDevice() {
    for (driver::StreamHandle stream : streams) driver.destroy_stream(0, stream);
    allocator.reset();
    events.reset();
    EXPECT_EQ(driver.leaks(), std::vector<std::string>());
    EXPECT_EQ(driver.failures(), std::vector<std::string>());
  }

  driver::StreamHandle new_stream() {
    streams.push_back(driver.create_stream(0, 0));
    return streams.back();
  }
  int64_t current(runtime::Metric metric) { return allocator->stats().all(metric).current; }
  std::string problems() { return runtime::AllocatorInspector(*allocator).problems(); }

  FakeDriver driver;
  runtime::AsyncErrors async_errors;
  std::unique_ptr<runtime::EventPool> events;
  std::unique_ptr<runtime::CachingAllocator> allocator;
  std::vector<driver::StreamHandle> streams;
};

}  // namespace mindtorch::test
