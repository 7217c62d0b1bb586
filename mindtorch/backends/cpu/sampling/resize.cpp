// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/sampling/resize.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include <algorithm>

#include "mindtorch/backends/cpu/sampling/resize.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

using sampling::ResizeTaps;
using sampling::ResizeTiles;
using sampling::WeightedRow;

template <class T>
void blend(const WeightedRow<Wide<T>>* rows, int64_t count, int64_t n, Wide<T>* line) {
  const hn::ScalableTag<Wide<T>> d;
  constexpr int64_t kLanes = hn::MaxLanes(decltype(d)());
  for (int64_t x = 0; x < n; x += kLanes) {
    const auto some = static_cast<size_t>(std::min(kLanes, n - x));
    auto sum = hn::Zero(d);
    for (int64_t r = 0; r < count; ++r) {
      const T* const row = static_cast<const T*>(rows[r].row) + x;
      const auto value = some == static_cast<size_t>(kLanes) ? load_wide(d, row)
                                                             : load_wide_first(d, row, some, T{});
      sum = hn::MulAdd(value, hn::Set(d, rows[r].weight), sum);
    }
    hn::StoreU(sum, d, line + x);
  }
}

template <class T>
void take(const Wide<T>* line, const ResizeTaps<Wide<T>>& taps, void* out) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const hn::Rebind<int32_t, decltype(d)> d32;
  constexpr int64_t kLanes = hn::MaxLanes(decltype(d)());
  T* const to = static_cast<T*>(out);
  int64_t i = 0;
  for (; i + kLanes <= taps.count; i += kLanes) {
    auto sum = hn::Zero(d);
    for (int64_t k = 0; k < taps.taps; ++k) {
      const auto at = hn::LoadU(d32, taps.places.data() + k * taps.count + i);
      const auto weight = hn::LoadU(d, taps.weights.data() + k * taps.count + i);
      if constexpr (sizeof(W) == 4) {
        sum = hn::MulAdd(hn::GatherIndex(d, line, at), weight, sum);
      } else {
        const hn::RebindToSigned<decltype(d)> d64;
        sum = hn::MulAdd(hn::GatherIndex(d, line, hn::PromoteTo(d64, at)), weight, sum);
      }
    }
    store_wide(d, sum, to + i);
  }
  for (; i < taps.count; ++i) {
    W sum{0};
    for (int64_t k = 0; k < taps.taps; ++k) sum += line[taps.place(k, i)] * taps.weight(k, i);
    to[i] = static_cast<T>(sum);
  }
}

template <class T>
ResizeTiles<Wide<T>> make_resize() {
  return {&blend<T>, &take<T>};
}

}  // namespace

ResizeTiles<float> half_resize() { return make_resize<Half>(); }
ResizeTiles<float> bfloat16_resize() { return make_resize<BFloat16>(); }
ResizeTiles<float> float_resize() { return make_resize<float>(); }
ResizeTiles<double> double_resize() { return make_resize<double>(); }

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(half_resize);
HWY_EXPORT(bfloat16_resize);
HWY_EXPORT(float_resize);
HWY_EXPORT(double_resize);

template <>
const sampling::ResizeTiles<float>& sampling::resize_tiles(DType dtype) {
  static const ResizeTiles<float> half = HWY_DYNAMIC_DISPATCH(half_resize)();
  static const ResizeTiles<float> bfloat16 = HWY_DYNAMIC_DISPATCH(bfloat16_resize)();
  static const ResizeTiles<float> single = HWY_DYNAMIC_DISPATCH(float_resize)();
  if (dtype == DType::kFloat16) return half;
  return dtype == DType::kBFloat16 ? bfloat16 : single;
}
template <>
const sampling::ResizeTiles<double>& sampling::resize_tiles(DType) {
  static const ResizeTiles<double> found = HWY_DYNAMIC_DISPATCH(double_resize)();
  return found;
}
}  // namespace mindtorch::cpu
#endif
