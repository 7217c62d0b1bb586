// Division of int64, which goes through float64 where a block of numbers fits it.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu {
namespace {

using ops::Pointwise;

int64_t expected(Pointwise function, int64_t a, int64_t b) {
  const int64_t rest = a % b;
  const bool below = rest != 0 && (rest < 0) != (b < 0);
  switch (function) {
    case Pointwise::kTruncDivide:
      return a / b;
    case Pointwise::kFmod:
      return rest;
    case Pointwise::kFloorDivide:
      return a / b - (below ? 1 : 0);
    default:
      return rest + (below ? b : 0);
  }
}

void expect_quotients(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  std::vector<int64_t> got(a.size());
  for (const TargetTable& target : all_targets()) {
    for (const Pointwise function : {Pointwise::kTruncDivide, Pointwise::kFmod,
                                     Pointwise::kFloorDivide, Pointwise::kRemainder}) {
      const void* const inputs[] = {a.data(), b.data()};
      target.table.tiles[static_cast<int>(function)][static_cast<int>(DType::kInt64)](
          inputs, got.data(), static_cast<int64_t>(a.size()), {});
      for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_EQ(got[i], expected(function, a[i], b[i]))
            << target.name << " " << ops::info(function).name << " " << a[i] << " " << b[i];
      }
    }
  }
}

// Numbers of up to `bits` bits, the dividends on, just below and just above multiples.
void fill(std::vector<int64_t>& a, std::vector<int64_t>& b, int bits, std::mt19937_64& random) {
  const int64_t largest = (int64_t{1} << bits) - 1;
  const auto number = [&] {
    const auto value = static_cast<int64_t>(random() >> (64 - bits) >> random() % bits);
    return random() % 2 == 0 ? value : -value;
  };
  for (size_t i = 0; i < a.size(); ++i) {
    b[i] = number();
    if (b[i] == 0) b[i] = i % 2 == 0 ? largest : -1;
    a[i] = number();
    a[i] = a[i] / b[i] * b[i] + static_cast<int64_t>(random() % 3) - 1;
    if (i % 16 == 0) a[i] = i % 32 == 0 ? largest : -largest;
    a[i] = std::min(std::max(a[i], -largest), largest);
  }
}

TEST(IntDivisionTile, NumbersThatFloat64Holds) {
  std::mt19937_64 random(3);
  std::vector<int64_t> a(100'000), b(a.size());
  for (const int bits : {5, 31, 52}) {
    fill(a, b, bits, random);
    expect_quotients(a, b);
  }
}

TEST(IntDivisionTile, LongerNumbersAmongThem) {
  std::mt19937_64 random(4);
  std::vector<int64_t> a(10'000), b(a.size());
  for (const int bits : {53, 62}) {
    fill(a, b, bits, random);
    expect_quotients(a, b);
  }
  fill(a, b, 20, random);
  for (size_t i = 100; i < a.size(); i += 1500) {
    a[i] = INT64_MIN + 1;
    b[i] = 3;
  }
  expect_quotients(a, b);
}

}  // namespace
}  // namespace mindtorch::cpu
