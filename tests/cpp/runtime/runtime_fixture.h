#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "mindtorch/runtime/accelerator.h"
#include "mindtorch/runtime/event.h"
#include "mindtorch/runtime/stream.h"
#include "tests/cpp/support/fake_driver.h"

namespace mindtorch::test {

using driver::CopyKind;
using driver::DriverError;
using driver::EventFlags;
using runtime::Accelerator;
using runtime::DeviceRuntime;
using runtime::Event;
using runtime::Stream;

// A fake driver and an accelerator over it; at the end no object of the driver is left.
class RuntimeTest : public ::testing::Test {
 protected:
  explicit RuntimeTest(FakeOptions options = {.device_count = 2})
      : fake(options), accelerator(std::make_unique<Accelerator>(fake)) {}

  void TearDown() override {
    fake.clear_faults();
    runtime::set_current_device(*accelerator, 0);
    accelerator.reset();
    EXPECT_EQ(fake.leaks(), std::vector<std::string>());
    EXPECT_EQ(fake.failures(), std::vector<std::string>());
  }

  DeviceRuntime& device(int index = 0) { return accelerator->runtime(index); }

  FakeDriver fake;
  std::unique_ptr<Accelerator> accelerator;
};

// Queues a piece of work; true once it is done.
inline std::shared_ptr<const bool> work(FakeDriver& fake, Stream stream) {
  const auto done = std::make_shared<bool>(false);
  fake.launch(stream.device(), stream.handle(), [done] { *done = true; });
  return done;
}

}  // namespace mindtorch::test
