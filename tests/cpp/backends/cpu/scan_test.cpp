#include "mindtorch/backends/cpu/scan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/cpp/backends/cpu/row_samples.h"

namespace mindtorch::cpu {
namespace {

using namespace testing;

constexpr int64_t kLengths[] = {0, 1, 2, 3, 17, 64, 127, 128, 129, 255, 256, 257, 700, 5000};

// Sums and products as the header specifies, one element after the other.
template <typename T>
Row<T> accumulated(const Row<T>& row, ScanOp op) {
  const bool product = op == ScanOp::kProd;
  Row<T> out(row.size());
  if constexpr (kIsFloatType<T>) {
    using Acc = std::conditional_t<sizeof(T) == 2, float, double>;
    Acc so_far = product ? 1 : 0;
    for (int64_t i = 0; i < row.size(); ++i) {
      so_far = product ? so_far * static_cast<Acc>(row[i]) : so_far + static_cast<Acc>(row[i]);
      if constexpr (sizeof(T) == 2)
        out[i] = T(so_far);
      else
        out[i] = static_cast<T>(so_far);
    }
  } else {
    uint64_t so_far = product ? 1 : 0;
    for (int64_t i = 0; i < row.size(); ++i) {
      const auto next = static_cast<uint64_t>(row[i]);
      if (std::is_same_v<T, bool>)
        so_far = product ? so_far & next : so_far | next;
      else
        so_far = product ? so_far * next : so_far + next;
      out[i] = static_cast<T>(so_far);
    }
  }
  return out;
}

template <typename T>
void expect_equal_rows(const Row<T>& actual, const Row<T>& expected) {
  for (int64_t i = 0; i < expected.size(); ++i) {
    if (is_nan(expected[i])) {
      ASSERT_TRUE(is_nan(actual[i])) << i;
    } else if constexpr (std::is_same_v<T, float>) {
      // float32 sums are made in blocks of float64.
      ASSERT_FLOAT_EQ(actual[i], expected[i]) << i;
    } else {
      ASSERT_TRUE(same_bits(actual[i], expected[i])) << i;
    }
  }
}

TEST(ScanLine, SumsAndProducts) {
  for (const DType dtype : kAllDTypes) {
    visit_dtype(dtype, [&]<typename T>() {
      for (const Sample sample : kAllSamples) {
        if (kIsFloatType<T> && sample == Sample::kWide) continue;
        for (const int64_t n : kLengths) {
          for (const ScanOp op : {ScanOp::kSum, ScanOp::kProd}) {
            SCOPED_TRACE(describe(dtype, sample, n));
            const Row<T> row = make_row<T>(sample, n);
            const Row<T> expected = accumulated(row, op);
            Row<T> out(n);
            scan_line(dtype, op, row.data(), n, 1, out.data(), 1, nullptr, 0);
            expect_equal_rows(out, expected);

            Row<T> in_place = row;
            scan_line(dtype, op, in_place.data(), n, 1, in_place.data(), 1, nullptr, 0);
            ASSERT_EQ(in_place.bytes, out.bytes);
          }
        }
      }
    });
  }
}

TEST(ScanLine, MaximaAndMinima) {
  for (const DType dtype : kAllDTypes) {
    visit_dtype(dtype, [&]<typename T>() {
      for (const Sample sample : kAllSamples) {
        for (const int64_t n : kLengths) {
          for (const bool min : {false, true}) {
            SCOPED_TRACE(describe(dtype, sample, n));
            const Row<T> row = make_row<T>(sample, n);
            Row<T> out(n);
            std::vector<int64_t> indices(static_cast<size_t>(n));
            scan_line(dtype, min ? ScanOp::kMin : ScanOp::kMax, row.data(), n, 1, out.data(), 1,
                      indices.data(), 1);
            int64_t best = 0;
            for (int64_t i = 0; i < n; ++i) {
              const bool beaten =
                  min ? !comes_before(row[best], row[i]) : !comes_before(row[i], row[best]);
              if (is_nan(row[i]) || (!is_nan(row[best]) && beaten)) best = i;
              ASSERT_EQ(indices[static_cast<size_t>(i)], best);
              ASSERT_TRUE(same_bits(out[i], row[best]));
            }
            Row<T> only_values = row;
            scan_line(dtype, min ? ScanOp::kMin : ScanOp::kMax, only_values.data(), n, 1,
                      only_values.data(), 1, nullptr, 0);
            ASSERT_EQ(only_values.bytes, out.bytes);
          }
        }
      }
    });
  }
}

TEST(ScanRows, AgreeWithSingleLines) {
  constexpr int64_t kLines = 7;
  for (const DType dtype : kAllDTypes) {
    visit_dtype(dtype, [&]<typename T>() {
      for (const int64_t n : {1, 5, 255, 257, 700}) {
        for (const ScanOp op : {ScanOp::kSum, ScanOp::kProd, ScanOp::kMax, ScanOp::kMin}) {
          SCOPED_TRACE(describe(dtype, Sample::kRandom, n));
          const Row<T> rows = make_row<T>(Sample::kRandom, n * kLines);
          Row<T> out(n * kLines);
          std::vector<int64_t> indices(static_cast<size_t>(n * kLines));
          Row<T> expected(n * kLines);
          std::vector<int64_t> places(static_cast<size_t>(n * kLines));
          scan_rows(dtype, op, rows.data(), n, out.data(), indices.data(), kLines);
          for (int64_t at = 0; at < n * kLines; at += n) {
            scan_line(dtype, op, rows.data() + at, n, 1, expected.data() + at, 1,
                      places.data() + at, 1);
          }
          expect_equal_rows(out, expected);
          ASSERT_EQ(indices, places);
        }
      }
    });
  }
}

// Strided lines, and many lines at once, give what single contiguous lines give.
TEST(ScanLines, AgreeWithSingleLines) {
  constexpr int64_t kN = 300;
  for (const DType dtype : kAllDTypes) {
    visit_dtype(dtype, [&]<typename T>() {
      for (const int64_t lines : {1, 2, 100, 128, 131}) {
        for (const ScanOp op :
             {ScanOp::kSum, ScanOp::kProd, ScanOp::kMax, ScanOp::kMin, ScanOp::kLogSumExp}) {
          if (op == ScanOp::kLogSumExp && !kIsFloatType<T>) continue;
          SCOPED_TRACE(describe(dtype, Sample::kRandom, lines));
          const Row<T> row = make_row<T>(Sample::kRandom, kN * lines);
          Row<T> out(kN * lines);
          std::vector<int64_t> indices(static_cast<size_t>(kN * lines));
          scan_lines(dtype, op, row.data(), kN, lines, out.data(), lines, indices.data(), lines,
                     lines);
          for (int64_t k = 0; k < lines; k += 7) {
            Row<T> line(kN);
            for (int64_t i = 0; i < kN; ++i) line[i] = row[i * lines + k];
            Row<T> expected(kN);
            std::vector<int64_t> places(kN);
            scan_line(dtype, op, line.data(), kN, 1, expected.data(), 1, places.data(), 1);
            Row<T> strided(kN);
            std::vector<int64_t> strided_places(2 * kN);
            scan_line(dtype, op, row.data() + k, kN, lines, strided.data(), 1,
                      strided_places.data(), 2);
            expect_equal_rows(strided, expected);
            for (int64_t i = 0; i < kN; ++i) line[i] = out[i * lines + k];
            expect_equal_rows(line, expected);
            if (op != ScanOp::kMax && op != ScanOp::kMin) continue;
            for (size_t i = 0; i < kN; ++i) {
              ASSERT_EQ(indices[i * static_cast<size_t>(lines) + static_cast<size_t>(k)],
                        places[i]);
              ASSERT_EQ(strided_places[2 * i], places[i]);
            }
          }
        }
      }
    });
  }
}

void expect_log_sums(const std::vector<double>& values) {
  std::vector<double> out(values.size());
  scan_line(DType::kFloat64, ScanOp::kLogSumExp, values.data(), static_cast<int64_t>(values.size()),
            1, out.data(), 1, nullptr, 0);
  long double high = -std::numeric_limits<long double>::infinity();
  long double scaled = 0;
  bool poisoned = false;
  for (size_t i = 0; i < values.size(); ++i) {
    const long double next = values[i];
    poisoned |= std::isnan(values[i]);
    if (next > high) {
      scaled = scaled * (high == next ? 1 : std::exp(high - next)) + 1;
      high = next;
    } else if (!std::isinf(next)) {
      scaled += std::exp(next - high);
    }
    if (poisoned) {
      ASSERT_TRUE(std::isnan(out[i])) << i;
      continue;
    }
    const auto expected = static_cast<double>(std::isinf(high) ? high : high + std::log(scaled));
    if (std::isinf(expected)) {
      ASSERT_EQ(out[i], expected) << i;
    } else {
      ASSERT_NEAR(out[i], expected, 1e-12 * std::max(1.0, std::abs(expected))) << i;
    }
  }
}

TEST(ScanLine, LogSumExp) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (const double scale : {1.0, 30.0, 2000.0, 1e8}) {
    std::vector<double> values(2000);
    for (double& value : values) value = normal(random) * scale;
    expect_log_sums(values);
    for (size_t i = 0; i < values.size(); i += 3) values[i] = -kInf;
    expect_log_sums(values);
    std::fill(values.begin(), values.begin() + 600, -kInf);
    expect_log_sums(values);
    values[1500] = kInf;
    expect_log_sums(values);
    values[900] = std::nan("");
    expect_log_sums(values);
  }
  std::vector<double> ramp(3000);
  for (size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<double>(i) * 9 - 20000;
  expect_log_sums(ramp);
}

TEST(ScanLine, LogSumExpNeedsFloats) {
  const int64_t in[1] = {1};
  int64_t out[1];
  EXPECT_THROW(scan_line(DType::kInt64, ScanOp::kLogSumExp, in, 1, 1, out, 1, nullptr, 0),
               NotImplementedError);
}

}  // namespace
}  // namespace mindtorch::cpu
