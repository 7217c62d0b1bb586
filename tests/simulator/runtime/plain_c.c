/* A C program that knows CANN's interface and nothing else. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mindtorch/backends/ascend/acl_abi.h"

#define CHECK(call)                                                  \
  do {                                                               \
    aclError code = (call);                                          \
    if (code != ACL_SUCCESS) {                                       \
      const char* text = aclGetRecentErrMsg();                       \
      fprintf(stderr, "%s: %d %s\n", #call, code, text ? text : ""); \
      return 1;                                                      \
    }                                                                \
  } while (0)

int main(void) {
  enum { kBytes = 1 << 20 };
  aclrtStream stream;
  aclrtEvent start, end;
  void *device, *host;
  float ms = -1;
  uint32_t count = 0;

  CHECK(aclInit(NULL));
  CHECK(aclrtGetDeviceCount(&count));
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtCreateEventWithFlag(&start, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
  CHECK(aclrtCreateEventWithFlag(&end, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
  CHECK(aclrtMalloc(&device, kBytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMallocHost(&host, kBytes));
  memset(host, 0, kBytes);

  CHECK(aclrtRecordEvent(start, stream));
  CHECK(aclrtMemsetAsync(device, kBytes, 7, kBytes, stream));
  CHECK(aclrtMemcpyAsync(host, kBytes, device, kBytes, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  CHECK(aclrtRecordEvent(end, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtEventElapsedTime(&ms, start, end));
  if (count == 0 || ms < 0 || ((char*)host)[kBytes - 1] != 7) return 1;

  CHECK(aclrtFree(device));
  CHECK(aclrtFreeHost(host));
  CHECK(aclrtDestroyEvent(start));
  CHECK(aclrtDestroyEvent(end));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(0));
  CHECK(aclFinalize());
  printf("plain C on %u devices\n", count);
  return 0;
}
