#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/parallel.h"

// Matrices of any layout, and products that are checked element by element.
namespace mindtorch::cpu {

template <typename T>
double to_double(T value) {
  return static_cast<double>(value);
}
inline double to_double(Half value) { return static_cast<float>(value); }
inline double to_double(BFloat16 value) { return static_cast<float>(value); }

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
inline constexpr Layout kLayouts[] = {Layout::kRows,       Layout::kCols,      Layout::kRowsApart,
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

}  // namespace mindtorch::cpu
