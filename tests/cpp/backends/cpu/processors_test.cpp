#include "mindtorch/backends/cpu/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace mindtorch::cpu {
namespace {

// A root folder with the files of a test.
class ProcessorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            ("processors_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
             "_" + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  int quota() const { return control_group_quota(root_.string()); }

  std::filesystem::path root_;
};

TEST_F(ProcessorsTest, NoControlGroupsMeanNoLimit) { EXPECT_EQ(quota(), 0); }

TEST_F(ProcessorsTest, VersionTwo) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
  write("sys/fs/cgroup/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota(), 3);
  write("sys/fs/cgroup/cpu.max", "20000 100000\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(ProcessorsTest, TheLeastOfAGroupAndThoseItLiesIn) {
  write("proc/self/cgroup", "0::/shop.slice/server.service\n");
  write("sys/fs/cgroup/shop.slice/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 4);
  write("sys/fs/cgroup/shop.slice/server.service/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 4);
  write("sys/fs/cgroup/shop.slice/server.service/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(ProcessorsTest, VersionOne) {
  write("proc/self/cgroup", "5:memory:/other\n4:cpu,cpuacct:/docker/abc\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0);
  // In a container the group's own folder is the root of the mount.
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(quota(), 2);
  write("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "100000\n");
  write("sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(ProcessorsTest, HyperthreadsOfACoreCountOnce) {
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  EXPECT_EQ(available_cores(root_.string()), CPU_COUNT(&allowed));  // nothing is known of them
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list",
          "0-1023\n");
  }
  EXPECT_EQ(available_cores(root_.string()), 1);
}

TEST_F(ProcessorsTest, TheLargestCache) {
  EXPECT_EQ(last_level_cache_bytes(root_.string()), int64_t{32} << 20);  // nothing is known of them
  write("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n");
  write("sys/devices/system/cpu/cpu0/cache/index1/size", "2048K\n");
  EXPECT_EQ(last_level_cache_bytes(root_.string()), int64_t{2} << 20);
  write("sys/devices/system/cpu/cpu0/cache/index2/size", "107520K\n");
  EXPECT_EQ(last_level_cache_bytes(root_.string()), int64_t{105} << 20);
}

TEST_F(ProcessorsTest, AffinityIsFollowed) {
  int found = 0;
  std::thread([&] {
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof(allowed), &allowed);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
    }
    sched_setaffinity(0, sizeof(one), &one);
    found = available_cores();
  }).join();
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace mindtorch::cpu
