#include "mindtorch/backends/cpu/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "mindtorch/backends/cpu/sorting/keys.h"
#include "mindtorch/backends/cpu/tile.h"

// This file is compiled once per instruction set; plain loops below are vectorised for each.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/scan.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

// After foreach_target.h, which includes this file again.
#include "hwy/contrib/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Lines {
  const void* in;
  int64_t n;
  int64_t in_stride;
  void* out;
  int64_t out_stride;
  int64_t* indices;  // may be null
  int64_t indices_stride;
  int64_t lines;
};

using sorting::KeyOf;
using sorting::kIsFloat;
using sorting::WideKey;

template <typename T>
constexpr bool kIsShortFloat = kIsFloat<T> && sizeof(T) == 2;

// Lines are worked on in blocks of this many elements, and side by side up to as many lines.
constexpr int64_t kBlock = 256;
constexpr int64_t kMostLines = 128;

// What sums and products run in. Integers wrap, so theirs is unsigned.
template <typename T>
using Accumulator =
    std::conditional_t<kIsShortFloat<T>, float, std::conditional_t<kIsFloat<T>, double, uint64_t>>;

template <typename T>
struct Sum {
  using Acc = Accumulator<T>;
  static constexpr Acc kStart = 0;
  static Acc apply(Acc so_far, Acc next) {
    if constexpr (std::is_same_v<T, bool>)
      return so_far | next;
    else
      return so_far + next;
  }
};
template <typename T>
struct Product {
  using Acc = Accumulator<T>;
  static constexpr Acc kStart = 1;
  static Acc apply(Acc so_far, Acc next) { return so_far * next; }
};

// Inlined, because strides of one make it another loop.
template <typename T, typename Op>
HWY_INLINE void accumulate_line(
    const T* in, int64_t n, int64_t in_stride, T* out, int64_t out_stride) {
  auto so_far = Op::kStart;
  for (int64_t i = 0; i < n; ++i) {
    so_far = Op::apply(so_far, static_cast<typename Op::Acc>(in[i * in_stride]));
    out[i * out_stride] = static_cast<T>(so_far);
  }
}

// `length` elements side by side: where they are, or copied to `buffer`.
template <typename Element>
const Element* read_block(const Element* in, int64_t length, int64_t stride, Element* buffer) {
  if (stride == 1) return in;
  for (int64_t i = 0; i < length; ++i) buffer[i] = in[i * stride];
  return buffer;
}

// The 16-bit floats are widened and rounded by whole blocks.
template <typename T, typename Op>
void accumulate_short_line(const T* in, int64_t n, int64_t in_stride, T* out, int64_t out_stride) {
  const CastFn widen = find_cast(DTypeOf<T>::value, DType::kFloat32);
  const CastFn round = find_cast(DType::kFloat32, DTypeOf<T>::value);
  T narrow[kBlock];
  float wide[kBlock];
  float so_far = Op::kStart;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t length = std::min(kBlock, n - begin);
    widen(read_block(in + begin * in_stride, length, in_stride, narrow), wide, length);
    for (int64_t i = 0; i < length; ++i) wide[i] = so_far = Op::apply(so_far, wide[i]);
    round(wide, out_stride == 1 ? out + begin : narrow, length);
    if (out_stride == 1) continue;
    for (int64_t i = 0; i < length; ++i) out[(begin + i) * out_stride] = narrow[i];
  }
}

// A float64 addition waits for the one before it. Four quarters of a block are summed side by side
// and shifted by what came before; float32 results differ from a plain walk only where float64
// rounding reaches them.
void sum_float_line(const float* in, int64_t n, float* out) {
  constexpr int64_t kQuarter = kBlock / 4;
  double before = 0;
  int64_t begin = 0;
  for (; begin + kBlock <= n; begin += kBlock) {
    const float* from = in + begin;
    double partial[4][kQuarter];
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int64_t i = 0; i < kQuarter; ++i) {
      partial[0][i] = s0 += from[i];
      partial[1][i] = s1 += from[kQuarter + i];
      partial[2][i] = s2 += from[2 * kQuarter + i];
      partial[3][i] = s3 += from[3 * kQuarter + i];
    }
    const double sums[4] = {s0, s1, s2, s3};
    for (int64_t q = 0; q < 4; ++q) {
      float* to = out + begin + q * kQuarter;
      for (int64_t i = 0; i < kQuarter; ++i) to[i] = static_cast<float>(before + partial[q][i]);
      before += sums[q];
    }
  }
  for (; begin < n; ++begin) out[begin] = static_cast<float>(before += in[begin]);
}

// Four lines of neighbouring elements, one after the other: each addition waits for the one before
// it in its own line only.
constexpr int64_t kRows = 4;
template <typename T, typename Op>
void accumulate_rows(const T* in, int64_t n, T* out) {
  auto s0 = Op::kStart, s1 = s0, s2 = s0, s3 = s0;
  using Acc = typename Op::Acc;
  if constexpr (kIsShortFloat<T>) {
    const CastFn widen = find_cast(DTypeOf<T>::value, DType::kFloat32);
    const CastFn round = find_cast(DType::kFloat32, DTypeOf<T>::value);
    float wide[kRows][kBlock];
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t length = std::min(kBlock, n - begin);
      for (int64_t row = 0; row < kRows; ++row) widen(in + row * n + begin, wide[row], length);
      for (int64_t i = 0; i < length; ++i) {
        wide[0][i] = s0 = Op::apply(s0, wide[0][i]);
        wide[1][i] = s1 = Op::apply(s1, wide[1][i]);
        wide[2][i] = s2 = Op::apply(s2, wide[2][i]);
        wide[3][i] = s3 = Op::apply(s3, wide[3][i]);
      }
      for (int64_t row = 0; row < kRows; ++row) round(wide[row], out + row * n + begin, length);
    }
  } else {
    for (int64_t i = 0; i < n; ++i) {
      s0 = Op::apply(s0, static_cast<Acc>(in[i]));
      s1 = Op::apply(s1, static_cast<Acc>(in[n + i]));
      s2 = Op::apply(s2, static_cast<Acc>(in[2 * n + i]));
      s3 = Op::apply(s3, static_cast<Acc>(in[3 * n + i]));
      out[i] = static_cast<T>(s0);
      out[n + i] = static_cast<T>(s1);
      out[2 * n + i] = static_cast<T>(s2);
      out[3 * n + i] = static_cast<T>(s3);
    }
  }
}

template <typename T, typename Op>
void accumulate_lines(const Lines& l) {
  using Acc = typename Op::Acc;
  Acc so_far[kMostLines];
  for (Acc& acc : so_far) acc = Op::kStart;
  CastFn widen = nullptr;
  CastFn round = nullptr;
  if constexpr (kIsShortFloat<T>) {
    widen = find_cast(DTypeOf<T>::value, DType::kFloat32);
    round = find_cast(DType::kFloat32, DTypeOf<T>::value);
  }
  for (int64_t i = 0; i < l.n; ++i) {
    const T* in = static_cast<const T*>(l.in) + i * l.in_stride;
    T* out = static_cast<T*>(l.out) + i * l.out_stride;
    if constexpr (kIsShortFloat<T>) {
      float wide[kMostLines];
      widen(in, wide, l.lines);
      for (int64_t k = 0; k < l.lines; ++k) so_far[k] = Op::apply(so_far[k], wide[k]);
      round(so_far, out, l.lines);
    } else {
      for (int64_t k = 0; k < l.lines; ++k) {
        so_far[k] = Op::apply(so_far[k], static_cast<Acc>(in[k]));
      }
      for (int64_t k = 0; k < l.lines; ++k) out[k] = static_cast<T>(so_far[k]);
    }
  }
}

template <typename Element>
void fill_strided(Element* out, int64_t n, int64_t stride, Element value) {
  if (stride == 1) return void(std::fill(out, out + n, value));
  for (int64_t i = 0; i < n; ++i) out[i * stride] = value;
}

// Keys for which both maximum and minimum are the largest key, NaN above all of them.
template <typename T, bool kMin>
WideKey<T> rising_key(KeyOf<T> bits) {
  const KeyOf<T> key = sorting::key_of_bits<T>(bits);
  if constexpr (!kMin) return key;
  const auto turned = static_cast<KeyOf<T>>(~key);
  return kIsFloat<T> && key == sorting::kNanKey<T> ? key : turned;
}

// Most blocks of most lines change nothing, which one vector comparison shows.
template <typename T, bool kMin>
void extremum_line(const Lines& l) {
  using Key = WideKey<T>;
  const auto* in = static_cast<const KeyOf<T>*>(l.in);
  auto* out = static_cast<KeyOf<T>*>(l.out);
  Key best_key = 0;
  KeyOf<T> best = 0;
  int64_t where = 0;
  constexpr int64_t kStep = 128;
  for (int64_t begin = 0; begin < l.n; begin += kStep) {
    const int64_t length = std::min(kStep, l.n - begin);
    KeyOf<T> buffer[kStep];
    Key keys[kStep];
    const auto* bits = read_block(in + begin * l.in_stride, length, l.in_stride, buffer);
    for (int64_t i = 0; i < length; ++i) keys[i] = rising_key<T, kMin>(bits[i]);
    Key highest = 0;
    for (int64_t i = 0; i < length; ++i) highest = keys[i] > highest ? keys[i] : highest;
    auto* to = out + begin * l.out_stride;
    auto* places = l.indices ? l.indices + begin * l.indices_stride : nullptr;
    if (highest < best_key) {
      fill_strided(to, length, l.out_stride, best);
      if (places) fill_strided(places, length, l.indices_stride, where);
      continue;
    }
    for (int64_t i = 0; i < length; ++i) {
      const bool takes_over = keys[i] >= best_key;
      best_key = takes_over ? keys[i] : best_key;
      best = takes_over ? bits[i] : best;
      where = takes_over ? begin + i : where;
      to[i * l.out_stride] = best;
      if (places) places[i * l.indices_stride] = where;
    }
  }
}

template <typename T, bool kMin>
void extremum_lines(const Lines& l) {
  using Key = WideKey<T>;
  Key best_keys[kMostLines] = {};
  KeyOf<T> best[kMostLines] = {};
  int64_t where[kMostLines] = {};
  for (int64_t i = 0; i < l.n; ++i) {
    const auto* in = static_cast<const KeyOf<T>*>(l.in) + i * l.in_stride;
    auto* out = static_cast<KeyOf<T>*>(l.out) + i * l.out_stride;
    for (int64_t k = 0; k < l.lines; ++k) {
      const Key key = rising_key<T, kMin>(in[k]);
      const bool takes_over = key >= best_keys[k];
      best_keys[k] = takes_over ? key : best_keys[k];
      best[k] = takes_over ? in[k] : best[k];
      where[k] = takes_over ? i : where[k];
    }
    std::copy(best, best + l.lines, out);
    if (l.indices) std::copy(where, where + l.lines, l.indices + i * l.indices_stride);
  }
}

double log_add_exp(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  const double low = std::min(a, b);
  const double high = std::max(a, b);
  if (std::isinf(high)) return high;
  return high + std::log1p(std::exp(low - high));
}

// Running log(sum(exp(x))) as shift + log(scaled), where scaled = sum(exp(x - shift)).
struct LogSum {
  double shift = -std::numeric_limits<double>::infinity();
  double scaled = 0;

  [[nodiscard]] double value() const { return scaled > 0 ? shift + std::log(scaled) : shift; }
};

// Replaces `n` values by their running results. False, and nothing done, where one common shift
// would lose a value: NaN, infinity, or values too far apart.
bool log_sum_block(double* HWY_RESTRICT x, int64_t n, LogSum& so_far) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kMostApart = 600;
  double high = -kInf;
  double low = kInf;
  double poison = 0;  // NaN once there is a NaN or +inf
  for (int64_t i = 0; i < n; ++i) {
    const double v = x[i];
    high = v > high ? v : high;
    const double finite = v == -kInf ? kInf : v;  // -inf adds exactly nothing
    low = finite < low ? finite : low;
    poison += v == -kInf ? 0.0 : v * 0.0;
  }
  const double shift = std::max(high, so_far.shift);
  if (poison != 0 || !(so_far.shift < kInf) || !std::isfinite(shift)) return false;
  // What lies far below a sum that is there already adds nothing to it.
  const double reach = so_far.scaled > 0 ? so_far.shift : low;
  if (shift - reach > kMostApart) return false;
  const hn::ScalableTag<double> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto shifts = hn::Set(d, shift);
  for (int64_t i = 0; i < n; i += lanes) {
    hn::StoreU(hn::Exp(d, hn::Sub(hn::LoadU(d, x + i), shifts)), d, x + i);
  }
  double sum = so_far.scaled > 0 ? so_far.scaled * std::exp(so_far.shift - shift) : 0;
  for (int64_t i = 0; i < n; ++i) x[i] = sum += x[i];
  const auto zero = hn::Zero(d);
  for (int64_t i = 0; i < n; i += lanes) {
    const auto sums = hn::LoadU(d, x + i);
    const auto logs = hn::Add(hn::Log(d, sums), shifts);
    hn::StoreU(hn::IfThenElse(hn::Eq(sums, zero), hn::Set(d, -kInf), logs), d, x + i);
  }
  so_far = {shift, sum};
  return true;
}

template <typename T>
void log_sum_line(const Lines& l) {
  const T* in = static_cast<const T*>(l.in);
  T* out = static_cast<T*>(l.out);
  LogSum so_far;
  HWY_ALIGN double x[kBlock];
  for (int64_t begin = 0; begin < l.n; begin += kBlock) {
    const int64_t length = std::min(kBlock, l.n - begin);
    for (int64_t i = 0; i < length; ++i) {
      x[i] = static_cast<double>(in[(begin + i) * l.in_stride]);
    }
    for (int64_t i = length; i < kBlock; ++i) x[i] = -std::numeric_limits<double>::infinity();
    if (!log_sum_block(x, kBlock, so_far)) {
      double value = so_far.value();
      for (int64_t i = 0; i < length; ++i) x[i] = value = log_add_exp(value, x[i]);
      so_far = {value, std::isinf(value) && value < 0 ? 0.0 : 1.0};
    }
    for (int64_t i = 0; i < length; ++i) {
      if constexpr (kIsShortFloat<T>) {
        out[(begin + i) * l.out_stride] = T(static_cast<float>(x[i]));
      } else {
        out[(begin + i) * l.out_stride] = static_cast<T>(x[i]);
      }
    }
  }
}

template <typename T, typename Op>
void accumulate(const Lines& l) {
  if (l.lines > 1) return accumulate_lines<T, Op>(l);
  const T* in = static_cast<const T*>(l.in);
  T* out = static_cast<T*>(l.out);
  if constexpr (kIsShortFloat<T>) {
    accumulate_short_line<T, Op>(in, l.n, l.in_stride, out, l.out_stride);
  } else if (l.in_stride != 1 || l.out_stride != 1) {
    accumulate_line<T, Op>(in, l.n, l.in_stride, out, l.out_stride);
  } else if constexpr (std::is_same_v<Op, Sum<float>>) {
    sum_float_line(in, l.n, out);
  } else {
    accumulate_line<T, Op>(in, l.n, 1, out, 1);
  }
}

template <typename T, bool kMin>
void extremum(const Lines& l) {
  l.lines > 1 ? extremum_lines<T, kMin>(l) : extremum_line<T, kMin>(l);
}

template <typename T>
void log_sum(const Lines& l) {
  if constexpr (kIsFloat<T>) {
    Lines one = l;
    one.lines = 1;
    for (int64_t line = 0; line < l.lines; ++line) {
      one.in = static_cast<const T*>(l.in) + line;
      one.out = static_cast<T*>(l.out) + line;
      log_sum_line<T>(one);
    }
  } else {
    MT_THROW(NotImplementedError, "\"logcumsumexp_out_cpu\" not implemented for '",
             legacy_name(DTypeOf<T>::value), "'");
  }
}

template <typename T>
void scan(ScanOp op, const Lines& l) {
  switch (op) {
    case ScanOp::kSum:
      return accumulate<T, Sum<T>>(l);
    case ScanOp::kProd:
      return accumulate<T, Product<T>>(l);
    case ScanOp::kMax:
      return extremum<T, false>(l);
    case ScanOp::kMin:
      return extremum<T, true>(l);
    case ScanOp::kLogSumExp:
      return log_sum<T>(l);
  }
}

void ScanLines(DType dtype,
               ScanOp op,
               const void* in,
               int64_t n,
               int64_t in_stride,
               void* out,
               int64_t out_stride,
               int64_t* indices,
               int64_t indices_stride,
               int64_t lines) {
  visit_dtype(dtype, [&]<typename T>() HWY_ATTR {
    for (int64_t begin = 0; begin < lines; begin += kMostLines) {
      scan<T>(op, {static_cast<const T*>(in) + begin, n, in_stride, static_cast<T*>(out) + begin,
                   out_stride, indices ? indices + begin : nullptr, indices_stride,
                   std::min(kMostLines, lines - begin)});
    }
  });
}

void ScanRows(
    DType dtype, ScanOp op, const void* in, int64_t n, void* out, int64_t* indices, int64_t lines) {
  visit_dtype(dtype, [&]<typename T>() HWY_ATTR {
    const T* from = static_cast<const T*>(in);
    T* to = static_cast<T*>(out);
    int64_t line = 0;
    // One line of float32 is already summed in several parts.
    if (op == ScanOp::kProd || (op == ScanOp::kSum && !std::is_same_v<T, float>)) {
      for (; line + kRows <= lines; line += kRows) {
        op == ScanOp::kSum ? accumulate_rows<T, Sum<T>>(from + line * n, n, to + line * n)
                           : accumulate_rows<T, Product<T>>(from + line * n, n, to + line * n);
      }
    }
    for (; line < lines; ++line) {
      scan<T>(op, {from + line * n, n, 1, to + line * n, 1, indices ? indices + line * n : nullptr,
                   1, 1});
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mindtorch::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(ScanLines);
HWY_EXPORT(ScanRows);

void scan_rows(DType dtype,
               ScanOp op,
               const void* in,
               int64_t n,
               void* out,
               int64_t* indices_out,
               int64_t lines) {
  HWY_DYNAMIC_DISPATCH(ScanRows)(dtype, op, in, n, out, indices_out, lines);
}

void scan_line(DType dtype,
               ScanOp op,
               const void* in,
               int64_t n,
               int64_t in_stride,
               void* out,
               int64_t out_stride,
               int64_t* indices_out,
               int64_t indices_stride) {
  HWY_DYNAMIC_DISPATCH(ScanLines)
  (dtype, op, in, n, in_stride, out, out_stride, indices_out, indices_stride, 1);
}

void scan_lines(DType dtype,
                ScanOp op,
                const void* in,
                int64_t n,
                int64_t in_stride,
                void* out,
                int64_t out_stride,
                int64_t* indices_out,
                int64_t indices_stride,
                int64_t lines) {
  HWY_DYNAMIC_DISPATCH(ScanLines)
  (dtype, op, in, n, in_stride, out, out_stride, indices_out, indices_stride, lines);
}

}  // namespace mindtorch::cpu
#endif
