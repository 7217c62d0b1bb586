#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/convolution/pixel_rows.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/convolution/pixel_rows.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

using convolution::PixelRow;
using convolution::PixelTap;

// kV vectors of channels, all of them or the first `count` of one.
template <int kV, bool kPartial, typename W>
struct Channels {
  using D = hn::ScalableTag<W>;
  using V = hn::Vec<D>;
  size_t count;

  template <typename T>
  HWY_INLINE V load(const T* from, int j) const {
    const D d;
    if constexpr (kPartial) return load_wide_first(d, from, count, T(0.0f));
    return load_wide(d, from + static_cast<size_t>(j) * hn::Lanes(d));
  }
  template <typename T>
  HWY_INLINE void store(V v, T* to, int j) const {
    const D d;
    if constexpr (kPartial) return store_wide_first(d, v, to, count);
    store_wide(d, v, to + static_cast<size_t>(j) * hn::Lanes(d));
  }
};

// Calls body(Channels, first channel) until all are done.
template <typename W, typename Body>
HWY_INLINE void for_channels(int64_t channels, const Body& body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<W>()));
  int64_t at = 0;
  for (; at + 2 * lanes <= channels; at += 2 * lanes) body(Channels<2, false, W>{0}, at);
  for (; at + lanes <= channels; at += lanes) body(Channels<1, false, W>{0}, at);
  if (at < channels) body(Channels<1, true, W>{static_cast<size_t>(channels - at)}, at);
}

// The outputs [first, last) for which the tap reads pixels of the line.
HWY_INLINE void find_inside(const PixelRow& row, int64_t offset, int64_t& first, int64_t& last) {
  const auto at_least = [&](int64_t pixel) {  // the first output that reads `pixel` or more
    const int64_t distance = pixel - offset;
    return distance <= 0 ? 0 : (distance + row.stride - 1) / row.stride;
  };
  first = std::min(at_least(0), row.out);
  last = std::min(std::max(at_least(row.in), first), row.out);
}

template <int kP, int kV, bool kPartial, typename T, typename W>
HWY_INLINE void sum_taps(const Channels<kV, kPartial, W>& channels,
                         const PixelRow& row,
                         const PixelTap<T, W>* taps,
                         int64_t count,
                         bool is_inside,
                         const W* bias,
                         int64_t at,
                         int64_t output,
                         T* result,
                         int64_t step) {
  using V = hn::Vec<hn::ScalableTag<W>>;
  V sums[kP][kV];
  HWY_UNROLL(2)
  for (int j = 0; j < kV; ++j) {
    const V first = channels.load(bias + at, j);
    HWY_UNROLL(4)
    for (int i = 0; i < kP; ++i) sums[i][j] = first;
  }
  for (int64_t t = 0; t < count; ++t) {
    const int64_t pixel = output * row.stride + taps[t].offset;
    if (!is_inside && (pixel < 0 || pixel >= row.in)) continue;
    const T* const from = taps[t].line + pixel * row.channels + at;
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      const V weight = channels.load(taps[t].weights + at, j);
      HWY_UNROLL(4)
      for (int i = 0; i < kP; ++i) {
        sums[i][j] =
            hn::MulAdd(weight, channels.load(from + i * row.stride * row.channels, j), sums[i][j]);
      }
    }
  }
  HWY_UNROLL(4)
  for (int i = 0; i < kP; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) channels.store(sums[i][j], result + (output + i) * step + at, j);
  }
}

template <typename T, typename W>
void multiply(const PixelRow& row,
              const PixelTap<T, W>* taps,
              int64_t count,
              const W* bias,
              T* result,
              int64_t step) {
  int64_t first = 0;
  int64_t last = row.out;
  for (int64_t t = 0; t < count; ++t) {
    int64_t begin = 0;
    int64_t end = 0;
    find_inside(row, taps[t].offset, begin, end);
    first = std::max(first, begin);
    last = std::min(last, end);
  }
  last = std::max(first, last);
  for_channels<W>(row.channels, [&](const auto& channels, int64_t at) HWY_ATTR {
    const auto one = [&](int64_t output, bool is_inside) HWY_ATTR {
      sum_taps<1>(channels, row, taps, count, is_inside, bias, at, output, result, step);
    };
    int64_t output = 0;
    for (; output < first; ++output) one(output, false);
    for (; output + 4 <= last; output += 4) {
      sum_taps<4>(channels, row, taps, count, true, bias, at, output, result, step);
    }
    for (; output < last; ++output) one(output, true);
    for (; output < row.out; ++output) one(output, false);
  });
}

// The outputs that all kT taps can see, then those of each tap alone.
template <int kT, int kV, bool kPartial, typename T, typename W>
HWY_INLINE void add_taps(const Channels<kV, kPartial, W>& channels,
                         const PixelRow& row,
                         const PixelTap<T, W>* taps,
                         int64_t at,
                         const T* grad) {
  using V = hn::Vec<hn::ScalableTag<W>>;
  V sums[kT][kV];
  int64_t begins[kT];
  int64_t ends[kT];
  int64_t first = 0;
  int64_t last = row.out;
  HWY_UNROLL(4)
  for (int t = 0; t < kT; ++t) {
    find_inside(row, taps[t].offset, begins[t], ends[t]);
    first = std::max(first, begins[t]);
    last = std::min(last, ends[t]);
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) sums[t][j] = channels.load(taps[t].weights + at, j);
  }
  last = std::max(first, last);
  const auto pixel = [&](int t, int64_t output) HWY_ATTR {
    return taps[t].line + (output * row.stride + taps[t].offset) * row.channels + at;
  };
  for (int64_t output = first; output < last; ++output) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      const V x = channels.load(grad + output * row.channels + at, j);
      HWY_UNROLL(4)
      for (int t = 0; t < kT; ++t) {
        sums[t][j] = hn::MulAdd(x, channels.load(pixel(t, output), j), sums[t][j]);
      }
    }
  }
  HWY_UNROLL(4)
  for (int t = 0; t < kT; ++t) {
    for (int64_t output = begins[t]; output < ends[t]; ++output) {
      if (output == first) output = last;
      if (output >= ends[t]) break;
      HWY_UNROLL(2)
      for (int j = 0; j < kV; ++j) {
        const V x = channels.load(grad + output * row.channels + at, j);
        sums[t][j] = hn::MulAdd(x, channels.load(pixel(t, output), j), sums[t][j]);
      }
    }
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) channels.store(sums[t][j], taps[t].weights + at, j);
  }
}

template <typename T, typename W>
void add_products(const PixelRow& row, const PixelTap<T, W>* taps, int64_t count, const T* grad) {
  for_channels<W>(row.channels, [&](const auto& channels, int64_t at) HWY_ATTR {
    int64_t t = 0;
    for (; t + 4 <= count; t += 4) add_taps<4>(channels, row, taps + t, at, grad);
    for (; t + 3 <= count; t += 3) add_taps<3>(channels, row, taps + t, at, grad);
    for (; t < count; ++t) add_taps<1>(channels, row, taps + t, at, grad);
  });
}

convolution::PixelRows<float, float> float_pixels() {
  return {&multiply<float, float>, &add_products<float, float>};
}
convolution::PixelRows<double, double> double_pixels() {
  return {&multiply<double, double>, &add_products<double, double>};
}
convolution::PixelRows<Half, float> half_pixels() {
  return {&multiply<Half, float>, &add_products<Half, float>};
}
convolution::PixelRows<BFloat16, float> bfloat16_pixels() {
  return {&multiply<BFloat16, float>, &add_products<BFloat16, float>};
}

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(float_pixels);
HWY_EXPORT(double_pixels);
HWY_EXPORT(half_pixels);
HWY_EXPORT(bfloat16_pixels);

namespace convolution {
template <>
PixelRows<float, float> pixel_rows() {
  return HWY_DYNAMIC_DISPATCH(float_pixels)();
}
template <>
PixelRows<double, double> pixel_rows() {
  return HWY_DYNAMIC_DISPATCH(double_pixels)();
}
template <>
PixelRows<Half, float> pixel_rows() {
  return HWY_DYNAMIC_DISPATCH(half_pixels)();
}
template <>
PixelRows<BFloat16, float> pixel_rows() {
  return HWY_DYNAMIC_DISPATCH(bfloat16_pixels)();
}
}  // namespace convolution

}  // namespace mindtorch::cpu
#endif
