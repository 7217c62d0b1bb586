// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/pooling/windows.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
//
#include <algorithm>
#include <limits>
#include <type_traits>

#include "mindtorch/backends/cpu/pooling/windows.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

using pooling::PlaneData;
using pooling::PoolingTiles;
using pooling::WindowRow;

template <class W>
constexpr W kLowest = std::numeric_limits<W>::has_infinity ? -std::numeric_limits<W>::infinity()
                                                           : std::numeric_limits<W>::lowest();

template <class T>
void max_one(const T* plane, const WindowRow& windows, int64_t w, T* value, int64_t* place) {
  const int64_t begin = windows.first + w * windows.stride;
  auto best = kLowest<Wide<T>>;
  int64_t where = windows.rows[0] + begin;
  for (int64_t r = 0; r < windows.row_count; ++r) {
    for (int64_t k = 0; k < windows.taps; ++k) {
      const int64_t at = windows.rows[r] + begin + k * windows.step;
      const auto x = static_cast<Wide<T>>(plane[at]);
      const bool better = (x > best) | (x != x);
      best = better ? x : best;
      where = better ? at : where;
    }
  }
  *value = static_cast<T>(best);
  *place = where;
}

template <class T>
void mean_one(const T* plane, const WindowRow& windows, int64_t w, int64_t divisor, T* out) {
  using W = Wide<T>;
  W sum{0};
  for (int64_t r = 0; r < windows.row_count; ++r) {
    const T* const row = plane + windows.rows[r] + windows.first + w * windows.stride;
    for (int64_t k = 0; k < windows.taps; ++k) sum += static_cast<W>(row[k * windows.step]);
  }
  *out = static_cast<T>(static_cast<W>(sum / static_cast<W>(divisor)));
}

#if HWY_TARGET != HWY_SCALAR

// How the same tap of neighbouring windows is loaded.
enum Stride { kOne, kTwo, kAny };

template <Stride kStride, class D, class T>
HWY_INLINE hn::Vec<D> load_taps(D d, const T* from, int64_t stride) {
  constexpr int64_t kLanes = hn::MaxLanes(D());
  if constexpr (kStride == kOne) return load_wide(d, from);
  if constexpr (kStride == kTwo) {
    return hn::ConcatEven(d, load_wide(d, from + kLanes), load_wide(d, from));
  }
  HWY_ALIGN T taps[kLanes];
  for (int64_t i = 0; i < kLanes; ++i) taps[i] = from[i * stride];
  return load_wide(d, taps);
}

// Calls body with the fastest way for the windows from `w` on. kTwo reads one element behind the
// last tap.
template <class D, class Body>
HWY_INLINE void with_stride(
    D, const PlaneData& plane, const WindowRow& windows, int64_t w, const Body& body) {
  constexpr int64_t kLanes = hn::MaxLanes(D());
  if (windows.stride == 1) return body(std::integral_constant<Stride, kOne>());
  const int64_t last = windows.rows[windows.row_count - 1] + windows.first + w * windows.stride +
                       (windows.taps - 1) * windows.step;
  if (windows.stride == 2 && last + 2 * kLanes <= plane.readable) {
    return body(std::integral_constant<Stride, kTwo>());
  }
  body(std::integral_constant<Stride, kAny>());
}

template <class D>
HWY_INLINE void store_places(D di, hn::Vec<D> places, int64_t* to) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    hn::StoreU(places, di, to);
  } else {
    const hn::Half<D> dh;
    const hn::Rebind<int64_t, decltype(dh)> d64;
    hn::StoreU(hn::PromoteTo(d64, hn::LowerHalf(dh, places)), d64, to);
    hn::StoreU(hn::PromoteTo(d64, hn::UpperHalf(dh, places)), d64, to + hn::MaxLanes(D()) / 2);
  }
}

template <Stride kStride, class D, class T>
HWY_INLINE void max_some(
    D d, const PlaneData& from, const WindowRow& windows, int64_t w, T* values, int64_t* places) {
  const T* const plane = static_cast<const T*>(from.first);
  using I = hwy::MakeSigned<hn::TFromD<D>>;
  const hn::RebindToSigned<D> di;
  const int64_t begin = windows.first + w * windows.stride;
  const auto x = hn::Add(hn::Set(di, static_cast<I>(begin)),
                         hn::Mul(hn::Iota(di, 0), hn::Set(di, static_cast<I>(windows.stride))));
  auto best = hn::Set(d, kLowest<hn::TFromD<D>>);
  auto where = hn::Add(x, hn::Set(di, static_cast<I>(windows.rows[0])));
  for (int64_t r = 0; r < windows.row_count; ++r) {
    for (int64_t k = 0; k < windows.taps; ++k) {
      const int64_t offset = windows.rows[r] + k * windows.step;
      const auto value = load_taps<kStride>(d, plane + offset + begin, windows.stride);
      const auto better = hn::Or(hn::Gt(value, best), hn::IsNaN(value));
      best = hn::IfThenElse(better, value, best);
      where = hn::IfThenElse(hn::RebindMask(di, better),
                             hn::Add(x, hn::Set(di, static_cast<I>(offset))), where);
    }
  }
  store_wide(d, best, values + w);
  store_places(di, where, places + w);
}

template <Stride kStride, class D, class T>
HWY_INLINE void mean_some(
    D d, const PlaneData& from, const WindowRow& windows, int64_t w, int64_t divisor, T* out) {
  const T* const plane = static_cast<const T*>(from.first);
  const int64_t begin = windows.first + w * windows.stride;
  auto sum = hn::Zero(d);
  for (int64_t r = 0; r < windows.row_count; ++r) {
    for (int64_t k = 0; k < windows.taps; ++k) {
      const int64_t at = windows.rows[r] + begin + k * windows.step;
      sum = hn::Add(sum, load_taps<kStride>(d, plane + at, windows.stride));
    }
  }
  const auto by = static_cast<hn::TFromD<D>>(divisor);
  // 1 / by is exact for powers of 2.
  const bool is_power = divisor > 0 && (divisor & (divisor - 1)) == 0;
  store_wide(d, is_power ? hn::Mul(sum, hn::Set(d, 1 / by)) : hn::Div(sum, hn::Set(d, by)),
             out + w);
}

// Calls some(d, first window) so that all are covered; the last ones may be so twice. False: there
// are too few windows for this tag.
template <class D, class Some>
HWY_INLINE bool in_vectors(D d, int64_t count, const Some& some) {
  constexpr int64_t kLanes = hn::MaxLanes(D());
  if (count < kLanes) return false;
  for (int64_t w = 0; w + kLanes <= count; w += kLanes) some(d, w);
  if (count % kLanes != 0) some(d, count - kLanes);
  return true;
}

// The same with the widest vectors that the windows fill.
template <class W, class Some>
HWY_INLINE bool in_any_vectors(int64_t count, const Some& some) {
  using D = hn::ScalableTag<W>;
  if (in_vectors(D(), count, some)) return true;
  if constexpr (hn::MaxLanes(D()) > 4) {
    if (in_vectors(hn::Half<D>(), count, some)) return true;
  }
  if constexpr (hn::MaxLanes(D()) > 8) {
    if (in_vectors(hn::Half<hn::Half<D>>(), count, some)) return true;
  }
  return false;
}

#endif

template <class T>
void max_row(const PlaneData& in, const WindowRow& windows, void* out, int64_t* places) {
  const T* const plane = static_cast<const T*>(in.first);
  T* const values = static_cast<T*>(out);
#if HWY_TARGET != HWY_SCALAR
  if constexpr (!std::is_integral_v<T>) {
    const bool fits = in.readable <= std::numeric_limits<hwy::MakeSigned<Wide<T>>>::max();
    const auto some = [&](auto d, int64_t w) HWY_ATTR {
      with_stride(d, in, windows, w, [&](auto stride) HWY_ATTR {
        max_some<stride()>(d, in, windows, w, values, places);
      });
    };
    if (fits && in_any_vectors<Wide<T>>(windows.count, some)) return;
  }
#endif
  for (int64_t w = 0; w < windows.count; ++w) {
    max_one(plane, windows, w, values + w, places + w);
  }
}

#if HWY_TARGET != HWY_SCALAR
// The channels of one vector of the window whose first pixel in each row is `first`.
template <class D, class T>
HWY_INLINE void max_of_pixels(D d,
                              const T* image,
                              const WindowRow& windows,
                              int64_t first,
                              int64_t channels,
                              T* values,
                              int64_t* places) {
  using I = hwy::MakeSigned<hn::TFromD<D>>;
  const hn::RebindToSigned<D> di;
  auto best = hn::Set(d, kLowest<hn::TFromD<D>>);
  auto where = hn::Set(di, static_cast<I>(windows.rows[0] + first));
  for (int64_t r = 0; r < windows.row_count; ++r) {
    int64_t pixel = windows.rows[r] + first;
    for (int64_t k = 0; k < windows.taps; ++k, pixel += windows.step) {
      const auto value = load_wide(d, image + pixel * channels);
      const auto better = hn::Or(hn::Gt(value, best), hn::IsNaN(value));
      best = hn::IfThenElse(better, value, best);
      where = hn::IfThenElse(hn::RebindMask(di, better), hn::Set(di, static_cast<I>(pixel)), where);
    }
  }
  store_wide(d, best, values);
  store_places(di, where, places);
}
#endif

template <class T>
void max_pixels(
    const void* from, const WindowRow& windows, int64_t channels, void* out, int64_t* places) {
  const T* const image = static_cast<const T*>(from);
  T* values = static_cast<T*>(out);
  for (int64_t w = 0; w < windows.count; ++w, values += channels, places += channels) {
    const int64_t first = windows.first + w * windows.stride;
#if HWY_TARGET != HWY_SCALAR
    if constexpr (!std::is_integral_v<T>) {
      const auto some = [&](auto d, int64_t c) HWY_ATTR {
        max_of_pixels(d, image + c, windows, first, channels, values + c, places + c);
      };
      if (in_any_vectors<Wide<T>>(channels, some)) continue;
    }
#endif
    for (int64_t c = 0; c < channels; ++c) {
      auto best = kLowest<Wide<T>>;
      places[c] = windows.rows[0] + first;
      for (int64_t r = 0; r < windows.row_count; ++r) {
        int64_t pixel = windows.rows[r] + first;
        for (int64_t k = 0; k < windows.taps; ++k, pixel += windows.step) {
          const auto x = static_cast<Wide<T>>(image[pixel * channels + c]);
          if ((x > best) | (x != x)) {
            best = x;
            places[c] = pixel;
          }
        }
      }
      values[c] = static_cast<T>(best);
    }
  }
}

template <class T>
void mean_row(const PlaneData& in, const WindowRow& windows, int64_t divisor, void* out) {
  const T* const plane = static_cast<const T*>(in.first);
  T* const values = static_cast<T*>(out);
#if HWY_TARGET != HWY_SCALAR
  if constexpr (!std::is_integral_v<T>) {
    const auto some = [&](auto d, int64_t w) HWY_ATTR {
      with_stride(d, in, windows, w, [&](auto stride) HWY_ATTR {
        mean_some<stride()>(d, in, windows, w, divisor, values);
      });
    };
    if (in_any_vectors<Wide<T>>(windows.count, some)) return;
  }
#endif
  for (int64_t w = 0; w < windows.count; ++w) mean_one(plane, windows, w, divisor, values + w);
}

#if HWY_TARGET != HWY_SCALAR
// kV vectors of channels of the window whose first pixel in each row is `first`.
template <int kV, class D, class T>
HWY_INLINE void mean_of_pixels(D d,
                               const T* image,
                               const WindowRow& windows,
                               int64_t first,
                               int64_t channels,
                               int64_t divisor,
                               T* out) {
  constexpr int64_t kLanes = hn::MaxLanes(D());
  hn::Vec<D> sums[kV];
  HWY_UNROLL(4)
  for (int j = 0; j < kV; ++j) sums[j] = hn::Zero(d);
  for (int64_t r = 0; r < windows.row_count; ++r) {
    const T* pixel = image + (windows.rows[r] + first) * channels;
    for (int64_t k = 0; k < windows.taps; ++k, pixel += windows.step * channels) {
      HWY_UNROLL(4)
      for (int j = 0; j < kV; ++j) {
        sums[j] = hn::Add(sums[j], load_wide(d, pixel + j * kLanes));
      }
    }
  }
  const auto by = static_cast<hn::TFromD<D>>(divisor);
  // 1 / by is exact for powers of 2.
  const bool is_power = divisor > 0 && (divisor & (divisor - 1)) == 0;
  const auto factor = hn::Set(d, is_power ? 1 / by : by);
  HWY_UNROLL(4)
  for (int j = 0; j < kV; ++j) {
    store_wide(d, is_power ? hn::Mul(sums[j], factor) : hn::Div(sums[j], factor), out + j * kLanes);
  }
}
#endif

template <class T>
void mean_pixels(
    const void* from, const WindowRow& windows, int64_t channels, int64_t divisor, void* out) {
  const T* const image = static_cast<const T*>(from);
  T* to = static_cast<T*>(out);
  for (int64_t w = 0; w < windows.count; ++w, to += channels) {
    const int64_t first = windows.first + w * windows.stride;
    int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
    if constexpr (!std::is_integral_v<T>) {
      using D = hn::ScalableTag<Wide<T>>;
      constexpr int64_t kMany = 4 * hn::MaxLanes(D());
      for (; c + kMany <= channels; c += kMany) {
        mean_of_pixels<4>(D(), image + c, windows, first, channels, divisor, to + c);
      }
      const auto some = [&](auto d, int64_t at) HWY_ATTR {
        mean_of_pixels<1>(d, image + c + at, windows, first, channels, divisor, to + c + at);
      };
      if (c == channels || in_any_vectors<Wide<T>>(channels - c, some)) continue;
    }
#endif
    for (; c < channels; ++c) {
      Wide<T> sum{0};
      for (int64_t r = 0; r < windows.row_count; ++r) {
        const T* const row = image + (windows.rows[r] + first) * channels + c;
        for (int64_t k = 0; k < windows.taps; ++k) {
          sum += static_cast<Wide<T>>(row[k * windows.step * channels]);
        }
      }
      to[c] = static_cast<T>(static_cast<Wide<T>>(sum / static_cast<Wide<T>>(divisor)));
    }
  }
}

// line[i] += value(d, i) for i < n.
template <class W, class Value>
HWY_INLINE void add_values(W* line, int64_t n, const Value& value) {
  const hn::ScalableTag<W> d;
  constexpr int64_t kLanes = hn::MaxLanes(decltype(d)());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, line + i), value(d, i)), d, line + i);
  }
  const hn::CappedTag<W, 1> d1;
  for (; i < n; ++i) {
    hn::StoreU(hn::Add(hn::LoadU(d1, line + i), value(d1, i)), d1, line + i);
  }
}

template <class T>
void spread_row(
    const void* grads, const WindowRow& windows, int64_t divisor, void* shares, void* lines) {
  using W = Wide<T>;
  const T* const grad = static_cast<const T*>(grads);
  W* const share = static_cast<W*>(shares);
  W* const line = static_cast<W*>(lines) + windows.first;
  const auto by = static_cast<W>(divisor);
  for (int64_t w = 0; w < windows.count; ++w) share[w] = static_cast<W>(grad[w]) / by;
  if (windows.count == 1 && windows.step == 1) {
    add_values(line, windows.taps, [&](auto d, int64_t) HWY_ATTR { return hn::Set(d, share[0]); });
    return;
  }
  if (windows.stride == 1) {
    for (int64_t k = 0; k < windows.taps; ++k) {
      add_values(line + k * windows.step, windows.count,
                 [&](auto d, int64_t i) HWY_ATTR { return hn::LoadU(d, share + i); });
    }
    return;
  }
  int64_t w = 0;
#if HWY_TARGET != HWY_SCALAR
  if (windows.stride == 2 && windows.taps == 2 && windows.step == 1) {
    const hn::ScalableTag<W> d;
    constexpr int64_t kLanes = hn::MaxLanes(decltype(d)());
    for (; w + kLanes <= windows.count; w += kLanes) {
      auto even = hn::Zero(d), odd = even;
      hn::LoadInterleaved2(d, line + 2 * w, even, odd);
      const auto own = hn::LoadU(d, share + w);
      hn::StoreInterleaved2(hn::Add(even, own), hn::Add(odd, own), d, line + 2 * w);
    }
  }
#endif
  for (; w < windows.count; ++w) {
    W* const to = line + w * windows.stride;
    for (int64_t k = 0; k < windows.taps; ++k) to[k * windows.step] += share[w];
  }
}

template <class T>
void add_rows(const void* plane, const WindowRow& windows, int64_t width, void* sums) {
  using W = Wide<T>;
  const T* const from = static_cast<const T*>(plane);
  W* const line = static_cast<W*>(sums);
  const hn::ScalableTag<W> d;
  constexpr int64_t kLanes = hn::MaxLanes(decltype(d)());
  for (int64_t x = 0; x < width; x += kLanes) {
    const auto count = static_cast<size_t>(std::min(kLanes, width - x));
    auto sum = hn::Zero(d);
    for (int64_t r = 0; r < windows.row_count; ++r) {
      sum = hn::Add(sum, load_wide_first(d, from + windows.rows[r] + x, count, T{}));
    }
    hn::StoreU(sum, d, line + x);
  }
}

template <class T>
void store_row(const void* line, int64_t n, void* out) {
  using W = Wide<T>;
  const W* const from = static_cast<const W*>(line);
  T* const to = static_cast<T*>(out);
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (!std::is_integral_v<T>) {
    const hn::ScalableTag<W> d;
    constexpr int64_t kLanes = hn::MaxLanes(decltype(d)());
    for (; i + kLanes <= n; i += kLanes) store_wide(d, hn::LoadU(d, from + i), to + i);
  }
#endif
  for (; i < n; ++i) to[i] = static_cast<T>(from[i]);
}

template <class T>
PoolingTiles make() {
  return {&max_row<T>,  &max_pixels<T>, &mean_row<T>, &mean_pixels<T>,
          &add_rows<T>, &spread_row<T>, &store_row<T>};
}

}  // namespace

PoolingTiles half_pooling() { return make<Half>(); }
PoolingTiles bfloat16_pooling() { return make<BFloat16>(); }
PoolingTiles float_pooling() { return make<float>(); }
PoolingTiles double_pooling() { return make<double>(); }
PoolingTiles int64_pooling() { return make<int64_t>(); }

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(half_pooling);
HWY_EXPORT(bfloat16_pooling);
HWY_EXPORT(float_pooling);
HWY_EXPORT(double_pooling);
HWY_EXPORT(int64_pooling);

const pooling::PoolingTiles& pooling::pooling_tiles(DType dtype) {
  static const PoolingTiles half = HWY_DYNAMIC_DISPATCH(half_pooling)();
  static const PoolingTiles bfloat16 = HWY_DYNAMIC_DISPATCH(bfloat16_pooling)();
  static const PoolingTiles single = HWY_DYNAMIC_DISPATCH(float_pooling)();
  static const PoolingTiles twice = HWY_DYNAMIC_DISPATCH(double_pooling)();
  static const PoolingTiles integer = HWY_DYNAMIC_DISPATCH(int64_pooling)();
  switch (dtype) {
    case DType::kFloat16:
      return half;
    case DType::kBFloat16:
      return bfloat16;
    case DType::kFloat32:
      return single;
    case DType::kFloat64:
      return twice;
    default:
      return integer;
  }
}
}  // namespace mindtorch::cpu
#endif
