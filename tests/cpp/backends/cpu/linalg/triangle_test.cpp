#include "mindtorch/backends/cpu/linalg/triangle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "tests/cpp/backends/cpu/test_matrix.h"
#include "tests/cpp/backends/cpu/tile_targets.h"

// Triangles of every size about the strips of rows and panels of columns, seen in any direction.
namespace mindtorch::cpu::linalg {
namespace {

template <typename T>
class Triangles : public testing::Test {};
using RealTypes = testing::Types<float, double>;
TYPED_TEST_SUITE(Triangles, RealTypes);

struct Kind {
  bool is_lower;
  bool has_ones;
};

// Solves, and multiplies the solution by the triangle again.
template <typename T>
void check_solution(int64_t n, int64_t columns, Layout a_layout, Layout b_layout, Kind kind) {
  std::mt19937 random(static_cast<unsigned>(n * 31 + columns));
  TestMatrix<T> a = make<T>(n, n, a_layout, random);
  TestMatrix<T> b = make<T>(n, columns, b_layout, random);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      const bool counts = kind.is_lower ? j < i : j > i;
      if (counts) {
        a.at(i, j) /= static_cast<T>(8 * n);
      } else if (i != j || kind.has_ones) {  // must not be read
        a.at(i, j) = std::numeric_limits<T>::quiet_NaN();
      } else {
        a.at(i, j) = static_cast<T>(1 + 0.1 * static_cast<double>(i % 7));
      }
    }
  }
  TestMatrix<T> x = b;
  solve_columns(TriangularSolver<T>(n, a.in(), kind.is_lower, kind.has_ones), x.out(), columns);
  const double tolerance = 8 * std::sqrt(static_cast<double>(n)) *
                           static_cast<double>(std::numeric_limits<T>::epsilon());
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      double sum = to_double(x.at(i, j)) * (kind.has_ones ? 1 : to_double(a.at(i, i)));
      double size = std::abs(sum);
      for (int64_t k = kind.is_lower ? 0 : i + 1; k < (kind.is_lower ? i : n); ++k) {
        sum += to_double(a.at(i, k)) * to_double(x.at(k, j));
      }
      size = std::max(size, std::abs(to_double(b.at(i, j))));
      ASSERT_NEAR(sum, to_double(b.at(i, j)), tolerance * (1 + size))
          << n << " rows, element " << i << ", " << j << " of " << columns;
    }
  }
}

constexpr Kind kKinds[] = {{true, true}, {true, false}, {false, true}, {false, false}};

TYPED_TEST(Triangles, EveryHeightAndWidth) {
  on_every_target([] {
    for (const Kind kind : kKinds) {
      for (int64_t n = 1; n <= 35; ++n) {
        check_solution<TypeParam>(n, 19, Layout::kCols, Layout::kCols, kind);
        check_solution<TypeParam>(n, 34, Layout::kRows, Layout::kRows, kind);
      }
      for (int64_t columns = 1; columns <= 35; ++columns) {
        check_solution<TypeParam>(21, columns, Layout::kColsApart, Layout::kColsApart, kind);
        check_solution<TypeParam>(21, columns, Layout::kRows, Layout::kRowsApart, kind);
        check_solution<TypeParam>(9, columns, Layout::kScattered, Layout::kScattered, kind);
      }
    }
  });
}

TYPED_TEST(Triangles, LargeOnesAreHalved) {
  for (const int threads : {1, 4}) {
    const Threads scope(threads);
    for (const Kind kind : kKinds) {
      check_solution<TypeParam>(512, 40, Layout::kCols, Layout::kCols, kind);
      check_solution<TypeParam>(700, 70, Layout::kCols, Layout::kCols, kind);
      check_solution<TypeParam>(1100, 33, Layout::kRows, Layout::kRows, kind);
    }
  }
}

TYPED_TEST(Triangles, ThreadsChangeNothing) {
  using T = TypeParam;
  for (const int64_t n : {96, 600}) {
    std::mt19937 random(7);
    TestMatrix<T> a = make<T>(n, n, Layout::kCols, random);
    for (int64_t i = 0; i < n; ++i) a.at(i, i) = static_cast<T>(n);
    const TestMatrix<T> b = make<T>(n, 150, Layout::kCols, random);
    const auto solved = [&](int threads) {
      const Threads scope(threads);
      TestMatrix<T> x = b;
      solve_columns(TriangularSolver<T>(n, a.in(), true, false), x.out(), 150);
      return x.memory;
    };
    EXPECT_EQ(solved(1), solved(5));
  }
}

}  // namespace
}  // namespace mindtorch::cpu::linalg
