#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/convolution/pixel_rows.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/convolution/pixel_rows.h"
#include "mindtorch/backends/cpu/tiles/registers-inl.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

using convolution::PixelRow;
using convolution::PixelRun;
using convolution::PixelTap;

// kV vectors of channels, all of them or the first `count` of one.
template <int kV, bool kPartial, typename W>
struct Channels {
  using D = hn::ScalableTag<W>;
  using V = hn::Vec<D>;
  static constexpr bool kIsWhole = !kPartial;
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
    return distance <= 0 ? 0 : ceil_div(distance, row.stride);
  };
  first = std::min(at_least(0), row.out);
  last = std::min(std::max(at_least(row.in), first), row.out);
}

constexpr int kLargeTile = 7;

// Whole vectors of the better instruction sets have code for every kind of tile: others get by with
// the general one, which keeps the library small.
template <class C>
constexpr bool is_tuned() {
  return C::kIsWhole && (kManyRegisters || HWY_TARGET == HWY_AVX2);
}

// Which pixels of a tile may be beyond the line; those that are count for nothing.
enum class Beyond { kNone, kEnds, kAny };  // kEnds: not those that all taps of a run read

// The kN taps of a run, for kP outputs.
template <int kN, Beyond kBeyond, int kP, int kV, bool kPartial, typename T, typename W, class V>
HWY_INLINE void add_run(const Channels<kV, kPartial, W>& channels,
                        const PixelRow& row,
                        const PixelRun<T, W>& run,
                        int64_t at,
                        int64_t output,
                        V (&sums)[kP][kV]) {
  V weights[kN][kV];
  HWY_UNROLL(4)
  for (int k = 0; k < kN; ++k) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) weights[k][j] = channels.load(run.weights + k * run.step + at, j);
  }
  const int64_t first = output * row.stride + run.offset;
  const int64_t step = row.stride * row.channels;
  const T* from = run.line + first * row.channels + at;
  HWY_UNROLL(11)
  for (int p = 0; p < kP + kN - 1; ++p, from += step) {
    const bool is_end = p < kN - 1 || p >= kP;
    if (kBeyond == Beyond::kAny || (kBeyond == Beyond::kEnds && is_end)) {
      const int64_t pixel = first + p * row.stride;
      if (pixel < 0 || pixel >= row.in) continue;
    }
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      const V x = channels.load(from, j);
      HWY_UNROLL(4)
      for (int k = 0; k < kN; ++k) {
        const int i = p - k;
        if (i >= 0 && i < kP) sums[i][j] = hn::MulAdd(weights[k][j], x, sums[i][j]);
      }
    }
  }
}

template <int kP, Beyond kBeyond, int kV, bool kPartial, typename T, typename W>
HWY_INLINE void sum_runs(const Channels<kV, kPartial, W>& channels,
                         const PixelRow& row,
                         const PixelRun<T, W>* runs,
                         int64_t count,
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
    HWY_UNROLL(8)
    for (int i = 0; i < kP; ++i) sums[i][j] = first;
  }
  for (int64_t r = 0; r < count; ++r) {
    const PixelRun<T, W>& run = runs[r];
    if (run.count == 3) {
      add_run<3, kBeyond>(channels, row, run, at, output, sums);
    } else if (run.count == 1) {
      add_run<1, kBeyond>(channels, row, run, at, output, sums);
    } else if (run.count == 2) {
      add_run<2, kBeyond>(channels, row, run, at, output, sums);
    } else {
      add_run<4, kBeyond>(channels, row, run, at, output, sums);
    }
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kP; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) channels.store(sums[i][j], result + (output + i) * step + at, j);
  }
}

template <typename T, typename W>
HWY_INLINE Beyond beyond_of(const PixelRow& row,
                            const PixelRun<T, W>* runs,
                            int64_t count,
                            int64_t first,
                            int64_t outputs) {
  for (int64_t r = 0; r < count; ++r) {
    const int64_t least = first * row.stride + runs[r].offset;
    const int64_t most = (first + outputs - 1) * row.stride + runs[r].offset + runs[r].count - 1;
    const int64_t outside = std::max(-least, most - row.in + 1);
    if (outside >= runs[r].count) return Beyond::kAny;
  }
  return Beyond::kEnds;
}

// Tiles of kP outputs; the last one may overlap the one before, as a tile of fewer takes no less
// time. Outputs [begin, end) read no pixel beyond the line.
template <int kP, class C, typename T, typename W>
HWY_INLINE void tiles_of(const C& channels,
                         const PixelRow& row,
                         const PixelRun<T, W>* runs,
                         int64_t count,
                         int64_t begin,
                         int64_t end,
                         const W* bias,
                         int64_t at,
                         T* result,
                         int64_t step) {
  for (int64_t output = 0; output < row.out; output += kP) {
    const int64_t first = std::min(output, row.out - kP);
    if constexpr (is_tuned<C>()) {
      if (first >= begin && first + kP <= end) {
        sum_runs<kP, Beyond::kNone>(channels, row, runs, count, bias, at, first, result, step);
        continue;
      }
    }
    if constexpr (is_tuned<C>() && kP >= kLargeTile) {
      if (beyond_of(row, runs, count, first, kP) == Beyond::kEnds) {
        sum_runs<kP, Beyond::kEnds>(channels, row, runs, count, bias, at, first, result, step);
        continue;
      }
    }
    sum_runs<kP, Beyond::kAny>(channels, row, runs, count, bias, at, first, result, step);
  }
}

template <typename T, typename W>
void multiply(const PixelRow& row,
              const PixelRun<T, W>* runs,
              int64_t count,
              int64_t begin,
              int64_t end,
              const W* bias,
              T* result,
              int64_t step) {
  const auto of_channels = [&](const auto& channels, int64_t at) HWY_ATTR {
    const auto run = [&]<int kP>() HWY_ATTR {
      tiles_of<kP>(channels, row, runs, count, begin, end, bias, at, result, step);
    };
    if constexpr (is_tuned<std::remove_cvref_t<decltype(channels)>>()) {
      if (row.out >= 7 && row.out <= (row.out + 7) / 8 * 7) return run.template operator()<7>();
      if (row.out >= 8) return run.template operator()<8>();
    }
    if (row.out >= 4) return run.template operator()<4>();
    run.template operator()<1>();
  };
  if constexpr (kManyRegisters) return for_channels<W>(row.channels, of_channels);
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<W>()));
  int64_t at = 0;
  for (; at + lanes <= row.channels; at += lanes) of_channels(Channels<1, false, W>{0}, at);
  if (at < row.channels) {
    of_channels(Channels<1, true, W>{static_cast<size_t>(row.channels - at)}, at);
  }
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
