// Functions with a shorter way for vectors of moderate numbers only: the way is accurate, and a
// number gives the same whatever its neighbours are.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <random>
#include <stdexcept>
#include <vector>

#include "mindtorch/ops/evaluate.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu {
namespace {

using ops::Pointwise;

constexpr size_t kCount = 6000;

template <class T>
std::vector<T> run(TileFn tile, const std::vector<T>& values) {
  std::vector<T> result(values.size());
  const void* const inputs[] = {values.data()};
  tile(inputs, result.data(), static_cast<int64_t>(values.size()), {});
  return result;
}

// `far` is a number that makes its vector take the long way.
template <class T>
void expect_same_beside(TileFn tile, const std::vector<T>& values, T far) {
  const std::vector<T> alone = run(tile, values);
  std::vector<T> mixed = values;
  for (size_t i = 0; i < kCount; i += 2) mixed[i] = far;
  const std::vector<T> beside = run(tile, mixed);
  for (size_t i = 1; i < kCount; i += 2) {
    ASSERT_EQ(std::memcmp(&alone[i], &beside[i], sizeof(T)), 0) << "element " << i;
  }
}

template <class T>
void check(const TargetTable& target, Pointwise function, double limit, T far) {
  SCOPED_TRACE(target.name + " " + std::string(ops::info(function).name));
  const TileFn tile =
      target.table.tiles[static_cast<int>(function)][static_cast<int>(DTypeOf<T>::value)];
  std::mt19937_64 random(11);
  const bool positive = function == Pointwise::kLog2 || function == Pointwise::kLog10;
  std::uniform_real_distribution<double> uniform(positive ? 0 : -limit, limit);
  std::vector<T> values;
  for (size_t i = 0; i < kCount; ++i) values.push_back(static_cast<T>(uniform(random)));
  values[7] = 0;
  values[9] = positive ? T{1} : -T{0};
  const std::vector<T> got = run(tile, values);
  const ops::Tolerance& tolerance = ops::function_info(function).tolerance;
  const double most = sizeof(T) == 4 ? tolerance.ulp32 : tolerance.ulp64;
  for (size_t i = 0; i < kCount; ++i) {
    const long double exact[] = {values[i], 0, 0};
    const long double want = ops::evaluate<long double>(function, exact, {});
    if (want == 0 || std::isinf(want)) {
      ASSERT_TRUE(got[i] == want && std::signbit(got[i]) == std::signbit(want)) << values[i];
      continue;
    }
    int exponent = 0;
    std::frexp(want, &exponent);
    const long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
    ASSERT_LE(static_cast<double>(std::fabs(got[i] - want) / ulp), most) << values[i];
  }
  expect_same_beside(tile, values, far);
}

TEST(ModerateTiles, AreAccurateAndDoNotDependOnTheirNeighbours) {
  using P = Pointwise;
  for (const TargetTable& target : all_targets()) {
    for (const P function :
         {P::kSin, P::kCos, P::kTan, P::kErf, P::kErfc, P::kTanh, P::kSinh, P::kCosh, P::kAtan}) {
      check<float>(target, function, 1, 3.5f);
      check<double>(target, function, 1, 3.5);
    }
    check<float>(target, P::kErfinv, 0.985, 0.999f);
    check<double>(target, P::kErfinv, 0.98, 0.999);
    check<double>(target, P::kExp, 20, 705.0);
    check<double>(target, P::kExp2, 20, 1010.0);
    check<double>(target, P::kLog2, 3, 1e300);
    check<double>(target, P::kLog10, 3, 1e300);
  }
}

// Beside every multiple of pi / 16, where the reduction of the angle cancels, and in the middle.
TEST(ModerateTiles, AnglesNearMultiples) {
  std::vector<double> values;
  for (int64_t k = 1; values.size() + 3 <= kCount; k = k < 1000 ? k + 1 : k + k / 200) {
    const double multiple = static_cast<double>(k % 5000000) * (std::numbers::pi / 16);
    values.push_back(multiple);
    values.push_back(-std::nextafter(multiple, 0.0));
    values.push_back(multiple + std::numbers::pi / 32);
  }
  values.resize(kCount, 0.5);
  for (const TargetTable& target : all_targets()) {
    for (const Pointwise function : {Pointwise::kSin, Pointwise::kCos}) {
      SCOPED_TRACE(target.name + " " + std::string(ops::info(function).name));
      const TileFn tile =
          target.table.tiles[static_cast<int>(function)][static_cast<int>(DType::kFloat64)];
      const std::vector<double> got = run(tile, values);
      for (size_t i = 0; i < kCount; ++i) {
        const long double exact[] = {values[i], 0, 0};
        const long double want = ops::evaluate<long double>(function, exact, {});
        int exponent = 0;
        std::frexp(want, &exponent);
        const long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<double>::digits);
        ASSERT_LE(static_cast<double>(std::fabs(got[i] - want) / ulp), 0.9) << values[i];
      }
    }
  }
}

// Numbers up to 8 and down to -8, where large terms cancel around the zeros between the poles.
// Errors count against 0.1 where the result is smaller.
template <class T>
void check_lgamma(const TargetTable& target) {
  SCOPED_TRACE(target.name);
  const TileFn tile =
      target.table.tiles[static_cast<int>(Pointwise::kLgamma)][static_cast<int>(DTypeOf<T>::value)];
  std::mt19937_64 random(13);
  std::uniform_real_distribution<double> uniform(-8, 8);
  std::vector<T> values;
  for (size_t i = 0; i < kCount; ++i) values.push_back(static_cast<T>(uniform(random)));
  for (size_t i = 0; i < 64; ++i) {
    const T whole = static_cast<T>(i / 4) - 8;
    values[i] = i % 2 == 0 ? std::nextafter(whole, T{9}) : std::nextafter(whole, T{-9});
  }
  const std::vector<T> got = run(tile, values);
  const double most = sizeof(T) == 4 ? 0.51 : 5;
  for (size_t i = 0; i < kCount; ++i) {
    const long double exact[] = {values[i], 0, 0};
    const long double want = ops::evaluate<long double>(Pointwise::kLgamma, exact, {});
    int exponent = 0;
    std::frexp(std::max(std::fabs(want), 0.1L), &exponent);
    const long double ulp = std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits);
    ASSERT_LE(static_cast<double>(std::fabs(got[i] - want) / ulp), most) << values[i];
  }
  expect_same_beside(tile, values, T{-30.5});
  expect_same_beside(tile, values, T{0.75});
  const T infinity = std::numeric_limits<T>::infinity();
  const T least = std::numeric_limits<T>::denorm_min();
  const std::vector<T> edges = run<T>(
      tile, {T{0}, -T{0}, T{-1}, T{-2}, T{-7}, T{-8}, T{-9}, infinity, -infinity, T{1}, T{2}});
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(edges[i], infinity) << i;
  EXPECT_EQ(edges[9], T{0});
  EXPECT_EQ(edges[10], T{0});
  const T log_of_least = std::log(least);
  for (const T value : run<T>(tile, {least, -least})) EXPECT_NEAR(value, -log_of_least, 1e-4);
  EXPECT_TRUE(std::isnan(run<T>(tile, {std::numeric_limits<T>::quiet_NaN()})[0]));
}

TEST(ModerateTiles, LgammaOfBothSigns) {
  for (const TargetTable& target : all_targets()) {
    check_lgamma<float>(target);
    check_lgamma<double>(target);
  }
}

// Every 16-bit float of the middle, alone and beside others, against the function in float64.
template <class T>
void check_gelu(const TargetTable& target, double most) {
  const TileFn tile =
      target.halves.tiles[static_cast<int>(Pointwise::kGelu)][std::is_same_v<T, BFloat16>];
  for (const float sign : {1.0f, -1.0f}) {
    std::vector<T> values;
    for (int bits = 0x3000; values.size() < kCount; ++bits) {
      const T value = T::from_bits(static_cast<uint16_t>(bits));
      values.push_back(static_cast<float>(value) <= 2.5f ? T(sign * static_cast<float>(value))
                                                         : T(sign * 1.25f));
    }
    const std::vector<T> got = run(tile, values);
    for (size_t i = 0; i < kCount; ++i) {
      const double x = static_cast<float>(values[i]);
      const double want = x * 0.5 * std::erfc(-x * std::sqrt(0.5));
      ASSERT_NEAR(static_cast<float>(got[i]), want, std::fabs(want) * most) << x;
    }
    expect_same_beside(tile, values, T(3.0f));
  }
}

TEST(ModerateTiles, GeluOfSixteenBitFloats) {
  for (const TargetTable& target : all_targets()) {
    check_gelu<Half>(target, 0x1.1p-11);
    check_gelu<BFloat16>(target, 0x1.02p-8);
  }
}

}  // namespace
}  // namespace mindtorch::cpu
