#include "mindtorch/backends/cpu/indexed_lines.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <random>
#include <vector>

#include "mindtorch/base/small_vector.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

namespace mindtorch::cpu {
namespace {

constexpr Combine kAll[] = {Combine::kSet, Combine::kAdd, Combine::kMultiply, Combine::kMax,
                            Combine::kMin};

template <typename T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <typename T>
double number(T value) {
  if constexpr (kIsHalf<T>) {
    return static_cast<float>(value);
  } else {
    return static_cast<double>(value);
  }
}
template <typename T>
T element(double value) {
  if constexpr (kIsHalf<T>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return static_cast<T>(value);
  }
}

// Exact in float64 for the small whole numbers and halves used here.
double combine(Combine how, double a, double b) {
  switch (how) {
    case Combine::kSet:
      return b;
    case Combine::kAdd:
      return a + b;
    case Combine::kMultiply:
      return a * b;
    case Combine::kMax:
      return std::isnan(a) || a > b ? a : b;
    default:
      return std::isnan(a) || a < b ? a : b;
  }
}

template <typename T>
bool same(T a, T b) {
  const double x = number(a);
  const double y = number(b);
  return x == y || (std::isnan(x) && std::isnan(y));
}

std::vector<IndexedLine> lines() {
  std::vector<IndexedLine> found;
  for (const int64_t count : {0, 1, 3, 8, 17, 64, 100, 2500}) {
    found.push_back({count, 1, 0, 1, 1, 50});    // along a contiguous dim
    found.push_back({count, 1, 0, 1, 1, 4000});  // the same, thinly
    found.push_back({count, 3, 0, 2, 5, 20});    // along any other
    found.push_back({count, 40, 1, 1, 1, 9});    // across
    found.push_back({count, 1, 20, 0, 3, 9});    // one index for all
  }
  return found;
}

template <typename T>
using Elements = SmallVector<T, 8>;  // also of bools, which std::vector packs

template <typename T>
struct Memory {
  Elements<T> self, values;
  std::vector<int64_t> index;
};

template <typename T>
Memory<T> make_memory(const IndexedLine& line, unsigned seed) {
  std::mt19937 random(seed);
  Memory<T> memory;
  const auto size = [](int64_t n) { return static_cast<size_t>(n) + 1; };
  memory.self.resize(size(line.size * line.place_step + line.count * line.self_step));
  memory.values.resize(size(line.count * line.other_step));
  memory.index.resize(size(line.count * line.index_step));
  for (T& each : memory.self) each = element<T>(static_cast<double>(random() % 3));
  for (T& each : memory.values) each = element<T>(static_cast<double>(random() % 3));
  for (int64_t& each : memory.index) each = random() % static_cast<unsigned>(line.size);
  return memory;
}

template <typename T>
void check_gather(const IndexedLine& line) {
  Memory<T> memory = make_memory<T>(line, 1);
  Elements<T> expected = memory.values;
  for (int64_t i = 0; i < line.count; ++i) {
    const int64_t place = memory.index[static_cast<size_t>(i * line.index_step)];
    expected[static_cast<size_t>(i * line.other_step)] =
        memory.self[static_cast<size_t>(place * line.place_step + i * line.self_step)];
  }
  find_gather_line(sizeof(T))(line, memory.self.data(), memory.index.data(), memory.values.data());
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_TRUE(same(memory.values[i], expected[i]));
}

// `Self` differs from T where 16-bit floats fall on float32.
template <typename T, typename Self = T>
void check_scatter(const IndexedLine& line, Combine how, bool rounds_once = false) {
  const Memory<T> memory = make_memory<T>(line, 2);
  Elements<Self> self;
  for (const T each : memory.self) self.push_back(element<Self>(number(each)));
  std::vector<double> sums;
  for (const Self each : self) sums.push_back(number(each));
  for (int64_t i = 0; i < line.count; ++i) {
    const int64_t place = memory.index[static_cast<size_t>(i * line.index_step)];
    double& sum = sums[static_cast<size_t>(place * line.place_step + i * line.self_step)];
    sum = combine(how, sum, number(memory.values[static_cast<size_t>(i * line.other_step)]));
    if constexpr (std::is_integral_v<Self> && !std::is_same_v<Self, bool>) {
      sum = static_cast<double>(static_cast<Self>(static_cast<int64_t>(sum)));
    } else if (!rounds_once) {
      sum = number(element<Self>(sum));
    }
  }
  const ScatterLineFn scatter =
      find_scatter_line(how, DTypeOf<Self>::value, DTypeOf<T>::value, rounds_once);
  scatter(line, self.data(), memory.index.data(), memory.values.data());
  for (size_t i = 0; i < sums.size(); ++i) {
    ASSERT_TRUE(same(self[i], element<Self>(sums[i])))
        << number(self[i]) << " for " << sums[i] << ", " << static_cast<int>(how);
  }
}

TEST(IndexedLines, Gather) {
  on_every_target([] {
    for (const IndexedLine& line : lines()) {
      check_gather<uint8_t>(line);
      check_gather<int16_t>(line);
      check_gather<float>(line);
      check_gather<double>(line);
    }
  });
}

TEST(IndexedLines, Scatter) {
  on_every_target([] {
    for (const IndexedLine& line : lines()) {
      for (const Combine how : kAll) {
        for (const DType dtype :
             {DType::kBool, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kFloat16,
              DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
          // Products of so many would leave float64 as well.
          if (how == Combine::kMultiply && line.count > 100) continue;
          visit_dtype(dtype, [&]<typename T>() { check_scatter<T>(line, how); });
        }
        if (how == Combine::kSet || how == Combine::kMultiply) continue;
        check_scatter<Half, float>(line, how);
        check_scatter<BFloat16, float>(line, how);
        if (!line.is_dense()) continue;
        check_scatter<Half>(line, how, true);
        check_scatter<BFloat16>(line, how, true);
      }
    }
  });
}

TEST(IndexedLines, NanWins) {
  on_every_target([] {
    const float nan = std::nanf("");
    for (const Combine how : {Combine::kAdd, Combine::kMax, Combine::kMin}) {
      float self[] = {nan, 1, nan, 2};
      const float values[] = {1, nan, nan, 3};
      const int64_t index[] = {0, 1, 2, 3};
      const IndexedLine line{4, 1, 0, 1, 1, 4};
      find_scatter_line(how, DType::kFloat32, DType::kFloat32)(line, self, index, values);
      EXPECT_TRUE(std::isnan(self[0]) && std::isnan(self[1]) && std::isnan(self[2]));
      EXPECT_FALSE(std::isnan(self[3]));
      for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
        const uint16_t bits = dtype == DType::kFloat16 ? 0x7e00 : 0x7fff;
        const uint16_t infinity = dtype == DType::kFloat16 ? 0x7c00 : 0x7f80;
        uint16_t half[64] = {};
        uint16_t halves[64];
        int64_t places[64];
        for (int i = 0; i < 64; ++i) {
          halves[i] = bits;
          places[i] = i;
        }
        find_scatter_line(how, dtype, dtype)({64, 1, 0, 1, 1, 64}, half, places, halves);
        for (const uint16_t each : half) EXPECT_GT(each & 0x7fff, infinity);
      }
    }
  });
}

}  // namespace
}  // namespace mindtorch::cpu
