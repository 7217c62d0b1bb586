#include "mindtorch/backends/cpu/transpose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "mindtorch/backends/cpu/parallel.h"

namespace mindtorch::cpu {
namespace {

constexpr uint8_t kUntouched = 0xA5;

// A strided array inside a buffer with room around it, so that stray writes are seen.
struct Array {
  std::vector<uint8_t> memory;
  int64_t offset = 0;
  std::vector<int64_t> strides;  // bytes

  uint8_t* data() { return memory.data() + offset; }
};

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

// An array whose dimensions lie in memory in the order `order` (first is outermost). Every
// dimension is followed by `gap` unused elements.
Array make(const std::vector<int64_t>& shape,
           const std::vector<size_t>& order,
           int64_t element_size,
           int64_t gap,
           int64_t misalign) {
  Array array;
  array.strides.resize(shape.size());
  int64_t stride = element_size;
  for (size_t i = order.size(); i-- > 0;) {
    array.strides[order[i]] = stride;
    stride *= shape[order[i]] + gap;
  }
  array.offset = 64 + misalign;
  array.memory.resize(static_cast<size_t>(stride + 2 * array.offset), kUntouched);
  return array;
}

void randomize(Array& array, uint32_t seed) {
  std::mt19937 random(seed);
  for (uint8_t& byte : array.memory) byte = static_cast<uint8_t>(random());
}

template <typename Body>
void for_each_index(const std::vector<int64_t>& shape, const Body& body) {
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t n = product(shape); n > 0; --n) {
    body(index);
    for (size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];) index[i] = 0;
  }
}

int64_t at(const std::vector<int64_t>& index, const std::vector<int64_t>& strides) {
  return std::inner_product(index.begin(), index.end(), strides.begin(), int64_t{0});
}

// Copies and compares the destination's whole buffer with an element by element copy.
void check(const std::vector<int64_t>& shape, int64_t element_size, Array from, Array to) {
  std::vector<uint8_t> expected = to.memory;
  for_each_index(shape, [&](const std::vector<int64_t>& index) {
    std::memcpy(expected.data() + to.offset + at(index, to.strides),
                from.data() + at(index, from.strides), static_cast<size_t>(element_size));
  });
  copy_strided(element_size, shape.data(), static_cast<int>(shape.size()), from.data(),
               from.strides.data(), to.data(), to.strides.data());
  EXPECT_TRUE(to.memory == expected)
      << testing::PrintToString(shape) << " element " << element_size << " from "
      << testing::PrintToString(from.strides) << " to " << testing::PrintToString(to.strides);
}

void check_order(const std::vector<int64_t>& shape,
                 int64_t element_size,
                 const std::vector<size_t>& from_order,
                 const std::vector<size_t>& to_order,
                 int64_t from_gap = 0,
                 int64_t to_gap = 0,
                 int64_t misalign = 0) {
  Array from = make(shape, from_order, element_size, from_gap, misalign);
  randomize(from, 7);
  check(shape, element_size, from, make(shape, to_order, element_size, to_gap, misalign));
}

class CopyStrided : public testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(ElementSizes, CopyStrided, testing::Values(1, 2, 3, 4, 8, 12, 16));

TEST_P(CopyStrided, EveryOrderOfThreeDimensions) {
  std::vector<size_t> order = {0, 1, 2};
  do {
    for (const int64_t gap : {0, 1, 5}) {
      check_order({5, 7, 6}, GetParam(), order, {0, 1, 2}, gap, 0);
      check_order({5, 7, 6}, GetParam(), {0, 1, 2}, order, 0, gap);
      check_order({2, 33, 40}, GetParam(), order, {2, 0, 1}, gap, gap, 1);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_P(CopyStrided, TransposesEveryEdge) {
  for (const int64_t rows : {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 65, 130}) {
    for (const int64_t cols : {1, 2, 3, 5, 8, 16, 17, 63, 64, 129}) {
      check_order({rows, cols}, GetParam(), {0, 1}, {1, 0});
      check_order({rows, cols}, GetParam(), {1, 0}, {0, 1}, 3, 2, 1);
    }
  }
}

TEST_P(CopyStrided, TransposesLargeArrays) {
  // Past the staging sizes, and past the size from which stores bypass the caches.
  check_order({300, 500}, GetParam(), {0, 1}, {1, 0});
  check_order({1030, (17 << 20) / GetParam() / 1030}, GetParam(), {0, 1}, {1, 0}, 0, 0, 8);
}

TEST_P(CopyStrided, Expanded) {
  const std::vector<int64_t> shape = {9, 70, 40};
  for (size_t zero = 0; zero < 8; ++zero) {
    Array from = make(shape, {0, 1, 2}, GetParam(), 0, 0);
    randomize(from, 3);
    for (size_t i = 0; i < 3; ++i) {
      if (zero >> i & 1) from.strides[i] = 0;
    }
    check(shape, GetParam(), from, make(shape, {0, 1, 2}, GetParam(), 0, 0));
    check(shape, GetParam(), from, make(shape, {2, 0, 1}, GetParam(), 1, 1));
  }
}

TEST_P(CopyStrided, RunsOfEveryLength) {
  for (int64_t run = 1; run < 150; run += run < 40 ? 1 : 13) {
    check_order({3, 6, run}, GetParam(), {1, 0, 2}, {0, 1, 2});
    check_order({3, run}, GetParam(), {0, 1}, {0, 1}, 2, 1, 1);
    Array from = make({3, run}, {0, 1}, GetParam(), 0, 0);
    randomize(from, 5);
    from.strides[1] = 0;
    check({3, run}, GetParam(), from, make({3, run}, {0, 1}, GetParam(), 1, 1));
  }
}

TEST_P(CopyStrided, SeveralThreads) {
  const int before = num_threads();
  set_num_threads(3);
  check_order({20, 100, 97}, GetParam(), {0, 1, 2}, {0, 1, 2}, 1, 0);
  check_order({20, 100, 97}, GetParam(), {0, 1, 2}, {2, 1, 0});
  check_order({20, 100, 97}, GetParam(), {2, 0, 1}, {0, 1, 2});
  check_order({300000}, GetParam(), {0}, {0});
  check_order({3, 60000}, GetParam(), {1, 0}, {0, 1});
  check_order({3, 60000}, GetParam(), {0, 1}, {1, 0});
  set_num_threads(before);
}

TEST(CopyStridedCases, EmptyAndScalar) {
  uint32_t from = 42;
  uint32_t to = 7;
  const int64_t empty_shape[] = {3, 0, 2};
  const int64_t strides[] = {4, 4, 4};
  copy_strided(4, empty_shape, 3, &from, strides, &to, strides);
  EXPECT_EQ(to, 7u);
  copy_strided(4, nullptr, 0, &from, nullptr, &to, nullptr);
  EXPECT_EQ(to, 42u);
  from = 43;
  const int64_t ones[] = {1, 1, 1};
  const int64_t odd_strides[] = {999, -5, 0};
  copy_strided(4, ones, 3, &from, odd_strides, &to, odd_strides);
  EXPECT_EQ(to, 43u);
}

TEST(CopyStridedCases, NegativeSourceStrides) {
  std::vector<int32_t> from(1000);
  std::iota(from.begin(), from.end(), 0);
  std::vector<int32_t> to(1000, -1);
  const int64_t shape[] = {1000};
  const int64_t backward[] = {-4};
  const int64_t forward[] = {4};
  copy_strided(4, shape, 1, from.data() + 999, backward, to.data(), forward);
  std::reverse(from.begin(), from.end());
  EXPECT_EQ(to, from);
}

TEST(CopyStridedCases, RandomShapes) {
  std::mt19937 random(11);
  const auto below = [&](int n) {
    return static_cast<int64_t>(random() % static_cast<uint32_t>(n));
  };
  for (int repeat = 0; repeat < 300; ++repeat) {
    const size_t ndim = static_cast<size_t>(1 + below(6));
    std::vector<int64_t> shape(ndim);
    for (int64_t& size : shape) size = 1 + below(ndim > 4 ? 6 : 20);
    std::vector<size_t> from_order(ndim);
    std::iota(from_order.begin(), from_order.end(), size_t{0});
    std::vector<size_t> to_order = from_order;
    std::shuffle(from_order.begin(), from_order.end(), random);
    std::shuffle(to_order.begin(), to_order.end(), random);
    check_order(shape, int64_t{1} << below(5), from_order, to_order, below(2), below(2), below(3));
  }
}

}  // namespace
}  // namespace mindtorch::cpu
