// Square roots are correctly rounded, however a tile comes to them.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <type_traits>
#include <vector>

#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu {
namespace {

// Tiles may treat the vectors of a group differently: with these starts, in elements of 4 bytes,
// every element comes at every place of groups of three vectors.
constexpr size_t kStarts[] = {0, 16, 32};

template <class T>
void expect_exact_roots(const std::vector<T>& values) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  std::vector<T> got(values.size());
  for (const TargetTable& target : all_targets()) {
    const TileFn tile =
        target.table
            .tiles[static_cast<int>(ops::Pointwise::kSqrt)][static_cast<int>(DTypeOf<T>::value)];
    for (size_t start : kStarts) {
      start = start * 4 / sizeof(T);
      const void* const inputs[] = {values.data() + start};
      tile(inputs, got.data() + start, static_cast<int64_t>(values.size() - start), {});
      for (size_t i = start; i < values.size(); ++i) {
        const T want = std::sqrt(values[i]);
        if (std::isnan(want) ? std::isnan(got[i])
                             : std::bit_cast<Bits>(want) == std::bit_cast<Bits>(got[i])) {
          continue;
        }
        FAIL() << target.name << ": sqrt(" << values[i] << ") = " << got[i] << ", want " << want;
      }
    }
  }
}

TEST(SqrtTile, EveryFloat32MantissaIsExact) {
  constexpr uint32_t kBlock = 1 << 20;
  std::vector<float> values(kBlock);
  // [1, 4) has every mantissa with exponents of both parities.
  for (uint32_t first = std::bit_cast<uint32_t>(1.0f); first < std::bit_cast<uint32_t>(4.0f);
       first += kBlock) {
    for (uint32_t i = 0; i < kBlock; ++i) values[i] = std::bit_cast<float>(first + i);
    expect_exact_roots(values);
  }
}

TEST(SqrtTile, EveryFloat32ExponentIsExact) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4099) {
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(bits)));
  }
  expect_exact_roots(values);
}

TEST(SqrtTile, Float64IsExact) {
  std::mt19937_64 random(7);
  std::vector<double> values;
  for (int i = 0; i < 1 << 19; ++i) {
    values.push_back(std::bit_cast<double>(random()));                                // any number
    values.push_back(std::bit_cast<double>(random() >> 12 | uint64_t{0x3ff} << 52));  // in [1, 2)
    // Squares, and those next to them: the remainder of the root is 0 or tiny.
    const auto root = static_cast<double>(random() >> 38);
    values.push_back(root * root);
    values.push_back(std::nextafter(root * root, INFINITY));
  }
  expect_exact_roots(values);
}

// One such number among others: the vectors around it are computed in the slow way.
TEST(SqrtTile, NumbersWithoutAnOrdinaryRoot) {
  const double odd_ones[] = {0.0, -0.0, 1e-310, -1.0, 1e-300, INFINITY, -INFINITY, NAN};
  for (const double odd : odd_ones) {
    for (size_t place = 0; place < 48; ++place) {
      std::vector<double> values(101, 2.0);
      values[place] = odd;
      expect_exact_roots(values);
      std::vector<float> single(101, 3.0f);
      single[place] = static_cast<float>(odd);
      expect_exact_roots(single);
      single[place] = 1e-40f;
      expect_exact_roots(single);
    }
  }
}

}  // namespace
}  // namespace mindtorch::cpu
