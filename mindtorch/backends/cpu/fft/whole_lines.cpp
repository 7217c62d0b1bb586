// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/fft/whole_lines.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <algorithm>
#include <cstring>
#include <utility>

#include "mindtorch/backends/cpu/fft/interleaved-inl.h"
#include "mindtorch/backends/cpu/fft/whole_lines.h"
#include "mindtorch/backends/cpu/fft/whole_plan.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/sorting/scratch.h"

#ifndef MT_FFT_WHOLE_LINES_TYPES_
#define MT_FFT_WHOLE_LINES_TYPES_
namespace mindtorch::cpu::fft {
namespace {

template <typename T>
struct WholeLines {
  const WholePlan<T>* plan;
  bool inverse;
  T scale;
  Lines<const T> from;
  Lines<T> to;
};

template <typename T>
struct WholeFunctions {
  // `work` has room for two lines.
  using Transform = void (*)(const WholeLines<T>& lines, int64_t begin, int64_t end, T* work);

  // By registers of so many complex numbers, the wider ones first. Null: none.
  struct {
    int64_t lanes;
    Transform transform;
  } of[2];
};

}  // namespace
}  // namespace mindtorch::cpu::fft
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::fft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_MAX_BYTES >= 32 && HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86

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

  ColumnTransform<D> columns;
  const T* turns;

  static HWY_INLINE V turned(V x, V re, V im) {
    return hn::MulAdd(ColumnTransform<D>::swapped(x), im, hn::Mul(x, re));
  }

  template <int R>
  HWY_NOINLINE void first_pass(const WholePass& pass, const T* from, T* to) const {
    const D d;
    const T* turn = turns + pass.turns;
    const int64_t step = 2 * pass.groups;
    for (int64_t block = 0; block < pass.groups; block += kLanes) {
      const int64_t group = std::min(block, pass.groups - kLanes);
      V x[R];
      HWY_UNROLL(16)
      for (int k = 0; k < R; ++k) x[k] = hn::LoadU(d, from + 2 * group + k * step);
      columns.template of<R>(x);
      HWY_UNROLL(16)
      for (int k = 1; k < R; ++k, turn += 2 * kNumbers) {
        x[k] = turned(x[k], hn::Load(d, turn), hn::Load(d, turn + kNumbers));
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

  template <int R>
  HWY_NOINLINE void middle_pass(const WholePass& pass, const T* from, T* to) const {
    const D d;
    const T* turn = turns + pass.turns;
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
          const V result = turned(x[k], hn::Set(d, factors[0]), broadcast(d, factors + 2));
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

  void run_first(const WholePass& pass, const T* from, T* to) const {
    if (pass.radix == 16) return first_pass<16>(pass, from, to);
    if (pass.radix == 8) return first_pass<8>(pass, from, to);
    if constexpr (kLanes <= 4) first_pass<4>(pass, from, to);
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
};

template <class D>
void transform(const WholeLines<hn::TFromD<D>>& lines,
               int64_t begin,
               int64_t end,
               hn::TFromD<D>* work) {
  using T = hn::TFromD<D>;
  const WholePlan<T>& plan = *lines.plan;
  const WholeLine<D> line = {column_transform(D(), lines.inverse), plan.turns.get()};
  const size_t last = plan.passes.size() - 1;
  T* const other = work + 2 * plan.length;
  for (int64_t i = begin; i < end; ++i) {
    T* from = work;
    T* to = other;
    line.run_first(plan.passes[0], lines.from.from_line(i).data, from);
    for (size_t j = 1; j < last; ++j, std::swap(from, to)) {
      line.run_middle(plan.passes[j], from, to);
    }
    line.run_last(plan.passes[last], from, lines.to.from_line(i).data, lines.scale);
  }
}

template <typename T>
WholeFunctions<T> make_functions() {
  using Whole = hn::ScalableTag<T>;
  using Half = hn::Half<Whole>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Whole()) / 2);
  // Registers of half the size are for lengths that are no multiple of many lanes.
  if constexpr (kLanes > 4) return {{{kLanes, &transform<Whole>}, {kLanes / 2, &transform<Half>}}};
  return {{{kLanes, &transform<Whole>}, {0, nullptr}}};
}

#else

template <typename T>
WholeFunctions<T> make_functions() {
  return {{{0, nullptr}, {0, nullptr}}};
}

#endif

WholeFunctions<float> float32_functions() { return make_functions<float>(); }
WholeFunctions<double> float64_functions() { return make_functions<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::fft {
namespace {

HWY_EXPORT(float32_functions);
HWY_EXPORT(float64_functions);

template <typename T>
const WholeFunctions<T>& whole_functions() {
  static const WholeFunctions<T> found = [] {
    if constexpr (std::is_same_v<T, float>) return HWY_DYNAMIC_DISPATCH(float32_functions)();
    if constexpr (std::is_same_v<T, double>) return HWY_DYNAMIC_DISPATCH(float64_functions)();
  }();
  return found;
}

// The functions for lines of this length, or null.
template <typename T>
const auto* functions_of(int64_t length) {
  for (const auto& functions : whole_functions<T>().of) {
    if (functions.transform != nullptr && has_whole_plan(length, functions.lanes))
      return &functions;
  }
  return static_cast<decltype(&whole_functions<T>().of[0])>(nullptr);
}

}  // namespace

template <typename T>
bool are_whole_lines(int64_t length) {
  return functions_of<T>(length) != nullptr;
}

template <typename T>
bool transform_whole_lines(
    bool inverse, int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  constexpr int64_t kThreadElements = 8 * 1024;  // that pay for a thread
  if (from.step != 2 || to.step != 2) return false;
  const auto* const functions = functions_of<T>(length);
  if (functions == nullptr) return false;
  const auto plan = whole_plan<T>(inverse, length, functions->lanes);
  const WholeLines<T> lines = {plan.get(), inverse, scale, from, to};
  const int64_t grain = std::max<int64_t>(1, kThreadElements / length);
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    const sorting::ScratchArray<T> work(4 * length);
    functions->transform(lines, begin, end, work.get());
  });
  return true;
}

template bool are_whole_lines<float>(int64_t);
template bool are_whole_lines<double>(int64_t);
template bool transform_whole_lines(
    bool, int64_t, int64_t, Lines<const float>, Lines<float>, float);
template bool transform_whole_lines(
    bool, int64_t, int64_t, Lines<const double>, Lines<double>, double);

}  // namespace mindtorch::cpu::fft
#endif  // HWY_ONCE
