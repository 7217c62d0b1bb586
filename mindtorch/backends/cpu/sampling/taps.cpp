// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/sampling/taps.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
//
#include <cmath>

#include "mindtorch/backends/cpu/sampling/taps.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::sampling::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// A coordinate in elements, and how it changes with the grid's.
template <typename T>
struct Coordinate {
  T at;
  T slope;
};

template <typename T>
HWY_INLINE Coordinate<T> reflected(Coordinate<T> c, T size, bool align_corners) {
  const T low = align_corners ? T(0) : T(-0.5);
  const T span = align_corners ? size - 1 : size;
  if (span == 0) return {0, 0};
  const T from = std::fabs(c.at - low);
  const T turns = std::floor(from / span);
  const T rest = from - turns * span;
  const T slope = c.at < low ? -c.slope : c.slope;
  const bool is_even = turns == 2 * std::floor(turns / 2);
  return is_even ? Coordinate<T>{rest + low, slope} : Coordinate<T>{span - rest + low, -slope};
}

template <typename T>
HWY_INLINE Coordinate<T> bounded(Coordinate<T> c, T size, const Settings& s) {
  if (s.padding == kZeros) return c;
  if (s.padding == kReflection) c = reflected(c, size, s.align_corners);
  if (!(c.at > 0)) return {0, 0};
  if (c.at >= size - 1) return {size - 1, 0};
  return c;
}

template <typename T>
HWY_INLINE void put(AxisTaps<T>& taps, int tap, int point, T place, T size, T weight, T slope) {
  const bool inside = place >= 0 && place < size;  // false for NaN
  taps.places[tap][point] = inside ? static_cast<Offset<T>>(place) : 0;
  taps.weights[tap][point] = inside ? weight : T(0);
  taps.slopes[tap][point] = inside ? slope : T(0);
}

// The cubic filter with a = -0.75 at a distance, and its derivative.
template <typename T>
HWY_INLINE Coordinate<T> cubic(T x) {
  constexpr T kA = T(-0.75);
  if (x < 1) return {((kA + 2) * x - (kA + 3)) * x * x + 1, (3 * (kA + 2) * x - 2 * (kA + 3)) * x};
  return {((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA, (3 * kA * x - 10 * kA) * x + 8 * kA};
}

template <typename T>
void locate(const T* coordinates,
            int64_t stride,
            int points,
            int64_t length,
            const Settings& s,
            AxisTaps<T>& taps) {
  const auto size = static_cast<T>(length);
  taps.count = s.interpolation == kNearest ? 1 : s.interpolation == kLinear ? 2 : 4;
  for (int p = 0; p < kBlock; ++p) {
    const T x = p < points ? coordinates[p * stride] : T(0);
    const Coordinate<T> from = s.align_corners
                                   ? Coordinate<T>{(x + 1) / 2 * (size - 1), (size - 1) / 2}
                                   : Coordinate<T>{((x + 1) * size - 1) / 2, size / 2};
    if (s.interpolation == kNearest) {
      put(taps, 0, p, std::nearbyint(bounded(from, size, s).at), size, T(1), T(0));
    } else if (s.interpolation == kLinear) {
      const Coordinate<T> c = bounded(from, size, s);
      const T below = std::floor(c.at);
      const T rest = c.at - below;
      put(taps, 0, p, below, size, 1 - rest, -c.slope);
      put(taps, 1, p, below + 1, size, rest, c.slope);
    } else {
      const T below = std::floor(from.at);
      const T rest = from.at - below;
      for (int i = 0; i < 4; ++i) {
        // Before the point the distance grows with its coordinate, behind it shrinks.
        const T distance = i < 2 ? rest + static_cast<T>(1 - i) : static_cast<T>(i - 1) - rest;
        const Coordinate<T> filter = cubic(distance);
        const T place = bounded<T>({below + static_cast<T>(i - 1), 0}, size, s).at;
        put(taps, i, p, place, size, filter.at,
            (i < 2 ? filter.slope : -filter.slope) * from.slope);
      }
    }
  }
}

template <typename T>
void sample(const Taps<T>& taps, const T* image, T* out) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(decltype(d)()));
  for (int p = 0; p < kBlock; p += kLanes) {
    auto sum = hn::Zero(d);
    for (int i = 0; i < taps.count; ++i) {
      const auto at = hn::LoadU(di, taps.offsets[i] + p);
      sum = hn::MulAdd(hn::LoadU(d, taps.weights[i] + p), hn::GatherIndex(d, image, at), sum);
    }
    hn::StoreU(sum, d, out + p);
  }
}

template <typename T>
SamplingTiles<T> make_tiles() {
  return {&locate<T>, &sample<T>};
}
SamplingTiles<float> float_sampling() { return make_tiles<float>(); }
SamplingTiles<double> double_sampling() { return make_tiles<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::sampling::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::sampling {

HWY_EXPORT(float_sampling);
HWY_EXPORT(double_sampling);

template <>
const SamplingTiles<float>& sampling_tiles() {
  static const SamplingTiles<float> found = HWY_DYNAMIC_DISPATCH(float_sampling)();
  return found;
}
template <>
const SamplingTiles<double>& sampling_tiles() {
  static const SamplingTiles<double> found = HWY_DYNAMIC_DISPATCH(double_sampling)();
  return found;
}

}  // namespace mindtorch::cpu::sampling
#endif
