#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/simulator/runtime/support.h"

namespace {

class Memory : public Simulator {
 protected:
  static size_t free_memory() {
    size_t free = 0;
    size_t total = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), ACL_SUCCESS);
    return free;
  }
  static aclrtPtrAttributes attributes(const void* pointer) {
    aclrtPtrAttributes result;
    EXPECT_EQ(aclrtPointerGetAttributes(pointer, &result), ACL_SUCCESS);
    return result;
  }
};

constexpr size_t kMiB = size_t{1} << 20;

TEST_F(Memory, RejectsNothingAndNull) {
  void* pointer = nullptr;
  EXPECT_EQ(aclrtMalloc(&pointer, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMalloc(nullptr, 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMallocHost(&pointer, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFreeHost(nullptr), ACL_ERROR_INVALID_PARAM);
  int local = 0;
  EXPECT_EQ(aclrtFree(&local), ACL_ERROR_RT_PARAM_INVALID);
  pointer = device_memory(64);
  EXPECT_EQ(aclrtFree(static_cast<char*>(pointer) + 32), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtFreeHost(pointer), ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtFree(pointer));
  EXPECT_EQ(aclrtFree(pointer), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(take_message().find("freed already"), std::string::npos);
}

TEST_F(Memory, AddressesAreReservedWithoutAContext) {
  std::thread([] {  // which has none
    void* range = nullptr;
    OK(aclrtReserveMemAddress(&range, 2 * kMiB, 0, nullptr, 0));
    OK(aclrtReleaseMemAddress(range));
  })
      .join();
}

TEST_F(Memory, PinnedMemoryIsRegisteredAsWell) {
  char* host = static_cast<char*>(pinned_memory(8192));
  char* seen = nullptr;
  EXPECT_NE(aclrtHostGetDevicePointer(host, reinterpret_cast<void**>(&seen), 0), ACL_SUCCESS);
  OK(aclrtHostRegister(host, 8192, ACL_HOST_REGISTER_MAPPED, reinterpret_cast<void**>(&seen)));
  EXPECT_EQ(seen, host);
  OK(aclrtHostGetDevicePointer(host, reinterpret_cast<void**>(&seen), 0));
  EXPECT_NE(
      aclrtHostRegister(host, 8192, ACL_HOST_REGISTER_MAPPED, reinterpret_cast<void**>(&seen)),
      ACL_SUCCESS);
  void* device = device_memory(64);
  OK(aclrtMemset(host, 64, 1, 64));
  OK(aclrtMemcpy(device, 64, seen, 64, ACL_MEMCPY_DEVICE_TO_DEVICE));
  OK(aclrtHostUnregister(host));
  EXPECT_NE(aclrtHostUnregister(host), ACL_SUCCESS);
  EXPECT_NE(aclrtHostRegisterV2(host, 8192, 0x10000000), ACL_SUCCESS);  // it is pinned already
  OK(aclrtHostRegisterV2(host, 8192, 2));
  OK(aclrtHostUnregister(host));
  OK(aclrtFreeHost(host));
  OK(aclrtFree(device));
}

TEST_F(Memory, UsageHasAPeak) {
  aclrtMemUsageInfo info[2];
  size_t count = 0;
  void* first = device_memory(3 * kMiB);
  void* second = device_memory(4 * kMiB);
  OK(aclrtFree(first));
  OK(aclrtGetMemUsageInfo(0, info, 2, &count));
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(info[0].curMemSize, 6 * kMiB);  // with padding, in pages of 2 MiB
  EXPECT_EQ(info[0].memPeakSize, 10 * kMiB);
  OK(aclrtFree(second));
  OK(aclrtGetMemUsageInfo(0, info, 1, &count));
  EXPECT_EQ(info[0].curMemSize, 0U);
  EXPECT_EQ(info[0].memPeakSize, 10 * kMiB);
  EXPECT_NE(aclrtGetMemUsageInfo(0, nullptr, 1, &count), ACL_SUCCESS);
  EXPECT_NE(aclrtGetMemUsageInfo(99, info, 1, &count), ACL_SUCCESS);
}

TEST_F(Memory, PagesAndPadding) {
  const size_t before = free_memory();
  void* small = device_memory(100);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(small) % 64, 0U);
  EXPECT_EQ(before - free_memory(), 4096U);
  EXPECT_EQ(attributes(small).pageSize, 4096U);
  // One whole page, and 32 bytes of padding, is two pages; without padding it is one.
  void* padded = device_memory(4096);
  EXPECT_EQ(before - free_memory(), 3 * 4096U);
  void* bare = nullptr;
  OK(aclrtMallocAlign32(&bare, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(before - free_memory(), 4 * 4096U);
  void* large = device_memory(kMiB + 1);
  EXPECT_EQ(before - free_memory(), 4 * 4096U + 2 * kMiB);
  EXPECT_EQ(attributes(large).pageSize, 2 * kMiB);
  void* normal = nullptr;
  OK(aclrtMalloc(&normal, 3 * kMiB, ACL_MEM_MALLOC_NORMAL_ONLY));
  EXPECT_EQ(attributes(normal).pageSize, 4096U);
  for (void* pointer : {small, padded, bare, large, normal}) OK(aclrtFree(pointer));
  EXPECT_EQ(free_memory(), before);
}

TEST_F(Memory, RunsOut) {
  mtsim_set("memory", "8M");
  void* first = device_memory(5 * kMiB);  // three pages of 2 MiB
  void* second = nullptr;
  EXPECT_EQ(aclrtMalloc(&second, 3 * kMiB, ACL_MEM_MALLOC_HUGE_FIRST),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
  EXPECT_NE(take_message().find("2097152 bytes left"), std::string::npos);
  EXPECT_EQ(aclrtMalloc(&second, 2 * kMiB - 64, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
  void* third = nullptr;
  EXPECT_EQ(aclrtMalloc(&third, 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
  OK(aclrtFree(second));
  // Huge first falls back to normal pages where whole huge ones are not left.
  void* filler = nullptr;
  OK(aclrtMalloc(&filler, 4096 - 32, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(aclrtMalloc(&second, kMiB + 4096, ACL_MEM_MALLOC_HUGE_ONLY),
            ACL_ERROR_RT_MEMORY_ALLOCATION);
  OK(aclrtMalloc(&second, kMiB + 4096, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_EQ(attributes(second).pageSize, 4096U);
  for (void* pointer : {first, second, filler}) OK(aclrtFree(pointer));
}

TEST_F(Memory, CopiesEveryWay) {
  auto* device = static_cast<char*>(device_memory(4096));
  auto* pinned = static_cast<char*>(pinned_memory(4096));
  std::vector<char> pageable(4096, 5);
  OK(aclrtMemcpy(device, 4096, pageable.data(), 4096, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclrtMemcpy(pinned, 4096, device, 4096, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(pinned[4095], 5);
  OK(aclrtMemset(device, 4096, 6, 4096));
  OK(aclrtMemcpy(pageable.data(), 4096, device, 100, ACL_MEMCPY_DEFAULT));
  EXPECT_EQ(pageable[99], 6);
  EXPECT_EQ(pageable[100], 5);
  OK(aclrtMemcpy(pageable.data(), 4096, pinned, 10, ACL_MEMCPY_HOST_TO_HOST));
  OK(aclrtMemcpy(device, 0, pinned, 0, ACL_MEMCPY_HOST_TO_DEVICE));

  EXPECT_EQ(aclrtMemcpy(device, 10, pinned, 11, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy(nullptr, 10, pinned, 10, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(device, 10, device, 10, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpyAsync(pageable.data(), 10, pinned, 10, ACL_MEMCPY_HOST_TO_HOST, nullptr),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtMemset(device, 10, 0, 11), ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtFree(device));
  OK(aclrtFreeHost(pinned));
}

TEST_F(Memory, KindsAreChecked) {
  auto* device = static_cast<char*>(device_memory(64));
  auto* pinned = static_cast<char*>(pinned_memory(64));
  std::memset(pinned, 1, 64);
  OK(aclrtMemcpy(device, 64, pinned, 64, ACL_MEMCPY_DEVICE_TO_DEVICE));
  EXPECT_NE(take_reports().find("src is pinned host memory"), std::string::npos);
  OK(aclrtMemcpy(pinned, 64, device, 64, ACL_MEMCPY_HOST_TO_DEVICE));
  const std::string reports = take_reports();
  EXPECT_NE(reports.find("dst is pinned"), std::string::npos) << reports;
  EXPECT_NE(reports.find("src is device 0 memory"), std::string::npos) << reports;
  char local[64] = {};
  EXPECT_EQ(aclrtMemcpy(local, 64, device, 64, ACL_MEMCPY_DEVICE_TO_DEVICE),
            ACL_ERROR_RT_DRV_INTERNAL_ERROR);
  EXPECT_NE(take_reports(), "");
  EXPECT_EQ(aclrtMemset(local, 64, 0, 64), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(take_reports(), "");
  OK(aclrtFree(device));
  OK(aclrtFreeHost(pinned));
}

TEST_F(Memory, PageableCopiesOfAStreamBlock) {
  aclrtStream stream = make_stream();
  auto* device = static_cast<char*>(device_memory(64));
  auto* pinned = static_cast<char*>(pinned_memory(64));
  char local[64] = {};
  OK(aclrtLaunchHostFunc(stream, [](void*) { sleep_ms(20); }, nullptr));
  OK(aclrtMemsetAsync(device, 64, 3, 64, stream));
  OK(aclrtMemcpyAsync(local, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  EXPECT_EQ(local[63], 3);  // no synchronisation was needed
  OK(mtsim_hang_stream(id_of(stream)));
  OK(aclrtMemcpyAsync(pinned, 64, device, 64, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  EXPECT_FALSE(is_idle(stream));  // pinned memory is copied by the stream
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(pinned[0], 3);

  // Staged by the runtime: the host buffer is free again at once.
  OK(mtsim_hang_stream(id_of(stream)));
  std::memset(local, 4, 64);
  OK(aclrtMemcpyAsync(device, 64, local, 64, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream));
  std::memset(local, 5, 64);
  mtsim_release_stream(-1);
  OK(aclrtSynchronizeStream(stream));
  EXPECT_EQ(device[0], 4);
  OK(aclrtFree(device));
  OK(aclrtFreeHost(pinned));
  OK(aclrtDestroyStream(stream));
}

TEST_F(Memory, CopiesByRows) {
  auto* device = static_cast<char*>(device_memory(256));
  auto* pinned = static_cast<char*>(pinned_memory(256));
  OK(aclrtMemset(device, 256, 0, 256));
  for (int i = 0; i < 256; ++i) pinned[i] = static_cast<char>(i);
  OK(aclrtMemcpy2d(device, 32, pinned, 16, 8, 4, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_EQ(device[32], 16);
  EXPECT_EQ(device[39], 23);
  EXPECT_EQ(device[40], 0);
  OK(aclrtMemcpy2dAsync(pinned, 8, device, 32, 8, 4, ACL_MEMCPY_DEVICE_TO_HOST, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(pinned[8], 16);
  EXPECT_EQ(aclrtMemcpy2d(device, 4, pinned, 16, 8, 4, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemcpy2d(device, 32, device, 32, 8, 4, ACL_MEMCPY_DEVICE_TO_DEVICE),
            ACL_ERROR_INVALID_PARAM);
  OK(aclrtFree(device));
  OK(aclrtFreeHost(pinned));
}

TEST_F(Memory, RegisteredHostMemory) {
  void* page = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* device = nullptr;
  EXPECT_EQ(aclrtHostRegister(static_cast<char*>(page) + 8, 64, ACL_HOST_REGISTER_MAPPED, &device),
            ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtHostRegister(page, 8192, ACL_HOST_REGISTER_MAPPED, &device));
  EXPECT_EQ(aclrtHostRegister(page, 8192, ACL_HOST_REGISTER_MAPPED, &device), 507910);
  EXPECT_EQ(attributes(page).location.type, ACL_MEM_LOCATION_TYPE_HOST);
  OK(aclrtMemsetAsync(device, 8192, 9, 8192, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(static_cast<char*>(page)[8191], 9);
  OK(aclrtHostUnregister(page));
  EXPECT_EQ(aclrtHostUnregister(page), 507911);
  munmap(page, 8192);
}

TEST_F(Memory, PointersTellWhereTheyAre) {
  int local = 0;
  int type = 0;
  aclrtPtrAttributes unknown = attributes(&local);
  std::memcpy(&type, &unknown.location.type, sizeof type);
  EXPECT_EQ(type, 2);
  void* pinned = pinned_memory(16);
  EXPECT_EQ(attributes(pinned).location.type, ACL_MEM_LOCATION_TYPE_HOST);
  OK(aclrtFreeHost(pinned));
  OK(aclrtSetDevice(3));
  void* device = device_memory(4096);
  EXPECT_EQ(attributes(static_cast<char*>(device) + 99).location.type,
            ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes(device).location.id, 3U);
  OK(aclrtFree(device));
}

TEST_F(Memory, PeersMustBeEnabled) {
  int32_t can = 0;
  OK(aclrtDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtDeviceCanAccessPeer(&can, 0, 8), ACL_ERROR_RT_INVALID_DEVICEID);
  void* here = device_memory(64);
  OK(aclrtSetDevice(1));
  void* there = device_memory(64);
  OK(aclrtMemset(there, 64, 8, 64));
  OK(aclrtSetDevice(0));
  EXPECT_EQ(aclrtMemcpyAsync(here, 64, there, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(aclrtDeviceEnablePeerAccess(1, 1), ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceEnablePeerAccess(0, 0), ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtDeviceEnablePeerAccess(1, 0));
  int32_t status = 0;
  OK(aclrtDevicePeerAccessStatus(0, 1, &status));
  EXPECT_EQ(status, 1);
  OK(aclrtDevicePeerAccessStatus(1, 0, &status));
  EXPECT_EQ(status, 0);
  OK(aclrtMemcpyAsync(here, 64, there, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr));
  OK(aclrtSynchronizeStream(nullptr));
  EXPECT_EQ(static_cast<char*>(here)[63], 8);
  OK(aclrtDeviceDisablePeerAccess(1));
  EXPECT_EQ(aclrtMemcpy(here, 64, there, 64, ACL_MEMCPY_DEVICE_TO_DEVICE),
            ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtFree(here));
  OK(aclrtFree(there));
}

TEST_F(Memory, VirtualAddressesAndPhysicalMemory) {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  size_t page = 0;
  OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &page));
  EXPECT_EQ(page, 2 * kMiB);
  void* reserved = nullptr;
  EXPECT_EQ(aclrtReserveMemAddress(&reserved, 8 * page, 64, nullptr, 0),
            ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtReserveMemAddress(&reserved, 8 * page, 0, nullptr, 1));
  auto* base = static_cast<char*>(reserved);

  const size_t before = free_memory();
  aclrtDrvMemHandle first = nullptr;
  aclrtDrvMemHandle second = nullptr;
  EXPECT_EQ(aclrtMallocPhysical(&first, page + 1, &prop, 0), ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtMallocPhysical(&first, page, &prop, 0));
  OK(aclrtMallocPhysical(&second, page, &prop, 0));
  EXPECT_EQ(before - free_memory(), 2 * page);
  EXPECT_EQ(aclrtMapMem(base, 2 * page, 0, first, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMapMem(base, page, 64, first, 0), ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtMapMem(base, page, 0, first, 0));
  EXPECT_EQ(aclrtMapMem(base, page, 0, second, 0), ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtMapMem(base + page, page, 0, second, 0));

  OK(aclrtMemset(base, page, 1, page));
  OK(aclrtMemset(base + page, page, 2, page));
  // What is mapped survives a change of address.
  OK(aclrtUnmapMem(base));
  EXPECT_EQ(aclrtUnmapMem(base), ACL_ERROR_RT_PARAM_INVALID);
  char local[64] = {};
  EXPECT_NE(aclrtMemcpy(local, 64, base, 64, ACL_MEMCPY_DEFAULT), ACL_SUCCESS);
  EXPECT_NE(take_reports().find("no memory is mapped"), std::string::npos);
  OK(aclrtMapMem(base + 4 * page, page, 0, first, 0));
  EXPECT_EQ(base[4 * page], 1);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtFreePhysical(first));  // waits for the unmapping
  EXPECT_EQ(before - free_memory(), 2 * page);
  OK(aclrtUnmapMem(base + 4 * page));
  EXPECT_EQ(before - free_memory(), page);
  EXPECT_EQ(aclrtMapMem(base, page, 0, first, 0), ACL_ERROR_RT_INVALID_HANDLE);

  prop.location.id = 1;
  aclrtDrvMemHandle foreign = nullptr;
  OK(aclrtMallocPhysical(&foreign, page, &prop, 0));
  EXPECT_EQ(aclrtMapMem(base, page, 0, foreign, 0), ACL_ERROR_RT_PARAM_INVALID);
  OK(aclrtFreePhysical(foreign));
  OK(aclrtUnmapMem(base + page));
  OK(aclrtFreePhysical(second));
  OK(aclrtReleaseMemAddress(base));
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(free_memory(), before);
}

TEST_F(Memory, PhysicalMemoryRunsOut) {
  mtsim_set("memory", "4M");
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_EQ(aclrtMallocPhysical(&handle, 6 * kMiB, &prop, 0), ACL_ERROR_RT_MEMORY_ALLOCATION);
}

}  // namespace
