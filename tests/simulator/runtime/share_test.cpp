// Physical memory under several handles, also of other processes; copies that memory describes.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/simulator/runtime/support.h"

namespace {

constexpr size_t kBytes = size_t{2} << 20;

// Physical memory, mapped.
struct Mapped {
  explicit Mapped(aclrtDrvMemHandle memory) : handle(memory) {
    EXPECT_EQ(aclrtReserveMemAddress(&address, kBytes, 0, nullptr, 0), ACL_SUCCESS);
    EXPECT_EQ(aclrtMapMem(address, kBytes, 0, handle, 0), ACL_SUCCESS);
  }
  ~Mapped() {
    EXPECT_EQ(aclrtUnmapMem(address), ACL_SUCCESS);
    EXPECT_EQ(aclrtReleaseMemAddress(address), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  }
  char& first() { return *static_cast<char*>(address); }

  aclrtDrvMemHandle handle;
  void* address = nullptr;
};

class Share : public Simulator {
 protected:
  static aclrtDrvMemHandle physical() {
    aclrtPhysicalMemProp prop{};
    prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(aclrtMallocPhysical(&handle, kBytes, &prop, 0), ACL_SUCCESS);
    return handle;
  }
  static uint64_t exported(aclrtDrvMemHandle handle, uint64_t flags) {
    uint64_t shared = 0;
    EXPECT_EQ(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, flags, &shared),
              ACL_SUCCESS);
    return shared;
  }
  static size_t free_memory() {
    size_t free = 0, total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
    return free;
  }
};

TEST_F(Share, TwoHandlesOfOneMemory) {
  const size_t before = free_memory();
  {
    Mapped own(physical());
    const uint64_t shared = exported(own.handle, 0);
    aclrtDrvMemHandle again = nullptr;
    OK(aclrtMemImportFromShareableHandle(shared, 1, &again));
    EXPECT_EQ(free_memory(), before - kBytes) << "it is the same memory";
    Mapped other(again);
    own.first() = 42;
    EXPECT_EQ(other.first(), 42);
  }
  EXPECT_EQ(free_memory(), before);
}

TEST_F(Share, WhatIsNotShared) {
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_EQ(aclrtMemImportFromShareableHandle(12345, 0, &handle), ACL_ERROR_RT_PARAM_INVALID);
  const aclrtDrvMemHandle own = physical();
  uint64_t shared = 0;
  EXPECT_EQ(aclrtMemExportToShareableHandle(own, ACL_MEM_HANDLE_TYPE_NONE, 2, &shared),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemExportToShareableHandle(own, ACL_MEM_HANDLE_TYPE_NONE, 0, nullptr),
            ACL_ERROR_INVALID_PARAM);
  shared = exported(own, 0);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shared, 99, &handle), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shared, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  OK(aclrtFreePhysical(own));
  EXPECT_EQ(aclrtMemExportToShareableHandle(own, ACL_MEM_HANDLE_TYPE_NONE, 0, &shared),
            ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shared, 0, &handle), ACL_ERROR_RT_PARAM_INVALID);
}

constexpr char kVariable[] = "SIMULATOR_TESTS_SHARED";

// Runs Guest below in a process of its own, after `prepare` got its id. The code that its import
// answered; 0 when it then found 42 and left 43.
template <class F>
int run_guest(uint64_t shared, F prepare) {
  int gate[2];
  EXPECT_EQ(pipe(gate), 0);
  const pid_t child = fork();
  if (child == 0) {
    char go = 0;
    if (read(gate[0], &go, 1) != 1) _exit(99);
    setenv(kVariable, std::to_string(shared).c_str(), 1);
    // Under an emulator the kernel would run the emulator itself in place of this program.
    const std::string self = std::filesystem::read_symlink("/proc/self/exe");
    const char* emulator = std::getenv("TEST_EMULATOR");
    std::vector<const char*> arguments;
    if (emulator && *emulator) arguments.push_back(emulator);
    for (const char* argument :
         {self.c_str(), "--gtest_also_run_disabled_tests", "--gtest_filter=Share.DISABLED_Guest"}) {
      arguments.push_back(argument);
    }
    arguments.push_back(nullptr);
    execv(arguments[0], const_cast<char* const*>(arguments.data()));
    _exit(98);
  }
  prepare(child);
  EXPECT_EQ(write(gate[1], "g", 1), 1);
  close(gate[0]);
  close(gate[1]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr int kRefused = 7;

TEST_F(Share, DISABLED_Guest) {
  const uint64_t shared = std::strtoull(std::getenv(kVariable), nullptr, 10);
  aclrtDrvMemHandle handle = nullptr;
  const aclError code = aclrtMemImportFromShareableHandle(shared, 0, &handle);
  if (code) _exit(code == ACL_ERROR_RT_DRV_INTERNAL_ERROR ? kRefused : 1);
  Mapped memory(handle);
  if (memory.first() != 42) _exit(2);
  memory.first() = 43;
}

TEST_F(Share, AnotherProcessMustBeNamed) {
  Mapped own(physical());
  own.first() = 42;
  const uint64_t shared = exported(own.handle, 0);
  EXPECT_EQ(run_guest(shared, [](pid_t) {}), kRefused);
  const auto name = [&](pid_t guest) {
    int32_t pid = guest;
    EXPECT_EQ(aclrtMemSetPidToShareableHandle(shared, &pid, 1), ACL_SUCCESS);
  };
  EXPECT_EQ(run_guest(shared, name), 0);
  EXPECT_EQ(own.first(), 43);
}

TEST_F(Share, UnlessAnybodyMay) {
  Mapped own(physical());
  own.first() = 42;
  EXPECT_EQ(run_guest(exported(own.handle, 1), [](pid_t) {}), 0);
  EXPECT_EQ(own.first(), 43);
}

TEST_F(Share, CopiesThatMemoryDescribes) {
  size_t size = 0;
  OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &size));
  EXPECT_EQ(aclrtGetMemcpyDescSize(ACL_MEMCPY_HOST_TO_DEVICE, &size),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  void* desc = device_memory(size);
  auto* from = static_cast<char*>(device_memory(64));
  auto* to = static_cast<char*>(device_memory(64));
  OK(aclrtMemset(from, 64, 5, 64));
  OK(aclrtMemset(to, 64, 0, 64));
  OK(aclrtSetMemcpyDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, from, to, 32, nullptr));
  OK(aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(to[31], 5);
  EXPECT_EQ(to[32], 0);
  EXPECT_EQ(aclrtSetMemcpyDesc(nullptr, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, from, to, 32, nullptr),
            ACL_ERROR_INVALID_PARAM);
  for (void* pointer : {desc, static_cast<void*>(from), static_cast<void*>(to)}) {
    OK(aclrtFree(pointer));
  }
}

TEST_F(Share, MemoryHasNoErrors) {
  aclrtMemUceInfo info{};
  size_t count = 9;
  OK(aclrtGetMemUceInfo(0, &info, 1, &count));
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(aclrtGetMemUceInfo(99, &info, 1, &count), ACL_ERROR_RT_INVALID_DEVICEID);
}

}  // namespace
