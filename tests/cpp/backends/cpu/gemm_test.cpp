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

namespace mindtorch::cpu {
namespace {

constexpr DType kProductDTypes[] = {DType::kUInt8,    DType::kInt8,    DType::kInt16,
                                    DType::kInt32,    DType::kInt64,   DType::kFloat16,
                                    DType::kBFloat16, DType::kFloat32, DType::kFloat64};

template <typename T>
double to_double(T value) {
  return static_cast<double>(value);
}
double to_double(Half value) { return static_cast<float>(value); }
double to_double(BFloat16 value) { return static_cast<float>(value); }

template <typename T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

// How the elements of a test matrix lie in memory.
enum class Layout { kRows, kCols, kRowsApart, kColsApart, kScattered, kRowRepeated, kColRepeated };
constexpr Layout kLayouts[] = {Layout::kRows,       Layout::kCols,      Layout::kRowsApart,
                               Layout::kColsApart,  Layout::kScattered, Layout::kRowRepeated,
                               Layout::kColRepeated};

template <typename T>
struct TestMatrix {
  std::vector<T> memory;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  int64_t col_stride;

  T& at(int64_t r, int64_t c) {
    return memory[static_cast<size_t>(r * row_stride + c * col_stride)];
  }
  ConstMatrix in() { return {memory.data(), row_stride, col_stride}; }
  Matrix out() { return {memory.data(), row_stride, col_stride}; }
};

template <typename T>
TestMatrix<T> make(int64_t rows, int64_t cols, Layout layout, std::mt19937& random) {
  TestMatrix<T> matrix = {{}, rows, cols, cols, 1};
  switch (layout) {
    case Layout::kRows:
      break;
    case Layout::kCols:
      matrix.row_stride = 1, matrix.col_stride = rows;
      break;
    case Layout::kRowsApart:
      matrix.row_stride = cols + 3;
      break;
    case Layout::kColsApart:
      matrix.row_stride = 1, matrix.col_stride = rows + 5;
      break;
    case Layout::kScattered:
      matrix.row_stride = 2 * cols + 1, matrix.col_stride = 2;
      break;
    case Layout::kRowRepeated:
      matrix.row_stride = 0;
      break;
    case Layout::kColRepeated:
      matrix.row_stride = 1, matrix.col_stride = 0;
      break;
  }
  const int64_t last = std::max<int64_t>(rows - 1, 0) * matrix.row_stride +
                       std::max<int64_t>(cols - 1, 0) * matrix.col_stride;
  matrix.memory.resize(static_cast<size_t>(last + 1));
  for (T& value : matrix.memory) {
    const auto whole = static_cast<int64_t>(random());
    if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(whole * 0x10001);
    } else {
      value = from_double<T>(static_cast<double>(whole % 2001 - 1000) / 500);
    }
  }
  return matrix;
}

// One element of c = alpha * a @ b + beta * c, and for floats the sum of magnitudes that bounds its
// error. Integers are computed modulo 2^64 and cut to the type.
template <typename T>
void expect_element(TestMatrix<T>& a,
                    TestMatrix<T>& b,
                    T before,
                    T got,
                    int64_t i,
                    int64_t j,
                    Factor alpha,
                    Factor beta,
                    const std::string& what) {
  if constexpr (std::is_integral_v<T>) {
    uint64_t sum = 0;
    for (int64_t l = 0; l < a.cols; ++l) {
      sum += static_cast<uint64_t>(a.at(i, l)) * static_cast<uint64_t>(b.at(l, j));
    }
    const uint64_t whole = static_cast<uint64_t>(alpha.i) * sum +
                           static_cast<uint64_t>(beta.i) * static_cast<uint64_t>(before);
    ASSERT_EQ(got, static_cast<T>(whole)) << what << " at " << i << ", " << j;
  } else {
    double sum = 0;
    double magnitude = 0;
    for (int64_t l = 0; l < a.cols; ++l) {
      const double term = to_double(a.at(i, l)) * to_double(b.at(l, j));
      sum += term;
      magnitude += std::abs(term);
    }
    const double kept = beta.f == 0 ? 0 : beta.f * to_double(before);
    const double expected = alpha.f * sum + kept;
    magnitude = std::abs(alpha.f) * magnitude + std::abs(kept);
    // Rounding once to a 16-bit type, or many times in the accumulator.
    const double unit = sizeof(T) == 8 ? 0x1p-53 : 0x1p-24;
    const double once = std::is_same_v<T, Half>       ? 0x1p-11
                        : std::is_same_v<T, BFloat16> ? 0x1p-8
                                                      : unit;
    const double bound = once * std::abs(expected) * 1.01 +
                         8 * std::sqrt(double(a.cols) + 1) * unit * magnitude +
                         (std::is_same_v<T, Half> ? 0x1p-24 : 0);
    ASSERT_NEAR(to_double(got), expected, bound) << what << " at " << i << ", " << j;
  }
}

template <typename T>
void check(int64_t m,
           int64_t n,
           int64_t k,
           Layout a_layout,
           Layout b_layout,
           Layout c_layout,
           Factor alpha = kOneFactor,
           Factor beta = kZeroFactor) {
  std::mt19937 random(static_cast<uint32_t>(m * 7 + n * 31 + k));
  auto a = make<T>(m, k, a_layout, random);
  auto b = make<T>(k, n, b_layout, random);
  auto c = make<T>(m, n, c_layout, random);
  auto result = c;
  gemm(DTypeOf<T>::value, m, n, k, a.in(), b.in(), result.out(), alpha, beta);
  const std::string what = std::string(name(DTypeOf<T>::value)) + " " + std::to_string(m) + "x" +
                           std::to_string(n) + "x" + std::to_string(k) + " layouts " +
                           std::to_string(int(a_layout)) + std::to_string(int(b_layout)) +
                           std::to_string(int(c_layout));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      expect_element(a, b, c.at(i, j), result.at(i, j), i, j, alpha, beta, what);
      if (testing::Test::HasFatalFailure()) return;
      c.at(i, j) = result.at(i, j);
    }
  }
  // What lies between the elements of c is left alone.
  for (size_t i = 0; i < c.memory.size(); ++i) {
    ASSERT_TRUE(std::memcmp(&c.memory[i], &result.memory[i], sizeof(T)) == 0) << what;
  }
}

class Threads {
 public:
  explicit Threads(int count) : before_(num_threads()) { set_num_threads(count); }
  ~Threads() { set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

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

// A bias row, and c itself, in products that one thread computes, that many divide by blocks of c,
// and that many divide by terms.
TEST(GemmCases, AddsAnotherMatrix) {
  std::mt19937 random(5);
  const int threads = num_threads();
  for (const auto& [m, n, k, count] : {std::tuple{40, 70, 33, 1}, std::tuple{70, 2000, 40, 8},
                                       std::tuple{64, 64, 4100, 8}, std::tuple{600, 40, 1100, 3}}) {
    set_num_threads(count);
    for (const bool is_row : {true, false}) {
      auto a = make<BFloat16>(m, k, Layout::kRows, random);
      auto b = make<BFloat16>(k, n, Layout::kCols, random);
      auto c = make<BFloat16>(m, n, Layout::kRows, random);
      auto bias = make<BFloat16>(m, n, Layout::kRowRepeated, random);
      auto before = is_row ? bias : c;
      if (!gemm_with_addend(DType::kBFloat16, m, n, k, a.in(), b.in(), is_row ? bias.in() : c.in(),
                            c.out())) {
        continue;  // a machine without products of bfloat16
      }
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          expect_element(a, b, before.at(i, j), c.at(i, j), i, j, kOneFactor, kOneFactor,
                         is_row ? "row" : "c");
        }
      }
    }
  }
  set_num_threads(threads);
}

}  // namespace
}  // namespace mindtorch::cpu
