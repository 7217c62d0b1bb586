#include "mindtorch/backends/cpu/fusion.h"

#include <gtest/gtest.h>

#include <thread>

#include "mindtorch/backends/cpu/fusion_program.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/tile.h"
#include "tests/cpp/backends/cpu/fusion_groups.h"
#include "tests/cpp/backends/cpu/tile_parameters.h"

namespace mindtorch::cpu {
namespace {

constexpr DType kF32 = DType::kFloat32;

Tensor random_tensor(IntList sizes, DType dtype, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  const Tensor tensor = Tensor::make(sizes, dtype);
  fill_random(tensor, random);
  return tensor;
}
Tensor number(DType dtype, uint64_t seed = 1) { return random_tensor({}, dtype, seed); }

std::vector<Pointwise> functions_of(DType dtype) {
  std::vector<Pointwise> list;
  for (int i = 0; i < ops::kPointwiseCount; ++i) {
    const auto function = static_cast<Pointwise>(i);
    // Functions whose parameters would need a meaning are tried with zeros, but for integers,
    // where some divide by them.
    const bool divides = function >= Pointwise::kFloorDivide && function <= Pointwise::kPow;
    if (!is_floating_point(dtype) && divides) continue;
    // The sign of a NaN is not specified.
    const bool shows_sign = function == Pointwise::kSignbit || function == Pointwise::kCopysign;
    if (shows_sign && is_floating_point(dtype)) continue;
    const DType compute = dtype == DType::kFloat16 || dtype == DType::kBFloat16 ? kF32 : dtype;
    if (find_tile(function, compute) != nullptr) list.push_back(function);
  }
  return list;
}

// A group of random steps on random inputs.
GroupOverTensors random_group(uint64_t seed) {
  RandomLayouts random(seed);
  const std::vector<Shape> shapes = {{},          {1},           {7},          {1000},
                                     {5000},      {40000},       {3, 5},       {100, 64},
                                     {64, 100},   {7, 1030},     {300, 3},     {2, 3, 4, 5},
                                     {6, 1, 700}, {16, 8, 8, 8}, {2, 2100, 2}, {513, 17}};
  const std::vector<DType> dtypes = {
      DType::kBool,     DType::kUInt8, DType::kInt32, DType::kInt64,  DType::kFloat16,
      DType::kBFloat16, kF32,          kF32,          DType::kFloat64};
  const DType main = random.one_of(dtypes);
  GroupOverTensors group(random.one_of(shapes));
  const Shape sizes = group.group.sizes;
  const int64_t inputs = 1 + random.below(4);
  for (int64_t i = 0; i < inputs; ++i) {
    const DType dtype = random.below(4) == 0 ? random.one_of(dtypes) : main;
    if (random.below(4) == 0) {
      group.input(number(dtype, seed + static_cast<uint64_t>(i)), true);
    } else {
      group.input(random.input(sizes, dtype), false);
    }
  }
  const int64_t steps = 1 + random.below(12);
  int64_t values = inputs;
  for (int64_t i = 0; i < steps; ++i, ++values) {
    const DType compute = random.below(5) == 0 ? random.one_of(dtypes) : main;
    const Pointwise function = random.one_of(functions_of(compute));
    DType result = ops::gives_bool(function) ? DType::kBool : compute;
    // The engine for single ops takes all 16-bit floats to be computed as such.
    if (random.below(8) == 0 && size_bytes(main) != 2) result = main;
    std::vector<uint16_t> operands;
    for (int k = 0; k < info(function).arity; ++k) {
      // Recent values more than old ones.
      const int64_t back =
          random.below(random.below(2) == 0 ? std::min<int64_t>(values, 2) : values);
      operands.push_back(static_cast<uint16_t>(values - 1 - back));
    }
    const uint16_t value =
        group.step(function, compute, result, operands, make_params(0.5, 1.5, 0.25));
    if (i + 1 == steps || random.below(4) == 0) {
      group.store(value, random.laid_out(sizes, result));
      if (random.below(6) == 0) group.store(value, random.laid_out(sizes, result));
    }
  }
  return group;
}

TEST(Fusion, ARandomGroupIsWhatSingleOpsGive) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    random_group(seed).check();
    if (HasFailure()) return;
  }
}

// x = relu(x * s + b) * x, for every dtype.
GroupOverTensors chain(const Tensor& x, const Tensor& b, const Tensor& s, const Tensor& out) {
  GroupOverTensors group(out.sizes());
  const DType dtype = x.dtype();
  const uint16_t value = group.input(x);
  const uint16_t bias = group.input(b);
  const uint16_t scale = group.input(s, true);
  const uint16_t scaled = group.step(Pointwise::kMul, dtype, dtype, {value, scale});
  const uint16_t moved = group.step(Pointwise::kAdd, dtype, dtype, {scaled, bias});
  const uint16_t positive = group.step(Pointwise::kMaximum, dtype, dtype, {moved, scale});
  group.store(group.step(Pointwise::kMul, dtype, dtype, {positive, value}), out);
  return group;
}

TEST(Fusion, OneProgramRunsWithNewAddressesAndNumbers) {
  for (const DType dtype : {DType::kBool, DType::kInt32, DType::kInt64, DType::kFloat16,
                            DType::kBFloat16, kF32, DType::kFloat64}) {
    const Shape sizes = {33, 70};
    const auto make = [&](uint64_t seed) {
      return chain(random_tensor(sizes, dtype, seed), random_tensor({70}, dtype, seed + 1),
                   number(dtype, seed + 2), Tensor::make(sizes, dtype));
    };
    const GroupOverTensors first = make(1);
    const auto prepared = std::make_shared<ops::PreparedGroup>(first.group, fusion_engine());
    ops::Launch launch{DeviceType::kCpu};
    for (uint64_t seed = 1; seed < 60; seed += 10) {
      const GroupOverTensors other = make(seed);
      prepared->program()->run(launch, other.addresses());
      expect_same(other.targets[0], other.values().back());
    }
  }
}

TEST(Fusion, StepsBecomeCodeWhereTheMachineCanRunIt) {
  const GroupOverTensors group = chain(random_tensor({1000}, kF32), random_tensor({1000}, kF32),
                                       number(kF32), Tensor::make({1000}, kF32));
  EXPECT_EQ(TiledProgram(group.group, Rows::kNone, true).has_code(), jit::available());
  EXPECT_FALSE(TiledProgram(group.group, Rows::kNone, false).has_code());
}

TEST(Fusion, AStoreMayBeTheMemoryOfAnInput) {
  for (const Shape& sizes : {Shape{5000}, Shape{40, 300}, Shape{300, 5}, Shape{1}}) {
    for (const bool is_transposed : {false, true}) {
      Tensor x = random_tensor(sizes, kF32);
      if (is_transposed && sizes.size() == 2) {
        x = random_tensor({sizes[1], sizes[0]}, kF32).alias(sizes, {1, sizes[0]}, 0);
      }
      const Tensor y = random_tensor(sizes, kF32, 2);
      GroupOverTensors group(sizes);
      const uint16_t a = group.input(x);
      const uint16_t b = group.input(y);
      const uint16_t sum = group.step(Pointwise::kAdd, kF32, kF32, {a, b});
      const uint16_t product = group.step(Pointwise::kMul, kF32, kF32, {sum, b});
      group.store(sum, x);
      group.store(product, y);
      group.check();
    }
  }
}

TEST(Fusion, ManyThreadsRunOneProgram) {
  const Shape sizes = {50, 1000};
  const GroupOverTensors first = chain(random_tensor(sizes, kF32), random_tensor({1000}, kF32),
                                       number(kF32), Tensor::make(sizes, kF32));
  const auto prepared = std::make_shared<ops::PreparedGroup>(first.group, fusion_engine());
  std::vector<GroupOverTensors> groups;
  for (uint64_t i = 0; i < 8; ++i) {
    groups.push_back(chain(random_tensor(sizes, kF32, i), random_tensor({1000}, kF32, i + 9),
                           number(kF32, i), Tensor::make(sizes, kF32)));
  }
  std::vector<std::thread> threads;
  for (const GroupOverTensors& group : groups) {
    threads.emplace_back([&] {
      ops::Launch launch{DeviceType::kCpu};
      for (int i = 0; i < 10; ++i) prepared->program()->run(launch, group.addresses());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const GroupOverTensors& group : groups) expect_same(group.targets[0], group.values().back());
}

TEST(Fusion, AnyNumberOfThreadsGivesTheSame) {
  const int before = num_threads();
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    const Shape sizes = {700, 900};
    chain(random_tensor(sizes, kF32), random_tensor({900}, kF32), number(kF32),
          Tensor::make(sizes, kF32))
        .check();
  }
  set_num_threads(before);
}

TEST(Fusion, NoElementsIsNothingToDo) {
  for (const Shape& sizes : {Shape{0}, Shape{3, 0}, Shape{0, 3}, Shape{2, 0, 5}}) {
    GroupOverTensors group(sizes);
    const uint16_t x = group.input(Tensor::make(sizes, kF32));
    const uint16_t scale = group.input(number(kF32), true);
    group.store(group.step(Pointwise::kMul, kF32, kF32, {x, scale}), Tensor::make(sizes, kF32));
    group.run();
  }
}

TEST(Fusion, AnInputCanBeStoredAsItIs) {
  GroupOverTensors group({30, 50});
  const uint16_t row = group.input(random_tensor({50}, kF32));
  const uint16_t scale = group.input(number(kF32), true);
  const uint16_t spread = group.step(Pointwise::kNeg, kF32, kF32, {scale});
  group.store(row, Tensor::make({30, 50}, kF32));
  group.store(spread, Tensor::make({30, 50}, kF32));
  group.run();
  const std::vector<Tensor> values = group.values();
  expect_same(group.targets[0], packed(values[row].expand({30, 50})));
  expect_same(group.targets[1], packed(values[spread].expand({30, 50})));
}

}  // namespace
}  // namespace mindtorch::cpu
