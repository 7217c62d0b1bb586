#include <gtest/gtest.h>

#include <cmath>

#include "mindtorch/backends/cpu/fusion.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "tests/cpp/backends/cpu/fusion_groups.h"

namespace mindtorch::cpu {
namespace {

using ops::Pointwise;
using ops::RowFunction;

constexpr DType kF32 = DType::kFloat32;
const std::vector<DType> kFloats = {DType::kFloat16, DType::kBFloat16, kF32, DType::kFloat64};

Tensor numbers(IntList sizes, DType dtype, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  const Tensor tensor = Tensor::make(sizes, dtype);
  visit_dtype(dtype, [&]<typename T>() {
    for (int64_t i = 0; i < tensor.numel(); ++i) {
      tensor.data<T>()[i] = static_cast<T>(normal(random) * 3);
    }
  });
  return tensor;
}

// Rows that share a tile, fill one, are more than one, and lie in several dims.
std::vector<Shape> shapes_of_rows() {
  return {{64},      {1, 64},     {5, 16},    {100, 16}, {300, 33},      {40, 128},
          {7, 1000}, {3, 5, 100}, {9, 4, 64}, {3, 5000}, {20, 3, 2, 50}, {2, 16384}};
}

TEST(FusionRows, SoftmaxWrittenByHand) {
  for (const DType dtype : kFloats) {
    for (const Shape& sizes : shapes_of_rows()) {
      SCOPED_TRACE(::testing::Message() << info(dtype).name << " " << sizes.back());
      GroupOverTensors group(sizes);
      const uint16_t x = group.input(numbers(sizes, dtype));
      const uint16_t largest = group.row(RowFunction::kAmax, dtype, dtype, x);
      const uint16_t less = group.step(Pointwise::kSub, dtype, dtype, {x, largest});
      const uint16_t power = group.step(Pointwise::kExp, dtype, dtype, {less});
      const uint16_t sum = group.row(RowFunction::kSum, dtype, dtype, power);
      group.store(group.step(Pointwise::kDiv, dtype, dtype, {power, sum}),
                  Tensor::make(sizes, dtype));
      group.check();
    }
  }
}

TEST(FusionRows, NormWrittenByHand) {
  for (const DType dtype : kFloats) {
    for (const Shape& sizes : shapes_of_rows()) {
      SCOPED_TRACE(::testing::Message() << info(dtype).name << " " << sizes.back());
      const IntList row(&sizes.back(), 1);
      Shape one_a_row = sizes;
      one_a_row.back() = 1;
      GroupOverTensors group(sizes);
      const uint16_t x = group.input(numbers(sizes, dtype));
      const uint16_t weight = group.input(numbers(row, dtype, 2));
      const uint16_t bias = group.input(numbers(row, dtype, 3));
      const uint16_t epsilon = group.input(Tensor::wrapped_number(1e-5), true);
      const uint16_t mean = group.row(RowFunction::kMean, dtype, dtype, x);
      const uint16_t centered = group.step(Pointwise::kSub, dtype, dtype, {x, mean});
      const uint16_t square = group.step(Pointwise::kSquare, dtype, dtype, {centered});
      const uint16_t variance = group.row(RowFunction::kMean, dtype, dtype, square);
      const uint16_t safe = group.row_step(Pointwise::kAdd, dtype, {variance, epsilon});
      const uint16_t scale = group.row_step(Pointwise::kRsqrt, dtype, {safe});
      const uint16_t scaled = group.step(Pointwise::kMul, dtype, dtype, {centered, scale});
      const uint16_t weighted = group.step(Pointwise::kMul, dtype, dtype, {scaled, weight});
      group.store(group.step(Pointwise::kAdd, dtype, dtype, {weighted, bias}),
                  Tensor::make(sizes, dtype));
      group.store(mean, Tensor::make(one_a_row, dtype));
      group.store(scale, Tensor::make(one_a_row, dtype));
      group.check();
    }
  }
}

TEST(FusionRows, RowFunctionsAmongSteps) {
  for (const RowFunction function :
       {RowFunction::kSum, RowFunction::kMean, RowFunction::kAmax, RowFunction::kAmin,
        RowFunction::kSoftmax, RowFunction::kLogSoftmax}) {
    for (const DType dtype : kFloats) {
      for (const Shape& sizes : shapes_of_rows()) {
        GroupOverTensors group(sizes);
        const uint16_t x = group.input(numbers(sizes, dtype));
        const uint16_t factor = group.input(Tensor::wrapped_number(0.125), true);
        const uint16_t scaled = group.step(Pointwise::kMul, dtype, dtype, {x, factor});
        const uint16_t row = group.row(function, dtype, dtype, scaled, 1);
        // A function without a tile for one element a row.
        group.store(group.step(Pointwise::kMaximum, dtype, dtype, {row, scaled}),
                    Tensor::make(sizes, dtype));
        group.check();
      }
    }
  }
}

TEST(FusionRows, ANumberMeetsRowsAndElements) {
  for (const Shape& sizes : shapes_of_rows()) {
    GroupOverTensors group(sizes);
    const uint16_t x = group.input(numbers(sizes, DType::kInt32));
    const uint16_t number = group.input(Tensor::wrapped_number(int64_t{2}), true);
    const uint16_t largest = group.row(RowFunction::kAmax, DType::kInt32, DType::kInt32, x);
    // There is no tile for a single element.
    const uint16_t row = group.row_step(Pointwise::kMaximum, DType::kInt32, {largest, number});
    const uint16_t each =
        group.step(Pointwise::kMinimum, DType::kInt32, DType::kInt32, {x, number});
    group.store(group.step(Pointwise::kAdd, DType::kInt32, DType::kInt32, {row, each}),
                Tensor::make(sizes, DType::kInt32));
    group.check();
  }
}

// Random steps and row functions on random inputs.
GroupOverTensors random_group(uint64_t seed) {
  RandomLayouts random(seed);
  const Shape sizes = random.one_of(shapes_of_rows());
  const DType dtype = random.one_of(kFloats);
  Shape one_a_row = sizes;
  one_a_row.back() = 1;
  GroupOverTensors group(sizes);
  std::vector<bool> is_row;
  std::vector<bool> is_number;
  const auto add = [&](bool row, bool number) {
    is_row.push_back(row);
    is_number.push_back(number);
  };
  for (int64_t i = 1 + random.below(4); i > 0; --i) {
    const int64_t kind = random.below(5);
    if (kind == 0) {
      group.input(numbers({}, dtype, seed), true);
    } else {
      group.input(kind == 1 ? random.laid_out(one_a_row, dtype) : random.input(sizes, dtype));
    }
    const Tensor& input = group.inputs.back();
    const bool is_single = kind == 0 || input.numel() == 1;
    add(!is_single && input.sizes().back() == 1, is_single);
  }
  const std::vector<Pointwise> pointwise = {Pointwise::kAdd,     Pointwise::kMul, Pointwise::kSub,
                                            Pointwise::kMaximum, Pointwise::kDiv, Pointwise::kTanh,
                                            Pointwise::kSquare,  Pointwise::kRelu};
  const std::vector<RowFunction> rows = {RowFunction::kSum,  RowFunction::kMean,
                                         RowFunction::kAmax, RowFunction::kAmin,
                                         RowFunction::kVar,  RowFunction::kSoftmax};
  for (int64_t i = 2 + random.below(10); i > 0; --i) {
    const auto any = [&] {
      return static_cast<uint16_t>(random.below(static_cast<int64_t>(is_row.size())));
    };
    uint16_t value = any();
    if (random.below(3) == 0 && !is_row[value] && !is_number[value]) {
      const RowFunction function = random.one_of(rows);
      value = group.row(function, dtype, dtype, value);
      add(!ops::gives_row(function), false);
    } else {
      const Pointwise function = random.one_of(pointwise);
      std::vector<uint16_t> operands = {value};
      if (info(function).arity == 2) operands.push_back(any());
      bool all_narrow = true;
      bool any_row = false;
      for (const uint16_t operand : operands) {
        all_narrow &= is_row[operand] || is_number[operand];
        any_row |= is_row[operand];
      }
      value = group.step(function, dtype, dtype, operands);
      group.group.steps.back().is_row = all_narrow && any_row;
      add(all_narrow && any_row, false);
    }
    if (i == 1 || random.below(3) == 0) {
      group.store(value, random.laid_out(is_row.back() ? one_a_row : sizes, dtype));
    }
  }
  return group;
}

TEST(FusionRows, ARandomGroupIsWhatSingleOpsGive) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    random_group(seed).check();
    if (HasFailure()) return;
  }
}

TEST(FusionRows, IntegersAreSummedWide) {
  for (const DType dtype : {DType::kBool, DType::kUInt8, DType::kInt32, DType::kInt64}) {
    const Shape sizes = {30, 200};
    std::mt19937_64 random(1);
    const Tensor x = Tensor::make(sizes, dtype);
    fill_random(x, random);
    GroupOverTensors group(sizes);
    const uint16_t value = group.input(x);
    const uint16_t sum = group.row(RowFunction::kSum, dtype, DType::kInt64, value);
    const uint16_t largest = group.row(RowFunction::kAmax, dtype, dtype, value);
    const uint16_t is_largest = group.step(Pointwise::kEq, dtype, DType::kBool, {value, largest});
    const uint16_t count = group.row(RowFunction::kSum, DType::kBool, DType::kInt64, is_largest);
    group.store(group.row_step(Pointwise::kMul, DType::kInt64, {sum, count}),
                Tensor::make({30, 1}, DType::kInt64));
    group.store(is_largest, Tensor::make(sizes, DType::kBool));
    group.check();
  }
}

TEST(FusionRows, AnyLayout) {
  const Shape sizes = {12, 7, 40};
  const Tensor plain = numbers(sizes, kF32);
  const Tensor turned = numbers({40, 7, 12}, kF32).alias(sizes, {1, 12, 84}, 0);
  const Tensor gaps = numbers({12, 7, 80}, kF32).alias(sizes, {560, 80, 2}, 0);
  const Tensor one_a_row = numbers({12, 7, 2}, kF32).alias({12, 7, 1}, {14, 2, 1}, 0);
  const Tensor column = numbers({7, 1}, kF32);
  for (const Tensor& x : {plain, turned, gaps}) {
    for (const Tensor& narrow : {one_a_row, column}) {
      for (const bool is_turned : {false, true}) {
        Tensor out = Tensor::make(sizes, kF32);
        Tensor sums = Tensor::make({12, 7, 1}, kF32);
        if (is_turned) {
          out = Tensor::make({40, 7, 12}, kF32).alias(sizes, {1, 12, 84}, 0);
          sums = Tensor::make({7, 12}, kF32).alias({12, 7, 1}, {1, 12, 1}, 0);
        }
        GroupOverTensors group(sizes);
        const uint16_t value = group.input(x);
        const uint16_t row = group.input(narrow);
        const uint16_t root = group.row_step(Pointwise::kSigmoid, kF32, {row});
        const uint16_t product = group.step(Pointwise::kMul, kF32, kF32, {value, root});
        const uint16_t sum = group.row(RowFunction::kSum, kF32, kF32, product);
        const uint16_t both = group.row_step(Pointwise::kAdd, kF32, {sum, row});
        group.store(both, sums);
        group.store(group.step(Pointwise::kSub, kF32, kF32, {product, both}), out);
        group.check();
      }
    }
  }
}

TEST(FusionRows, AStoreMayBeTheMemoryOfAnInput) {
  for (const Shape& sizes : shapes_of_rows()) {
    const Tensor x = numbers(sizes, kF32);
    GroupOverTensors group(sizes);
    const uint16_t value = group.input(x);
    const uint16_t mean = group.row(RowFunction::kMean, kF32, kF32, value);
    group.store(group.step(Pointwise::kSub, kF32, kF32, {value, mean}), x);
    group.check();
  }
}

// The mean squared difference, and more of the kind, over rows of any length.
GroupOverTensors distances(const Tensor& x, const Tensor& y, DType dtype) {
  const Shape sizes = x.sizes();
  Shape one_a_row = sizes;
  one_a_row.back() = 1;
  GroupOverTensors group(sizes);
  const uint16_t a = group.input(x);
  const uint16_t b = group.input(y);
  const uint16_t offset = group.input(numbers(one_a_row, dtype, 3));
  const uint16_t positive = group.row_step(Pointwise::kAbs, dtype, {offset});
  const uint16_t less = group.step(Pointwise::kSub, dtype, dtype, {a, b});
  const uint16_t moved = group.step(Pointwise::kAdd, dtype, dtype, {less, positive});
  const uint16_t square = group.step(Pointwise::kSquare, dtype, dtype, {moved});
  const uint16_t mean = group.row(RowFunction::kMean, dtype, dtype, square);
  const uint16_t largest = group.row(RowFunction::kAmax, dtype, dtype, less);
  const uint16_t variance = group.row(RowFunction::kVar, dtype, dtype, moved, 1);
  const uint16_t deviation = group.row(RowFunction::kStd, dtype, dtype, moved);
  const uint16_t root = group.row_step(Pointwise::kSqrt, dtype, {mean});
  group.store(group.row_step(Pointwise::kDiv, dtype, {root, positive}),
              Tensor::make(one_a_row, dtype));
  group.store(variance, Tensor::make(one_a_row, dtype));
  group.store(deviation, Tensor::make(one_a_row, dtype));
  group.store(largest, Tensor::make(one_a_row, dtype));
  group.store(less, Tensor::make(sizes, dtype));
  return group;
}

TEST(FusionRows, TrailingReductionsTakeRowsOfAnyLength) {
  for (const DType dtype : kFloats) {
    for (const Shape& sizes : {Shape{100000}, Shape{3, 20001}, Shape{2, 2, 40000}}) {
      const GroupOverTensors group =
          distances(numbers(sizes, dtype), numbers(sizes, dtype, 2), dtype);
      const std::vector<Tensor> expected = group.values();
      group.run();
      const double precision = dtype == DType::kFloat16    ? 0x1p-9
                               : dtype == DType::kBFloat16 ? 0x1p-6
                                                           : 1e-6;
      for (const size_t store : {0, 1, 2}) {
        const Tensor& exact = expected[group.group.stores[store].value];
        visit_dtype(dtype, [&]<typename T>() {
          for (int64_t i = 0; i < exact.numel(); ++i) {
            const double wanted = static_cast<double>(exact.data<T>()[i]);
            EXPECT_NEAR(static_cast<double>(group.targets[store].data<T>()[i]), wanted,
                        precision * std::fabs(wanted));
          }
        });
      }
      for (const size_t store : {3, 4}) {
        expect_same(group.targets[store], expected[group.group.stores[store].value]);
      }
    }
  }
}

TEST(FusionRows, TheNumberOfThreadsChangesNothing) {
  const int before = num_threads();
  std::vector<float> found;
  for (const int threads : {1, 2, 3, 7}) {
    set_num_threads(threads);
    const Shape sizes = {1, 300000};
    const GroupOverTensors group = distances(numbers(sizes, kF32), numbers(sizes, kF32, 2), kF32);
    group.run();
    found.push_back(group.targets[0].data<float>()[0]);
  }
  set_num_threads(before);
  for (const float each : found) EXPECT_EQ(each, found[0]);
}

TEST(FusionRows, TheEngineSaysWhatItHas) {
  const ops::FusionEngine& engine = fusion_engine();
  EXPECT_TRUE(engine.can_fuse(RowFunction::kSum, DType::kInt32));
  EXPECT_TRUE(engine.can_fuse(RowFunction::kMean, DType::kBFloat16));
  EXPECT_FALSE(engine.can_fuse(RowFunction::kMean, DType::kInt32));
  EXPECT_FALSE(engine.can_fuse(RowFunction::kVar, DType::kInt64));
  EXPECT_FALSE(engine.can_fuse(RowFunction::kSoftmax, DType::kInt64));
  EXPECT_LT(engine.limits.min_row, engine.limits.max_row);
}

}  // namespace
}  // namespace mindtorch::cpu
