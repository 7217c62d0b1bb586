#include "mindtorch/backends/cpu/sorting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "mindtorch/backends/cpu/scratch.h"
#include "tests/cpp/backends/cpu/row_samples.h"

namespace mindtorch::cpu {
namespace {

using namespace testing;

std::vector<int64_t> row_lengths() {
  std::vector<int64_t> lengths(71);
  std::iota(lengths.begin(), lengths.end(), int64_t{0});
  lengths.insert(lengths.end(), {143, 144, 145, 191, 192, 193, 257, 1000, 3001, 20001});
  return lengths;
}

template <typename Body>
void for_each_case(Body body) {
  for (const DType dtype : kAllDTypes) {
    visit_dtype(dtype, [&]<typename T>() {
      for (const Sample sample : kAllSamples) {
        for (const int64_t n : row_lengths()) {
          SCOPED_TRACE(describe(dtype, sample, n));
          body(dtype, make_row<T>(sample, n));
          if (::testing::Test::HasFailure()) return;
        }
      }
    });
  }
}

template <typename T>
std::vector<int64_t> sorted_order(const Row<T>& row, bool descending) {
  std::vector<int64_t> order(static_cast<size_t>(row.size()));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return descending ? comes_before(row[b], row[a]) : comes_before(row[a], row[b]);
  });
  return order;
}

template <typename T>
::testing::AssertionResult is_gathered(const Row<T>& values,
                                       const Row<T>& from,
                                       const std::vector<int64_t>& order) {
  for (int64_t i = 0; i < values.size(); ++i) {
    if (!same_bits(values[i], from[order[static_cast<size_t>(i)]])) {
      return ::testing::AssertionFailure() << "value at " << i;
    }
  }
  return ::testing::AssertionSuccess();
}

TEST(SortRow, IsAStableSort) {
  for_each_case([]<typename T>(DType dtype, const Row<T>& row) {
    for (const bool descending : {false, true}) {
      const auto expected = sorted_order(row, descending);
      Row<T> values(row.size());
      std::vector<int64_t> indices(expected.size());
      sort_row(dtype, row.data(), row.size(), descending, true, values.data(), indices.data());
      ASSERT_EQ(indices, expected);
      ASSERT_TRUE(is_gathered(values, row, expected));

      Row<T> only_values(row.size());
      sort_row(dtype, row.data(), row.size(), descending, true, only_values.data(), nullptr);
      ASSERT_EQ(only_values.bytes, values.bytes);
      std::vector<int64_t> only_indices(expected.size());
      sort_row(dtype, row.data(), row.size(), descending, false, nullptr, only_indices.data());
      ASSERT_EQ(only_indices, expected);
    }
  });
}

TEST(SortRow, LongRows) {
  for (const int64_t n : {int64_t{300000}, (int64_t{1} << 21) + 1}) {
    const Row<float> row = make_row<float>(Sample::kRandom, n);
    const auto expected = sorted_order(row, false);
    Row<float> values(n);
    std::vector<int64_t> indices(expected.size());
    sort_row(DType::kFloat32, row.data(), n, false, true, values.data(), indices.data());
    EXPECT_EQ(indices, expected);
  }
}

// 8-byte keys that agree in their upper 32 varying bits, in short runs and in long ones.
TEST(SortRow, TiesInUpperBits) {
  std::mt19937_64 random(3);
  for (const uint64_t groups : {1u, 20u, 3000u}) {
    constexpr int64_t kN = 6000;
    Row<int64_t> row(kN);
    for (int64_t i = 0; i < kN; ++i) {
      row[i] = static_cast<int64_t>((random() % groups) << 40 | (random() & 0xffff));
    }
    row[0] = std::numeric_limits<int64_t>::min();
    row[1] = std::numeric_limits<int64_t>::max();
    const auto expected = sorted_order(row, false);
    Row<int64_t> values(kN);
    std::vector<int64_t> indices(kN);
    sort_row(DType::kInt64, row.data(), kN, false, true, values.data(), indices.data());
    EXPECT_EQ(indices, expected);
    Row<int64_t> only_values(kN);
    sort_row(DType::kInt64, row.data(), kN, false, true, only_values.data(), nullptr);
    EXPECT_EQ(only_values.bytes, values.bytes);
  }
}

TEST(TopkRow, TakesTheFirstOfTheSortedRow) {
  for_each_case([]<typename T>(DType dtype, const Row<T>& row) {
    const int64_t n = row.size();
    for (const bool largest : {true, false}) {
      const auto order = sorted_order(row, largest);
      const auto at_most = [n](int64_t k) { return std::min(k, n); };
      for (const int64_t k :
           {int64_t{0}, at_most(1), at_most(10), at_most(32), n / 40, n / 10, n / 2, n}) {
        Row<T> values(k);
        std::vector<int64_t> indices(static_cast<size_t>(k));
        topk_row(dtype, row.data(), n, k, largest, true, values.data(), indices.data());
        ASSERT_TRUE(std::equal(indices.begin(), indices.end(), order.begin())) << "k " << k;
        ASSERT_TRUE(is_gathered(values, row, indices));

        topk_row(dtype, row.data(), n, k, largest, false, values.data(), indices.data());
        ASSERT_TRUE(is_gathered(values, row, indices));
        std::vector<int64_t> expected(order.begin(), order.begin() + k);
        std::sort(expected.begin(), expected.end());
        std::sort(indices.begin(), indices.end());
        ASSERT_EQ(indices, expected) << "k " << k;
      }
    }
  });
}

// The lowest index whose element is equal to the one at `index`, NaNs being equal.
template <typename T>
int64_t first_like(const Row<T>& row, int64_t index) {
  for (int64_t i = 0;; ++i) {
    if (!comes_before(row[i], row[index]) && !comes_before(row[index], row[i])) return i;
  }
}

TEST(KthvalueRow, AgreesWithTheSortedRow) {
  for_each_case([]<typename T>(DType dtype, const Row<T>& row) {
    const int64_t n = row.size();
    if (n == 0) return;
    const auto order = sorted_order(row, false);
    for (const int64_t k : {int64_t{1}, std::min<int64_t>(7, n), (n + 2) / 3, n / 2 + 1, n}) {
      T value;
      int64_t index = -1;
      kthvalue_row(dtype, row.data(), n, k, &value, &index);
      ASSERT_EQ(index, first_like(row, order[static_cast<size_t>(k - 1)])) << "k " << k;
      ASSERT_TRUE(same_bits(value, row[index]));
      kthvalue_row(dtype, row.data(), n, k, &value, nullptr);
      ASSERT_TRUE(same_bits(value, row[index]));
    }
  });
}

TEST(MedianRow, IsTheLowerMedian) {
  for_each_case([]<typename T>(DType dtype, const Row<T>& row) {
    const int64_t n = row.size();
    if (n == 0) return;
    const auto order = sorted_order(row, false);
    const auto numbers =
        std::count_if(order.begin(), order.end(), [&](int64_t i) { return !is_nan(row[i]); });
    T value;
    int64_t index = -1;
    median_row(dtype, row.data(), n, &value, &index);
    const auto at = [&](int64_t rank) { return order[static_cast<size_t>(rank)]; };
    ASSERT_EQ(index, numbers < n ? first_like(row, at(n - 1)) : at((n - 1) / 2));
    ASSERT_TRUE(same_bits(value, row[index]));

    nanmedian_row(dtype, row.data(), n, &value, &index);
    ASSERT_EQ(index, numbers == 0 ? first_like(row, at(0)) : at((numbers - 1) / 2));
    ASSERT_TRUE(same_bits(value, row[index]));
  });
}

TEST(ModeRow, IsTheSmallestOfTheMostFrequent) {
  for_each_case([]<typename T>(DType dtype, const Row<T>& row) {
    const int64_t n = row.size();
    if (n == 0) return;
    const auto order = sorted_order(row, false);
    int64_t best_count = 0;
    int64_t expected = -1;
    for (size_t begin = 0; begin < order.size();) {
      size_t end = begin + 1;
      while (end < order.size() && same_value(row[order[begin]], row[order[end]])) ++end;
      if (static_cast<int64_t>(end - begin) > best_count) {
        best_count = static_cast<int64_t>(end - begin);
        expected = order[end - 1];
      }
      begin = end;
    }
    T value;
    int64_t index = -1;
    mode_row(dtype, row.data(), n, &value, &index);
    // No NaN equals another, and torch's order among them is that of its sort.
    if (!is_nan(row[order.back()])) {
      ASSERT_EQ(index, expected);
    }
    ASSERT_TRUE(same_bits(value, row[index]));
  });
}

// Collects what the unique functions write.
template <typename T>
struct Found {
  std::vector<unsigned char> values;
  std::vector<int64_t> counts;
  std::vector<int64_t> inverse;
  int64_t runs = 0;

  Allocate value_room(int64_t row_length = 1) {
    return [this, row_length](int64_t count) -> void* {
      values.resize(static_cast<size_t>(count * row_length) * sizeof(T));
      return values.data();
    };
  }
  Allocate count_room() {
    return [this](int64_t count) -> void* {
      counts.resize(static_cast<size_t>(count));
      return counts.data();
    };
  }
  [[nodiscard]] const T* value(int64_t i) const {
    return reinterpret_cast<const T*>(values.data()) + i;
  }
};

template <typename T>
Found<T> expected_unique(const Row<T>& row) {
  Found<T> found;
  found.inverse.resize(static_cast<size_t>(row.size()));
  const auto order = sorted_order(row, false);
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || !same_value(row[order[i - 1]], row[order[i]])) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(row.data() + order[i]);
      found.values.insert(found.values.end(), bytes, bytes + sizeof(T));
      found.counts.push_back(0);
      ++found.runs;
    }
    ++found.counts.back();
    found.inverse[static_cast<size_t>(order[i])] = found.runs - 1;
  }
  return found;
}

TEST(UniqueFlat, AgreesWithTheSortedRow) {
  for_each_case([]<typename T>(DType dtype, const Row<T>& row) {
    const Found<T> expected = expected_unique(row);
    Found<T> found;
    found.inverse.resize(static_cast<size_t>(row.size()));
    found.runs = unique_flat(dtype, row.data(), row.size(), found.value_room(),
                             found.inverse.data(), found.count_room());
    ASSERT_EQ(found.runs, expected.runs);
    ASSERT_EQ(found.values, expected.values);
    ASSERT_EQ(found.counts, expected.counts);
    ASSERT_EQ(found.inverse, expected.inverse);

    Found<T> only_values;
    ASSERT_EQ(unique_flat(dtype, row.data(), row.size(), only_values.value_room(), nullptr, {}),
              expected.runs);
    ASSERT_EQ(only_values.values, expected.values);
  });
}

TEST(UniqueConsecutive, DropsRepeatedRows) {
  for_each_case([]<typename T>(DType dtype, const Row<T>& row) {
    for (const int64_t length : {1, 2}) {
      const int64_t rows = row.size() / length;
      const auto equals_last = [&](int64_t i) {
        for (int64_t j = 0; j < length; ++j) {
          if (!same_value(row[i * length + j], row[(i - 1) * length + j])) return false;
        }
        return true;
      };
      Found<T> found;
      found.inverse.resize(static_cast<size_t>(rows));
      found.runs = unique_consecutive(dtype, row.data(), rows, length, found.value_room(length),
                                      found.inverse.data(), found.count_room());
      int64_t run = -1;
      std::vector<int64_t> counts;
      for (int64_t i = 0; i < rows; ++i) {
        if (i == 0 || !equals_last(i)) {
          ++run;
          counts.push_back(0);
          for (int64_t j = 0; j < length; ++j) {
            ASSERT_TRUE(same_bits(*found.value(run * length + j), row[i * length + j]));
          }
        }
        ++counts.back();
        ASSERT_EQ(found.inverse[static_cast<size_t>(i)], run);
      }
      ASSERT_EQ(found.runs, run + 1);
      ASSERT_EQ(found.counts, counts);
    }
  });
}

TEST(UniqueRows, SortsRowsElementByElement) {
  for_each_case([]<typename T>(DType dtype, const Row<T>& row) {
    if (row.size() > 4000) return;
    for (const int64_t length : {1, 2, 3, 9}) {
      const int64_t rows = row.size() / length;
      const auto less = [&](int64_t a, int64_t b) {
        for (int64_t j = 0; j < length; ++j) {
          if (comes_before(row[a * length + j], row[b * length + j])) return true;
          if (comes_before(row[b * length + j], row[a * length + j])) return false;
        }
        return false;
      };
      const auto equal = [&](int64_t a, int64_t b) {
        for (int64_t j = 0; j < length; ++j) {
          if (!same_value(row[a * length + j], row[b * length + j])) return false;
        }
        return true;
      };
      std::vector<int64_t> order(static_cast<size_t>(rows));
      std::iota(order.begin(), order.end(), int64_t{0});
      std::stable_sort(order.begin(), order.end(), less);
      Found<T> found;
      found.inverse.resize(order.size());
      found.runs = unique_rows(dtype, row.data(), rows, length, found.value_room(length),
                               found.inverse.data(), found.count_room());
      int64_t run = -1;
      std::vector<int64_t> counts;
      for (size_t i = 0; i < order.size(); ++i) {
        if (i == 0 || !equal(order[i - 1], order[i])) {
          ++run;
          counts.push_back(0);
          for (int64_t j = 0; j < length; ++j) {
            ASSERT_TRUE(same_bits(*found.value(run * length + j), row[order[i] * length + j]));
          }
        }
        ++counts.back();
        ASSERT_EQ(found.inverse[static_cast<size_t>(order[i])], run);
      }
      ASSERT_EQ(found.runs, run + 1);
      ASSERT_EQ(found.counts, counts);
    }
  });
}

TEST(UniqueRows, RowsOfNothingAreEqual) {
  Found<float> found;
  EXPECT_EQ(
      unique_rows(DType::kFloat32, nullptr, 3, 0, found.value_room(0), nullptr, found.count_room()),
      1);
  EXPECT_EQ(found.counts, std::vector<int64_t>{3});
}

TEST(SortRow, ManyThreads) {
  const Row<float> row = make_row<float>(Sample::kRandom, 5000);
  const auto expected = sorted_order(row, false);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        std::vector<int64_t> indices(expected.size());
        sort_row(DType::kFloat32, row.data(), row.size(), false, true, nullptr, indices.data());
        EXPECT_EQ(indices, expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Scratch, NestsAndGrows) {
  KeptScratch outer(KeptScratch::room<int>(10));
  int* first = outer.take<int>(10);
  {
    KeptScratch inner(KeptScratch::room<int>(10));
    EXPECT_NE(inner.take<int>(10), first);
  }
  KeptScratch large(2 * KeptScratch::kKeptBytes);
  auto* bytes = large.take<unsigned char>(2 * KeptScratch::kKeptBytes);
  bytes[0] = bytes[2 * KeptScratch::kKeptBytes - 1] = 1;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 64, 0u);
}

}  // namespace
}  // namespace mindtorch::cpu
