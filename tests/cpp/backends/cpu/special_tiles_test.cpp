// The tiles for single elements, short lines and 16-bit floats, against the plain tiles; the tile
// for the gradient of gelu.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <vector>

#include "mindtorch/ops/functions.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu {
namespace {

using ops::Pointwise;

constexpr Pointwise kFunctions[] = {Pointwise::kAdd,     Pointwise::kSub,     Pointwise::kMul,
                                    Pointwise::kDiv,     Pointwise::kMaximum, Pointwise::kEq,
                                    Pointwise::kNe,      Pointwise::kLt,      Pointwise::kLe,
                                    Pointwise::kMinimum, Pointwise::kGt,      Pointwise::kGe};

template <typename T>
std::vector<T> numbers(int64_t n) {
  std::vector<T> result;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t number = i * 7 % 11 - 3;
    if constexpr (std::is_arithmetic_v<T>) {
      result.push_back(static_cast<T>(number));
    } else {
      result.push_back(T(static_cast<float>(number)));
    }
  }
  return result;
}

// The tile of contiguous operands.
template <typename T>
TileFn plain_tile(const TargetTable& target, Pointwise function) {
  if constexpr (std::is_arithmetic_v<T>) {
    return target.table.tiles[static_cast<int>(function)][static_cast<int>(DTypeOf<T>::value)];
  } else {
    return target.halves.tiles[static_cast<int>(function)][std::is_same_v<T, BFloat16>];
  }
}

template <typename T>
void check_single_elements(const TargetTable& target, Pointwise function) {
  const auto dtype = static_cast<int>(DTypeOf<T>::value);
  const TileFn plain = target.table.tiles[static_cast<int>(function)][dtype];
  const ops::PointwiseParams params{};
  for (const int64_t n : {0, 1, 3, 7, 8, 16, 31, 64, 100}) {
    const std::vector<T> whole = numbers<T>(n);
    const std::vector<T> spread(static_cast<size_t>(n), T{2});
    const T two{2};
    for (int which = 0; which < 2; ++which) {
      const TileFn tile = target.scalar_operands.tiles[static_cast<int>(function)][dtype][which];
      if (tile == nullptr) continue;
      std::vector<char> expected(static_cast<size_t>(n) * sizeof(T) + 8, 0);
      std::vector<char> result(expected);
      const void* both[2] = {whole.data(), spread.data()};
      const void* single[2] = {whole.data(), &two};
      if (which == 0) {
        std::swap(both[0], both[1]);
        std::swap(single[0], single[1]);
      }
      plain(both, expected.data(), n, params);
      tile(single, result.data(), n, params);
      EXPECT_EQ(result, expected) << target.name << " " << info(function).name << " " << n;
    }
  }
}

template <typename T>
void check_lines(const TargetTable& target, Pointwise function) {
  const auto dtype = static_cast<int>(DTypeOf<T>::value);
  const TileFn plain = plain_tile<T>(target, function);
  constexpr int64_t kLines = 3;
  for (const int64_t n : {1, 3, 8, 16, 19, 33}) {
    const std::vector<T> a = numbers<T>(kLines * n);
    const std::vector<T> other = numbers<T>(kLines * n + 5);
    for (int single = -1; single < 2; ++single) {
      const LinesFn lines = target.lines.lines[static_cast<int>(function)][dtype][single + 1];
      if (lines == nullptr) continue;
      const auto line_bytes = n * static_cast<int64_t>(sizeof(T));
      std::vector<char> result(static_cast<size_t>(kLines * line_bytes) + 8, 0);
      std::vector<char> expected(result);
      const auto* left = reinterpret_cast<const char*>(a.data());
      const auto* right = reinterpret_cast<const char*>(other.data() + 5);
      lines({{left, right}, {line_bytes, line_bytes}, result.data(), line_bytes, kLines, n});
      for (int64_t line = 0; line < kLines; ++line) {
        T element;
        const char* at[2] = {left + line * line_bytes, right + line * line_bytes};
        std::vector<T> spread;
        if (single >= 0) {
          std::memcpy(&element, at[single], sizeof(T));
          spread.assign(static_cast<size_t>(n), element);
          at[single] = reinterpret_cast<const char*>(spread.data());
        }
        const void* inputs[2] = {at[0], at[1]};
        plain(inputs, expected.data() + line * line_bytes, n, {});
      }
      EXPECT_EQ(result, expected) << target.name << " " << info(function).name << " " << n;
    }
  }
}

template <typename T>
void check_all() {
  for (const TargetTable& target : all_targets()) {
    for (const Pointwise function : kFunctions) {
      check_single_elements<T>(target, function);
      check_lines<T>(target, function);
    }
  }
}

TEST(BroadcastTiles, EqualThePlainTiles) {
  check_all<float>();
  check_all<double>();
  check_all<int32_t>();
  check_all<int64_t>();
  check_all<uint8_t>();
}

// Widening, the float tile and one rounding must give the same bits.
template <typename T>
void check_halves(const TargetTable& target, Pointwise function) {
  const TileFn half = target.halves.tiles[static_cast<int>(function)][std::is_same_v<T, BFloat16>];
  const TileFn wide =
      target.table.tiles[static_cast<int>(function)][static_cast<int>(DType::kFloat32)];
  ASSERT_NE(half, nullptr);
  for (const int64_t n : {0, 1, 5, 8, 16, 17, 40}) {
    std::vector<T> a, b;
    std::vector<float> wide_a, wide_b;
    for (int64_t i = 0; i < n; ++i) {
      a.push_back(T(static_cast<float>(i * 7 % 13 - 6) * 0.37f));
      b.push_back(T(static_cast<float>(i * 5 % 11 - 4) * 1.9f));
      wide_a.push_back(a.back());
      wide_b.push_back(b.back());
    }
    std::vector<T> result(static_cast<size_t>(n));
    std::vector<float> expected(static_cast<size_t>(n));
    const void* halves[2] = {a.data(), b.data()};
    const void* floats[2] = {wide_a.data(), wide_b.data()};
    half(halves, result.data(), n, {});
    wide(floats, expected.data(), n, {});
    for (size_t i = 0; i < result.size(); ++i) {
      const T rounded(expected[i]);
      const bool is_nan = expected[i] != expected[i];
      EXPECT_TRUE(is_nan || result[i].bits == rounded.bits)
          << target.name << " " << info(function).name << " " << n;
    }
    for (int which = 0; which < 2; ++which) {
      const TileFn tile =
          target.halves.numbers[static_cast<int>(function)][std::is_same_v<T, BFloat16>][which];
      if (tile == nullptr) continue;
      const float number = 0.1f;
      const std::vector<float> spread(static_cast<size_t>(n), number);
      const void* single[2] = {a.data(), &number};
      const void* both[2] = {wide_a.data(), spread.data()};
      if (which == 0) {
        std::swap(single[0], single[1]);
        std::swap(both[0], both[1]);
      }
      tile(single, result.data(), n, {});
      wide(both, expected.data(), n, {});
      for (size_t i = 0; i < result.size(); ++i) {
        EXPECT_EQ(result[i].bits, T(expected[i]).bits) << target.name << " " << info(function).name;
      }
    }
  }
}

TEST(HalfTiles, EqualTheFloatTilesRoundedOnce) {
  for (const TargetTable& target : all_targets()) {
    for (const Pointwise function :
         {Pointwise::kAdd, Pointwise::kSub, Pointwise::kMul, Pointwise::kDiv, Pointwise::kNeg,
          Pointwise::kRelu, Pointwise::kAbs, Pointwise::kMaximum, Pointwise::kMinimum,
          Pointwise::kCopysign, Pointwise::kCeil, Pointwise::kFloor, Pointwise::kRound,
          Pointwise::kTrunc, Pointwise::kElu}) {
      check_halves<Half>(target, function);
      check_halves<BFloat16>(target, function);
    }
    for (const Pointwise function : kFunctions) {
      check_lines<Half>(target, function);
      check_lines<BFloat16>(target, function);
    }
  }
}

TEST(SpecialTiles, GradientOfGeluIsExactFarBelowZero) {
  std::vector<float> x;
  for (int i = -120; i <= -20; ++i) x.push_back(static_cast<float>(i) / 10);
  const std::vector<float> grad(x.size(), 0.75f);
  const Pointwise function = ops::function_info(Pointwise::kGelu).derivatives[0].function;
  for (const TargetTable& target : all_targets()) {
    SCOPED_TRACE(target.name);
    const auto dtype = static_cast<int>(DType::kFloat32);
    const TileFn tile = target.table.tiles[static_cast<int>(function)][dtype];
    ASSERT_NE(tile, nullptr);
    std::vector<float> result(x.size());
    const void* both[2] = {x.data(), grad.data()};
    tile(both, result.data(), static_cast<int64_t>(x.size()), {});
    for (size_t i = 0; i < x.size(); ++i) {
      const double at = x[i];
      const double density = std::exp(-at * at / 2) / std::sqrt(2 * std::numbers::pi);
      const double exact = 0.75 * (std::erfc(-at / std::numbers::sqrt2) / 2 + at * density);
      EXPECT_NEAR(result[i], exact, 6 * std::numeric_limits<float>::epsilon() * std::abs(exact))
          << at;
    }
  }
}

}  // namespace
}  // namespace mindtorch::cpu
