#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/linalg/panel.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <cmath>
#include <limits>
#include <utility>

#include "mindtorch/backends/cpu/linalg/panel.h"
#include "mindtorch/backends/cpu/linalg/reflect-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// --- LU ---

// The first of the largest elements by magnitude.
template <typename T>
int64_t find_largest(const T* column, int64_t n, int64_t before) {
  const Tag<T> d;
  auto most = hn::Zero(d);
  for_vectors<T>(n, before, [&](const auto& load, const auto&) HWY_ATTR {
    most = hn::Max(most, hn::Abs(load(column)));
  });
  const T largest = hn::GetLane(hn::MaxOfLanes(d, most));
  for (int64_t i = 0; i < n; ++i) {
    if (std::abs(column[i]) == largest) return i;
  }
  for (int64_t i = 0; i < n; ++i) {
    if (std::isnan(column[i])) return i;
  }
  return 0;
}

// y -= the sum over k of x_k * factors[k], of `n` elements; x_k are columns of `x`.
template <int kCount, typename T>
HWY_INLINE void subtract_columns(
    int64_t n, int64_t before, const T* x, int64_t ld, const T* factors, T* y) {
  const Tag<T> d;
  hn::Vec<Tag<T>> f[kCount];
  HWY_UNROLL(8)
  for (int k = 0; k < kCount; ++k) f[k] = hn::Set(d, factors[k]);
  for_vectors<T>(n, before, [&](const auto& load, const auto& store) HWY_ATTR {
    auto sum = load(y);
    HWY_UNROLL(8)
    for (int k = 0; k < kCount; ++k) sum = hn::NegMulAdd(f[k], load(x + k * ld), sum);
    store(sum, y);
  });
}

constexpr int kLeaf = 8;  // columns that are updated one by one

// Columns [first, first + count) of a panel of n columns; rows are exchanged in all of them.
template <typename T>
int factor_leaf(int64_t m, int64_t n, int64_t first, int64_t count, T* a, int64_t ld, int* pivots) {
  int failed = 0;
  for (int64_t k = first; k < first + count; ++k) {
    T* const column = a + k * ld;
    // NaN is larger than nothing and smaller than nothing: where it is, it stays.
    const int64_t pivot = std::isnan(column[k]) ? k : k + find_largest(column + k, m - k, k);
    pivots[k] = static_cast<int>(pivot + 1);
    if (column[pivot] == T(0)) {
      if (failed == 0) failed = static_cast<int>(k + 1);
      continue;
    }
    if (pivot != k) {
      for (int64_t j = 0; j < n; ++j) std::swap(a[j * ld + k], a[j * ld + pivot]);
    }
    const T head = column[k];
    const bool is_safe = std::abs(head) >= std::numeric_limits<T>::min();
    const Tag<T> d;
    const auto factor = hn::Set(d, is_safe ? T(1) / head : head);
    for_vectors<T>(m - k - 1, k + 1, [&](const auto& load, const auto& store) HWY_ATTR {
      const auto x = load(column + k + 1);
      store(is_safe ? hn::Mul(x, factor) : hn::Div(x, factor), column + k + 1);
    });
    for (int64_t j = k + 1; j < first + count; ++j) {
      subtract_columns<1>(m - k - 1, k + 1, column + k + 1, ld, a + j * ld + k, a + j * ld + k + 1);
    }
  }
  return failed;
}

template <typename T>
int lu(int64_t m, int64_t n, T* a, int64_t ld, int* pivots) {
  int failed = 0;
  for (int64_t first = 0; first < n; first += kLeaf) {
    const int64_t count = std::min<int64_t>(kLeaf, n - first);
    const int found = factor_leaf(m, n, first, count, a, ld, pivots);
    if (failed == 0) failed = found;
    const T* const leaf = a + first * ld;
    const int64_t below = first + count;
    for (int64_t j = below; j < n; ++j) {  // a last leaf of fewer columns has none behind it
      T* const column = a + j * ld;
      for (int64_t k = 0; k + 1 < count; ++k) {
        for (int64_t i = k + 1; i < count; ++i) {
          column[first + i] -= leaf[k * ld + first + i] * column[first + k];
        }
      }
      subtract_columns<kLeaf>(m - below, below, leaf + below, ld, column + first, column + below);
    }
  }
  return failed;
}

// --- QR ---

template <typename T>
void qr(int64_t m, int64_t n, T* a, int64_t ld, T* tau) {
  for (int64_t k = 0; k < n; ++k) {
    T* const head = a + k * ld + k;
    const int64_t below = m - k - 1;
    tau[k] = make_reflector(*head, head + 1, below, k + 1);
    if (tau[k] == T(0)) continue;
    reflect_columns(n - k - 1, below, k + 1, head + 1, tau[k], head + ld, ld);
  }
}

// --- sizes ---

template <typename T>
T largest(const T* x, int64_t n) {
  const Tag<T> d;
  auto most = hn::Zero(d);
  auto all = hn::Zero(d);  // or NaN
  for_vectors<T>(n, 0, [&](const auto& load, const auto&) HWY_ATTR {
    const auto v = load(x);
    most = hn::Max(most, hn::Abs(v));
    all = hn::Add(all, hn::Sub(v, v));
  });
  const T sum = hn::GetLane(hn::SumOfLanes(d, all));
  return std::isnan(sum) ? sum : hn::GetLane(hn::MaxOfLanes(d, most));
}

linalg::PanelFactors<float> panel_of_floats() { return {&lu<float>, &qr<float>, &largest<float>}; }
linalg::PanelFactors<double> panel_of_doubles() {
  return {&lu<double>, &qr<double>, &largest<double>};
}

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(panel_of_floats);
HWY_EXPORT(panel_of_doubles);

template <>
linalg::PanelFactors<float> linalg::panel_factors() {
  return HWY_DYNAMIC_DISPATCH(panel_of_floats)();
}
template <>
linalg::PanelFactors<double> linalg::panel_factors() {
  return HWY_DYNAMIC_DISPATCH(panel_of_doubles)();
}

}  // namespace mindtorch::cpu
#endif
