#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "mindtorch/backends/cpu/tile.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu {
namespace {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The machine's conversion to a signed integer: out of range and NaN give the smallest one.
template <class I, class F>
I machine_convert(F value) {
  const F limit = std::ldexp(F{1}, sizeof(I) * 8 - 1);
  return value >= -limit && value < limit ? static_cast<I>(value) : std::numeric_limits<I>::min();
}

// What torch gives on x86.
template <class From, class To>
To convert(From from) {
  if constexpr (kIsHalf<From>) {
    return convert<float, To>(from);
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != From{0};
  } else if constexpr (kIsHalf<To>) {
    return To(static_cast<float>(from));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint8_t>) {
      return static_cast<To>(machine_convert<int64_t>(from));
    } else {
      return static_cast<To>(machine_convert<int32_t>(from));
    }
  } else {
    return static_cast<To>(from);
  }
}

template <class T>
std::vector<T> sample(size_t count) {
  std::mt19937_64 random(7);
  const double edges[] = {0,
                          -0.0,
                          1,
                          -1,
                          0.5,
                          -0.5,
                          1.5,
                          -1.5,
                          127,
                          128,
                          -128,
                          -129,
                          255,
                          256,
                          300.7,
                          -300.7,
                          32767,
                          32768,
                          65504,
                          65519,
                          65520,
                          65536,
                          -65536,
                          3e9,
                          -3e9,
                          2147483647,
                          2147483648,
                          -2147483648.0,
                          4294967301.0,
                          1e10,
                          9.2e18,
                          9.3e18,
                          1.8e19,
                          -9.3e18,
                          1e20,
                          1e38,
                          1e39,
                          1e300,
                          6e-8,
                          5.9e-8,
                          3e-8,
                          2.98e-8,
                          1e-40,
                          1e-320,
                          1.00390625,
                          1.01171875,
                          INFINITY,
                          -INFINITY,
                          NAN};
  std::normal_distribution<double> normal;
  std::vector<T> values;
  while (values.size() < count) {
    const uint64_t bits = random();
    if constexpr (std::is_integral_v<T>) {
      values.push_back(static_cast<T>(bits >> (bits % 64)));
    } else {
      const double value = bits % 3 == 0
                               ? edges[bits / 3 % std::size(edges)]
                               : normal(random) * std::exp2(static_cast<double>(bits % 70) - 20);
      values.push_back(
          static_cast<T>(static_cast<std::conditional_t<kIsHalf<T>, float, T>>(value)));
    }
  }
  return values;
}

template <class T>
bool equal(T a, T b) {
  if constexpr (kIsHalf<T>) {
    return equal<float>(a, b);
  } else {
    if (a != a && b != b) return true;
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  }
}

class CastTest : public testing::TestWithParam<size_t> {
 protected:
  const TargetTable& target() const { return all_targets()[GetParam()]; }
};

template <class From, class To>
void check(const TargetTable& target) {
  SCOPED_TRACE(std::string(name(DTypeOf<From>::value)) + " to " +
               std::string(name(DTypeOf<To>::value)));
  const CastFn cast =
      target.table
          .casts[static_cast<int>(DTypeOf<From>::value)][static_cast<int>(DTypeOf<To>::value)];
  ASSERT_NE(cast, nullptr);
  const auto in = [] {
    if constexpr (std::is_same_v<From, bool>) {
      const auto bytes = sample<uint8_t>(3000);
      std::vector<uint8_t> values;
      for (const uint8_t byte : bytes) values.push_back(byte & 1);
      return values;
    } else {
      return sample<From>(3000);
    }
  }();
  using Stored = std::conditional_t<std::is_same_v<To, bool>, uint8_t, To>;
  const auto guard = static_cast<Stored>(77.0f);
  int failures = 0;
  for (int64_t n = 0; n <= 71 && failures < 5; ++n) {
    const size_t count = n == 71 ? 2990 : static_cast<size_t>(n);
    const size_t offset = static_cast<size_t>(n % 3);
    std::vector<Stored> out(count + offset + 40, guard);
    cast(in.data() + offset, out.data() + offset, static_cast<int64_t>(count));
    for (size_t i = 0; i < count && failures < 5; ++i) {
      const From from = static_cast<From>(in[offset + i]);
      const auto want = static_cast<Stored>(convert<From, To>(from));
      if (equal<Stored>(out[offset + i], want)) continue;
      ++failures;
      ADD_FAILURE() << "n = " << count << ", element " << i << ": from "
                    << +static_cast<double>(from) << " got "
                    << +static_cast<double>(out[offset + i]) << ", want "
                    << +static_cast<double>(want);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      if (i >= offset && i < offset + count) continue;
      EXPECT_EQ(std::memcmp(&out[i], &guard, sizeof(guard)), 0)
          << "n = " << n << ", wrote at " << i;
    }
  }
}

template <class From>
void check_from(const TargetTable& target) {
  check<From, bool>(target);
  check<From, uint8_t>(target);
  check<From, int8_t>(target);
  check<From, int16_t>(target);
  check<From, int32_t>(target);
  check<From, int64_t>(target);
  check<From, Half>(target);
  check<From, BFloat16>(target);
  check<From, float>(target);
  check<From, double>(target);
}

TEST_P(CastTest, EveryPairConvertsAsTorchDoes) {
  check_from<bool>(target());
  check_from<uint8_t>(target());
  check_from<int8_t>(target());
  check_from<int16_t>(target());
  check_from<int32_t>(target());
  check_from<int64_t>(target());
  check_from<Half>(target());
  check_from<BFloat16>(target());
  check_from<float>(target());
  check_from<double>(target());
}

// All 16-bit patterns widen exactly, come back as they were, and so do the numbers half way between
// two neighbours: to the even one.
template <class T>
void check_all_patterns(const TargetTable& target) {
  const int half = static_cast<int>(DTypeOf<T>::value);
  const int single = static_cast<int>(DType::kFloat32);
  std::vector<T> all;
  for (uint32_t bits = 0; bits < 0x10000; ++bits)
    all.push_back(T::from_bits(static_cast<uint16_t>(bits)));
  std::vector<float> wide(all.size());
  target.table.casts[half][single](all.data(), wide.data(), static_cast<int64_t>(all.size()));
  std::vector<float> between(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(equal<float>(wide[i], static_cast<float>(all[i]))) << i;
    // A little more or less than half way, or exactly half way, to the next pattern.
    const float next = static_cast<float>(all[i ^ 1]);
    const float middle = (wide[i] + next) / 2;
    between[i] = i % 3 == 0 ? middle : std::nextafter(middle, i % 3 == 1 ? wide[i] : next);
  }
  std::vector<T> back(all.size());
  for (const auto* source : {&wide, &between}) {
    target.table.casts[single][half](source->data(), back.data(), static_cast<int64_t>(all.size()));
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(equal<T>(back[i], T((*source)[i]))) << i << " " << (*source)[i];
    }
  }
}

TEST_P(CastTest, SixteenBitFloatsRoundToNearestEven) {
  check_all_patterns<Half>(target());
  check_all_patterns<BFloat16>(target());
}

INSTANTIATE_TEST_SUITE_P(Targets,
                         CastTest,
                         testing::Range(size_t{0}, all_targets().size()),
                         [](const auto& info) { return all_targets()[info.param].name; });

}  // namespace
}  // namespace mindtorch::cpu
