// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/convolution/lines.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
//
#include <algorithm>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/convolution/lines.h"
#include "mindtorch/backends/cpu/tiles/registers-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::convolution::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using mindtorch::cpu::HWY_NAMESPACE::kManyRegisters;

// The kN taps of a run, for kR outputs and kV vectors of columns.
template <int kR, int kV, int kN, class D, typename T>
HWY_INLINE void add_run(D d,
                        const T* x,
                        int64_t step,
                        int64_t tap_step,
                        const T* HWY_RESTRICT y,
                        int64_t y_step,
                        hn::Vec<D> (&sums)[kR][kV]) {
  using V = hn::Vec<D>;
  if constexpr (kManyRegisters) {  // sums wait for each other the least; the steps are equal
    V values[kR + kN - 1];
    HWY_UNROLL(17)
    for (int p = 0; p < kR + kN - 1; ++p, x += step) values[p] = hn::Set(d, *x);
    HWY_UNROLL(4)
    for (int k = 0; k < kN; ++k, y += y_step) {
      HWY_UNROLL(2)
      for (int j = 0; j < kV; ++j) {
        const V factor = hn::LoadU(d, y + j * static_cast<int64_t>(hn::Lanes(d)));
        HWY_UNROLL(14)
        for (int i = 0; i < kR; ++i) sums[i][j] = hn::MulAdd(values[i + k], factor, sums[i][j]);
      }
    }
    return;
  }
  // Tap by tap, as a product of matrices: elements are read again, which costs less than sums that
  // leave their registers.
  HWY_UNROLL(4)
  for (int k = 0; k < kN; ++k, x += tap_step, y += y_step) {
    V factors[kV];
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      factors[j] = hn::LoadU(d, y + j * static_cast<int64_t>(hn::Lanes(d)));
    }
    HWY_UNROLL(8)
    for (int i = 0; i < kR; ++i) {
      const V value = hn::Set(d, x[i * step]);
      HWY_UNROLL(2)
      for (int j = 0; j < kV; ++j) sums[i][j] = hn::MulAdd(value, factors[j], sums[i][j]);
    }
  }
}

// Outputs [first, first + kR).
template <int kR, int kV, typename T>
HWY_INLINE void tile(const LineProduct<T>& m, int64_t first) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kR][kV];
  HWY_UNROLL(2)
  for (int j = 0; j < kV; ++j) {
    const V initial = hn::LoadU(d, m.initial + j * lanes);
    HWY_UNROLL(14)
    for (int i = 0; i < kR; ++i) sums[i][j] = initial;
  }
  const int64_t step = m.step;
  const T* x = m.x + first * step;
  const T* y = m.y;
  for (int64_t channel = 0; channel < m.channels; ++channel) {
    for (int64_t r = 0; r < m.run_count; ++r) {
      const LineRun& run = m.runs[r];
      const T* const from = x + run.offset;
      const T* const factors = y + run.term * kV * lanes;
      const int64_t next = run.term_step * kV * lanes;
      if (run.count == 3) {
        add_run<kR, kV, 3>(d, from, step, m.tap_step, factors, next, sums);
      } else if (run.count == 1) {
        add_run<kR, kV, 1>(d, from, step, m.tap_step, factors, next, sums);
      } else if (run.count == 2) {
        add_run<kR, kV, 2>(d, from, step, m.tap_step, factors, next, sums);
      } else {
        add_run<kR, kV, 4>(d, from, step, m.tap_step, factors, next, sums);
      }
    }
    x += m.channel_stride;
    y += m.channel_terms * kV * lanes;
  }
  HWY_UNROLL(14)
  for (int i = 0; i < kR; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      hn::StoreU(sums[i][j], d, m.c + (first + i) * m.c_stride + j * lanes);
    }
  }
}

// The last tile may overlap the one before: one of fewer outputs takes no less time.
template <int kR, int kV, typename T>
void tiles_of(const LineProduct<T>& m) {
  int64_t first = 0;
  for (; first + kR <= m.outputs; first += kR) tile<kR, kV>(m, first);
  if (first < m.outputs) tile<kR, kV>(m, m.outputs - kR);
}

int64_t padded_to(int64_t count, int64_t unit) { return ceil_div(count, unit) * unit; }

template <int kV, typename T>
void line(const LineProduct<T>& m) {
  const int64_t n = m.outputs;
  if constexpr (kV == 1 && kManyRegisters) {
    if (n >= 14 && padded_to(n, 14) <= padded_to(n, 8)) return tiles_of<14, kV>(m);
  }
  // The baseline has code for small tiles only, which keeps the library small.
  if constexpr (kManyRegisters || (kV == 1 && HWY_TARGET == HWY_AVX2)) {
    if (n >= 7 && (n < 8 || padded_to(n, 7) < padded_to(n, 8))) return tiles_of<7, kV>(m);
    if (n >= 8) return tiles_of<8, kV>(m);
  } else if constexpr (HWY_TARGET == HWY_AVX2) {
    // Twelve sums hide the time that each takes, and more leave the registers; fewer take a little
    // longer for each, but may compute fewer outputs in vain.
    const int64_t by_six = 100 * padded_to(n, 6);
    const int64_t by_five = 103 * padded_to(n, 5);
    const int64_t by_four = 114 * padded_to(n, 4);
    if (n >= 6 && by_six <= std::min(by_five, by_four)) return tiles_of<6, kV>(m);
    if (n >= 5 && by_five <= by_four) return tiles_of<5, kV>(m);
  }
  if (n >= 4) return tiles_of<4, kV>(m);
  tiles_of<1, kV>(m);
}

template <typename T>
void multiply(const LineProduct<T>& m) {
  m.columns == static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>())) ? line<1>(m) : line<2>(m);
}

template <typename T>
LineTiles<T> make() {
  return {static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>())), kManyRegisters, &multiply<T>};
}
LineTiles<float> float_lines() { return make<float>(); }
LineTiles<double> double_lines() { return make<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::convolution::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::convolution {

HWY_EXPORT(float_lines);
HWY_EXPORT(double_lines);

template <>
LineTiles<float> line_tiles() {
  return HWY_DYNAMIC_DISPATCH(float_lines)();
}
template <>
LineTiles<double> line_tiles() {
  return HWY_DYNAMIC_DISPATCH(double_lines)();
}

}  // namespace mindtorch::cpu::convolution
#endif
