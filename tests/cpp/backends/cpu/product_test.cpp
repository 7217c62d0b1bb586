#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "tests/cpp/backends/cpu/test_matrix.h"

// What the tiles of floating products have to get right: sizes that fill no tile, blocks of terms,
// panels that threads share, and the same bytes on any number of threads.
namespace mindtorch::cpu {
namespace {

template <typename T>
class Products : public testing::Test {};
using FloatTypes = testing::Types<float, double, Half, BFloat16>;
TYPED_TEST_SUITE(Products, FloatTypes);

struct Size {
  int64_t m;
  int64_t n;
  int64_t k;
};

TYPED_TEST(Products, EveryHeightAndWidthOfATile) {
  using T = TypeParam;
  for (int64_t m = 2; m <= 30; ++m) {
    check<T>(m, 37, 19, Layout::kRows, Layout::kRows, Layout::kRows);
    check<T>(m, 64, 70, Layout::kCols, Layout::kCols, Layout::kRowsApart, {1, 1}, {1, 1});
  }
  for (int64_t n = 2; n <= 70; n += n < 36 ? 1 : 5) {
    check<T>(17, n, 23, Layout::kRowsApart, Layout::kRows, Layout::kRows, {2, 2}, {-1, -1});
    check<T>(31, n, 66, Layout::kCols, Layout::kCols, Layout::kCols);
    check<T>(9, n, 65, Layout::kScattered, Layout::kScattered, Layout::kRows);
  }
}

TYPED_TEST(Products, EveryFewRows) {
  using T = TypeParam;
  for (const int threads : {1, 4}) {
    const Threads scope(threads);
    for (int64_t few = 1; few <= 9; ++few) {
      for (const int64_t k : {1, 63, 64, 65, 200, 1100}) {
        check<T>(few, 77, k, Layout::kRows, Layout::kCols, Layout::kRows);
        check<T>(few, 77, k, Layout::kCols, Layout::kCols, Layout::kCols, {2, 2}, {1, 1});
        check<T>(77, few, k, Layout::kRows, Layout::kRows, Layout::kRows, {1, 1}, {-2, -2});
        check<T>(few, 77, k, Layout::kRows, Layout::kRowsApart, Layout::kScattered);
      }
    }
    check<T>(1, 700, 1300, Layout::kRows, Layout::kRows, Layout::kRows, {1, 1}, {2, 2});
    check<T>(1, 5, 40000, Layout::kRows, Layout::kCols, Layout::kRows);
    check<T>(2, 900, 700, Layout::kRows, Layout::kCols, Layout::kRows);
  }
}

TYPED_TEST(Products, BlocksOfTermsAndThreads) {
  using T = TypeParam;
  for (const int threads : {1, 2, 3, 4}) {
    const Threads scope(threads);
    check<T>(33, 35, 1000, Layout::kRows, Layout::kCols, Layout::kRows, {2, 2}, {1, 1});
    check<T>(61, 63, 2050, Layout::kCols, Layout::kRows, Layout::kCols);
    check<T>(260, 70, 390, Layout::kRows, Layout::kRows, Layout::kRows);
    check<T>(129, 260, 140, Layout::kRows, Layout::kCols, Layout::kScattered, {1, 1}, {3, 3});
    check<T>(90, 900, 64, Layout::kCols, Layout::kRowsApart, Layout::kRows);
  }
}

template <typename T>
std::vector<T> product_with(int threads, const Size& size, Layout a_layout, Layout b_layout) {
  const Threads scope(threads);
  std::mt19937 random(3);
  auto a = make<T>(size.m, size.k, a_layout, random);
  auto b = make<T>(size.k, size.n, b_layout, random);
  auto c = make<T>(size.m, size.n, Layout::kRows, random);
  gemm(DTypeOf<T>::value, size.m, size.n, size.k, a.in(), b.in(), c.out(), {1.5, 1}, {0.5, 1});
  return c.memory;
}

TYPED_TEST(Products, DoNotDependOnTheNumberOfThreads) {
  using T = TypeParam;
  if (std::is_same_v<T, BFloat16>) GTEST_SKIP() << "machines that multiply them divide the terms";
  for (const Size size :
       {Size{300, 300, 300}, Size{64, 64, 4096}, Size{8, 1024, 1024}, Size{1, 1000, 3000},
        Size{3, 500, 2000}, Size{1500, 64, 70}, Size{40, 1100, 600}, Size{2, 3, 70000}}) {
    for (const Layout layout : {Layout::kRows, Layout::kCols}) {
      const std::vector<T> one = product_with<T>(1, size, Layout::kRows, layout);
      for (const int threads : {2, 3, 5, 16}) {
        const std::vector<T> many = product_with<T>(threads, size, Layout::kRows, layout);
        EXPECT_EQ(std::memcmp(one.data(), many.data(), one.size() * sizeof(T)), 0)
            << size.m << " " << size.n << " " << size.k << " with " << threads;
      }
    }
  }
}

// A bias row, and c itself, in products that one thread computes, that many divide by blocks of c,
// and that many divide by terms.
TYPED_TEST(Products, AddAnotherMatrix) {
  using T = TypeParam;
  std::mt19937 random(5);
  struct Case {
    Size size;
    int threads;
  };
  for (const auto& [size, threads] :
       {Case{{40, 70, 33}, 1}, Case{{70, 2000, 40}, 8}, Case{{64, 64, 4100}, 8},
        Case{{600, 40, 1100}, 3}, Case{{1, 300, 700}, 2}, Case{{5, 300, 700}, 2}}) {
    const auto [m, n, k] = size;
    const Threads scope(threads);
    for (const bool is_row : {true, false}) {
      auto a = make<T>(m, k, Layout::kRows, random);
      auto b = make<T>(k, n, Layout::kCols, random);
      auto c = make<T>(m, n, Layout::kRows, random);
      auto bias = make<T>(m, n, Layout::kRowRepeated, random);
      auto before = is_row ? bias : c;
      if (!gemm_with_addend(DTypeOf<T>::value, m, n, k, a.in(), b.in(), is_row ? bias.in() : c.in(),
                            c.out())) {
        EXPECT_TRUE((std::is_same_v<T, BFloat16>)) << "only machines that multiply them refuse";
        continue;
      }
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          expect_element(a, b, before.at(i, j), c.at(i, j), i, j, kOneFactor, kOneFactor,
                         is_row ? "row" : "c");
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

// Products of a batch that are larger than a thread's share, and matrices that products share.
TYPED_TEST(Products, BatchesAreDivided) {
  using T = TypeParam;
  for (const int threads : {1, 4}) {
    const Threads scope(threads);
    for (const auto& [batch, size] : {std::pair{3, Size{150, 140, 130}},
                                      {5, Size{1, 900, 70}},
                                      {9, Size{33, 34, 35}},
                                      {2, Size{7, 600, 128}}}) {
      const auto [m, n, k] = size;
      for (const bool by_columns : {false, true}) {
        std::mt19937 random(11);
        auto a = make<T>(batch * m, k, Layout::kRows, random);
        auto b = make<T>(batch * k, n, Layout::kRows, random);
        auto c = make<T>(batch * m, n, Layout::kRows, random);
        auto result = c;
        const ConstMatrix right =
            by_columns ? ConstMatrix{b.memory.data(), 1, k} : ConstMatrix{b.memory.data(), n, 1};
        batched_gemm(DTypeOf<T>::value, batch, m, n, k, a.in(), m * k, right, k * n, result.out(),
                     m * n, {2, 2}, {1, 1});
        for (int64_t i = 0; i < batch; ++i) {
          TestMatrix<T> left = {
              {a.memory.begin() + i * m * k, a.memory.begin() + (i + 1) * m * k}, m, k, k, 1};
          TestMatrix<T> own = {{b.memory.begin() + i * k * n, b.memory.begin() + (i + 1) * k * n},
                               k,
                               n,
                               by_columns ? 1 : n,
                               by_columns ? k : 1};
          for (int64_t r = 0; r < m; ++r) {
            for (int64_t s = 0; s < n; ++s) {
              expect_element(left, own, c.at(i * m + r, s), result.at(i * m + r, s), r, s, {2, 2},
                             {1, 1}, "batch");
              if (testing::Test::HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace mindtorch::cpu
