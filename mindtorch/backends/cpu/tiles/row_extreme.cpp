// Largest and smallest elements of a row, their indices, and any / all.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/row_extreme.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <limits>

#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE bool is_nan(T value) {
  return value != value;
}

// NaN beats everything; otherwise the larger (smaller) value does.
template <bool kLargest, class T>
HWY_INLINE bool beats(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (is_nan(b)) return false;
    if (is_nan(a)) return true;
  }
  return kLargest ? a > b : a < b;
}

template <bool kLargest>
using Extreme = std::conditional_t<kLargest, Maximum, Minimum>;

// The extreme element, n >= 1.
#if HWY_TARGET == HWY_SCALAR
// One accumulator: GCC 12 vectorises four of them, of 8 or 16 bits, into wrong code.
template <bool kLargest, class T>
HWY_INLINE Wide<T> extreme_of(const T* in, size_t n) {
  auto result = static_cast<Wide<T>>(in[0]);
  for (size_t i = 1; i < n; ++i) {
    const auto value = static_cast<Wide<T>>(in[i]);
    if (beats<kLargest>(value, result)) result = value;
  }
  return result;
}
#else
// Not inlined: GCC 12 would keep the vector in memory all the time.
template <bool kLargest, class D>
HWY_NOINLINE hn::TFromD<D> extreme_lane(D d, hn::Vec<D> v) {
  if constexpr (sizeof(v) > 16) {
    const hn::Half<D> dh;
    return extreme_lane<kLargest>(
        dh, Extreme<kLargest>()(dh, hn::LowerHalf(dh, v), hn::UpperHalf(dh, v)));
  }
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(D())];
  hn::Store(v, d, lanes);
  for (size_t half = hn::MaxLanes(D()) / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) {
      lanes[i] = beats<kLargest>(lanes[i + half], lanes[i]) ? lanes[i + half] : lanes[i];
    }
  }
  return lanes[0];
}

template <bool kLargest, class T>
HWY_INLINE Wide<T> extreme_of(const T* in, size_t n) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const Extreme<kLargest> best;
  auto m0 = load_wide_first(d, in, std::min(n, kLanes), in[0]);
  if (n > kLanes) {
    auto m1 = m0, m2 = m0, m3 = m0;
    size_t at = 0;
    for (; at + 4 * kLanes <= n; at += 4 * kLanes) {
      m0 = best(d, m0, load_wide(d, in + at));
      m1 = best(d, m1, load_wide(d, in + at + kLanes));
      m2 = best(d, m2, load_wide(d, in + at + 2 * kLanes));
      m3 = best(d, m3, load_wide(d, in + at + 3 * kLanes));
    }
    for (; at + kLanes <= n; at += kLanes) m0 = best(d, m0, load_wide(d, in + at));
    if (at < n) m1 = best(d, m1, load_wide(d, in + n - kLanes));  // seeing an element twice is fine
    m0 = best(d, best(d, m0, m1), best(d, m2, m3));
  }
  if constexpr (hwy::IsFloat<W>()) {
    if (!hn::AllFalse(d, hn::IsNaN(m0))) return std::numeric_limits<W>::quiet_NaN();
  }
  if constexpr (sizeof(W) >= 4) {
    return hn::GetLane(kLargest ? hn::MaxOfLanes(d, m0) : hn::MinOfLanes(d, m0));
  } else {
    return extreme_lane<kLargest>(d, m0);
  }
}
#endif

template <bool kLargest, class T>
void extreme(const void* from, void* to, int64_t n) {
  using H = Held<T>;
  const H* in = static_cast<const H*>(from);
  *static_cast<H*>(to) = H(extreme_of<kLargest>(in, static_cast<size_t>(n)));
}

// The first index that holds `value`, or a NaN if that is one. It is known to be there.
template <class T>
HWY_INLINE size_t find_value(const T* in, size_t n, Wide<T> value) {
  const hn::ScalableTag<Wide<T>> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const auto wanted = hn::Set(d, value);
  const bool nan = is_nan(value);
  size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    const auto v = load_wide(d, in + at);
    const auto found = nan ? not_equal(v, v) : hn::Eq(v, wanted);
    const intptr_t lane = hn::FindFirstTrue(d, found);
    if (lane >= 0) return at + static_cast<size_t>(lane);
  }
  for (; at < n; ++at) {
    const auto v = static_cast<Wide<T>>(in[at]);
    if (nan ? is_nan(v) : v == value) return at;
  }
  return 0;
}

// Blocks are compared by their extremes; only the winning one is searched for the index.
template <bool kLargest, class T>
void index_of_extreme(const void* from, void* to, int64_t size) {
  using H = Held<T>;
  constexpr size_t kBlock = 2048;
  const H* in = static_cast<const H*>(from);
  const size_t n = static_cast<size_t>(size);
  size_t start = 0;
  auto best = extreme_of<kLargest>(in, std::min(kBlock, n));
  for (size_t at = kBlock; at < n && !is_nan(best); at += kBlock) {
    const auto value = extreme_of<kLargest>(in + at, std::min(kBlock, n - at));
    if (beats<kLargest>(value, best)) {
      best = value;
      start = at;
    }
  }
  const size_t index = start + find_value(in + start, std::min(kBlock, n - start), best);
  *static_cast<int64_t*>(to) = static_cast<int64_t>(index);
}

// Whether any element has a bit under `mask`; the mask leaves out the sign of floats, so that -0 is
// false. kWanted = false asks for an element without any.
template <bool kWanted, class U>
HWY_INLINE bool contains(const U* in, size_t n, U mask) {
  const hn::ScalableTag<U> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const auto bits = hn::Set(d, mask);
  const auto zero = hn::Zero(d);
  size_t at = 0;
  for (; at + 4 * kLanes <= n; at += 4 * kLanes) {
    const auto v0 = hn::And(hn::LoadU(d, in + at), bits);
    const auto v1 = hn::And(hn::LoadU(d, in + at + kLanes), bits);
    const auto v2 = hn::And(hn::LoadU(d, in + at + 2 * kLanes), bits);
    const auto v3 = hn::And(hn::LoadU(d, in + at + 3 * kLanes), bits);
    if constexpr (kWanted) {
      const auto together = hn::Or(hn::Or(v0, v1), hn::Or(v2, v3));
      if (!hn::AllTrue(d, hn::Eq(together, zero))) return true;
    } else {
      const auto together = hn::Or(hn::Or(hn::Eq(v0, zero), hn::Eq(v1, zero)),
                                   hn::Or(hn::Eq(v2, zero), hn::Eq(v3, zero)));
      if (!hn::AllFalse(d, together)) return true;
    }
  }
  for (; at < n; ++at) {
    U word;
    std::memcpy(&word, in + at, sizeof(U));
    if (((word & mask) != 0) == kWanted) return true;
  }
  return false;
}

template <bool kAny, class U, U kMask>
void truth(const void* from, void* to, int64_t n) {
  const U* in = static_cast<const U*>(from);
  const bool found = contains<kAny, U>(in, static_cast<size_t>(n), kMask);
  *static_cast<uint8_t*>(to) = (found == kAny) ? 1 : 0;
}

template <class T, class U, U kMask>
void enter_truth(TileTable& table) {
  enter_row<T>(table, Row::kAny, &truth<true, U, kMask>);
  enter_row<T>(table, Row::kAll, &truth<false, U, kMask>);
}

template <class... Ts>
void enter_row_extreme(TileTable& table) {
  (enter_row<Ts>(table, Row::kMax, &extreme<true, Ts>), ...);
  (enter_row<Ts>(table, Row::kMin, &extreme<false, Ts>), ...);
  (enter_row<Ts>(table, Row::kArgmax, &index_of_extreme<true, Ts>), ...);
  (enter_row<Ts>(table, Row::kArgmin, &index_of_extreme<false, Ts>), ...);
}

}  // namespace

void row_extremes(TileTable& table) {
  enter_row_extreme<bool, uint8_t, int8_t, int16_t, int32_t, int64_t, Half, BFloat16, float,
                    double>(table);
  enter_truth<bool, uint8_t, 0xff>(table);
  enter_truth<uint8_t, uint8_t, 0xff>(table);
  enter_truth<int8_t, uint8_t, 0xff>(table);
  enter_truth<int16_t, uint16_t, 0xffff>(table);
  enter_truth<int32_t, uint32_t, 0xffffffffu>(table);
  enter_truth<int64_t, uint64_t, ~uint64_t{0}>(table);
  enter_truth<Half, uint16_t, 0x7fff>(table);
  enter_truth<BFloat16, uint16_t, 0x7fff>(table);
  enter_truth<float, uint32_t, 0x7fffffffu>(table);
  enter_truth<double, uint64_t, (~uint64_t{0} >> 1)>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(row_extremes);
void add_row_extremes(TileTable& table) { HWY_DYNAMIC_DISPATCH(row_extremes)(table); }
}  // namespace mindtorch::cpu
#endif
