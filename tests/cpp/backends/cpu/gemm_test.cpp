#include "mindtorch/backends/cpu/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/base/error.h"
#include "tests/cpp/backends/cpu/test_matrix.h"

namespace mindtorch::cpu {
namespace {

constexpr DType kProductDTypes[] = {DType::kUInt8,    DType::kInt8,    DType::kInt16,
                                    DType::kInt32,    DType::kInt64,   DType::kFloat16,
                                    DType::kBFloat16, DType::kFloat32, DType::kFloat64};

class Gemm : public testing::TestWithParam<DType> {
 protected:
  // Calls body.operator()<T>() with the C++ type of the test's dtype.
  template <typename Body>
  void typed(const Body& body) {
    visit_dtype(GetParam(), [&]<typename T>() {
      if constexpr (!std::is_same_v<T, bool>) body.template operator()<T>();
    });
  }
};
INSTANTIATE_TEST_SUITE_P(DTypes, Gemm, testing::ValuesIn(kProductDTypes), [](const auto& info) {
  return std::string(name(info.param));
});

TEST_P(Gemm, EveryPairOfLayouts) {
  typed([]<typename T>() {
    for (const Layout a : kLayouts) {
      for (const Layout b : kLayouts) {
        for (const Layout c : {Layout::kRows, Layout::kCols, Layout::kRowsApart, Layout::kColsApart,
                               Layout::kScattered}) {
          check<T>(5, 7, 6, a, b, c);
          check<T>(18, 17, 33, a, b, c, {-0.5, 3}, {1.5, -2});
        }
      }
    }
  });
}

TEST_P(Gemm, EverySmallSize) {
  typed([]<typename T>() {
    for (const int64_t m : {1, 2, 3, 4, 9, 17}) {
      for (const int64_t n : {1, 2, 5, 16, 35}) {
        for (const int64_t k : {1, 2, 7, 16, 65}) {
          check<T>(m, n, k, Layout::kRows, Layout::kRows, Layout::kRows);
          check<T>(m, n, k, Layout::kRows, Layout::kCols, Layout::kRows, {2, 2}, {1, 1});
          check<T>(m, n, k, Layout::kColsApart, Layout::kRowsApart, Layout::kCols);
          check<T>(m, n, k, Layout::kScattered, Layout::kScattered, Layout::kScattered, {1, 1},
                   {-1, -1});
          check<T>(m, n, k, Layout::kRowRepeated, Layout::kColRepeated, Layout::kRowsApart);
        }
      }
    }
  });
}

TEST_P(Gemm, SizesPastEveryBlock) {
  typed([]<typename T>() {
    for (const int threads : {1, 3}) {
      const Threads scope(threads);
      check<T>(130, 131, 129, Layout::kRows, Layout::kRows, Layout::kRows);
      check<T>(130, 131, 129, Layout::kRows, Layout::kCols, Layout::kRowsApart, {2, 2}, {1, 1});
      check<T>(130, 131, 129, Layout::kCols, Layout::kCols, Layout::kCols);
      check<T>(20, 300, 310, Layout::kRows, Layout::kCols, Layout::kRows, {1, 1}, {2, 2});
      check<T>(300, 20, 310, Layout::kCols, Layout::kRows, Layout::kRows);
      check<T>(8, 9, 2100, Layout::kRows, Layout::kRows, Layout::kRows);  // divides the terms
      check<T>(65, 66, 3000, Layout::kCols, Layout::kRows, Layout::kRows, {1, 1}, {1, 1});
      check<T>(600, 70, 90, Layout::kCols, Layout::kRows, Layout::kRowsApart);
      check<T>(70, 600, 530, Layout::kRowsApart, Layout::kColsApart, Layout::kRows);
      check<T>(400, 500, 3, Layout::kRows, Layout::kRows, Layout::kRows, {1, 1}, {3, 3});
      check<T>(400, 500, 1, Layout::kRows, Layout::kScattered, Layout::kCols, {2, 2}, {1, 1});
      check<T>(3, 700, 800, Layout::kCols, Layout::kRows, Layout::kRows, {1, 1}, {1, 1});
      check<T>(2, 700, 800, Layout::kRows, Layout::kCols, Layout::kRows);
    }
  });
}

TEST_P(Gemm, VectorsOfEveryLayout) {
  typed([]<typename T>() {
    for (const int threads : {1, 3}) {
      const Threads scope(threads);
      for (const Layout layout : kLayouts) {
        check<T>(300, 1, 270, layout, Layout::kRows, Layout::kRows);
        check<T>(300, 1, 270, layout, Layout::kScattered, Layout::kRowsApart, {2, 2}, {3, 3});
        check<T>(1, 300, 270, Layout::kColRepeated, layout, Layout::kRows, {1, 1}, {1, 1});
        check<T>(1, 5000, 33, Layout::kRows, layout, Layout::kScattered);
      }
    }
  });
}

TEST_P(Gemm, NoTermsScaleC) {
  typed([]<typename T>() {
    check<T>(3, 4, 0, Layout::kRows, Layout::kRows, Layout::kScattered, {1, 1}, {2, 3});
    check<T>(3, 4, 0, Layout::kRows, Layout::kRows, Layout::kRows);
    check<T>(3, 1, 0, Layout::kRows, Layout::kRows, Layout::kRows, {1, 1}, {2, 3});
    check<T>(3, 4, 5, Layout::kRows, Layout::kRows, Layout::kCols, {0, 0}, {2, 3});
  });
}

TEST_P(Gemm, EmptyProductsTouchNothing) {
  gemm(GetParam(), 0, 4, 4, {nullptr, 4, 1}, {nullptr, 4, 1}, {nullptr, 4, 1});
  gemm(GetParam(), 4, 0, 4, {nullptr, 4, 1}, {nullptr, 4, 1}, {nullptr, 4, 1});
  gemv(GetParam(), 0, 4, {nullptr, 4, 1}, nullptr, 1, nullptr, 1);
  batched_gemm(GetParam(), 0, 4, 4, 4, {nullptr, 4, 1}, 16, {nullptr, 4, 1}, 16, {nullptr, 4, 1},
               16);
}

TEST_P(Gemm, ZeroBetaIgnoresNaN) {
  typed([]<typename T>() {
    if constexpr (!std::is_integral_v<T>) {
      const std::tuple<int64_t, int64_t, int64_t> sizes[] = {
          {4, 5, 6},       {70, 80, 90}, {300, 200, 5}, {9, 1, 7},     {1, 9, 7},
          {200, 300, 400}, {50, 60, 0},  {40, 50, 1},   {2, 300, 300}, {1, 1, 40}};
      for (const auto& [m, n, k] : sizes) {
        for (const Layout layout : {Layout::kRows, Layout::kCols, Layout::kScattered}) {
          std::mt19937 random(1);
          auto a = make<T>(m, k, Layout::kRows, random);
          auto b = make<T>(k, n, Layout::kRows, random);
          auto c = make<T>(m, n, layout, random);
          std::fill(c.memory.begin(), c.memory.end(), from_double<T>(std::nan("")));
          gemm(DTypeOf<T>::value, m, n, k, a.in(), b.in(), c.out());
          for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) ASSERT_FALSE(std::isnan(to_double(c.at(i, j))));
          }
        }
      }
    }
  });
}

TEST_P(Gemm, Batches) {
  typed([]<typename T>() {
    for (const int threads : {1, 2}) {
      const Threads scope(threads);
      for (const auto& size :
           {std::vector<int64_t>{6, 3, 4, 5}, {40, 17, 18, 19}, {3, 70, 80, 300}}) {
        const int64_t batch = size[0], m = size[1], n = size[2], k = size[3];
        for (const bool shares_a : {false, true}) {
          for (const bool shares_b : {false, true}) {
            std::mt19937 random(9);
            auto a = make<T>(batch * m, k, Layout::kRows, random);
            auto b = make<T>(batch * k, n, Layout::kRows, random);
            auto c = make<T>(batch * m, n, Layout::kRows, random);
            auto result = c;
            const int64_t a_stride = shares_a ? 0 : m * k;
            const int64_t b_stride = shares_b ? 0 : k * n;
            batched_gemm(DTypeOf<T>::value, batch, m, n, k, a.in(), a_stride, b.in(), b_stride,
                         result.out(), m * n, {2, 2}, {1, 1});
            for (int64_t i = 0; i < batch; ++i) {
              TestMatrix<T> part_a = {{}, m, k, k, 1};
              part_a.memory.assign(a.memory.begin() + i * a_stride,
                                   a.memory.begin() + i * a_stride + m * k);
              TestMatrix<T> part_b = {{}, k, n, n, 1};
              part_b.memory.assign(b.memory.begin() + i * b_stride,
                                   b.memory.begin() + i * b_stride + k * n);
              for (int64_t r = 0; r < m; ++r) {
                for (int64_t s = 0; s < n; ++s) {
                  expect_element(part_a, part_b, c.at(i * m + r, s), result.at(i * m + r, s), r, s,
                                 {2, 2}, {1, 1}, "batch");
                  if (testing::Test::HasFatalFailure()) return;
                }
              }
            }
          }
        }
      }
    }
  });
}

TEST_P(Gemm, Dots) {
  typed([]<typename T>() {
    for (const int64_t n : {0, 1, 2, 15, 100, 5000, 600000}) {
      for (const int64_t x_stride : {1, 3, 0}) {
        for (const int64_t y_stride : {1, 2}) {
          if (n > 5000 && x_stride == 3) continue;
          std::mt19937 random(5);
          auto x = make<T>(1, std::max<int64_t>(n * std::max<int64_t>(x_stride, 1), 1),
                           Layout::kRows, random);
          auto y = make<T>(std::max<int64_t>(n * y_stride, 1), 1, Layout::kRows, random);
          x.cols = n;
          x.col_stride = x_stride;
          y.row_stride = y_stride;
          T out = from_double<T>(77);
          dot(DTypeOf<T>::value, n, x.memory.data(), x_stride, y.memory.data(), y_stride, &out);
          expect_element(x, y, T{}, out, 0, 0, kOneFactor, kZeroFactor, "dot");
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  });
}

TEST(GemmCases, MoreColumnsThanArePackedAtATime) {
  check<BFloat16>(40, 1100, 1100, Layout::kRows, Layout::kRows, Layout::kRows, {1, 1}, {0, 0});
  check<BFloat16>(33, 1100, 1090, Layout::kCols, Layout::kCols, Layout::kCols, {2, 2}, {1, 1});
}

TEST(GemmCases, SixteenBitSumsAreRoundedOnce) {
  // 1 + 2048 * 2^-12: every partial sum rounded to bfloat16 would stay 1.
  const int64_t k = 2049;
  for (const int64_t n : {1, 40}) {
    std::vector<BFloat16> a(static_cast<size_t>(40 * k), BFloat16(0x1p-12f));
    std::vector<BFloat16> b(static_cast<size_t>(k * n), BFloat16(1.0f));
    for (int64_t i = 0; i < 40; ++i) a[static_cast<size_t>(i * k)] = BFloat16(1.0f);
    std::vector<BFloat16> c(static_cast<size_t>(40 * n));
    gemm(DType::kBFloat16, 40, n, k, {a.data(), k, 1}, {b.data(), n, 1}, {c.data(), n, 1});
    for (const BFloat16 value : c) EXPECT_EQ(static_cast<float>(value), 1.5f);
  }
}

TEST(GemmCases, NonFiniteInputsSpread) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> a(64 * 64, 1.0f);
  std::vector<float> b(64 * 64, 1.0f);
  a[0] = infinity;
  a[64] = std::nanf("");
  std::vector<float> c(64 * 64);
  gemm(DType::kFloat32, 64, 64, 64, {a.data(), 64, 1}, {b.data(), 64, 1}, {c.data(), 64, 1});
  EXPECT_EQ(c[0], infinity);
  EXPECT_TRUE(std::isnan(c[64]));
  EXPECT_EQ(c[128], 64.0f);
}

TEST(GemmCases, BoolIsRefused) {
  bool value = true;
  const ConstMatrix in = {&value, 1, 1};
  EXPECT_THROW(gemm(DType::kBool, 1, 1, 1, in, in, {&value, 1, 1}), NotImplementedError);
  EXPECT_THROW(gemv(DType::kBool, 1, 1, in, &value, 1, &value, 1), NotImplementedError);
  EXPECT_THROW(dot(DType::kBool, 1, &value, 1, &value, 1, &value), NotImplementedError);
  EXPECT_THROW(batched_gemm(DType::kBool, 1, 1, 1, 1, in, 1, in, 1, {&value, 1, 1}, 1),
               NotImplementedError);
}

}  // namespace
}  // namespace mindtorch::cpu
