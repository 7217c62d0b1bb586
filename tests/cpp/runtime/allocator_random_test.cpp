// Long random sequences against a model, with everything checked after every step.
// MINDTORCH_TEST_STEPS sets their length.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <thread>

#include "tests/cpp/support/allocator_fixture.h"

namespace mindtorch::test {
namespace {

using driver::StreamHandle;
using runtime::AllocConf;
using runtime::Block;

size_t step_count() {
  const char* text = std::getenv("MINDTORCH_TEST_STEPS");
  return text == nullptr ? 200000 : std::strtoull(text, nullptr, 10);
}

// What the device may still do with memory that was freed.
class FreedRanges {
 public:
  void add(FakeDriver& driver, char* data, size_t size, const std::vector<StreamHandle>& streams) {
    Range range{data, data + size, {}};
    for (StreamHandle stream : streams) {
      auto done = std::make_shared<bool>(false);
      driver.launch(0, stream, [done] { *done = true; });
      range.marks.emplace_back(stream, done);
    }
    ranges_.push_back(std::move(range));
  }
  // Whether work on another stream than `stream` may still touch [data, data + size).
  bool in_use(char* data, size_t size, StreamHandle stream) {
    std::erase_if(ranges_, [](const Range& range) {
      return std::all_of(range.marks.begin(), range.marks.end(),
                         [](const auto& mark) { return *mark.second; });
    });
    for (const Range& range : ranges_) {
      if (range.end <= data || data + size <= range.begin) continue;
      for (const auto& [user, done] : range.marks) {
        if (user != stream && !*done) return true;
      }
    }
    return false;
  }

 private:
  struct Range {
    char* begin;
    char* end;
    std::vector<std::pair<StreamHandle, std::shared_ptr<bool>>> marks;
  };
  std::vector<Range> ranges_;
};

struct Live {
  Block* block;
  std::vector<StreamHandle> streams;  // the one it was made for, and those recorded
};

class RandomWalk {
 public:
  RandomWalk(TestDevice& device, uint64_t seed) : device_(device), random_(seed) {
    streams_.push_back(nullptr);
    for (int i = 0; i < 3; ++i) streams_.push_back(device.new_stream());
  }

  void step() {
    auto& allocator = *device_.allocator;
    switch (pick(20)) {
      case 0: {
        if (live_.empty()) break;
        Live& some = live_[pick(live_.size())];
        StreamHandle stream = streams_[pick(streams_.size())];
        device_.driver.use(0, stream, some.block->data, some.block->size);
        allocator.record_stream(some.block, stream);
        some.streams.push_back(stream);
        break;
      }
      case 1:
        if (!live_.empty()) {
          Live& some = live_[pick(live_.size())];
          device_.driver.use(0, some.streams[0], some.block->data, some.block->size);
        }
        break;
      case 2:
        device_.driver.finish(0, streams_[pick(streams_.size())]);
        break;
      case 3:
        if (pick(20) == 0) allocator.empty_cache();
        if (pick(20) == 0) device_.driver.finish_all();
        if (pick(20) == 0) allocator.process_events();
        if (pick(20) == 0) allocator.collect_garbage();
        if (pick(50) == 0) (void)allocator.snapshot();
        break;
      case 4:
        if (pick(30) != 0) break;
        if (pool_open_) {
          allocator.end_scope(kPool);
        } else {
          allocator.begin_pool_scope(kPool);
        }
        pool_open_ = !pool_open_;
        break;
      default:
        if (live_.size() < 12 + pick(60)) {
          allocate();
        } else {
          release(pick(live_.size()));
        }
    }
  }

  void finish() {
    if (pool_open_) device_.allocator->end_scope(kPool);
    while (!live_.empty()) release(live_.size() - 1);
    device_.allocator->empty_cache();
    device_.driver.finish_all();
    device_.allocator->empty_cache();
    EXPECT_EQ(device_.current(runtime::Metric::kReservedBytes), 0);
    EXPECT_EQ(device_.problems(), "");
  }

  int out_of_memory = 0;

 private:
  static constexpr runtime::PoolId kPool{0, 7};

  size_t pick(size_t n) { return random_() % n; }
  size_t size() {
    switch (pick(4)) {
      case 0:
        return 1 + pick(4096);
      case 1:
        return 1 + pick(kMiB);
      case 2:
        return kMiB + pick(9 * kMiB);
      default:
        return 1 + pick(30 * kMiB);
    }
  }
  void allocate() {
    StreamHandle stream = streams_[pick(streams_.size())];
    const size_t bytes = size();
    try {
      Block* block = device_.allocator->allocate(bytes, stream);
      ASSERT_GE(block->size, bytes);
      ASSERT_FALSE(freed_.in_use(block->data, block->size, stream)) << "reused too early";
      live_.push_back({block, {stream}});
    } catch (const OutOfMemoryError&) {
      ++out_of_memory;
      for (int i = 0; i < 8 && !live_.empty(); ++i) release(pick(live_.size()));
    }
  }
  void release(size_t at) {
    const Live gone = live_[at];
    live_[at] = live_.back();
    live_.pop_back();
    freed_.add(device_.driver, gone.block->data, gone.block->size, gone.streams);
    device_.allocator->release(gone.block);
  }

  TestDevice& device_;
  std::mt19937_64 random_;
  std::vector<StreamHandle> streams_;
  std::vector<Live> live_;
  FreedRanges freed_;
  bool pool_open_ = false;
};

struct NamedConf {
  const char* name;
  AllocConf conf;
};

std::vector<NamedConf> configurations() {
  std::vector<NamedConf> list(5);
  list[0].name = "default";
  list[1].name = "max_split";
  list[1].conf.max_split_size = 8 * kMiB;
  list[2].name = "collect";
  list[2].conf.garbage_collection_threshold = 0.6;
  list[2].conf.outgrown_segment_age = 50;
  list[3].name = "expandable";
  list[3].conf.expandable_segments = true;
  list[4].name = "divisions";
  list[4].conf.roundup_power2_divisions.fill(4);
  return list;
}

class RandomSequence : public testing::TestWithParam<NamedConf> {};

TEST_P(RandomSequence, KeepsEveryInvariant) {
  FakeOptions options;
  options.virtual_memory = true;
  TestDevice device(200 * kMiB, GetParam().conf, options);
  RandomWalk walk(device, 12345);
  const size_t steps = step_count() / configurations().size();
  for (size_t step = 0; step < steps; ++step) {
    ASSERT_NO_FATAL_FAILURE(walk.step()) << "step " << step;
    const std::string problems = device.problems();
    ASSERT_EQ(problems, "") << "after step " << step;
  }
  EXPECT_GT(walk.out_of_memory, 0);
  walk.finish();
}

INSTANTIATE_TEST_SUITE_P(Conf,
                         RandomSequence,
                         testing::ValuesIn(configurations()),
                         [](const auto& info) { return std::string(info.param.name); });

// Threads with streams of their own and blocks that change hands.
TEST(CachingAllocatorThreads, ShareOneAllocator) {
  for (const bool expandable : {false, true}) {
    AllocConf conf;
    conf.expandable_segments = expandable;
    FakeOptions options;
    options.virtual_memory = true;
    options.auto_finish = true;
    TestDevice device(300 * kMiB, conf, options);
    constexpr int kThreads = 8;
    std::vector<StreamHandle> streams;
    for (int i = 0; i < kThreads; ++i) streams.push_back(device.new_stream());
    std::mutex mutex;
    std::vector<Block*> shared;
    const size_t steps = step_count() / 40;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(static_cast<uint64_t>(t));
        std::vector<Block*> own;
        StreamHandle stream = streams[static_cast<size_t>(t)];
        for (size_t step = 0; step < steps; ++step) {
          const uint64_t r = random();
          if (own.size() < 8 && r % 2 == 0) {
            const size_t bytes = 1 + (r >> 8) % (r % 16 == 0 ? 20 * kMiB : 64 * kKiB);
            try {
              own.push_back(device.allocator->allocate(bytes, stream));
            } catch (const OutOfMemoryError&) {
            }
          } else if (!own.empty()) {
            Block* block = own.back();
            own.pop_back();
            if (r % 5 == 0) {
              device.allocator->record_stream(block, streams[(r >> 20) % kThreads]);
              std::lock_guard lock(mutex);
              shared.push_back(block);
              std::swap(block, shared[(r >> 30) % shared.size()]);
              shared.pop_back();
            }
            device.allocator->release(block);
          }
          if (r % 997 == 0) device.allocator->empty_cache();
          if (r % 499 == 0) (void)device.allocator->stats();
        }
        for (Block* block : own) device.allocator->release(block);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (Block* block : shared) device.allocator->release(block);
    device.allocator->process_events();
    EXPECT_EQ(device.problems(), "");
    EXPECT_EQ(device.current(runtime::Metric::kAllocation), 0);
    EXPECT_EQ(device.current(runtime::Metric::kActive), 0);
  }
}

}  // namespace
}  // namespace mindtorch::test
