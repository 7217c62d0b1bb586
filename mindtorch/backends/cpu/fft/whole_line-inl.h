// One line, Note [Whole lines].
//
// Only for instruction sets of x86 with registers of at least 32 bytes.
// Included once for each instruction set, hence no #pragma once.
#if defined(MT_FFT_WHOLE_LINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_FFT_WHOLE_LINE_INL_H_
#undef MT_FFT_WHOLE_LINE_INL_H_
#else
#define MT_FFT_WHOLE_LINE_INL_H_
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include "hwy/cache_control.h"
#include "hwy/highway.h"
#include "mindtorch/backends/cpu/fft/interleaved-inl.h"
#include "mindtorch/backends/cpu/fft/whole_plan.h"

#if HWY_MAX_BYTES >= 32 && HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86
HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::fft::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The same complex number, of which the parts are given, in every lane.
template <class D>
HWY_INLINE hn::Vec<D> broadcast(D d, const float* parts) {
  double both;
  std::memcpy(&both, parts, sizeof(both));
  return hn::BitCast(d, hn::Set(hn::Repartition<double, D>(), both));
}
template <class D>
HWY_INLINE hn::Vec<D> broadcast(D d, const double* parts) {
  return hn::LoadDup128(d, parts);
}

template <class D>
struct WholeLine {
  using T = hn::TFromD<D>;
  using V = hn::Vec<D>;
  static constexpr auto kNumbers = static_cast<int64_t>(hn::MaxLanes(D()));
  static constexpr int64_t kLanes = kNumbers / 2;

  // Of lines up to this many numbers the next one is asked for: caches have room for both.
  static constexpr auto kMostPrefetched = static_cast<int64_t>(4096 / sizeof(T));

  const WholePlan<T>& plan;
  int64_t next;  // numbers from this line to the next one, of which there need not be any
  ColumnTransform<D> columns = column_transform(D(), plan.inverse);

  template <int R, bool kPrefetch>
  HWY_NOINLINE void first_pass(const WholePass& pass, const T* from, T* to) const {
    const D d;
    const T* turn = plan.turns.get() + pass.turns;
    const int64_t step = 2 * pass.groups;
    for (int64_t block = 0; block < pass.groups; block += kLanes) {
      const int64_t group = std::min(block, pass.groups - kLanes);
      V x[R];
      HWY_UNROLL(16)
      for (int k = 0; k < R; ++k) {
        const T* const row = from + 2 * group + k * step;
        x[k] = hn::LoadU(d, row);
        if constexpr (kPrefetch) hwy::Prefetch(row + next);
      }
      columns.template of<R>(x);
      HWY_UNROLL(16)
      for (int k = 1; k < R; ++k, turn += 2 * kNumbers) {
        x[k] = turn_elements(d, x[k], hn::Load(d, turn), hn::Load(d, turn + kNumbers));
      }
      HWY_UNROLL(8)
      for (int first = 0; first < R; first += static_cast<int>(kLanes)) {
        transpose(d, x + first);
        T* const at = to + 2 * (R * group + first);
        HWY_UNROLL(8)
        for (int i = 0; i < static_cast<int>(kLanes); ++i)
          hn::Store(x[first + i], d, at + 2 * R * i);
      }
    }
  }

  // A line of R * kLanes elements, of which the first pass leaves in registers what the second one
  // takes.
  template <int R>
  HWY_NOINLINE void both_passes(const T* from, T* to, T scale) const {
    const D d;
    const T* turn = plan.turns.get();
    V x[R];
    HWY_UNROLL(16)
    for (int k = 0; k < R; ++k) {
      x[k] = hn::LoadU(d, from + k * kNumbers);
      hwy::Prefetch(from + next + k * kNumbers);
    }
    columns.template of<R>(x);
    HWY_UNROLL(16)
    for (int k = 1; k < R; ++k, turn += 2 * kNumbers) {
      x[k] = turn_elements(d, x[k], hn::Load(d, turn), hn::Load(d, turn + kNumbers));
    }
    const V factor = hn::Set(d, scale);
    HWY_UNROLL(8)
    for (int first = 0; first < R; first += static_cast<int>(kLanes)) {
      transpose(d, x + first);
      columns.template of<static_cast<int>(kLanes)>(x + first);
      HWY_UNROLL(8)
      for (int i = 0; i < static_cast<int>(kLanes); ++i) {
        hn::StoreU(hn::Mul(x[first + i], factor), d, to + 2 * (first + R * i));
      }
    }
  }

  template <int R>
  HWY_NOINLINE void middle_pass(const WholePass& pass, const T* from, T* to) const {
    const D d;
    const T* turn = plan.turns.get() + pass.turns;
    const int64_t row = 2 * pass.stride;
    const int64_t step = row * pass.groups;
    for (int64_t p = 0; p < pass.groups; ++p, turn += 4 * (R - 1)) {
      const T* const source = from + p * row;
      T* const target = to + p * R * row;
      for (int64_t q = 0; q < row; q += kNumbers) {
        V x[R];
        HWY_UNROLL(16)
        for (int k = 0; k < R; ++k) x[k] = hn::Load(d, source + q + k * step);
        columns.template of<R>(x);
        hn::Store(x[0], d, target + q);
        HWY_UNROLL(16)
        for (int k = 1; k < R; ++k) {
          const T* const factors = turn + 4 * (k - 1);
          const V result =
              turn_elements(d, x[k], hn::Set(d, factors[0]), broadcast(d, factors + 2));
          hn::Store(result, d, target + q + k * row);
        }
      }
    }
  }

  template <int R>
  HWY_NOINLINE void last_pass(const WholePass& pass, const T* from, T* to, T scale) const {
    const D d;
    const V factor = hn::Set(d, scale);
    const int64_t row = 2 * pass.stride;
    for (int64_t q = 0; q < row; q += kNumbers) {
      V x[R];
      HWY_UNROLL(16)
      for (int k = 0; k < R; ++k) x[k] = hn::Load(d, from + q + k * row);
      columns.template of<R>(x);
      HWY_UNROLL(16)
      for (int k = 0; k < R; ++k) hn::StoreU(hn::Mul(x[k], factor), d, to + q + k * row);
    }
  }

  template <int R>
  void run_first(const WholePass& pass, const T* from, T* to) const {
    if (2 * plan.length <= kMostPrefetched) return first_pass<R, true>(pass, from, to);
    first_pass<R, false>(pass, from, to);
  }
  void run_first(const WholePass& pass, const T* from, T* to) const {
    if (pass.radix == 16) return run_first<16>(pass, from, to);
    if (pass.radix == 8) return run_first<8>(pass, from, to);
    if constexpr (kLanes <= 4) run_first<4>(pass, from, to);
  }
  void run_middle(const WholePass& pass, const T* from, T* to) const {
    switch (pass.radix) {
      case 3:
        return middle_pass<3>(pass, from, to);
      case 4:
        return middle_pass<4>(pass, from, to);
      case 5:
        return middle_pass<5>(pass, from, to);
      case 7:
        return middle_pass<7>(pass, from, to);
      case 8:
        return middle_pass<8>(pass, from, to);
      default:
        return middle_pass<16>(pass, from, to);
    }
  }
  void run_last(const WholePass& pass, const T* from, T* to, T scale) const {
    switch (pass.radix) {
      case 3:
        return last_pass<3>(pass, from, to, scale);
      case 4:
        return last_pass<4>(pass, from, to, scale);
      case 5:
        return last_pass<5>(pass, from, to, scale);
      case 7:
        return last_pass<7>(pass, from, to, scale);
      case 8:
        return last_pass<8>(pass, from, to, scale);
      default:
        return last_pass<16>(pass, from, to, scale);
    }
  }

  // `work` has room for two lines. The line is read before `to` is written.
  void transform(const T* from, T* to, T scale, T* work) const {
    if (plan.length == 16 * kLanes) return both_passes<16>(from, to, scale);
    if (plan.length == 8 * kLanes) return both_passes<8>(from, to, scale);
    const size_t last = plan.passes.size() - 1;
    T* other = work + 2 * plan.length;
    run_first(plan.passes[0], from, work);
    for (size_t i = 1; i < last; ++i, std::swap(work, other)) {
      run_middle(plan.passes[i], work, other);
    }
    run_last(plan.passes[last], work, to, scale);
  }
};

}  // namespace mindtorch::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif
