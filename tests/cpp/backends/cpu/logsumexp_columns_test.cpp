#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/cpp/backends/cpu/test_matrix.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

// The logsumexp of columns: numbers of rows and columns about the steps, infinities, and what the
// accumulators held before.
namespace mindtorch::cpu {
namespace {

template <typename T>
class LogsumexpColumns : public testing::Test {
 public:
  using W = std::conditional_t<sizeof(T) == 2, float, T>;

  void check(int64_t rows, int64_t columns) {
    const int64_t stride = columns + 3;
    std::mt19937 random(static_cast<unsigned>(rows * 31 + columns));
    std::vector<T> in(static_cast<size_t>(rows * stride));
    for (T& x : in) x = from_double<T>((static_cast<double>(random() % 2001) - 1000) / 50);
    std::vector<W> before(static_cast<size_t>(columns) + 1);
    for (size_t i = 0; i < before.size(); ++i) {
      before[i] = i % 3 == 0 ? -std::numeric_limits<W>::infinity() : W(i % 7) - 3;
    }
    set(in, 0, stride, rows, -INFINITY);
    if (columns > 1) set(in, 1, stride, 1, INFINITY);
    if (columns > 2) set(in, 2, stride, 1, NAN);
    for (const TargetTable& target : all_targets()) {
      SCOPED_TRACE(target.name + " " + std::to_string(rows) + "x" + std::to_string(columns));
      std::vector<W> acc = before;
      target.table
          .accumulates[static_cast<int>(Row::kLogsumexp)][static_cast<int>(DTypeOf<T>::value)]
          .rows(in.data(), stride * int64_t{sizeof(T)}, rows, acc.data(), columns);
      for (int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<size_t>(j);
        const double want = expected(in, j, stride, rows, to_double(before[at]));
        const double got = to_double(acc[at]);
        if (!std::isfinite(want)) {
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << "column " << j;
        } else {
          const double bound = 4 * static_cast<double>(std::numeric_limits<W>::epsilon());
          ASSERT_NEAR(got, want, bound * (1 + std::abs(want))) << "column " << j;
        }
      }
      ASSERT_EQ(acc.back(), before.back());
    }
  }

 private:
  static void set(std::vector<T>& in, int64_t column, int64_t stride, int64_t rows, double value) {
    for (int64_t i = 0; i < rows; ++i) {
      in[static_cast<size_t>(i * stride + column)] = from_double<T>(value);
    }
  }
  static double expected(
      const std::vector<T>& in, int64_t column, int64_t stride, int64_t rows, double before) {
    const auto element = [&](int64_t i) {
      return to_double(in[static_cast<size_t>(i * stride + column)]);
    };
    double most = before;
    for (int64_t i = 0; i < rows; ++i) {
      if (std::isnan(element(i))) return NAN;
      most = std::max(most, element(i));
    }
    if (std::isinf(most)) return most;
    double sum = std::exp(before - most);
    for (int64_t i = 0; i < rows; ++i) sum += std::exp(element(i) - most);
    return most + std::log(sum);
  }
};
using FloatTypes = testing::Types<Half, BFloat16, float, double>;
TYPED_TEST_SUITE(LogsumexpColumns, FloatTypes);

TYPED_TEST(LogsumexpColumns, AllSizes) {
  for (const int64_t rows : {1, 2, 7, 8, 9, 255, 256, 257, 300}) {
    for (const int64_t columns : {1, 3, 8, 15, 16, 17, 33, 1024, 1030}) {
      this->check(rows, columns);
      if (this->HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace mindtorch::cpu
