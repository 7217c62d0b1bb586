// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/fft/folded_lines.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <algorithm>
#include <cstring>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/fft/folded_lines.h"
#include "mindtorch/backends/cpu/fft/plan.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/tiles/registers-inl.h"
#include "mindtorch/backends/cpu/tiles/tile-inl.h"

#ifndef MT_FFT_FOLDED_LINES_TYPES_
#define MT_FFT_FOLDED_LINES_TYPES_
namespace mindtorch::cpu::fft {
namespace {

template <typename T>
struct FoldedLines {
  const T* cosines;  // rows of folded_table(), for elements 0 .. length / 2; with the sines, of
                     // real lines
  const T* sines;
  int64_t row;  // from one to the next
  int64_t length;
  T scale;
  const T* from;
  int64_t from_next;
  T* to;
  int64_t to_next;
};

template <typename T>
struct FoldedFunction {
  int64_t least_length;
  int64_t most_length;
  void (*transform)(const FoldedLines<T>& lines, int64_t count);
};

template <typename T>
struct FoldedFunctions {
  FoldedFunction<T> of_complex;
  FoldedFunction<T> of_real;
};

}  // namespace
}  // namespace mindtorch::cpu::fft
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::fft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
namespace tiles = mindtorch::cpu::HWY_NAMESPACE;

constexpr int kMostVectors = 3;
constexpr int kMostRealVectors = 5;
using mindtorch::cpu::HWY_NAMESPACE::kManyRegisters;
template <typename T>
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));

#if HWY_TARGET != HWY_SCALAR

template <typename T>
using V = hn::Vec<hn::ScalableTag<T>>;

// One complex number in all pairs of lanes.
HWY_INLINE V<float> broadcast_complex(const float* from) {
  double both;
  std::memcpy(&both, from, sizeof(both));
  return hn::BitCast(hn::ScalableTag<float>(), hn::Set(hn::ScalableTag<double>(), both));
}
HWY_INLINE V<double> broadcast_complex(const double* from) {
  return hn::LoadDup128(hn::ScalableTag<double>(), from);
}

// Complex numbers in the opposite order.
HWY_INLINE V<float> reverse_complex(V<float> x) {
  const hn::ScalableTag<double> pairs;
  return hn::BitCast(hn::ScalableTag<float>(), hn::Reverse(pairs, hn::BitCast(pairs, x)));
}
HWY_INLINE V<double> reverse_complex(V<double> x) {
  return hn::ReverseBlocks(hn::ScalableTag<double>(), x);
}

// Sums and differences of elements k and length - k, of `kCount` lines.
template <int kCount, typename T>
struct Folded {
  static constexpr int64_t kRow = (kMostFoldedLength / kLanes<T> + 2) * kLanes<T>;
  using Rows = T[kCount][kRow];
  HWY_ALIGN Rows sums;
  HWY_ALIGN Rows differences;
};

template <int kCount, typename T>
HWY_INLINE void fold(const FoldedLines<T>& p, int64_t line, Folded<kCount, T>& to) {
  const hn::ScalableTag<T> d;
  const V<T> scale = hn::Set(d, p.scale);
  for (int i = 0; i < kCount; ++i) {
    const T* const x = p.from + (line + i) * p.from_next;
    const T* const end = x + 2 * p.length + 2 - kLanes<T>;
    const auto fold_vector = [&](int64_t at, V<T> other) HWY_ATTR {
      const V<T> first = hn::LoadU(d, x + at);
      const V<T> mirrored = reverse_complex(other);
      hn::Store(hn::Mul(hn::Add(first, mirrored), scale), d, to.sums[i] + at);
      hn::Store(hn::Mul(hn::Sub(first, mirrored), scale), d, to.differences[i] + at);
    };
    // Element 0 has no other.
    fold_vector(0, tiles::load_first(d, end, static_cast<size_t>(kLanes<T> - 2)));
    for (int64_t at = kLanes<T>; at <= p.length; at += kLanes<T>) {
      fold_vector(at, hn::LoadU(d, end - at));
    }
  }
}

// Results of some lines, `kVectors` of each.
template <int kCount, int kVectors, typename T>
struct Sums {
  V<T> of[kCount][kVectors];

  HWY_INLINE void clear() {
    HWY_UNROLL(8)
    for (auto& line : of) {
      HWY_UNROLL(5)
      for (V<T>& sum : line) sum = hn::Zero(hn::ScalableTag<T>());
    }
  }

  // Adds element k of the lines times a row of real numbers.
  HWY_INLINE void add(const typename Folded<kCount, T>::Rows& lines, int64_t k, const T* row) {
    const hn::ScalableTag<T> d;
    V<T> factors[kVectors];
    HWY_UNROLL(5)
    for (int v = 0; v < kVectors; ++v) factors[v] = hn::LoadU(d, row + v * kLanes<T>);
    HWY_UNROLL(8)
    for (int i = 0; i < kCount; ++i) {
      const V<T> x = broadcast_complex(lines[i] + 2 * k);
      HWY_UNROLL(5)
      for (int v = 0; v < kVectors; ++v) of[i][v] = hn::MulAdd(x, factors[v], of[i][v]);
    }
  }
};

// `count` numbers from `to` on.
template <int kVectors, typename T>
HWY_INLINE void store_forward(const V<T> (&x)[kVectors], T* to, int64_t count) {
  const hn::ScalableTag<T> d;
  HWY_UNROLL(5)
  for (int v = 0; v < kVectors; ++v) {
    const int64_t left = count - v * kLanes<T>;
    if (left >= kLanes<T>) {
      hn::StoreU(x[v], d, to + v * kLanes<T>);
    } else if (left > 0) {
      tiles::store_first(d, x[v], to + v * kLanes<T>, static_cast<size_t>(left));
    }
  }
}

// From the element at `to` on downwards, whole vectors. The element at `to` may be left out.
template <bool kHasFirst, int kVectors, typename T>
HWY_INLINE void store_backward(const V<T> (&x)[kVectors], T* to) {
  const hn::ScalableTag<T> d;
  HWY_UNROLL(5)
  for (int v = 0; v < kVectors; ++v) {
    T* const at = to + 2 - (v + 1) * kLanes<T>;
    if (v == 0 && !kHasFirst) {
      tiles::store_first(d, reverse_complex(x[v]), at, static_cast<size_t>(kLanes<T> - 2));
    } else {
      hn::StoreU(reverse_complex(x[v]), d, at);
    }
  }
}

// Results j and length - j: the sum and the difference of `even` and i times `odd`.
template <int kCount, int kVectors, typename T>
HWY_INLINE void transform_by_halves(const FoldedLines<T>& p, int64_t line) {
  const hn::ScalableTag<T> d;
  Folded<kCount, T> x;
  fold(p, line, x);
  Sums<kCount, kVectors, T> even, odd;
  even.clear();
  odd.clear();
  const int64_t half = p.length / 2;
  even.add(x.sums, 0, p.cosines);
  for (int64_t k = 1; 2 * k < p.length; ++k) {
    even.add(x.sums, k, p.cosines + k * p.row);
    odd.add(x.differences, k, p.sines + k * p.row);
  }
  if (2 * half == p.length) even.add(x.sums, half, p.cosines + half * p.row);
  HWY_UNROLL(8)
  for (int i = 0; i < kCount; ++i) {
    T* const y = p.to + (line + i) * p.to_next;
    V<T> first[kVectors], last[kVectors];
    HWY_UNROLL(5)
    for (int v = 0; v < kVectors; ++v) {
      const V<T> turned = hn::Reverse2(d, odd.of[i][v]);
      first[v] = hn::Add(even.of[i][v], turned);
      last[v] = hn::Sub(even.of[i][v], turned);
    }
    // What is too much of the second half lies in the first, which is written after it.
    store_backward<false>(last, y + 2 * p.length);
    store_forward(first, y, 2 * (half + 1));
  }
}

// The same of an even length, whose results j and length / 2 - j have terms in common, too: those
// of elements with an even number and those of the others, whose sign changes.
template <int kCount, int kVectors, typename T>
HWY_INLINE void transform_by_quarters(const FoldedLines<T>& p, int64_t line) {
  const hn::ScalableTag<T> d;
  Folded<kCount, T> x;
  fold(p, line, x);
  Sums<kCount, kVectors, T> even[2], odd[2];
  for (int i = 0; i < 2; ++i) {
    even[i].clear();
    odd[i].clear();
  }
  const int64_t half = p.length / 2;
  int64_t k = 0;
  for (; k + 1 <= half; k += 2) {
    even[0].add(x.sums, k, p.cosines + k * p.row);
    odd[0].add(x.differences, k, p.sines + k * p.row);
    even[1].add(x.sums, k + 1, p.cosines + (k + 1) * p.row);
    odd[1].add(x.differences, k + 1, p.sines + (k + 1) * p.row);
  }
  if (k == half) even[0].add(x.sums, k, p.cosines + k * p.row);
  const int64_t count = 2 * (p.length / 4 + 1);
  HWY_UNROLL(8)
  for (int i = 0; i < kCount; ++i) {
    T* const y = p.to + (line + i) * p.to_next;
    V<T> quarters[4][kVectors];
    HWY_UNROLL(5)
    for (int v = 0; v < kVectors; ++v) {
      const V<T> sum = hn::Add(even[0].of[i][v], even[1].of[i][v]);
      const V<T> difference = hn::Sub(even[0].of[i][v], even[1].of[i][v]);
      const V<T> turned = hn::Reverse2(d, hn::Add(odd[0].of[i][v], odd[1].of[i][v]));
      const V<T> other = hn::Reverse2(d, hn::Sub(odd[1].of[i][v], odd[0].of[i][v]));
      quarters[0][v] = hn::Add(sum, turned);
      quarters[1][v] = hn::Add(difference, other);
      quarters[2][v] = hn::Sub(difference, other);
      quarters[3][v] = hn::Sub(sum, turned);
    }
    // What is too much of those written backwards lies in those written after them.
    store_backward<false>(quarters[3], y + 2 * p.length);
    store_forward(quarters[2], y + 2 * half, count);
    store_backward<true>(quarters[1], y + 2 * half);
    store_forward(quarters[0], y, count);
  }
}

// Real lines: an element of the result is a sum of sums times cosines and, its other part, of
// differences times sines, which are multiplied as if they were the parts of a complex number.
template <int kCount, int kVectors, typename T>
HWY_INLINE void transform_real(const FoldedLines<T>& p, int64_t line) {
  const hn::ScalableTag<T> d;
  const V<T> scale = hn::Set(d, p.scale);
  HWY_ALIGN typename Folded<kCount, T>::Rows x;
  for (int i = 0; i < kCount; ++i) {
    const T* const from = p.from + (line + i) * p.from_next;
    const T* const end = from + p.length + 1 - kLanes<T>;
    const auto fold_vector = [&](int64_t at, V<T> other) HWY_ATTR {
      const V<T> first = hn::Mul(hn::LoadU(d, from + at), scale);
      const V<T> mirrored = hn::Mul(hn::Reverse(d, other), scale);
      hn::StoreInterleaved2(hn::Add(first, mirrored), hn::Sub(first, mirrored), d, x[i] + 2 * at);
    };
    fold_vector(0, tiles::load_first(d, end, static_cast<size_t>(kLanes<T> - 1)));
    for (int64_t at = kLanes<T>; 2 * at <= p.length; at += kLanes<T>) {
      fold_vector(at, hn::LoadU(d, end - at));
    }
  }
  Sums<kCount, kVectors, T> sums;
  sums.clear();
  for (int64_t k = 0; 2 * k <= p.length; ++k) sums.add(x, k, p.cosines + k * p.row);
  HWY_UNROLL(8)
  for (int i = 0; i < kCount; ++i) {
    store_forward(sums.of[i], p.to + (line + i) * p.to_next, 2 * (p.length / 2 + 1));
  }
}

template <int kVectors, typename T>
void run_real(const FoldedLines<T>& p, int64_t count) {
  constexpr int kCount = std::clamp((kManyRegisters ? 16 : 8) / kVectors, 1, 8);
  int64_t line = 0;
  for (; line + kCount <= count; line += kCount) transform_real<kCount, kVectors>(p, line);
  for (; line < count; ++line) transform_real<1, kVectors>(p, line);
}

template <typename T>
void transform_real_lines(const FoldedLines<T>& p, int64_t count) {
  switch (ceil_div(2 * (p.length / 2 + 1), kLanes<T>)) {
    case 2:
      return run_real<2>(p, count);
    case 3:
      return run_real<3>(p, count);
    case 4:
      return run_real<4>(p, count);
    default:
      return run_real<5>(p, count);
  }
}

template <int kVectors, typename T>
void run_by_halves(const FoldedLines<T>& p, int64_t count) {
  constexpr int kCount = (kManyRegisters ? 16 : 8) / (2 * kVectors);
  int64_t line = 0;
  for (; line + kCount <= count; line += kCount) transform_by_halves<kCount, kVectors>(p, line);
  for (; line < count; ++line) transform_by_halves<1, kVectors>(p, line);
}
template <int kVectors, typename T>
void run_by_quarters(const FoldedLines<T>& p, int64_t count) {
  constexpr int kCount = std::max(1, (kManyRegisters ? 24 : 8) / (4 * kVectors));
  int64_t line = 0;
  for (; line + kCount <= count; line += kCount) transform_by_quarters<kCount, kVectors>(p, line);
  for (; line < count; ++line) transform_by_quarters<1, kVectors>(p, line);
}

template <typename T>
void transform(const FoldedLines<T>& p, int64_t count) {
  const auto vectors = [](int64_t numbers) { return ceil_div(numbers, kLanes<T>); };
  if (p.length % 2 == 0 && p.length >= kLanes<T>) {
    switch (vectors(2 * (p.length / 4 + 1))) {
      case 1:
        return run_by_quarters<1>(p, count);
      case 2:
        return run_by_quarters<2>(p, count);
      default:
        return run_by_quarters<3>(p, count);
    }
  }
  switch (vectors(2 * (p.length / 2 + 1))) {
    case 1:
      return run_by_halves<1>(p, count);
    case 2:
      return run_by_halves<2>(p, count);
    default:
      return run_by_halves<3>(p, count);
  }
}

template <typename T>
FoldedFunctions<T> make_folded_functions() {
  // A vector of elements from either end, and up to three of results, or five of real lines.
  return {{kLanes<T> / 2 + 1, kMostVectors * kLanes<T> - 1, &transform<T>},
          {kLanes<T>, kMostRealVectors * kLanes<T> - 1, &transform_real_lines<T>}};
}

#else

template <typename T>
FoldedFunctions<T> make_folded_functions() {
  return {{1, 0, nullptr}, {1, 0, nullptr}};
}

#endif

FoldedFunctions<float> folded_float32() { return make_folded_functions<float>(); }
FoldedFunctions<double> folded_float64() { return make_folded_functions<double>(); }

}  // namespace
}  // namespace mindtorch::cpu::fft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu::fft {
namespace {

HWY_EXPORT(folded_float32);
HWY_EXPORT(folded_float64);

template <typename T>
const FoldedFunctions<T>& folded_functions() {
  static const FoldedFunctions<T> found = [] {
    if constexpr (std::is_same_v<T, float>) return HWY_DYNAMIC_DISPATCH(folded_float32)();
    if constexpr (std::is_same_v<T, double>) return HWY_DYNAMIC_DISPATCH(folded_float64)();
  }();
  return found;
}

}  // namespace

template <typename T>
bool transform_folded_lines(
    Transform kind, int64_t length, int64_t count, Lines<const T> from, Lines<T> to, T scale) {
  constexpr int64_t kThreadWork = int64_t{1} << 15;  // multiplications that pay for a thread
  const bool is_real = kind == Transform::kRealToHalf;
  const FoldedFunctions<T>& functions = folded_functions<T>();
  const FoldedFunction<T>& function = is_real ? functions.of_real : functions.of_complex;
  if (kind == Transform::kHalfToReal || from.step != (is_real ? 1 : 2) || to.step != 2 ||
      length < function.least_length ||
      length > std::min(function.most_length, kMostFoldedLength)) {
    return false;
  }
  const auto table = folded_table<T>(kind, length);
  FoldedLines<T> lines = {};
  lines.row = table->stride;
  lines.cosines = table->row_at(0);
  lines.sines = is_real ? nullptr : table->row_at(length / 2 + 1);
  lines.length = length;
  lines.scale = scale;
  lines.from_next = from.next;
  lines.to_next = to.next;
  const int64_t grain = std::max<int64_t>(1, kThreadWork / (length * length));
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    FoldedLines<T> part = lines;
    part.from = from.from_line(begin).data;
    part.to = to.from_line(begin).data;
    function.transform(part, end - begin);
  });
  return true;
}

template bool transform_folded_lines(
    Transform, int64_t, int64_t, Lines<const float>, Lines<float>, float);
template bool transform_folded_lines(
    Transform, int64_t, int64_t, Lines<const double>, Lines<double>, double);

}  // namespace mindtorch::cpu::fft
#endif  // HWY_ONCE
