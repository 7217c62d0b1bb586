// The cached allocate + release pair against glibc's malloc + free, over the number of cached
// blocks, and over threads. The driver is a plain counter: what is timed is the allocator.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "benchmarks/allocator/counting_driver.h"
#include "mindtorch/runtime/caching_allocator.h"

namespace mindtorch::runtime {
namespace {

struct Device {
  CountingDriver driver;
  EventPool events{driver, 0};
  AsyncErrors async_errors;
  CachingAllocator allocator{driver, 0, events, async_errors, AllocConf{}};
};

driver::StreamHandle stream_of(int index) {
  return reinterpret_cast<driver::StreamHandle>(static_cast<uintptr_t>(index) * 64);
}

void glibc_pair(benchmark::State& state) {
  // glibc takes a shortcut in a process that never had a second thread; ours always has one.
  std::thread([] {}).join();
  for (auto _ : state) {
    void* data = std::malloc(64);
    benchmark::DoNotOptimize(data);
    std::free(data);
  }
}
BENCHMARK(glibc_pair);

// Leaves `count` free blocks behind, kept apart by blocks in use.
std::vector<Block*> fill(CachingAllocator& allocator, int64_t count, size_t bytes) {
  std::vector<Block*> blocks;
  for (int64_t i = 0; i < 2 * count; ++i) {
    // Three sizes, so that the index has something to choose from.
    blocks.push_back(allocator.allocate(bytes * (1 + static_cast<size_t>(i / 2 % 3)), nullptr));
  }
  std::vector<Block*> kept;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i % 2 == 0) {
      allocator.release(blocks[i]);
    } else {
      kept.push_back(blocks[i]);
    }
  }
  return kept;
}

// The same size again and again, with `range` other blocks cached.
void cached_pair(benchmark::State& state, size_t bytes) {
  Device device;
  const std::vector<Block*> kept = fill(device.allocator, state.range(0), bytes);
  for (auto _ : state) {
    Block* block = device.allocator.allocate(bytes, nullptr);
    benchmark::DoNotOptimize(block);
    device.allocator.release(block);
  }
  for (Block* block : kept) device.allocator.release(block);
}
BENCHMARK_CAPTURE(cached_pair, small, 64)->Arg(10)->Arg(1000)->Arg(100000);
BENCHMARK_CAPTURE(cached_pair, large, size_t{3} << 20)->Arg(10)->Arg(1000)->Arg(100000);

// Sizes that alternate: every call searches, cuts and merges.
void searching_pair(benchmark::State& state, size_t bytes) {
  Device device;
  const std::vector<Block*> kept = fill(device.allocator, state.range(0), bytes);
  size_t factor = 1;
  for (auto _ : state) {
    Block* block = device.allocator.allocate(bytes * factor, nullptr);
    benchmark::DoNotOptimize(block);
    device.allocator.release(block);
    factor = 3 - factor;
  }
  for (Block* block : kept) device.allocator.release(block);
}
BENCHMARK_CAPTURE(searching_pair, small, 512)->Arg(10)->Arg(1000)->Arg(100000);
BENCHMARK_CAPTURE(searching_pair, large, size_t{3} << 20)->Arg(10)->Arg(1000)->Arg(100000);

// Every thread on a stream of its own.
void pair_on_own_stream(benchmark::State& state) {
  static std::unique_ptr<Device> device;
  if (state.thread_index() == 0) device = std::make_unique<Device>();
  for (auto _ : state) {
    Block* block = device->allocator.allocate(64, stream_of(state.thread_index() + 1));
    benchmark::DoNotOptimize(block);
    device->allocator.release(block);
  }
  if (state.thread_index() == 0) device.reset();
}
BENCHMARK(pair_on_own_stream)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

}  // namespace
}  // namespace mindtorch::runtime
