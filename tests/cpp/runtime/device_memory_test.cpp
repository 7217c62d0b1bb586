// The allocator as part of a device's runtime.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "mindtorch/base/warning.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

constexpr size_t kMiB = 1 << 20;

class DeviceMemory : public RuntimeTest {
 protected:
  DeviceMemory() : RuntimeTest({.device_count = 2, .memory_bytes = 100 * kMiB}) {}
};

TEST_F(DeviceMemory, DevicesHaveTheirOwn) {
  runtime::Block* block = device(1).memory().allocate(1000, nullptr);
  EXPECT_EQ(fake.allocated_bytes(1), 2 * kMiB);
  EXPECT_EQ(fake.allocated_bytes(0), 0u);
  device(1).memory().release(block);
}

struct Deferred {
  DeviceRuntime* runtime;
  runtime::Block* block;
};

// What waits for a stream in the deferred queue is memory too.
TEST_F(DeviceMemory, RunningOutDrainsDeferredReleases) {
  Stream stream = device().pool_stream();
  Deferred deferred{&device(), device().memory().allocate(80 * kMiB, stream.handle())};
  work(fake, stream);
  stream.defer(
      [](void* context) {
        auto* entry = static_cast<Deferred*>(context);
        entry->runtime->memory().release(entry->block);
      },
      &deferred);
  runtime::Block* block = device().memory().allocate(60 * kMiB, nullptr);
  EXPECT_NE(block, nullptr);
  device().memory().release(block);
}

std::string* g_warnings = nullptr;

TEST_F(DeviceMemory, ReadsTheEnvironmentAtFirstUse) {
  std::string warnings;
  g_warnings = &warnings;
  set_warning_handler([](const std::string& text) { *g_warnings += text + "\n"; });
  ASSERT_EQ(setenv(kFakeAllocConf.name, "max_split_size_mb=30,nonsense:1", 1), 0);
  EXPECT_EQ(device().memory().conf().max_split_size, 30 * kMiB);
  EXPECT_EQ(device(1).memory().conf().max_split_size, 30 * kMiB);
  unsetenv(kFakeAllocConf.name);
  set_warning_handler(nullptr);
  EXPECT_NE(warnings.find("nonsense"), std::string::npos) << warnings;
  EXPECT_EQ(std::count(warnings.begin(), warnings.end(), '\n'), 1) << warnings;
}

}  // namespace
}  // namespace mindtorch::test
