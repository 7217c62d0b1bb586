/* What one aclnnAdd on the simulator takes of the calling thread, in microseconds: planned anew with its
   descriptions, run again by a repeatable executor, run again out of the cache of phase one. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "mindtorch/backends/ascend/acl_abi.h"

enum { kCalls = 200, kRounds = 30 };

static int64_t shape = 16, stride = 1;
static void *memory, *stream;
static aclTensor *tensors[3];
static aclScalar *one;
static uint64_t workspace;
static aclOpExecutor *executor;

static void describe(void) {
  float value = 1;
  for (int i = 0; i < 3; ++i) {
    tensors[i] = aclCreateTensor(&shape, 1, ACL_FLOAT, &stride, 0, ACL_FORMAT_ND, &shape, 1, memory);
  }
  one = aclCreateScalar(&value, ACL_FLOAT);
}

static void forget(void) {
  for (int i = 0; i < 3; ++i) aclDestroyTensor(tensors[i]);
  aclDestroyScalar(one);
}

static void plan(void) {
  aclnnAddGetWorkspaceSize(tensors[0], tensors[1], one, tensors[2], &workspace, &executor);
}

static void planned(void) {
  describe();
  plan();
  aclnnAdd(0, 0, executor, stream);
  forget();
}

static void repeated(void) { aclnnAdd(0, 0, executor, stream); }

static void (*begin)(void), (*tell)(void *), (*set_key)(uint8_t *, size_t);
static aclOpExecutor *(*find)(uint8_t *, size_t, uint64_t *);
static uint8_t key[200];

static void tell_all(void) {
  begin();
  for (int i = 0; i < 3; ++i) tell(memory);
  set_key(key, sizeof key);
}

static void cached(void) {
  tell_all();
  aclnnAdd(0, 0, find(key, sizeof key, &workspace), stream);
}

static double least_us(void (*call)(void)) {
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    struct timespec from, to;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    for (int i = 0; i < kCalls; ++i) call();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
    double us = (to.tv_sec - from.tv_sec) * 1e6 + (to.tv_nsec - from.tv_nsec) * 1e-3;
    if (us / kCalls < least) least = us / kCalls;
    aclrtSynchronizeStream(stream);
  }
  return least;
}

int main(void) {
  aclInit(0);
  aclrtSetDevice(0);
  aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
  aclrtCreateStream(&stream);
  *(void **)&begin = dlsym(RTLD_DEFAULT, "InitPTACacheThreadLocal");
  *(void **)&tell = dlsym(RTLD_DEFAULT, "AddTensorAddrToCachedList");
  *(void **)&set_key = dlsym(RTLD_DEFAULT, "SetPTACacheHashKey");
  *(void **)&find = dlsym(RTLD_DEFAULT, "PTAFindExecCache");
  const double anew = least_us(planned);
  describe();
  memset(key, 1, sizeof key);
  tell_all();
  plan();
  aclnnAdd(0, 0, executor, stream);
  const double from_cache = least_us(cached);
  ((void (*)(void))dlsym(RTLD_DEFAULT, "UnInitPTACacheThreadLocal"))();
  plan();
  aclSetAclOpExecutorRepeatable(executor);
  printf("{\"planned\": %.3f, \"repeated\": %.3f, \"cached\": %.3f}\n", anew, least_us(repeated),
         from_cache);
  return 0;
}
