// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/linalg/pivoted.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>
#include <utility>

#include "mindtorch/backends/cpu/linalg/pivoted.h"
#include "mindtorch/backends/cpu/linalg/reflect-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kK = linalg::kTurnedAtOnce;

template <typename T>
void qr(int64_t m, int64_t n, T* a, int64_t ld, int* order, T* tau, T* squares) {
  T* const computed = squares + n;  // the squares when they were last computed, not updated
  for (int64_t j = 0; j < n; ++j) {
    order[j] = static_cast<int>(j);
    squares[j] = computed[j] = sum_of_squares(a + j * ld, m, 0);
  }
  const T trusted = std::sqrt(std::numeric_limits<T>::epsilon());
  for (int64_t k = 0; k < n; ++k) {
    const int64_t pivot = std::max_element(squares + k, squares + n) - squares;
    if (pivot != k) {
      std::swap_ranges(a + k * ld, a + k * ld + m, a + pivot * ld);
      std::swap(order[k], order[pivot]);
      squares[pivot] = squares[k];
      computed[pivot] = computed[k];
    }
    T* const head = a + k * ld + k;
    const int64_t below = m - k - 1;
    tau[k] = make_reflector(*head, head + 1, below, k + 1);
    if (tau[k] != T(0)) {
      reflect_columns(n - k - 1, below, k + 1, head + 1, tau[k], head + ld, ld);
    }
    for (int64_t j = k + 1; j < n; ++j) {
      const T gone = a[j * ld + k];
      squares[j] -= gone * gone;
      if (squares[j] > trusted * computed[j]) continue;
      squares[j] = computed[j] = sum_of_squares(a + j * ld + k + 1, below, k + 1);
    }
  }
}

template <typename T>
T product_of(const T* x, const T* y, int64_t n, int64_t before) {
  const Tag<T> d;
  auto sum = hn::Zero(d);
  for_vectors<T>(n, before, [&](const auto& load, const auto&) HWY_ATTR {
    sum = hn::MulAdd(load(x), load(y), sum);
  });
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <typename T>
void pack(int64_t m, int64_t n, const T* a, int64_t ld, const T* tau, T* vectors, T* triangles) {
  for (int64_t first = 0; first < n; first += kK, vectors += m * kK, triangles += kK * kK) {
    const int64_t count = std::min(kK, n - first);
    for (int64_t j = 0; j < kK; ++j) {
      if (j >= count) {
        for (int64_t i = first; i < m; ++i) vectors[i * kK + j] = T(0);
        continue;
      }
      const T* const column = a + (first + j) * ld;
      for (int64_t i = first; i < first + j; ++i) vectors[i * kK + j] = T(0);
      vectors[(first + j) * kK + j] = T(1);
      for (int64_t i = first + j + 1; i < m; ++i) vectors[i * kK + j] = column[i];
    }
    std::fill_n(triangles, kK * kK, T(0));
    // Column j of the triangle is tau (-T V' v, 1).
    for (int64_t j = 0; j < count; ++j) {
      const T* const v = a + (first + j) * ld + first + j;  // its first element stands for a 1
      for (int64_t k = 0; k < j; ++k) {
        const T* const other = a + (first + k) * ld + first + j;
        const T product = other[0] + product_of(other + 1, v + 1, m - first - j - 1, first + j + 1);
        for (int64_t i = 0; i <= k; ++i) {
          triangles[i * kK + j] -= tau[first + j] * product * triangles[i * kK + k];
        }
      }
      triangles[j * kK + j] = tau[first + j];
    }
  }
}

template <int kV, typename T>
HWY_NOINLINE void turn_block(int64_t rows, const T* vectors, const T* triangle, T* panel) {
  const Tag<T> d;
  using V = Vector<T>;
  constexpr int64_t kLanes = kLanesOf<T>;
  constexpr int64_t kWidth = kV * kLanes;
  V sums[kK][kV];
  HWY_UNROLL(4)
  for (int64_t k = 0; k < kK; ++k) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) sums[k][j] = hn::Zero(d);
  }
  for (int64_t i = 0; i < rows; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      const V x = hn::LoadU(d, panel + i * kWidth + j * kLanes);
      HWY_UNROLL(4)
      for (int64_t k = 0; k < kK; ++k) {
        sums[k][j] = hn::MulAdd(hn::Set(d, vectors[i * kK + k]), x, sums[k][j]);
      }
    }
  }
  V turned[kK][kV];
  HWY_UNROLL(4)
  for (int64_t k = 0; k < kK; ++k) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      turned[k][j] = hn::Mul(hn::Set(d, triangle[k]), sums[0][j]);
      HWY_UNROLL(4)
      for (int64_t l = 1; l <= k; ++l) {
        turned[k][j] = hn::MulAdd(hn::Set(d, triangle[l * kK + k]), sums[l][j], turned[k][j]);
      }
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      T* const at = panel + i * kWidth + j * kLanes;
      V x = hn::LoadU(d, at);
      HWY_UNROLL(4)
      for (int64_t k = 0; k < kK; ++k) {
        x = hn::NegMulAdd(hn::Set(d, vectors[i * kK + k]), turned[k][j], x);
      }
      hn::StoreU(x, d, at);
    }
  }
}

template <typename T>
void turn(int64_t m, int64_t n, const T* vectors, const T* triangles, T* panel, int64_t width) {
  const auto block = width == kLanesOf<T> ? &turn_block<1, T> : &turn_block<2, T>;
  for (int64_t first = 0; first < n; first += kK, vectors += m * kK, triangles += kK * kK) {
    block(m - first, vectors + first * kK, triangles, panel + first * width);
  }
}

template <typename T>
const linalg::PivotedFactors<T>* make_factors() {
  static constexpr linalg::PivotedFactors<T> kTable = {&qr<T>, &pack<T>, &turn<T>};
  return &kTable;
}
const linalg::PivotedFactors<float>* float_factors() { return make_factors<float>(); }
const linalg::PivotedFactors<double>* double_factors() { return make_factors<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {
HWY_EXPORT(float_factors);
HWY_EXPORT(double_factors);
}  // namespace

template <>
const linalg::PivotedFactors<float>& linalg::pivoted_factors<float>() {
  return *HWY_DYNAMIC_DISPATCH(float_factors)();
}
template <>
const linalg::PivotedFactors<double>& linalg::pivoted_factors<double>() {
  return *HWY_DYNAMIC_DISPATCH(double_factors)();
}

}  // namespace mindtorch::cpu
#endif
