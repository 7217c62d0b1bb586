// softmax, log_softmax and logsumexp of a row.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/row_softmax.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"
#include "mindtorch/backends/cpu/tiles/math-inl.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// The largest element, NaN if there is one; -inf for an empty row.
template <class T, class D>
HWY_INLINE Wide<T> largest(D d, const T* in, size_t n) {
  using W = Wide<T>;
  constexpr size_t kLanes = hn::MaxLanes(D());
  const Maximum best;
  auto m0 = hn::Neg(math::infinity(d)), m1 = m0, m2 = m0, m3 = m0;
  size_t at = 0;
  for (; at + 4 * kLanes <= n; at += 4 * kLanes) {
    m0 = best(d, m0, load_wide(d, in + at));
    m1 = best(d, m1, load_wide(d, in + at + kLanes));
    m2 = best(d, m2, load_wide(d, in + at + 2 * kLanes));
    m3 = best(d, m3, load_wide(d, in + at + 3 * kLanes));
  }
  for (; at + kLanes <= n; at += kLanes) m0 = best(d, m0, load_wide(d, in + at));
  if (at < n) m1 = best(d, m1, load_wide_first(d, in + at, n - at, in[at]));
  HWY_ALIGN W lanes[kLanes];
  hn::Store(best(d, best(d, m0, m1), best(d, m2, m3)), d, lanes);
  W result = lanes[0];
  for (size_t i = 1; i < kLanes; ++i) {
    if (!(result >= lanes[i]) && result == result) result = lanes[i];
  }
  return result;
}

// Sums e^(in - shift), and stores the terms where kStore. Float32 sums move into a double after
// each block, before rounding errors add up.
template <bool kStore, class T, class D>
HWY_INLINE double exp_sum(D d, const T* in, T* out, size_t n, Wide<T> shift) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  constexpr size_t kBlock = 64 * kLanes;
  const auto offset = hn::Set(d, shift);
  double total = 0;
  size_t at = 0;
  while (at + 4 * kLanes <= n) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    const size_t end = std::min(n, at + kBlock);
    for (; at + 4 * kLanes <= end; at += 4 * kLanes) {
      const auto e0 = math::exp_negative(d, hn::Sub(load_wide(d, in + at), offset));
      const auto e1 = math::exp_negative(d, hn::Sub(load_wide(d, in + at + kLanes), offset));
      const auto e2 = math::exp_negative(d, hn::Sub(load_wide(d, in + at + 2 * kLanes), offset));
      const auto e3 = math::exp_negative(d, hn::Sub(load_wide(d, in + at + 3 * kLanes), offset));
      if constexpr (kStore) {
        store_wide(d, e0, out + at);
        store_wide(d, e1, out + at + kLanes);
        store_wide(d, e2, out + at + 2 * kLanes);
        store_wide(d, e3, out + at + 3 * kLanes);
      }
      s0 = hn::Add(s0, e0);
      s1 = hn::Add(s1, e1);
      s2 = hn::Add(s2, e2);
      s3 = hn::Add(s3, e3);
    }
    total += static_cast<double>(sum_lanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  }
  auto rest = hn::Zero(d);
  for (; at + kLanes <= n; at += kLanes) {
    const auto e = math::exp_negative(d, hn::Sub(load_wide(d, in + at), offset));
    if constexpr (kStore) store_wide(d, e, out + at);
    rest = hn::Add(rest, e);
  }
  if (at < n) {
    const size_t count = n - at;
    const auto x = load_wide_first(d, in + at, count, T());
    const auto e = math::exp_negative(d, hn::Sub(x, offset));
    if constexpr (kStore) store_wide_first(d, e, out + at, count);
    rest = hn::Add(rest, hn::IfThenElseZero(hn::FirstN(d, count), e));
  }
  return total + static_cast<double>(sum_lanes(d, rest));
}

// out[i] = op(d, in[i])
template <class T, class D, class Op>
HWY_INLINE void map_row(D d, const T* in, T* out, size_t n, const Op& op) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  size_t at = 0;
  for (; at + 2 * kLanes <= n; at += 2 * kLanes) {
    const auto v0 = op(d, load_wide(d, in + at));
    const auto v1 = op(d, load_wide(d, in + at + kLanes));
    store_wide(d, v0, out + at);
    store_wide(d, v1, out + at + kLanes);
  }
  for (; at + kLanes <= n; at += kLanes) store_wide(d, op(d, load_wide(d, in + at)), out + at);
  if (at < n) {
    const size_t count = n - at;
    store_wide_first(d, op(d, load_wide_first(d, in + at, count, T())), out + at, count);
  }
}

template <class W>
struct Scale {
  W factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(x, hn::Set(d, factor));
  }
};
template <class W>
struct ExpAndScale {
  W shift, factor;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Mul(math::exp_negative(d, hn::Sub(x, hn::Set(d, shift))), hn::Set(d, factor));
  }
};
template <class W>
struct SubtractTwice {
  W shift, logarithm;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Sub(hn::Sub(x, hn::Set(d, shift)), hn::Set(d, logarithm));
  }
};

template <class T>
void softmax(const void* from, void* to, int64_t size) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const size_t n = static_cast<size_t>(size);
  const W shift = largest(d, in, n);
  if constexpr (kIsHalf<T>) {
    // The output cannot hold the terms without rounding them, so they are computed twice.
    const double sum = exp_sum<false>(d, in, out, n, shift);
    map_row(d, in, out, n, ExpAndScale<W>{shift, static_cast<W>(1 / sum)});
  } else {
    const double sum = exp_sum<true>(d, in, out, n, shift);
    map_row(d, static_cast<const T*>(out), out, n, Scale<W>{static_cast<W>(1 / sum)});
  }
}

template <class T>
void log_softmax(const void* from, void* to, int64_t size) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const size_t n = static_cast<size_t>(size);
  const W shift = largest(d, in, n);
  const double sum = exp_sum<false>(d, in, out, n, shift);
  map_row(d, in, out, n, SubtractTwice<W>{shift, static_cast<W>(std::log(sum))});
}

template <class T>
void logsumexp(const void* from, void* to, int64_t size) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const T* in = static_cast<const T*>(from);
  const size_t n = static_cast<size_t>(size);
  W result = largest(d, in, n);
  if (std::fabs(result) < std::numeric_limits<W>::infinity()) {
    const double sum = exp_sum<false>(d, in, static_cast<T*>(nullptr), n, result);
    result = static_cast<W>(static_cast<double>(result) + std::log(sum));
  }
  *static_cast<W*>(to) = result;
}

template <class... Ts>
void enter(TileTable& table) {
  (enter_row<Ts>(table, Row::kSoftmax, &softmax<Ts>), ...);
  (enter_row<Ts>(table, Row::kLogSoftmax, &log_softmax<Ts>), ...);
  (enter_row<Ts>(table, Row::kLogsumexp, &logsumexp<Ts>), ...);
}
}  // namespace

void row_softmax(TileTable& table) { enter<float, double, Half, BFloat16>(table); }

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(row_softmax);
void add_row_softmax(TileTable& table) { HWY_DYNAMIC_DISPATCH(row_softmax)(table); }
}  // namespace mindtorch::cpu
#endif
