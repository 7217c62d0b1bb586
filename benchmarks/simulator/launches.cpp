// What a call costs the thread that makes it, over CANN's interface alone. The queue is emptied
// outside the timing, so that the numbers are those of enqueueing.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "simulator/ascend/core/control.h"

namespace {

constexpr int64_t kCount = 16;
constexpr int64_t kBatch = 256;  // calls between two synchronisations

void require(int code) {
  if (code == 0) return;
  const char* text = aclGetRecentErrMsg();
  std::fprintf(stderr, "%s\n", text ? text : "failed");
  std::abort();
}

// Two inputs, one output, a stream.
struct Program {
  Program(const char* checks, const char* compute) {
    mtsim_reset();
    require(mtsim_set("checks", checks));
    require(mtsim_set("compute", compute));
    require(aclInit(nullptr));
    require(aclrtSetDevice(0));
    require(aclrtCreateStream(&stream));
    for (size_t i = 0; i < 3; ++i) {
      require(aclrtMalloc(&data[i], kCount * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
      require(aclrtMemset(data[i], kCount * sizeof(float), 0, kCount * sizeof(float)));
      tensors[i] =
          aclCreateTensor(&kCount, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &kCount, 1, data[i]);
    }
    float one = 1;
    alpha = aclCreateScalar(&one, ACL_FLOAT);
  }

  ~Program() {
    for (const aclTensor* tensor : tensors) require(aclDestroyTensor(tensor));
    require(aclDestroyScalar(alpha));
    mtsim_reset();
  }

  aclOpExecutor* plan() {
    uint64_t workspace = 0;
    aclOpExecutor* executor = nullptr;
    require(
        aclnnAddGetWorkspaceSize(tensors[0], tensors[1], alpha, tensors[2], &workspace, &executor));
    return executor;
  }

  aclrtStream stream = nullptr;
  void* data[3] = {};
  aclTensor* tensors[3] = {};
  aclScalar* alpha = nullptr;
};

template <class Call>
void time_calls(benchmark::State& state, Program& program, Call call) {
  for (auto _ : state) {
    for (int64_t i = 0; i < kBatch; ++i) call();
    state.PauseTiming();
    require(aclrtSynchronizeStream(program.stream));
    state.ResumeTiming();
  }
  const auto calls = static_cast<double>(state.iterations() * kBatch);
  state.counters["per_call"] =
      benchmark::Counter(calls, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// What a plan cache does for each op: three addresses, phase two.
void repeat(benchmark::State& state, const char* checks, const char* compute) {
  Program program(checks, compute);
  aclOpExecutor* const executor = program.plan();
  require(aclSetAclOpExecutorRepeatable(executor));
  time_calls(state, program, [&] {
    for (size_t i = 0; i < 3; ++i) {
      require(aclSetTensorAddr(executor, i, program.tensors[i], program.data[i]));
    }
    require(aclnnAdd(nullptr, 0, executor, program.stream));
  });
  require(aclDestroyAclOpExecutor(executor));
}

void both_phases(benchmark::State& state, const char* checks, const char* compute) {
  Program program(checks, compute);
  time_calls(state, program,
             [&] { require(aclnnAdd(nullptr, 0, program.plan(), program.stream)); });
}

void copy(benchmark::State& state, const char* checks, const char* compute) {
  Program program(checks, compute);
  time_calls(state, program, [&] {
    require(aclrtMemcpyAsync(program.data[0], 64, program.data[1], 64, ACL_MEMCPY_DEVICE_TO_DEVICE,
                             program.stream));
  });
}

void record(benchmark::State& state, const char* checks, const char* compute) {
  Program program(checks, compute);
  aclrtEvent event = nullptr;
  require(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
  time_calls(state, program, [&] { require(aclrtRecordEvent(event, program.stream)); });
  require(aclrtDestroyEvent(event));
}

BENCHMARK_CAPTURE(repeat, no_checks_no_compute, "none", "0")->UseRealTime();
BENCHMARK_CAPTURE(repeat, no_checks, "none", "1")->UseRealTime();
BENCHMARK_CAPTURE(repeat, checks, "all", "1")->UseRealTime();
BENCHMARK_CAPTURE(both_phases, no_checks_no_compute, "none", "0")->UseRealTime();
BENCHMARK_CAPTURE(both_phases, no_checks, "none", "1")->UseRealTime();
BENCHMARK_CAPTURE(both_phases, checks, "all", "1")->UseRealTime();
BENCHMARK_CAPTURE(copy, no_checks, "none", "1")->UseRealTime();
BENCHMARK_CAPTURE(copy, checks, "all", "1")->UseRealTime();
BENCHMARK_CAPTURE(record, no_checks, "none", "1")->UseRealTime();
BENCHMARK_CAPTURE(record, checks, "all", "1")->UseRealTime();

}  // namespace
