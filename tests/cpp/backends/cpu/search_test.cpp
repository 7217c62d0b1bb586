#include "mindtorch/backends/cpu/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mindtorch/backends/cpu/sorting.h"
#include "tests/cpp/backends/cpu/row_samples.h"

namespace mindtorch::cpu {
namespace {

using namespace testing;

TEST(SearchsortedRow, AgreesWithBounds) {
  for (const DType dtype : kAllDTypes) {
    visit_dtype(dtype, [&]<typename T>() {
      for (const Sample sample : kAllSamples) {
        for (const int64_t n : {0, 1, 2, 3, 5, 8, 31, 64, 65, 1000}) {
          SCOPED_TRACE(describe(dtype, sample, n));
          const Row<T> unsorted = make_row<T>(sample, n);
          Row<T> sorted(n);
          std::vector<int64_t> sorter(static_cast<size_t>(n));
          sort_row(dtype, unsorted.data(), n, false, true, sorted.data(), sorter.data());
          const bool has_nan = n > 0 && is_nan(sorted[n - 1]);
          const Row<T> values = make_row<T>(sample, 77, 9);
          for (const bool right : {false, true}) {
            std::vector<int64_t> out(77), by_sorter(77);
            searchsorted_row(dtype, sorted.data(), n, values.data(), 77, right, nullptr,
                             out.data());
            searchsorted_row(dtype, unsorted.data(), n, values.data(), 77, right, sorter.data(),
                             by_sorter.data());
            ASSERT_EQ(out, by_sorter);
            for (int64_t i = 0; i < 77; ++i) {
              const T wanted = values[i];
              if (is_nan(wanted)) {
                ASSERT_EQ(out[static_cast<size_t>(i)], n);
              } else if (!has_nan) {
                const T* place = right ? std::upper_bound(sorted.data(), sorted.data() + n, wanted,
                                                          comes_before<T>)
                                       : std::lower_bound(sorted.data(), sorted.data() + n, wanted,
                                                          comes_before<T>);
                ASSERT_EQ(out[static_cast<size_t>(i)], place - sorted.data()) << i;
              }
            }
          }
        }
      }
    });
  }
}

// torch takes the probes of a plain binary search, for which a NaN in the row is never enough.
TEST(SearchsortedRow, RowThatEndsInNan) {
  const float nan = std::nanf("");
  const float row[] = {1, 2, 3, 4, nan, nan, nan};
  const float values[] = {0, 1.5, 3, 5, nan};
  int64_t out[5];
  searchsorted_row(DType::kFloat32, row, 7, values, 5, false, nullptr, out);
  EXPECT_EQ(std::vector<int64_t>(out, out + 5), (std::vector<int64_t>{0, 1, 2, 7, 7}));
  searchsorted_row(DType::kFloat32, row, 7, values, 5, true, nullptr, out);
  EXPECT_EQ(std::vector<int64_t>(out, out + 5), (std::vector<int64_t>{0, 1, 3, 7, 7}));
}

TEST(Bincount, CountsAndSums) {
  for (const DType dtype :
       {DType::kUInt8, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64}) {
    visit_dtype(dtype, [&]<typename T>() {
      for (const int64_t n : {0, 1, 5, 1000, 30000}) {
        for (const int64_t minlength : {0, 3, 200, 9000}) {
          SCOPED_TRACE(describe(dtype, Sample::kRandom, n));
          std::mt19937 random(7);
          Row<T> row(n);
          for (int64_t i = 0; i < n; ++i)
            row[i] = from_double<T>(static_cast<double>(random() % 100));
          int64_t expected_bins = minlength;
          for (int64_t i = 0; i < n; ++i) {
            expected_bins = std::max(expected_bins, static_cast<int64_t>(row[i]) + 1);
          }
          const int64_t bins = bincount_size(dtype, row.data(), n, minlength);
          ASSERT_EQ(bins, expected_bins);
          std::vector<int64_t> expected(static_cast<size_t>(bins));
          std::vector<float> sums(expected.size());
          std::vector<double> long_sums(expected.size());
          std::vector<float> weights(static_cast<size_t>(n));
          std::vector<double> long_weights(weights.size());
          for (int64_t i = 0; i < n; ++i) {
            const auto at = static_cast<size_t>(i);
            weights[at] = static_cast<float>(random() % 1000) / 7;
            long_weights[at] = weights[at] / 3.0;
            ++expected[static_cast<size_t>(row[i])];
            sums[static_cast<size_t>(row[i])] += weights[at];
            long_sums[static_cast<size_t>(row[i])] += long_weights[at];
          }
          std::vector<int64_t> counts(expected.size(), -1);
          bincount(dtype, row.data(), n, nullptr, DType::kInt64, counts.data(), bins);
          EXPECT_EQ(counts, expected);
          std::vector<float> out(expected.size(), -1);
          bincount(dtype, row.data(), n, weights.data(), DType::kFloat32, out.data(), bins);
          EXPECT_EQ(out, sums);
          std::vector<double> long_out(expected.size(), -1);
          bincount(dtype, row.data(), n, long_weights.data(), DType::kFloat64, long_out.data(),
                   bins);
          EXPECT_EQ(long_out, long_sums);
        }
      }
    });
  }
}

TEST(Bincount, SaysWhatItCannotCount) {
  const int64_t negative[] = {3, -1};
  EXPECT_EQ(bincount_size(DType::kInt64, negative, 2, 0), -1);
  const float real[] = {1};
  EXPECT_THROW(bincount_size(DType::kFloat32, real, 1, 0), NotImplementedError);
}

TEST(Histc, CountsInBins) {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    visit_dtype(dtype, [&]<typename T>() {
      if constexpr (kIsFloatType<T>) {
        for (const int64_t n : {0, 1, 1000, 150001}) {
          Row<T> row = make_row<T>(Sample::kRandom, n);
          for (int64_t i = 0; i < n; i += 100) row[i] = make_row<T>(Sample::kSpecial, 200)[i % 200];
          for (const int64_t bins : {1, 7, 100, 5000}) {
            const double min = -64, max = 96;
            Row<T> out(bins);
            histc(dtype, row.data(), n, bins, min, max, out.data());
            std::vector<int64_t> expected(static_cast<size_t>(bins));
            for (int64_t i = 0; i < n; ++i) {
              const auto value = static_cast<double>(row[i]);
              if (!(value >= min && value <= max)) continue;
              // The steps are rounded to the dtype.
              const T shifted = from_double<T>(value - min);
              const T scaled =
                  from_double<T>(static_cast<double>(shifted) *
                                 static_cast<double>(from_double<T>(static_cast<double>(bins))));
              const T place = from_double<T>(static_cast<double>(scaled) / (max - min));
              const auto bin = static_cast<int64_t>(static_cast<double>(place));
              ++expected[static_cast<size_t>(std::min(bin, bins - 1))];
            }
            for (int64_t bin = 0; bin < bins; ++bin) {
              const auto count = static_cast<double>(expected[static_cast<size_t>(bin)]);
              ASSERT_TRUE(same_bits(out[bin], from_double<T>(count)))
                  << name(dtype) << " n " << n << " bins " << bins << " bin " << bin;
            }
          }
        }
      }
    });
  }
}

TEST(Histc, ChoosesItsRange) {
  const float row[] = {2, -1, 5};
  double min = 0, max = 0;
  histc_range(DType::kFloat32, row, 3, &min, &max);
  EXPECT_EQ(min, -1);
  EXPECT_EQ(max, 5);
  min = 3, max = 3.5;
  histc_range(DType::kFloat32, row, 3, &min, &max);
  EXPECT_EQ(min, 3);
  EXPECT_EQ(max, 3.5);
  min = 0, max = 0;
  histc_range(DType::kFloat32, row, 1, &min, &max);
  EXPECT_EQ(min, 1);
  EXPECT_EQ(max, 3);
  min = 0, max = 0;
  histc_range(DType::kFloat32, row, 0, &min, &max);
  EXPECT_EQ(min, -1);
  EXPECT_EQ(max, 1);
}

TEST(Histc, RefusesRanges) {
  const float row[] = {2, std::nanf(""), 5};
  double min = 0, max = 0;
  EXPECT_THROW(histc_range(DType::kFloat32, row, 3, &min, &max), RuntimeError);
  min = 2, max = 1;
  EXPECT_THROW(histc_range(DType::kFloat32, row, 3, &min, &max), RuntimeError);
  min = -std::numeric_limits<double>::infinity(), max = 1;
  EXPECT_THROW(histc_range(DType::kFloat32, row, 3, &min, &max), RuntimeError);
  int64_t out[1];
  EXPECT_THROW(histc(DType::kInt64, out, 1, 1, 0, 1, out), NotImplementedError);
}

}  // namespace
}  // namespace mindtorch::cpu
