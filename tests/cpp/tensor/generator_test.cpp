#include "mindtorch/tensor/generator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "mindtorch/base/error.h"

namespace mindtorch {
namespace {

// FNV-1a, to compare many bytes with what torch gave.
uint64_t digest(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

template <typename Body>
std::string error_of(const Body& body) {
  try {
    body();
  } catch (const RuntimeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Mt19937, GivesTheStandardSequence) {
  Mt19937 engine(5489);
  std::mt19937 expected(5489);
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(engine.next32(), expected()) << i;
}

TEST(Mt19937, FillAndSkipGoOnWhereTheLastCallStopped) {
  Mt19937 engine(1);
  std::mt19937 expected(1);
  std::vector<uint32_t> words(2000);
  for (const int64_t n : {0, 1, 5, 617, 1, 624, 623, 625, 2000, 3, 1248}) {
    engine.fill(words.data(), n);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(words[static_cast<size_t>(i)], expected()) << n;
    engine.skip(n);
    expected.discard(static_cast<unsigned long long>(n));
    ASSERT_EQ(engine.next32(), expected()) << n;
  }
}

TEST(Mt19937, FirstWordIsTheHighHalf) {
  Mt19937 engine(3);
  std::mt19937 expected(3);
  const uint64_t high = expected();
  EXPECT_EQ(engine.next64(), high << 32 | expected());
}

TEST(Mt19937, RefusesAStateThatPointsOutside) {
  Mt19937 engine(3);
  Mt19937::State state = engine.state();
  for (const auto& [left, next] : {std::pair{0, 0u}, {625, 0u}, {-1, 0u}, {1, 625u}, {25, 601u}}) {
    state.left = left;
    state.next = next;
    EXPECT_FALSE(engine.set_state(state)) << left << ' ' << next;
  }
  state.left = 25;
  state.next = 600;
  EXPECT_TRUE(engine.set_state(state));
}

TEST(Generator, StartsFromTorchsSeed) {
  CpuGenerator generator;
  EXPECT_EQ(generator.device(), Device(DeviceType::kCpu));
  EXPECT_EQ(generator.initial_seed(), 67280421310721u);
  EXPECT_EQ(generator.random64(), 10107323818455293444u);
  EXPECT_EQ(default_cpu_generator(), default_cpu_generator());
}

TEST(Generator, KeepsAllBitsOfASeedAndUsesTheLow32) {
  CpuGenerator generator;
  generator.manual_seed(static_cast<uint64_t>(int64_t{-1}));
  EXPECT_EQ(generator.initial_seed(), 18446744073709551615u);
  EXPECT_EQ(generator.random64(), 1800993050274709794u);
  EXPECT_EQ(CpuGenerator(0x500000007).random32(), CpuGenerator(7).random32());
}

TEST(Generator, SeedPicksAndReturnsANewSeed) {
  CpuGenerator generator;
  const uint64_t seed = generator.seed();
  EXPECT_EQ(generator.initial_seed(), seed);
  EXPECT_LT(seed, uint64_t{1} << 53);
  EXPECT_EQ(generator.random64(), CpuGenerator(seed).random64());
  EXPECT_NE(generator.seed(), seed);
}

TEST(Generator, StateIsTorchsByteForByte) {
  CpuGenerator generator(7);
  const std::vector<uint8_t> fresh = generator.get_state();
  EXPECT_EQ(fresh.size(), 5056u);
  EXPECT_EQ(digest(fresh), 0x7f4ed5c44183ee68u);
  for (int i = 0; i < 1241; ++i) generator.random32();
  EXPECT_EQ(digest(generator.get_state()), 0xdf236951db056dadu);
}

TEST(Generator, StateHoldsWhatWaitsForTheNextCall) {
  CpuGenerator generator(7);
  {
    const CpuGenerator::Lock source(generator);
    source->engine.skip(100);
    source->next_double_normal = -1.5;
    source->next_float_normal = 0.25f;
  }
  const std::vector<uint8_t> state = generator.get_state();
  double waiting = 0;
  std::memcpy(&waiting, state.data() + 5024, sizeof(waiting));
  EXPECT_EQ(waiting, -1.5);

  CpuGenerator other(1);
  other.set_state(state);
  EXPECT_EQ(other.initial_seed(), 7u);
  EXPECT_EQ(other.get_state(), state);
  EXPECT_EQ(CpuGenerator::Lock(other)->next_double_normal, -1.5);
  EXPECT_EQ(CpuGenerator::Lock(other)->next_float_normal, 0.25f);
  EXPECT_EQ(other.random64(), generator.random64());

  other.set_state(CpuGenerator(7).get_state());
  EXPECT_FALSE(CpuGenerator::Lock(other)->next_double_normal.has_value());
  generator.manual_seed(7);
  EXPECT_EQ(generator.get_state(), CpuGenerator(7).get_state());
}

TEST(Generator, RefusesOtherBytes) {
  CpuGenerator generator(7);
  generator.random32();
  const std::vector<uint8_t> before = generator.get_state();
  EXPECT_EQ(
      error_of([&] { generator.set_state(std::vector<uint8_t>(10)); }),
      "Expected a CPUGeneratorImplState of size 5056 but found the input RNG state size to be "
      "10");
  EXPECT_EQ(error_of([&] { generator.set_state(std::vector<uint8_t>(5056)); }),
            "Invalid mt19937 state");
  std::vector<uint8_t> unseeded = before;
  unseeded[12] = 0;
  EXPECT_EQ(error_of([&] { generator.set_state(unseeded); }), "Invalid mt19937 state");
  std::vector<uint8_t> outside = before;
  outside[21] = 1;  // a bit of `next` beyond 32
  EXPECT_EQ(error_of([&] { generator.set_state(outside); }), "Invalid mt19937 state");
  EXPECT_EQ(generator.get_state(), before);
}

TEST(Generator, CloneGoesOnAlone) {
  CpuGenerator generator(7);
  generator.random64();
  const GeneratorPtr copy = generator.clone();
  EXPECT_EQ(copy->get_state(), generator.get_state());
  const uint64_t next = generator.random64();
  EXPECT_NE(copy->get_state(), generator.get_state());
  EXPECT_EQ(CpuGenerator::from(*copy).random64(), next);
}

TEST(Generator, AcceleratorsCountWhatIsDrawn) {
  const Device npu(DeviceType::kNpu, 0);
  const GeneratorPtr generator = make_generator(npu, 5);
  auto& source = OffsetGenerator::from(*generator, DeviceType::kNpu);
  EXPECT_EQ(source.advance(10).offset, 0U);
  const std::vector<uint8_t> state = generator->get_state();
  EXPECT_EQ(state.size(), 16U);
  const GeneratorPtr copy = generator->clone();
  EXPECT_EQ(copy->device(), npu);
  EXPECT_EQ(source.advance(4).offset, 10U);
  EXPECT_EQ(source.advance(4).offset, 14U);
  EXPECT_EQ(OffsetGenerator::from(*copy, DeviceType::kNpu).advance(1).offset, 10U);

  generator->set_state(state);
  const OffsetGenerator::Place place = source.advance(1);
  EXPECT_EQ(place.seed, 5U);
  EXPECT_EQ(place.offset, 10U);
  const std::vector<uint8_t> small(8);
  EXPECT_EQ(error_of([&] { generator->set_state(small); }), "RNG state is wrong size");
  EXPECT_EQ(source.advance(1).offset, 11U);
  generator->manual_seed(6);
  EXPECT_EQ(source.advance(1).offset, 0U);
  EXPECT_EQ(generator->initial_seed(), 6U);

  CpuGenerator other;
  EXPECT_EQ(error_of([&] { OffsetGenerator::from(other, DeviceType::kNpu); }),
            "Expected a 'npu' device type for generator but found 'cpu'");
  EXPECT_EQ(error_of([] { make_generator(DeviceType::kMeta); }),
            "Device type meta is not supported for torch.Generator() api.");
}

TEST(Generator, SeedsReachDevicesUsedLater) {
  const GeneratorPtr& used = default_generator({DeviceType::kNpu, 60});
  const uint64_t before = default_cpu_generator()->initial_seed();
  seed_default_generators(21);
  EXPECT_EQ(used->initial_seed(), 21U);
  EXPECT_EQ(default_generator({DeviceType::kNpu, 61})->initial_seed(), 21U);
  EXPECT_EQ(default_generator(DeviceType::kCpu)->initial_seed(), 21U);
  EXPECT_NE(used, default_generator({DeviceType::kNpu, 61}));
  seed_default_generators(before);
}

TEST(Generator, ThreadsShareOneSequence) {
  constexpr int kThreads = 4;
  constexpr int kDraws = 2000;
  CpuGenerator generator(11);
  std::vector<std::vector<uint64_t>> drawn(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : drawn) {
    threads.emplace_back([&] {
      for (int i = 0; i < kDraws; ++i) mine.push_back(generator.random64());
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::vector<uint64_t> all;
  for (const auto& mine : drawn) all.insert(all.end(), mine.begin(), mine.end());
  std::vector<uint64_t> expected(all.size());
  CpuGenerator alone(11);
  for (uint64_t& number : expected) number = alone.random64();
  std::sort(all.begin(), all.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(all, expected);
  EXPECT_EQ(generator.get_state(), alone.get_state());
}

}  // namespace
}  // namespace mindtorch
