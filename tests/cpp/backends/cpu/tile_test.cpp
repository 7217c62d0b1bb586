#include "mindtorch/backends/cpu/tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "mindtorch/base/error.h"
#include "mindtorch/ops/evaluate.h"
#include "mindtorch/ops/spec.h"
#include "tests/cpp/backends/cpu/tile_parameters.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu {
namespace {

using ops::Pointwise;
using ops::PointwiseParams;
using Real = long double;

std::mt19937_64& random_bits() {
  static std::mt19937_64 engine(20240607);
  return engine;
}

// Edge values, ordinary values and (not `moderate`) arbitrary bit patterns, in a random order.
template <class T>
std::vector<T> sample(size_t count, bool moderate) {
  std::vector<T> values;
  auto& random = random_bits();
  if constexpr (std::is_floating_point_v<T>) {
    using L = std::numeric_limits<T>;
    const T edges[] = {
        0, -T{0}, 1,      -1,      T(0.5),        T(-0.5),        1.5,           2.5, -2.5,
        2, 3,     T(7.3), T(-7.3), L::infinity(), -L::infinity(), L::quiet_NaN()};
    const T far[] = {L::max(), L::lowest(), L::min(), L::denorm_min(), -L::denorm_min(), T(1e10),
                     T(88.5),  T(-88.5),    T(-103),  T(709.5),        T(-740),          T(131072)};
    std::normal_distribution<double> normal;
    while (values.size() < count) {
      const uint64_t bits = random();
      switch (bits % 8) {
        case 0:
          values.push_back(edges[bits / 8 % std::size(edges)]);
          break;
        case 1:
          if (!moderate) values.push_back(far[bits / 8 % std::size(far)]);
          break;
        case 2:
          if (!moderate) {
            T value;
            const uint64_t pattern = random();
            std::memcpy(&value, &pattern, sizeof(T));
            values.push_back(value);
          }
          break;
        case 3:
          values.push_back(static_cast<T>(normal(random) * 30));
          break;
        case 4:
          values.push_back(static_cast<T>(1 + normal(random) * 0.01));
          break;
        default:
          values.push_back(static_cast<T>(normal(random)));
          break;
      }
    }
  } else {
    using L = std::numeric_limits<T>;
    const T edges[] = {0,
                       1,
                       2,
                       3,
                       7,
                       8,
                       31,
                       32,
                       63,
                       64,
                       100,
                       L::max(),
                       L::min(),
                       T(L::max() - 1),
                       T(L::min() + 1),
                       T(-1),
                       T(-2),
                       T(-3),
                       T(-7)};
    while (values.size() < count) {
      const uint64_t bits = random();
      const bool edge = bits % 2 == 0;
      values.push_back(edge ? edges[bits / 2 % std::size(edges)] : static_cast<T>(random()));
    }
  }
  return values;
}

// bool is held as bytes of 0 and 1.
std::vector<uint8_t> sample_bools(size_t count) {
  std::vector<uint8_t> values(count);
  for (auto& value : values) value = static_cast<uint8_t>(random_bits()() % 2);
  return values;
}

template <class T>
double ulp_of(Real value, double floor) {
  using L = std::numeric_limits<T>;
  const Real size = std::max({std::fabs(value), static_cast<Real>(floor), Real{L::min()}});
  int exponent = 0;
  std::frexp(size, &exponent);
  return static_cast<double>(std::ldexp(1.0L, exponent - L::digits));
}

// Empty when `got` is right, otherwise what is wrong with it.
template <class T>
std::string compare(T got, Real want, double tolerance, double floor) {
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) == std::isnan(got) ? "" : "NaN on one side";
  }
  using L = std::numeric_limits<T>;
  const double ulp = ulp_of<T>(want, floor);
  const bool overflows = std::fabs(want) > Real{L::max()};
  if (std::isinf(want) || std::isinf(got) || overflows) {
    if (std::signbit(want) != std::signbit(got)) return "wrong sign";
    // One unit either side of the largest number, both are right.
    const bool near = std::fabs(std::fabs(want) / Real{L::max()} - 1) < 4 * Real{L::epsilon()};
    return near || (std::isinf(got) && (std::isinf(want) || overflows)) ? ""
                                                                        : "infinity on one side";
  }
  const double error = static_cast<double>(std::fabs(Real{got} - want)) / ulp;
  return error <= tolerance ? "" : "off by " + std::to_string(error) + " ulp";
}

// Whether two arrays hold the same bits; NaNs are all alike, since which operand's NaN comes
// through is up to the compiler.
template <class T>
bool same(const T* a, const T* b, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    }
    if (std::memcmp(a + i, b + i, sizeof(T)) != 0) return false;
  }
  return true;
}

class TileTest : public testing::TestWithParam<size_t> {
 protected:
  const TargetTable& target() const { return all_targets()[GetParam()]; }
};

// Runs a tile for every n up to kMost from unaligned pointers, then once for many elements: nothing
// beyond n may be written, and writing over an input must give the same bytes.
template <class In, class Out>
std::vector<Out> run(TileFn tile,
                     const std::vector<std::vector<In>>& operands,
                     const std::vector<uint8_t>& condition,
                     const PointwiseParams& params) {
  constexpr size_t kMost = 70;
  const size_t total = operands[0].size();
  const size_t arity = operands.size();
  std::vector<const void*> inputs(3, nullptr);
  for (size_t k = 0; k < arity; ++k) inputs[k] = operands[k].data();
  if (!condition.empty()) inputs[0] = condition.data();

  std::vector<Out> whole(total);
  tile(inputs.data(), whole.data(), static_cast<int64_t>(total), params);

  Out guard;
  std::memset(&guard, 0x5a, sizeof(guard));
  for (size_t n = 0; n <= kMost; ++n) {
    const size_t offset = 1 + n % 3;
    std::vector<std::vector<In>> shifted(arity, std::vector<In>(offset + n));
    std::vector<uint8_t> shifted_condition(offset + n);
    for (size_t k = 0; k < arity; ++k) {
      std::copy_n(operands[k].begin(), n, shifted[k].begin() + static_cast<ptrdiff_t>(offset));
      inputs[k] = shifted[k].data() + offset;
    }
    if (!condition.empty()) {
      std::copy_n(condition.begin(), n, shifted_condition.begin() + static_cast<ptrdiff_t>(offset));
      inputs[0] = shifted_condition.data() + offset;
    }
    std::vector<Out> out(offset + n + 64, guard);
    tile(inputs.data(), out.data() + offset, static_cast<int64_t>(n), params);
    EXPECT_TRUE(same(out.data() + offset, whole.data(), n)) << "n = " << n;
    for (size_t i = 0; i < out.size(); ++i) {
      if (i >= offset && i < offset + n) continue;
      EXPECT_EQ(std::memcmp(&out[i], &guard, sizeof(guard)), 0)
          << "n = " << n << ", wrote at " << i;
    }
    if constexpr (sizeof(In) == sizeof(Out)) {
      for (size_t k = condition.empty() ? 0 : 1; k < arity; ++k) {
        std::vector<In> kept = shifted[k];
        tile(inputs.data(), shifted[k].data() + offset, static_cast<int64_t>(n), params);
        const auto* in_place = reinterpret_cast<const Out*>(shifted[k].data() + offset);
        EXPECT_TRUE(same(in_place, whole.data(), n))
            << "n = " << n << ", in place of operand " << k;
        std::copy(kept.begin(), kept.end(), shifted[k].begin());
      }
    }
  }
  return whole;
}

constexpr size_t kCount = 4099;

bool is_division(Pointwise function) {
  return function == Pointwise::kFloorDivide || function == Pointwise::kTruncDivide ||
         function == Pointwise::kRemainder || function == Pointwise::kFmod;
}

template <class T>
void check(const TargetTable& target,
           Pointwise function,
           const PointwiseParams& params,
           DType dtype) {
  const ops::FunctionInfo& info = ops::function_info(function);
  const ops::Tolerance& tolerance = info.tolerance;
  const double ulp = sizeof(T) == 4 ? tolerance.ulp32 : tolerance.ulp64;
  const double floor = sizeof(T) == 4 ? tolerance.floor32 : tolerance.floor64;
  SCOPED_TRACE(info.name + " " + std::string(name(dtype)) + " " + target.name);
  const TileFn tile = target.table.tiles[static_cast<int>(function)][static_cast<int>(dtype)];
  ASSERT_NE(tile, nullptr);

  std::vector<std::vector<T>> operands(info.arity);
  std::vector<uint8_t> condition;
  for (auto& operand : operands) {
    if (dtype == DType::kBool) {
      if constexpr (sizeof(T) == 1) operand = std::vector<T>(kCount);
      const auto bools = sample_bools(kCount);
      std::copy(bools.begin(), bools.end(), operand.begin());
    } else {
      operand = sample<T>(kCount, tolerance.moderate);
    }
  }
  if (function == Pointwise::kWhere) condition = sample_bools(kCount);
  if (is_division(function) && std::is_integral_v<T>) {
    for (auto& divisor : operands[1]) divisor = divisor == 0 ? T{1} : divisor;
  }

  const auto at = [&](size_t k, size_t i) {
    if (k >= operands.size()) return T{0};
    return k == 0 && !condition.empty() ? static_cast<T>(condition[i]) : operands[k][i];
  };
  const auto show = [&](size_t i) {
    return "element " + std::to_string(i) + ", operands " + std::to_string(at(0, i)) + " " +
           std::to_string(at(1, i)) + " " + std::to_string(at(2, i));
  };
  // What the function's expression gives.
  const auto evaluate = [&](T a, T b, T c) {
    if constexpr (std::is_floating_point_v<T>) {
      const Real exact[] = {a, b, c};
      PointwiseParams rounded = params;
      for (double& param : rounded.f) param = static_cast<T>(param);
      return ops::evaluate<Real>(function, exact, rounded);
    } else {
      const int64_t exact[] = {a, b, c};
      return ops::evaluate_integer(function, dtype, exact, params);
    }
  };
  int failures = 0;
  if (ops::gives_bool(function)) {
    const auto got = run<T, uint8_t>(tile, operands, condition, params);
    for (size_t i = 0; i < kCount && failures < 5; ++i) {
      const bool want = evaluate(at(0, i), at(1, i), at(2, i)) != 0;
      if (got[i] == (want ? 1 : 0)) continue;
      ++failures;
      ADD_FAILURE() << show(i) << ": got " << int{got[i]};
    }
    return;
  }
  const auto got = run<T, T>(tile, operands, condition, params);
  for (size_t i = 0; i < kCount && failures < 5; ++i) {
    std::string wrong;
    const auto want = evaluate(at(0, i), at(1, i), at(2, i));
    if constexpr (std::is_floating_point_v<T>) {
      wrong = compare(got[i], want, ulp, floor);
      // Some functions round between their steps, as torch's do.
      const T operands_in_t[] = {at(0, i), at(1, i), at(2, i)};
      const T stepwise = ops::evaluate<T>(function, operands_in_t, params);
      if (compare(got[i], Real{stepwise}, tolerance.ulp32, floor).empty()) wrong.clear();
    } else if (got[i] != static_cast<T>(want)) {
      wrong = "wrong";
    }
    if (!wrong.empty()) wrong += ", want " + std::to_string(want);
    if (wrong.empty()) continue;
    ++failures;
    ADD_FAILURE() << show(i) << ": got " << std::to_string(got[i]) << ", " << wrong;
  }
}

// Functions of 16-bit floats that float32 would change, or that are less work without.
bool is_of_halves(Pointwise function) {
  return function == Pointwise::kNextafter || function == Pointwise::kCube ||
         function == Pointwise::kInverseSquare || function == Pointwise::kPowScalar;
}

TEST_P(TileTest, EveryFunctionIsRightInEveryDtype) {
  for (int i = 0; i < ops::kPointwiseCount; ++i) {
    const auto function = static_cast<Pointwise>(i);
    const DTypeSet dtypes = ops::function_info(function).dtypes;
    for (const PointwiseParams& params : parameters_of(function)) {
      const bool is_whole = params.f[0] >= 0 && params.f[0] == std::floor(params.f[0]);
      const bool is_finite = std::isfinite(params.f[0]) && std::isfinite(params.f[1]);
      if (is_finite && (is_whole || function != Pointwise::kPowScalar)) {
        if (contains(dtypes, DType::kBool)) {
          check<uint8_t>(target(), function, params, DType::kBool);
        }
        if (contains(dtypes, DType::kInt32)) {
          check<uint8_t>(target(), function, params, DType::kUInt8);
          check<int8_t>(target(), function, params, DType::kInt8);
          check<int16_t>(target(), function, params, DType::kInt16);
          check<int32_t>(target(), function, params, DType::kInt32);
          check<int64_t>(target(), function, params, DType::kInt64);
        }
      }
      if (contains(dtypes, DType::kFloat32)) {
        check<float>(target(), function, params, DType::kFloat32);
        check<double>(target(), function, params, DType::kFloat64);
      }
    }
  }
}

TEST_P(TileTest, NoTileWhereTorchHasNone) {
  for (int i = 0; i < ops::kPointwiseCount; ++i) {
    const auto function = static_cast<Pointwise>(i);
    const ops::FunctionInfo& info = ops::function_info(function);
    for (int k = 0; k < kCommonDTypeCount; ++k) {
      const auto dtype = static_cast<DType>(k);
      const bool expected =
          contains(info.dtypes, dtype) && (!ops::is_half(dtype) || is_of_halves(function));
      EXPECT_EQ(target().table.tiles[i][k] != nullptr, expected) << info.name << " " << name(dtype);
    }
  }
}

TEST_P(TileTest, IntegerDivisionByZeroThrowsAndWritesNothing) {
  const std::vector<int32_t> a(9, 7);
  std::vector<int32_t> b(9, 2);
  b[8] = 0;
  std::vector<int32_t> out(9, 42);
  const void* inputs[] = {a.data(), b.data()};
  for (Pointwise function : {Pointwise::kFloorDivide, Pointwise::kTruncDivide,
                             Pointwise::kRemainder, Pointwise::kFmod}) {
    const TileFn tile = target().table.tiles[static_cast<int>(function)][4];
    try {
      tile(inputs, out.data(), 9, {});
      ADD_FAILURE() << "no exception";
    } catch (const RuntimeError& error) {
      EXPECT_STREQ(error.what(), "ZeroDivisionError");
    }
    EXPECT_EQ(out, std::vector<int32_t>(9, 42));
  }
}

TEST_P(TileTest, OddFunctionsKeepTheSignOfZero) {
  using P = Pointwise;
  for (Pointwise function : {P::kCeil, P::kFloor, P::kRound, P::kTrunc, P::kSqrt, P::kExpm1,
                             P::kLog1p, P::kErf, P::kErfinv, P::kSin, P::kTan, P::kAsin, P::kAtan,
                             P::kSinh, P::kTanh, P::kAsinh, P::kAtanh, P::kDeg2rad, P::kSilu}) {
    const float in[2] = {-0.0f, 0.0f};
    float out[2] = {1, 1};
    const void* inputs[] = {in};
    target().table.tiles[static_cast<int>(function)][static_cast<int>(DType::kFloat32)](inputs, out,
                                                                                        2, {});
    EXPECT_TRUE(out[0] == 0 && std::signbit(out[0])) << ops::info(function).name;
    EXPECT_TRUE(out[1] == 0 && !std::signbit(out[1])) << ops::info(function).name;
  }
}

// Every neighbour of every 16-bit float, in both directions.
template <class T>
void check_neighbours(const TargetTable& target, float largest) {
  const TileFn tile =
      target.table
          .tiles[static_cast<int>(Pointwise::kNextafter)][static_cast<int>(DTypeOf<T>::value)];
  std::vector<T> rising;  // all finite numbers, -0 left out
  for (int bits = 0xffff; bits > 0x8000; --bits) {
    const T value = T::from_bits(static_cast<uint16_t>(bits));
    if (std::fabs(static_cast<float>(value)) <= largest) rising.push_back(value);
  }
  for (int bits = 0; bits < 0x8000; ++bits) {
    const T value = T::from_bits(static_cast<uint16_t>(bits));
    if (static_cast<float>(value) <= largest) rising.push_back(value);
  }
  const size_t n = rising.size();
  std::vector<T> up(n, T(INFINITY)), down(n, T(-INFINITY)), above(n), below(n);
  const void* upward[] = {rising.data(), up.data()};
  const void* downward[] = {rising.data(), down.data()};
  tile(upward, above.data(), static_cast<int64_t>(n), {});
  tile(downward, below.data(), static_cast<int64_t>(n), {});
  for (size_t i = 0; i + 1 < n; ++i) {
    EXPECT_EQ(static_cast<float>(above[i]), static_cast<float>(rising[i + 1]));
    EXPECT_EQ(static_cast<float>(below[i + 1]), static_cast<float>(rising[i]));
  }
}

TEST_P(TileTest, SixteenBitFloatsHaveTheirOwnNeighbours) {
  check_neighbours<Half>(target(), 65504.0f);
  check_neighbours<BFloat16>(target(), 0x1.fep127f);
}

// Products of all 16-bit floats. Those of bfloat16 are rounded one by one, as torch's are.
template <class T>
void check_products(const TargetTable& target) {
  constexpr auto kDType = static_cast<int>(DTypeOf<T>::value);
  std::vector<T> all, cubes(0x10000), inverses(0x10000);
  for (int bits = 0; bits < 0x10000; ++bits) {
    all.push_back(T::from_bits(static_cast<uint16_t>(bits)));
  }
  const void* inputs[] = {all.data()};
  for (const int64_t n : {int64_t{0x10000}, int64_t{0xfff1}}) {
    target.table.tiles[static_cast<int>(Pointwise::kCube)][kDType](inputs, cubes.data(), n, {});
    target.table.tiles[static_cast<int>(Pointwise::kInverseSquare)][kDType](inputs, inverses.data(),
                                                                            n, {});
  }
  const auto same = [](T a, float b) {
    return std::isnan(b) ? std::isnan(static_cast<float>(a)) : a.bits == T(b).bits;
  };
  for (size_t i = 0; i < all.size(); ++i) {
    const float x = all[i];
    float square = x * x;
    if (std::is_same_v<T, BFloat16>) square = BFloat16(square);
    ASSERT_TRUE(same(cubes[i], square * x)) << x;
    ASSERT_TRUE(same(inverses[i], 1 / square)) << x;
  }
}

TEST_P(TileTest, ProductsOfSixteenBitFloats) {
  check_products<Half>(target());
  check_products<BFloat16>(target());
}

TEST_P(TileTest, GatherAndScatterMoveEveryElementSize) {
  for (int64_t size : {1, 2, 4, 8}) {
    const int index = size == 1 ? 0 : (size == 2 ? 1 : (size == 4 ? 2 : 3));
    for (int64_t stride : {int64_t{0}, size, 2 * size, 3 * size + 1, -size, -5 * size}) {
      for (int64_t n = 0; n <= 70; ++n) {
        std::vector<uint8_t> field(8192);
        for (size_t i = 0; i < field.size(); ++i) field[i] = static_cast<uint8_t>(i * 7 + i / 256);
        const uint8_t* middle = field.data() + 4096;
        std::vector<uint8_t> got(static_cast<size_t>(n * size) + 1, 0xee);
        target().table.gathers[index](middle, stride, got.data(), n);
        for (int64_t i = 0; i < n; ++i) {
          EXPECT_EQ(
              std::memcmp(got.data() + i * size, middle + i * stride, static_cast<size_t>(size)),
              0);
        }
        EXPECT_EQ(got.back(), 0xee);
        if (stride == 0) continue;
        std::vector<uint8_t> copy(8192, 0xdd);
        target().table.scatters[index](got.data(), copy.data() + 4096, stride, n);
        int64_t untouched = 0;
        for (const uint8_t byte : copy) untouched += byte == 0xdd ? 1 : 0;
        EXPECT_GE(untouched, 8192 - n * size);
        for (int64_t i = 0; i < n; ++i) {
          EXPECT_EQ(std::memcmp(copy.data() + 4096 + i * stride, got.data() + i * size,
                                static_cast<size_t>(size)),
                    0);
        }
      }
    }
  }
}

TEST(TileLookup, FindsTheTilesOfTheBestTarget) {
  const TileTable& best = all_targets().back().table;
  EXPECT_EQ(find_tile(Pointwise::kExp, DType::kFloat32),
            best.tiles[static_cast<int>(Pointwise::kExp)][static_cast<int>(DType::kFloat32)]);
  EXPECT_EQ(find_tile(Pointwise::kExp, DType::kInt32), nullptr);
  EXPECT_EQ(find_gather(8), best.gathers[3]);
  EXPECT_EQ(find_scatter(2), best.scatters[1]);
}

INSTANTIATE_TEST_SUITE_P(Targets,
                         TileTest,
                         testing::Range(size_t{0}, all_targets().size()),
                         [](const auto& info) { return all_targets()[info.param].name; });

}  // namespace
}  // namespace mindtorch::cpu
