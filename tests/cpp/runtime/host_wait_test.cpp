#include "mindtorch/runtime/host_wait.h"

#include <cstring>

#include "mindtorch/base/error.h"
#include "mindtorch/runtime/copy.h"
#include "mindtorch/runtime/page_locked.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

int g_begun = 0;
int g_ended = 0;

class HostWaitTest : public RuntimeTest {
 protected:
  HostWaitTest() : RuntimeTest({.device_count = 1, .auto_finish = true}) {
    g_begun = g_ended = 0;
    runtime::set_wait_callbacks({[]() -> void* { return &++g_begun; }, [](void*) { ++g_ended; }});
  }
  ~HostWaitTest() override { runtime::set_wait_callbacks({}); }
};

TEST_F(HostWaitTest, SurroundsEveryWaitOfTheHost) {
  const Stream stream = device().default_stream();
  stream.synchronize();
  EXPECT_EQ(g_begun, 1);
  device().synchronize();
  EXPECT_EQ(g_begun, 2);
  stream.record_event().synchronize();
  EXPECT_EQ(g_begun, 3);
  void* const memory = fake.allocate(0, 64);
  char host[64] = {};
  runtime::copy_to_host(device(), host, memory, 64);  // may wait where it is queued, too
  EXPECT_GE(g_begun, 4);
  EXPECT_EQ(g_ended, g_begun);
  fake.release(0, memory);
}

TEST_F(HostWaitTest, EndsWhenTheWaitFails) {
  fake.fail(Call::wait_stream);
  EXPECT_THROW(device().default_stream().synchronize(), DriverError);
  EXPECT_EQ(g_begun, 1);
  EXPECT_EQ(g_ended, 1);
}

TEST(PageLockedMemory, KnowsItsOwn) {
  runtime::PageLockedMemory memory;
  EXPECT_EQ(memory.allocate(0).data, nullptr);
  const runtime::Allocation block = memory.allocate(5000);
  auto* data = static_cast<char*>(block.data);
  std::memset(data, 1, 5000);
  EXPECT_TRUE(memory.owns(data));
  EXPECT_TRUE(memory.owns(data + 4999));
  EXPECT_FALSE(memory.owns(data + 5000));
  EXPECT_FALSE(memory.owns(data - 1));
  memory.release(block);
  EXPECT_FALSE(memory.owns(data));
  EXPECT_THROW(memory.allocate(size_t{1} << 60), Error);
}

}  // namespace
}  // namespace mindtorch::test
