#include "mindtorch/runtime/workspace.h"

#include <optional>
#include <thread>

#include "mindtorch/base/error.h"
#include "tests/cpp/runtime/runtime_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::SharedWorkspace;
using runtime::Workspace;

class WorkspaceTest : public RuntimeTest {
 protected:
  int64_t allocations(int index = 0) {
    return device(index).memory().stats().all(runtime::Metric::kAllocation).allocated;
  }
  int64_t in_use() { return device().memory().stats().all(runtime::Metric::kAllocation).current; }
  int64_t peak_bytes() {
    return device().memory().stats().all(runtime::Metric::kRequestedBytes).peak;
  }
};

TEST_F(WorkspaceTest, IsMemoryOfItsOwn) {
  const Stream stream = device().default_stream();
  const Workspace none(stream, 0);
  EXPECT_EQ(none.data(), nullptr);
  {
    const Workspace one(stream, 1000);
    const Workspace other(stream, 1000);
    EXPECT_NE(one.data(), nullptr);
    EXPECT_NE(one.data(), other.data());
    EXPECT_EQ(in_use(), 2);
  }
  EXPECT_EQ(in_use(), 0);
}

TEST_F(WorkspaceTest, SharedIsOneBlockOfTheLargestSize) {
  const Stream stream = device().default_stream();
  size_t largest = 0;
  const auto run = [&] {
    const SharedWorkspace shared(largest);
    EXPECT_EQ(in_use(), 0);  // nobody asked so far
    for (const size_t bytes : {1000, 70000, 0, 3000, 70000}) {
      const Workspace workspace(stream, bytes);
      EXPECT_EQ(workspace.data() == nullptr, bytes == 0);
    }
    EXPECT_EQ(in_use(), 1);
  };
  run();
  EXPECT_EQ(largest, 70000U);
  EXPECT_EQ(in_use(), 0);
  EXPECT_EQ(peak_bytes(), 70000);  // the smaller one went before
  const int64_t before = allocations();
  run();
  EXPECT_EQ(allocations() - before, 1);
  EXPECT_EQ(peak_bytes(), 70000);
}

TEST_F(WorkspaceTest, SharedServesOneStreamAndOneThread) {
  size_t largest = 0;
  const SharedWorkspace shared(largest);
  const Workspace first(device(0).default_stream(), 1000);
  const Workspace other_device(device(1).default_stream(), 1000);
  const Workspace other_stream(device(0).pool_stream(), 1000);
  const Workspace again(device(0).default_stream(), 1000);
  EXPECT_EQ(again.data(), first.data());
  EXPECT_NE(other_stream.data(), first.data());
  EXPECT_EQ(allocations(1), 1);
  std::thread([&] {
    const Workspace elsewhere(device(0).default_stream(), 1000);
    EXPECT_NE(elsewhere.data(), first.data());
  }).join();
}

TEST_F(WorkspaceTest, AnInnerOneEndsBeforeTheOuter) {
  const Stream stream = device().default_stream();
  size_t sizes[] = {0, 0};
  const SharedWorkspace outer(sizes[0]);
  const void* const data = Workspace(stream, 1000).data();
  {
    const SharedWorkspace inner(sizes[1]);
    EXPECT_NE(Workspace(stream, 2000).data(), data);
  }
  EXPECT_EQ(Workspace(stream, 500).data(), data);
  EXPECT_EQ(sizes[0], 1000U);
  EXPECT_EQ(sizes[1], 2000U);
}

TEST_F(WorkspaceTest, OneThatDoesNotFitIsToldAndForgotten) {
  const Stream stream = device().default_stream();
  size_t largest = 0;
  const SharedWorkspace shared(largest);
  EXPECT_NE(Workspace(stream, 1000).data(), nullptr);
  EXPECT_THROW(Workspace(stream, size_t{1} << 50), OutOfMemoryError);
  EXPECT_NE(Workspace(stream, 1000).data(), nullptr);
  EXPECT_EQ(largest, 1000U);
}

}  // namespace
}  // namespace mindtorch::test
