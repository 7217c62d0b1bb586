#include "mindtorch/backends/cpu/linalg/panel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tests/cpp/backends/cpu/test_matrix.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

// Panels of every height about the lengths of vectors, in the middle of other memory.
namespace mindtorch::cpu::linalg {
namespace {

template <typename T>
class Panels : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Panels, RealTypes);

constexpr int64_t kAround = 7;  // elements before and behind each column that are not the panel's
constexpr double kOutside = 77;

template <typename T>
struct Panel {
  Panel(int64_t rows, int64_t columns) : m(rows), n(columns), ld(rows + 2 * kAround) {
    std::mt19937 random(static_cast<unsigned>(rows * 31 + columns));
    memory.assign(static_cast<size_t>(ld * n), static_cast<T>(kOutside));
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t i = 0; i < m; ++i) at(i, j) = T(static_cast<int>(random() % 2001) - 1000) / 500;
    }
  }
  T& at(int64_t i, int64_t j) { return data()[j * ld + i]; }
  T* data() { return memory.data() + kAround; }

  void expect_outside_kept() const {
    for (int64_t i = 0; i < ld * n; ++i) {
      const int64_t row = i % ld - kAround;
      if (row >= 0 && row < m) continue;
      ASSERT_EQ(memory[static_cast<size_t>(i)], static_cast<T>(kOutside)) << "row " << row;
    }
  }

  int64_t m;
  int64_t n;
  int64_t ld;
  std::vector<T> memory;
};

template <typename T>
double tolerance(int64_t n) {
  return 40.0 * static_cast<double>(n) * static_cast<double>(std::numeric_limits<T>::epsilon());
}

template <typename T>
void check_lu(int64_t m, int64_t n) {
  Panel<T> a(m, n);
  Panel<T> lu = a;
  std::vector<int> pivots(static_cast<size_t>(n));
  panel_factors<T>().lu(m, n, lu.data(), lu.ld, pivots.data());
  lu.expect_outside_kept();
  for (int64_t k = 0; k < n; ++k) {
    const int64_t pivot = pivots[static_cast<size_t>(k)] - 1;
    ASSERT_TRUE(pivot >= k && pivot < m);
    for (int64_t j = 0; j < n; ++j) std::swap(a.at(k, j), a.at(pivot, j));
  }
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k <= std::min(i, j); ++k) {
        ASSERT_TRUE(k == i || std::abs(lu.at(i, k)) <= T(1));
        sum += (k == i ? 1.0 : to_double(lu.at(i, k))) * to_double(lu.at(k, j));
      }
      ASSERT_NEAR(sum, to_double(a.at(i, j)), tolerance<T>(n)) << m << "x" << n;
    }
  }
}

template <typename T>
void check_qr(int64_t m, int64_t n) {
  Panel<T> a(m, n);
  Panel<T> qr = a;
  std::vector<T> tau(static_cast<size_t>(n));
  panel_factors<T>().qr(m, n, qr.data(), qr.ld, tau.data());
  qr.expect_outside_kept();
  for (int64_t j = 0; j < n; ++j) {
    std::vector<double> column(static_cast<size_t>(m));  // of R, then of Q R
    for (int64_t i = 0; i <= j; ++i) column[static_cast<size_t>(i)] = to_double(qr.at(i, j));
    for (int64_t k = n; k-- > 0;) {
      const auto v = [&](int64_t i) { return i == k ? 1.0 : to_double(qr.at(i, k)); };
      double product = 0;
      for (int64_t i = k; i < m; ++i) product += v(i) * column[static_cast<size_t>(i)];
      product *= to_double(tau[static_cast<size_t>(k)]);
      for (int64_t i = k; i < m; ++i) column[static_cast<size_t>(i)] -= product * v(i);
    }
    for (int64_t i = 0; i < m; ++i) {
      ASSERT_NEAR(column[static_cast<size_t>(i)], to_double(a.at(i, j)), tolerance<T>(n))
          << m << "x" << n;
    }
  }
}

TYPED_TEST(Panels, EveryHeight) {
  on_every_target([] {
    for (int64_t m = 1; m <= 41; ++m) {
      for (const int64_t n : {1, 3, 8, 13, 16, 32}) {
        if (n > m) continue;
        check_lu<TypeParam>(m, n);
        check_qr<TypeParam>(m, n);
      }
    }
  });
}

// What is above the rows that a step of the elimination changes keeps its value, even if the factor
// of the step is infinite.
TYPED_TEST(Panels, InfiniteFactorsStayInTheirRows) {
  using T = TypeParam;
  constexpr int64_t kSize = 16;
  on_every_target([] {
    Panel<T> lu(kSize, kSize);
    for (int64_t j = 0; j < kSize; ++j) {
      for (int64_t i = 0; i < kSize; ++i) lu.at(i, j) = i == j ? T(2) : T(1) / 4;
    }
    constexpr int64_t kRow = 5;
    constexpr int64_t kColumn = 7;  // a factor of column kRow's step, as of all before it
    lu.at(kRow, kColumn) = std::numeric_limits<T>::infinity();
    std::vector<int> pivots(kSize);
    panel_factors<T>().lu(kSize, kSize, lu.data(), lu.ld, pivots.data());
    lu.expect_outside_kept();
    for (int64_t i = 0; i < kRow; ++i) ASSERT_TRUE(std::isfinite(lu.at(i, kColumn))) << i;
    ASSERT_TRUE(std::isinf(lu.at(kRow, kColumn)));
  });
}

}  // namespace
}  // namespace mindtorch::cpu::linalg
