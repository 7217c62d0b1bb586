#include "mindtorch/backends/cpu/gathered_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/gathered_sum.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kAhead = 8;  // rows that are asked for before they are read

// kV vectors of columns of all rows; with kPartial, the first `last` elements of one.
template <int kV, bool kPartial, class T>
HWY_INLINE void sum_columns(const T* table,
                            int64_t stride,
                            const int64_t* places,
                            int64_t count,
                            size_t last,
                            bool is_mean,
                            T* out) {
  const hn::ScalableTag<Wide<T>> d;
  using V = hn::Vec<decltype(d)>;
  const size_t lanes = hn::Lanes(d);
  V sums[kV];
  HWY_UNROLL(4)
  for (int j = 0; j < kV; ++j) sums[j] = hn::Zero(d);
  for (int64_t i = 0; i < count; ++i) {
    const T* const row = table + places[i] * stride;
    const T* const later = table + places[HWY_MIN(i + kAhead, count - 1)] * stride;
    HWY_UNROLL(4)
    for (int j = 0; j < kV; ++j) {
      __builtin_prefetch(later + static_cast<size_t>(j) * lanes);
      const V value = kPartial ? load_wide_first(d, row, last, T{})
                               : load_wide(d, row + static_cast<size_t>(j) * lanes);
      sums[j] = hn::Add(sums[j], value);
    }
  }
  const V divisor = hn::Set(d, static_cast<Wide<T>>(is_mean && count > 0 ? count : 1));
  HWY_UNROLL(4)
  for (int j = 0; j < kV; ++j) {
    const V value = hn::Div(sums[j], divisor);
    if constexpr (kPartial) {
      store_wide_first(d, value, out, last);
    } else {
      store_wide(d, value, out + static_cast<size_t>(j) * lanes);
    }
  }
}

template <class T>
void gathered_sum(const void* table,
                  int64_t stride,
                  const int64_t* places,
                  int64_t count,
                  int64_t n,
                  bool is_mean,
                  void* out) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<Wide<T>>()));
  const T* const from = static_cast<const T*>(table);
  T* const to = static_cast<T*>(out);
  int64_t j = 0;
  for (; j + 4 * lanes <= n; j += 4 * lanes) {
    sum_columns<4, false>(from + j, stride, places, count, 0, is_mean, to + j);
  }
  for (; j + lanes <= n; j += lanes) {
    sum_columns<1, false>(from + j, stride, places, count, 0, is_mean, to + j);
  }
  if (j < n) {
    sum_columns<1, true>(from + j, stride, places, count, static_cast<size_t>(n - j), is_mean,
                         to + j);
  }
}

}  // namespace

GatheredSumFn choose_gathered_sum(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return &gathered_sum<Half>;
    case DType::kBFloat16:
      return &gathered_sum<BFloat16>;
    case DType::kFloat64:
      return &gathered_sum<double>;
    default:
      return &gathered_sum<float>;
  }
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(choose_gathered_sum);

GatheredSumFn find_gathered_sum(DType dtype) {
  return HWY_DYNAMIC_DISPATCH(choose_gathered_sum)(dtype);
}

}  // namespace mindtorch::cpu
#endif
