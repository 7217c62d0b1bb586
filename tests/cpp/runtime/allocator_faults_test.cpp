// A fault at every driver call in turn: an error, nothing lost, and everything works afterwards.
#include <gtest/gtest.h>

#include "tests/cpp/support/allocator_fixture.h"

namespace mindtorch::test {
namespace {

using runtime::AllocConf;
using runtime::Block;

// A program that takes every path to the driver. Errors are the caller's; blocks are not lost.
void run_program(TestDevice& device, driver::StreamHandle side) {
  auto& allocator = *device.allocator;
  std::vector<Block*> blocks;
  const auto release_all = [&] {
    for (Block* block : blocks) allocator.release(block);
    blocks.clear();
  };
  const auto allocate = [&](size_t bytes, driver::StreamHandle stream) {
    blocks.push_back(allocator.allocate(bytes, stream));
    device.driver.use(0, stream, blocks.back()->data, blocks.back()->size);
  };
  try {
    allocate(1000, nullptr);
    allocate(3 * kMiB, nullptr);
    allocate(30 * kMiB, side);
    allocator.record_stream(blocks[0], side);
    allocator.record_stream(blocks[1], side);
    allocator.record_stream(blocks[2], nullptr);
    release_all();
    allocate(40 * kMiB, nullptr);
    release_all();
    allocator.process_events();
    allocate(60 * kMiB, nullptr);
    allocate(70 * kMiB, side);  // not without the rest given back
    release_all();
    allocator.collect_garbage();
    allocator.empty_cache();
    allocate(5 * kMiB, nullptr);
    try {
      allocate(500 * kMiB, nullptr);
    } catch (const OutOfMemoryError&) {
    }
    release_all();
    allocator.empty_cache();
  } catch (...) {
    release_all();
    throw;
  }
}

void fail_every_call(const AllocConf& conf, bool null_on_fault) {
  int64_t calls = 1;  // known after the round without a fault
  int errors = 0;
  for (int64_t nth = 0; nth <= calls; ++nth) {
    SCOPED_TRACE(nth);
    FakeOptions options;
    options.virtual_memory = true;
    options.throw_when_out_of_memory = !null_on_fault;
    // Pages are coarser than segments.
    TestDevice device((conf.expandable_segments ? 180 : 140) * kMiB, conf, options);
    driver::StreamHandle side = device.new_stream();
    const int64_t before = device.driver.fallible_calls();
    if (nth > 0) device.driver.fail_call(nth);
    try {
      run_program(device, side);
    } catch (const Error&) {
      ++errors;
    }
    calls = std::max(calls, device.driver.fallible_calls() - before);
    device.driver.clear_faults();
    EXPECT_EQ(device.problems(), "");
    try {
      device.async_errors.raise_any();
    } catch (const Error&) {
    }
    run_program(device, side);
    device.driver.finish_all();
    device.allocator->empty_cache();
    EXPECT_EQ(device.problems(), "");
    EXPECT_EQ(device.current(runtime::Metric::kReservedBytes), 0);
  }
  EXPECT_GT(calls, 20);
  EXPECT_GT(errors, 0);
}

TEST(CachingAllocatorFaults, SegmentsThrow) { fail_every_call({}, false); }
TEST(CachingAllocatorFaults, SegmentsRunOut) { fail_every_call({}, true); }
TEST(CachingAllocatorFaults, Collecting) {
  AllocConf conf;
  conf.garbage_collection_threshold = 0.3;
  conf.max_split_size = 20 * kMiB;
  conf.per_process_memory_fraction = 0.95;
  fail_every_call(conf, false);
}
TEST(CachingAllocatorFaults, ExpandableSegments) {
  AllocConf conf;
  conf.expandable_segments = true;
  fail_every_call(conf, false);
  fail_every_call(conf, true);
}

// An event that cannot be queried is never taken for reached.
TEST(CachingAllocatorFaults, AFailedEventIsNotFinished) {
  TestDevice device;
  auto& allocator = *device.allocator;
  driver::StreamHandle side = device.new_stream();
  Block* block = allocator.allocate(1000, nullptr);
  device.driver.use(0, side, block->data, 1000);
  allocator.record_stream(block, side);
  allocator.release(block);
  device.driver.finish(side);
  device.driver.fail(Call::query_event);
  Block* other = allocator.allocate(1000, nullptr);  // the error is not this caller's
  EXPECT_EQ(device.current(runtime::Metric::kActive), 2);
  EXPECT_THROW(device.async_errors.raise(side), driver::DriverError);
  device.driver.clear_faults();
  allocator.process_events();
  EXPECT_EQ(device.current(runtime::Metric::kActive), 1);
  allocator.release(other);
}

}  // namespace
}  // namespace mindtorch::test
