// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/fft/whole_lines.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <algorithm>

#include "mindtorch/backends/cpu/fft/whole_line-inl.h"
#include "mindtorch/backends/cpu/fft/whole_lines.h"
#include "mindtorch/backends/cpu/fft/whole_plan.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/scratch.h"

#ifndef MT_FFT_WHOLE_LINES_TYPES_
#define MT_FFT_WHOLE_LINES_TYPES_
namespace mindtorch::cpu::fft {
namespace {

template <typename T>
struct WholeLines {
  const WholePlan<T>* plan;
  T scale;
  Lines<const T> from;
  Lines<T> to;
  const T* half_turns;  // of real lines
};

// Lines whose spectra are in working memory at once.
template <typename T>
int64_t lines_at_once(int64_t length) {
  constexpr auto kElements = static_cast<int64_t>((4 << 10) / sizeof(T));
  return std::max<int64_t>(1, kElements / length);
}

// By registers of `lanes` complex numbers; null if there are none. `work` has room for two lines
// and lines_at_once() more.
template <typename T>
struct WholeFunctions {
  using Transform = void (*)(const WholeLines<T>& lines, int64_t begin, int64_t end, T* work);

  int64_t lanes;
  Transform complex_lines;
  // Real lines of twice the length, as half spectra, and the way back.
  Transform to_half;
  Transform from_half;
};

// The wider registers first; narrower ones are for lengths that are no multiple of many lanes.
template <typename T>
struct WholeFunctionsOfAll {
  WholeFunctions<T> of[2];
};

}  // namespace
}  // namespace mindtorch::cpu::fft
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::fft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_MAX_BYTES >= 32 && HWY_TARGET != HWY_SCALAR && HWY_ARCH_X86

// Complex numbers in the opposite order.
template <class D>
HWY_INLINE hn::Vec<D> reversed(D d, hn::Vec<D> x) {
  if constexpr (std::is_same_v<hn::TFromD<D>, double>) {
    return hn::ReverseBlocks(d, x);
  } else {
    const hn::Repartition<double, D> dd;
    return hn::BitCast(d, hn::Reverse(dd, hn::BitCast(dd, x)));
  }
}

// Z(k) = E + i O and conj(Z(half - k)) = E - i O, where E and O are the spectra of the even and the
// odd elements of a real line of 2 * half elements. With w = exp(-i pi k / half), twice its
// spectrum is X(k) = 2 E - i w * 2 i O, and X(half - k) = conj(2 E + i w * 2 i O). The way back is
// the same with the conjugate of -i w. Elements 1 .. half - 1; those in the middle may be computed
// twice, so `to` must not be `from`.
template <class D>
HWY_NOINLINE void exchange_ends(
    D d, int64_t half, const hn::TFromD<D>* turns, const hn::TFromD<D>* from, hn::TFromD<D>* to) {
  using V = hn::Vec<D>;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(d)) / 2;
  const V conjugate = column_transform(d, false).sign;
  for (int64_t begin = 1; begin <= half / 2; begin += kLanes, turns += 4 * kLanes) {
    const int64_t k = std::min(begin, half / 2 - kLanes + 1);
    const int64_t mirror = half - k - kLanes + 1;
    const V x = hn::LoadU(d, from + 2 * k);
    const V mirrored = reversed(d, hn::LoadU(d, from + 2 * mirror));
    const V even = hn::MulAdd(mirrored, conjugate, x);
    const V odd = hn::NegMulAdd(mirrored, conjugate, x);
    const V turned = turn_elements(d, odd, hn::Load(d, turns), hn::Load(d, turns + 2 * kLanes));
    hn::StoreU(hn::Add(even, turned), d, to + 2 * k);
    const V high = hn::Mul(hn::Sub(even, turned), conjugate);
    hn::StoreU(reversed(d, high), d, to + 2 * mirror);
  }
}

template <class D, typename T = hn::TFromD<D>>
void complex_lines(const WholeLines<T>& lines, int64_t begin, int64_t end, T* work) {
  const WholeLine<D> line = {*lines.plan, lines.from.next};
  for (int64_t i = begin; i < end; ++i) {
    line.transform(lines.from.from_line(i).data, lines.to.from_line(i).data, lines.scale, work);
  }
}

// Spectra of several lines lie in `work` at once: what was stored just now, by other registers, can
// only be loaded once it is in the cache.
template <class D, typename T = hn::TFromD<D>>
void to_half(const WholeLines<T>& lines, int64_t begin, int64_t end, T* work) {
  const WholeLine<D> line = {*lines.plan, lines.from.next};
  const int64_t half = lines.plan->length;
  const int64_t some = lines_at_once<T>(half);
  for (int64_t first = begin; first < end; first += some) {
    const int64_t last = std::min(first + some, end);
    T* spectrum = work + 4 * half;
    for (int64_t i = first; i < last; ++i, spectrum += 2 * half) {
      line.transform(lines.from.from_line(i).data, spectrum, lines.scale / 2, work);
    }
    spectrum = work + 4 * half;
    for (int64_t i = first; i < last; ++i, spectrum += 2 * half) {
      T* const to = lines.to.from_line(i).data;
      exchange_ends(D(), half, lines.half_turns, spectrum, to);
      to[0] = 2 * (spectrum[0] + spectrum[1]);
      to[2 * half] = 2 * (spectrum[0] - spectrum[1]);
      to[1] = to[2 * half + 1] = 0;
    }
  }
}

template <class D, typename T = hn::TFromD<D>>
void from_half(const WholeLines<T>& lines, int64_t begin, int64_t end, T* work) {
  const WholeLine<D> line = {*lines.plan, 2 * lines.plan->length};
  const int64_t half = lines.plan->length;
  const int64_t some = lines_at_once<T>(half);
  for (int64_t first = begin; first < end; first += some) {
    const int64_t last = std::min(first + some, end);
    T* spectrum = work + 4 * half;
    for (int64_t i = first; i < last; ++i, spectrum += 2 * half) {
      const T* const from = lines.from.from_line(i).data;
      exchange_ends(D(), half, lines.half_turns, from, spectrum);
      spectrum[0] = from[0] + from[2 * half];
      spectrum[1] = from[0] - from[2 * half];
    }
    spectrum = work + 4 * half;
    for (int64_t i = first; i < last; ++i, spectrum += 2 * half) {
      line.transform(spectrum, lines.to.from_line(i).data, lines.scale, work);
    }
  }
}

template <class D>
WholeFunctions<hn::TFromD<D>> functions_for(D d) {
  return {static_cast<int64_t>(hn::MaxLanes(d) / 2), &complex_lines<D>, &to_half<D>, &from_half<D>};
}

template <typename T>
WholeFunctionsOfAll<T> make_whole_functions() {
  const hn::ScalableTag<T> d;
  if constexpr (hn::MaxLanes(d) > 8) {
    return {{functions_for(d), functions_for(hn::Half<decltype(d)>())}};
  } else {
    return {{functions_for(d), {}}};
  }
}

#else

template <typename T>
WholeFunctionsOfAll<T> make_whole_functions() {
  return {};
}

#endif

WholeFunctionsOfAll<float> whole_float32() { return make_whole_functions<float>(); }
WholeFunctionsOfAll<double> whole_float64() { return make_whole_functions<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::fft {
namespace {

HWY_EXPORT(whole_float32);
HWY_EXPORT(whole_float64);

template <typename T>
const WholeFunctionsOfAll<T>& all_functions() {
  static const WholeFunctionsOfAll<T> all = [] {
    if constexpr (std::is_same_v<T, float>) return HWY_DYNAMIC_DISPATCH(whole_float32)();
    if constexpr (std::is_same_v<T, double>) return HWY_DYNAMIC_DISPATCH(whole_float64)();
  }();
  return all;
}

// For lines of this length; null if there are none.
template <typename T>
const WholeFunctions<T>* functions_of(int64_t length) {
  for (const WholeFunctions<T>& functions : all_functions<T>().of) {
    if (functions.lanes > 0 && has_whole_plan(length, functions.lanes)) return &functions;
  }
  return nullptr;
}

// Whether complex lines are better off in panels, or divided among threads. How many threads there
// are must not count: the ways of a transform round differently.
template <typename T>
bool has_better_way(bool is_real, int64_t length, int64_t count, int64_t lanes) {
  constexpr int64_t kMany = 16;
  constexpr int64_t kMostInPanels = 255;  // else in registers that are not the widest
  constexpr int64_t kMostAlone = 8192;    // of a line that one thread has
  if (count < kMany) return length > kMostAlone;
  return !is_real && lanes < all_functions<T>().of[0].lanes && length <= kMostInPanels;
}

// `length` is that of the complex lines.
template <typename T>
void run(typename WholeFunctions<T>::Transform transform,
         int64_t length,
         int64_t count,
         const WholeLines<T>& lines) {
  // Numbers of all passes that pay for a thread.
  constexpr auto kThreadNumbers = static_cast<int64_t>((128 << 10) / sizeof(T));
  const auto passes = static_cast<int64_t>(lines.plan->passes.size());
  const int64_t grain = std::max<int64_t>(1, kThreadNumbers / (2 * length * passes));
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    const ScratchArray<T> work((4 + 2 * lines_at_once<T>(length)) * length);
    transform(lines, begin, end, work.get());
  });
}

}  // namespace

template <typename T>
double whole_line_cost(int64_t length) {
  constexpr double kElement = 10;  // in a pass
  const WholeFunctions<T>* const functions = functions_of<T>(length);
  if (functions == nullptr || has_better_way<T>(false, length, 1, functions->lanes)) return 0;
  return kElement / static_cast<double>(2 * functions->lanes) *
         static_cast<double>(length * whole_pass_count(length, functions->lanes));
}

template <typename T>
bool transform_whole_lines(
    Transform kind, int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  const bool reads_real = kind == Transform::kRealToHalf;
  const bool writes_real = kind == Transform::kHalfToReal;
  const bool is_real = reads_real || writes_real;
  const bool inverse = kind == Transform::kInverse || writes_real;
  if (from.step != (reads_real ? 1 : 2) || to.step != (writes_real ? 1 : 2)) return false;
  if (is_real && length % 2 != 0) return false;
  const int64_t elements = is_real ? length / 2 : length;
  const WholeFunctions<T>* const functions = functions_of<T>(elements);
  if (functions == nullptr || has_better_way<T>(is_real, elements, count, functions->lanes))
    return false;
  const auto plan = whole_plan<T>(inverse, elements, functions->lanes);
  WholeLines<T> lines = {plan.get(), scale, from, to, nullptr};
  if (!is_real) {
    run(functions->complex_lines, elements, count, lines);
    return true;
  }
  const auto turns = whole_half_turns<T>(inverse, elements, functions->lanes);
  lines.half_turns = turns->get();
  run(reads_real ? functions->to_half : functions->from_half, elements, count, lines);
  return true;
}

template double whole_line_cost<float>(int64_t);
template double whole_line_cost<double>(int64_t);
template bool transform_whole_lines(
    Transform, int64_t, int64_t, Lines<const float>, Lines<float>, float);
template bool transform_whole_lines(
    Transform, int64_t, int64_t, Lines<const double>, Lines<double>, double);

}  // namespace mindtorch::cpu::fft
#endif  // HWY_ONCE
