// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/linalg/triangle_kernels.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>

#include "mindtorch/backends/cpu/linalg/triangle_kernels.h"
#include "mindtorch/backends/cpu/product/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// Rows that are kept in registers.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM
constexpr int64_t kRows = 8;
#else
constexpr int64_t kRows = 5;
#endif

template <typename T>
struct Strip {
  const T* a;  // of the first row
  int64_t row;
  int64_t column;
  int64_t terms;  // rows that are solved
  const T* inverses;
  T* x;  // the first row that is solved
  int64_t stride;
};

template <int kR, int kV, typename T>
HWY_NOINLINE void solve_strip(const Strip<T>& strip) {
  const Tag<T> d;
  using V = Vector<T>;
  constexpr int64_t kLanes = kLanesOf<T>;
  const int64_t row = strip.row;
  const int64_t stride = strip.stride;
  T* const own = strip.x + strip.terms * stride;
  V sums[kR][kV];
  HWY_UNROLL(8)
  for (int i = 0; i < kR; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) sums[i][j] = hn::LoadU(d, own + i * stride + j * kLanes);
  }
  const T* a = strip.a;
  const T* x = strip.x;
  for (int64_t t = strip.terms; t > 0; --t, a += strip.column, x += stride) {
    V y[kV];
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) y[j] = hn::LoadU(d, x + j * kLanes);
    HWY_UNROLL(8)
    for (int i = 0; i < kR; ++i) {
      const V factor = hn::Set(d, a[i * row]);
      HWY_UNROLL(2)
      for (int j = 0; j < kV; ++j) sums[i][j] = hn::NegMulAdd(factor, y[j], sums[i][j]);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kR; ++i, a += strip.column) {
    if (strip.inverses != nullptr) {
      const V inverse = hn::Set(d, strip.inverses[i]);
      HWY_UNROLL(2)
      for (int j = 0; j < kV; ++j) sums[i][j] = hn::Mul(sums[i][j], inverse);
    }
    HWY_UNROLL(8)
    for (int k = i + 1; k < kR; ++k) {
      const V factor = hn::Set(d, a[k * row]);
      HWY_UNROLL(2)
      for (int j = 0; j < kV; ++j) sums[k][j] = hn::NegMulAdd(factor, sums[i][j], sums[k][j]);
    }
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) hn::StoreU(sums[i][j], d, own + i * stride + j * kLanes);
  }
}

template <int kV, typename T>
void solve_last(const Strip<T>& strip, int64_t rows) {
  switch (rows) {
    case 1:
      return solve_strip<1, kV>(strip);
    case 2:
      return solve_strip<2, kV>(strip);
    case 3:
      return solve_strip<3, kV>(strip);
    case 4:
      return solve_strip<4, kV>(strip);
    case 5:
      return solve_strip<5, kV>(strip);
    case 6:
      return solve_strip<6, kV>(strip);
    case 7:
      return solve_strip<7, kV>(strip);
    default:
      return;
  }
}

template <int kV, typename T>
void solve_strips(int64_t n, Strip<T> strip) {
  const T* const a = strip.a;
  const T* const inverses = strip.inverses;
  for (int64_t i = 0; i < n; i += kRows) {
    strip.a = a + i * strip.row;
    strip.terms = i;
    if (inverses != nullptr) strip.inverses = inverses + i;
    if (i + kRows <= n) {
      solve_strip<kRows, kV>(strip);
    } else {
      solve_last<kV>(strip, n - i);
    }
  }
}

template <typename T>
void solve(int64_t n,
           const T* a,
           int64_t row,
           int64_t column,
           const T* inverses,
           T* x,
           int64_t stride,
           int64_t vectors) {
  const Strip<T> strip = {a, row, column, 0, inverses, x, stride};
  if (vectors == 1) return solve_strips<1>(n, strip);
  solve_strips<2>(n, strip);
}

template <typename T>
void unpack(const T* panel, int64_t width, int64_t n, T* const* columns, int64_t count) {
  constexpr int64_t kSide = kLanesOf<T>;
  const Tag<T> d;
  for (int64_t j = 0; j < count; j += kSide) {
    const int64_t some = std::min(kSide, count - j);
    for (int64_t i = 0; i < n; i += kSide) {
      const int64_t rows = std::min(kSide, n - i);
      Vector<T> square[static_cast<size_t>(kSide)];
      const T* const corner = panel + i * width + j;
      if (rows == kSide) {
        HWY_UNROLL(16)
        for (int64_t k = 0; k < kSide; ++k) square[k] = hn::LoadU(d, corner + k * width);
      } else {
        for (int64_t k = 0; k < kSide; ++k) {
          square[k] = k < rows ? hn::LoadU(d, corner + k * width) : hn::Zero(d);
        }
      }
      transpose_square<T>(square);
      if (rows == kSide && some == kSide) {
        HWY_UNROLL(16)
        for (int64_t k = 0; k < kSide; ++k) hn::StoreU(square[k], d, columns[j + k] + i);
      } else {
        for (int64_t k = 0; k < some; ++k) {
          store_wide_first(d, square[k], columns[j + k] + i, static_cast<size_t>(rows));
        }
      }
    }
  }
}

template <typename T>
const linalg::TriangleKernels<T>* make_kernels() {
  static constexpr linalg::TriangleKernels<T> kTable = {kLanesOf<T>, &solve<T>, &unpack<T>};
  return &kTable;
}
const linalg::TriangleKernels<float>* float_kernels() { return make_kernels<float>(); }
const linalg::TriangleKernels<double>* double_kernels() { return make_kernels<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {
HWY_EXPORT(float_kernels);
HWY_EXPORT(double_kernels);
}  // namespace

template <>
const linalg::TriangleKernels<float>& linalg::triangle_kernels<float>() {
  return *HWY_DYNAMIC_DISPATCH(float_kernels)();
}
template <>
const linalg::TriangleKernels<double>& linalg::triangle_kernels<double>() {
  return *HWY_DYNAMIC_DISPATCH(double_kernels)();
}

}  // namespace mindtorch::cpu
#endif
