#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/convolution/plane_rows.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/convolution/plane_rows.h"
#include "mindtorch/backends/cpu/tiles/registers-inl.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

using convolution::TermRun;

// --- copies into a patch ---

// Vectors, the last of which may overlap the one before; shorter ones for what is too short.
template <size_t kLanes, typename T, typename W>
HWY_INLINE void copy_line(const T* from, size_t count, W* to) {
  const hn::CappedTag<W, kLanes> d;
  const size_t lanes = hn::Lanes(d);
  if (count < lanes) {
    if constexpr (kLanes >= 4) {
      copy_line<kLanes / 2>(from, count, to);
    } else {
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<W>(from[i]);
    }
    return;
  }
  for (size_t at = 0; at + lanes <= count; at += lanes) {
    hn::StoreU(load_wide(d, from + at), d, to + at);
  }
  hn::StoreU(load_wide(d, from + count - lanes), d, to + count - lanes);
}

#if HWY_TARGET != HWY_SCALAR
// The same for every other element; nothing behind the last of them is read.
template <size_t kLanes, typename T, typename W>
HWY_INLINE void copy_every_other(const T* from, size_t count, W* to) {
  const hn::CappedTag<W, kLanes> d;
  const size_t lanes = hn::Lanes(d);
  if (count <= lanes) {
    if constexpr (kLanes >= 8) {
      copy_every_other<kLanes / 2>(from, count, to);
    } else {
      for (size_t i = 0; i < count; ++i) to[i] = static_cast<W>(from[2 * i]);
    }
    return;
  }
  for (size_t at = 0; at + lanes < count; at += lanes) {
    const T* const both = from + 2 * at;
    hn::StoreU(hn::ConcatEven(d, load_wide(d, both + lanes), load_wide(d, both)), d, to + at);
  }
  const T* const both = from + 2 * (count - lanes) - 1;
  hn::StoreU(hn::ConcatOdd(d, load_wide(d, both + lanes), load_wide(d, both)), d,
             to + count - lanes);
}
#endif

template <typename T, typename W>
void copy_lines(const T* from,
                int64_t from_pitch,
                int64_t step,
                int64_t lines,
                int64_t count,
                W* to,
                int64_t pitch) {
  for (int64_t line = 0; line < lines; ++line, from += from_pitch, to += pitch) {
    if (step == 1) {
      copy_line<hn::MaxLanes(hn::ScalableTag<W>())>(from, static_cast<size_t>(count), to);
#if HWY_TARGET != HWY_SCALAR
    } else if (step == 2) {
      copy_every_other<hn::MaxLanes(hn::ScalableTag<W>())>(from, static_cast<size_t>(count), to);
#endif
    } else {
      for (int64_t i = 0; i < count; ++i) to[i] = static_cast<W>(from[i * step]);
    }
  }
}

// --- sums of products ---

template <typename T, typename W>
struct Multiply {
  const W* patch;
  int64_t pitch;
  const TermRun* runs;
  int64_t run_count;
  const W* weights;
  W bias;
  int64_t width;
  T* out;
};

// The kN terms of a run, for kR lines of kV vectors.
template <int kR, int kV, int kN, class D, typename W>
HWY_INLINE void add_run(
    D d, const W* from, int64_t pitch, const W* HWY_RESTRICT weights, hn::Vec<D> (&sums)[kR][kV]) {
  using V = hn::Vec<D>;
  V factors[kN];
  HWY_UNROLL(4)
  for (int k = 0; k < kN; ++k) factors[k] = hn::Set(d, weights[k]);
  HWY_UNROLL(11)
  for (int line = 0; line < kR + kN - 1; ++line) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      const V x = hn::LoadU(d, from + line * pitch + j * static_cast<int64_t>(hn::Lanes(d)));
      HWY_UNROLL(4)
      for (int k = 0; k < kN; ++k) {
        const int i = line - k;
        if (i >= 0 && i < kR) sums[i][j] = hn::MulAdd(factors[k], x, sums[i][j]);
      }
    }
  }
}

// kR lines of kV vectors from (line, column) on; `count` elements of the last vector are stored.
template <int kR, int kV, class D, typename T, typename W>
HWY_INLINE void tile(D d, const Multiply<T, W>& m, int64_t line, int64_t column, size_t count) {
  using V = hn::Vec<D>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V sums[kR][kV];
  HWY_UNROLL(8)
  for (int i = 0; i < kR; ++i) {
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) sums[i][j] = hn::Set(d, m.bias);
  }
  const W* const from = m.patch + line * m.pitch + column;
  const W* weights = m.weights;
  for (int64_t r = 0; r < m.run_count; ++r) {
    const auto [offset, terms] = m.runs[r];
    if (terms == 3) {
      add_run<kR, kV, 3>(d, from + offset, m.pitch, weights, sums);
    } else if (terms == 4) {
      add_run<kR, kV, 4>(d, from + offset, m.pitch, weights, sums);
    } else if (terms == 2) {
      add_run<kR, kV, 2>(d, from + offset, m.pitch, weights, sums);
    } else {
      add_run<kR, kV, 1>(d, from + offset, m.pitch, weights, sums);
    }
    weights += terms;
  }
  HWY_UNROLL(8)
  for (int i = 0; i < kR; ++i) {
    T* const to = m.out + (line + i) * m.width + column;
    HWY_UNROLL(2)
    for (int j = 0; j < kV; ++j) {
      if (j == kV - 1 && count != hn::Lanes(d)) {
        store_wide_first(d, sums[i][j], to + j * lanes, count);
      } else {
        store_wide(d, sums[i][j], to + j * lanes);
      }
    }
  }
}

// All lines of a column of vectors by tiles of kR; the last one may overlap the one before, as a
// tile of fewer lines takes no less time.
template <int kR, int kV, class D, typename T, typename W>
HWY_INLINE void tiles_of(D d, const Multiply<T, W>& m, int64_t lines, int64_t column, size_t last) {
  int64_t line = 0;
  for (; line + kR <= lines; line += kR) tile<kR, kV>(d, m, line, column, last);
  if (line < lines) tile<kR, kV>(d, m, lines - kR, column, last);
}

template <int kV, class D, typename T, typename W>
void tile_column(D d, const Multiply<T, W>& m, int64_t lines, int64_t column, int64_t count) {
  // The baseline has no code for large tiles, which keeps the library small.
  constexpr bool kLargeTiles = kManyRegisters || (kV == 1 && HWY_TARGET == HWY_AVX2);
  const auto last = static_cast<size_t>(count) - (kV - 1) * hn::Lanes(d);
  if constexpr (kLargeTiles) {
    if (lines >= 7 && lines <= (lines + 7) / 8 * 7) {
      return tiles_of<7, kV>(d, m, lines, column, last);
    }
    if (lines >= 8) return tiles_of<8, kV>(d, m, lines, column, last);
  }
  if (lines >= 4) return tiles_of<4, kV>(d, m, lines, column, last);
  tiles_of<1, kV>(d, m, lines, column, last);
}

template <typename T, typename W>
void multiply(const W* patch,
              int64_t pitch,
              const TermRun* runs,
              int64_t run_count,
              const W* weights,
              W bias,
              int64_t lines,
              int64_t width,
              T* out) {
  const hn::ScalableTag<W> d;
  const hn::CappedTag<W, HWY_MAX(1, hn::MaxLanes(decltype(d)()) / 2)> half;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const Multiply<T, W> m = {patch, pitch, runs, run_count, weights, bias, width, out};
  for (int64_t column = 0, count = 0; column < width; column += count) {
    count = std::min(width - column, 2 * lanes);
    if (count > lanes) {
      tile_column<2>(d, m, lines, column, count);
    } else if (count > static_cast<int64_t>(hn::Lanes(half))) {
      tile_column<1>(d, m, lines, column, count);
    } else {
      tile_column<1>(half, m, lines, column, count);
    }
  }
}

template <int kT, typename T, typename W>
HWY_INLINE void products(const W* patch,
                         int64_t pitch,
                         const int64_t* HWY_RESTRICT offsets,
                         int64_t lines,
                         int64_t width,
                         const T* grad,
                         W* sums) {
  const hn::ScalableTag<W> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  V totals[kT];
  HWY_UNROLL(9)
  for (int t = 0; t < kT; ++t) totals[t] = hn::LoadU(d, sums + t * lanes);
  const auto rest = static_cast<size_t>(width % lanes);
  const auto is_inside = hn::FirstN(d, rest);
  for (int64_t line = 0; line < lines; ++line, patch += pitch, grad += width) {
    int64_t at = 0;
    for (; at + lanes <= width; at += lanes) {
      const V x = load_wide(d, grad + at);
      HWY_UNROLL(9)
      for (int t = 0; t < kT; ++t) {
        totals[t] = hn::MulAdd(x, hn::LoadU(d, patch + offsets[t] + at), totals[t]);
      }
    }
    if (rest == 0) continue;
    // The patch goes on behind the line, with numbers that may be infinite.
    const V x = load_wide_first(d, grad + at, rest, T(0.0f));
    HWY_UNROLL(9)
    for (int t = 0; t < kT; ++t) {
      const V y = hn::IfThenElseZero(is_inside, hn::LoadU(d, patch + offsets[t] + at));
      totals[t] = hn::MulAdd(x, y, totals[t]);
    }
  }
  HWY_UNROLL(9)
  for (int t = 0; t < kT; ++t) hn::StoreU(totals[t], d, sums + t * lanes);
}

template <typename T, typename W>
void add_products(const W* patch,
                  int64_t pitch,
                  const int64_t* offsets,
                  int64_t terms,
                  int64_t lines,
                  int64_t width,
                  const T* grad,
                  W* sums) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<W>()));
  const auto run = [&]<int kT>(int64_t t) {
    products<kT>(patch, pitch, offsets + t, lines, width, grad, sums + t * lanes);
    return t + kT;
  };
  int64_t t = 0;
  while (t + 9 <= terms) t = run.template operator()<9>(t);
  while (t + 5 <= terms) t = run.template operator()<5>(t);
  while (t + 3 <= terms) t = run.template operator()<3>(t);
  while (t < terms) t = run.template operator()<1>(t);
}

template <typename T, typename W>
convolution::PlaneRows<T, W> make() {
  return {static_cast<int64_t>(hn::Lanes(hn::ScalableTag<W>())), &copy_lines<T, W>, &multiply<T, W>,
          &add_products<T, W>};
}
convolution::PlaneRows<float, float> of_float() { return make<float, float>(); }
convolution::PlaneRows<double, double> of_double() { return make<double, double>(); }
convolution::PlaneRows<Half, float> of_half() { return make<Half, float>(); }
convolution::PlaneRows<BFloat16, float> of_bfloat16() { return make<BFloat16, float>(); }

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(of_float);
HWY_EXPORT(of_double);
HWY_EXPORT(of_half);
HWY_EXPORT(of_bfloat16);

namespace convolution {
template <>
PlaneRows<float, float> plane_rows() {
  return HWY_DYNAMIC_DISPATCH(of_float)();
}
template <>
PlaneRows<double, double> plane_rows() {
  return HWY_DYNAMIC_DISPATCH(of_double)();
}
template <>
PlaneRows<Half, float> plane_rows() {
  return HWY_DYNAMIC_DISPATCH(of_half)();
}
template <>
PlaneRows<BFloat16, float> plane_rows() {
  return HWY_DYNAMIC_DISPATCH(of_bfloat16)();
}
}  // namespace convolution

}  // namespace mindtorch::cpu
#endif
