// softmax, log_softmax and logsumexp of a row, and the last of columns.

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

// The sums of e^(element - largest) of columns, which are scaled when a larger element comes. Sums
// of blocks are added up, so that rounding errors stay small.
template <class W>
class ColumnSums {
 public:
  using D = hn::ScalableTag<W>;
  static constexpr size_t kLanes = hn::MaxLanes(D());
  static constexpr size_t kMost = 1024;  // columns

  // Begins with columns of one element each.
  HWY_NOINLINE ColumnSums(const W* in, size_t count) {
    const D d;
    const auto least = hn::Neg(math::infinity(d));
    std::memcpy(largest_, in, count * sizeof(W));
    hn::StoreU(least, d, largest_ + count);
    for (size_t at = 0; at < count; at += kLanes) {
      const auto is_least = hn::Eq(hn::Load(d, largest_ + at), least);
      hn::Store(hn::IfThenZeroElse(is_least, hn::Set(d, W(1))), d, totals_ + at);
      hn::Store(hn::Zero(d), d, sums_ + at);
    }
  }

  // Further elements of the columns from `at` on, a vector for each row.
  HWY_NOINLINE void add(size_t at, const W* elements, int64_t rows, bool ends_block) {
    const D d;
    const auto before = hn::Load(d, largest_ + at);
    auto most = before;
    for (int64_t i = 0; i < rows; ++i) {
      most = Maximum()(d, most, hn::Load(d, elements + static_cast<size_t>(i) * kLanes));
    }
    // Where no element was larger than -inf, e to that power is 0 without a shift.
    const auto shift = hn::IfThenElse(hn::Eq(most, hn::Neg(math::infinity(d))), hn::Zero(d), most);
    auto total = hn::Load(d, totals_ + at);
    auto sum = hn::Load(d, sums_ + at);
    if (!hn::AllTrue(d, hn::Eq(before, most))) {
      const auto factor = math::exp_negative(d, hn::Sub(before, shift));
      total = hn::Mul(total, factor);
      sum = hn::Mul(sum, factor);
      hn::Store(most, d, largest_ + at);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const auto x = hn::Load(d, elements + static_cast<size_t>(i) * kLanes);
      sum = hn::Add(sum, math::exp_negative(d, hn::Sub(x, shift)));
    }
    hn::Store(ends_block ? hn::Add(total, sum) : total, d, totals_ + at);
    hn::Store(ends_block ? hn::Zero(d) : sum, d, sums_ + at);
  }

  // Where all blocks have ended.
  HWY_NOINLINE void store_logarithms(W* out, size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      const W most = largest_[i];
      const bool is_finite = std::fabs(most) < std::numeric_limits<W>::infinity();
      const double sum = static_cast<double>(totals_[i]);
      out[i] = is_finite ? static_cast<W>(static_cast<double>(most) + std::log(sum)) : most;
    }
  }

 private:
  HWY_ALIGN W largest_[kMost + kLanes];
  HWY_ALIGN W totals_[kMost];  // of all blocks that have ended
  HWY_ALIGN W sums_[kMost];    // of the present one
};

// The logsumexp of each column, over all rows and what `acc` holds.
template <class T>
void logsumexp_columns(const void* in, int64_t stride, int64_t rows, void* acc, int64_t n) {
  using Sums = ColumnSums<Wide<T>>;
  constexpr int64_t kStep = 8;  // rows at a time
  constexpr int64_t kBlock = 32 * kStep;
  constexpr size_t kLanes = Sums::kLanes;
  const typename Sums::D d;
  HWY_ALIGN Wide<T> elements[kStep * kLanes];
  for (int64_t first = 0; first < n; first += Sums::kMost) {
    const size_t count = std::min(Sums::kMost, static_cast<size_t>(n - first));
    Wide<T>* const to = static_cast<Wide<T>*>(acc) + first;
    Sums sums(to, count);
    for (int64_t row = 0; row < rows; row += kStep) {
      const int64_t some = std::min(kStep, rows - row);
      const bool ends_block = (row + kStep) % kBlock == 0 || row + kStep >= rows;
      const char* const line = static_cast<const char*>(in) + row * stride;
      for (size_t at = 0; at < count; at += kLanes) {
        const T* from = reinterpret_cast<const T*>(line) + first + at;
        for (int64_t i = 0; i < some; ++i) {
          const auto x =
              count - at >= kLanes ? load_wide(d, from) : load_wide_first(d, from, count - at, T());
          hn::Store(x, d, elements + static_cast<size_t>(i) * kLanes);
          from = reinterpret_cast<const T*>(reinterpret_cast<const char*>(from) + stride);
        }
        sums.add(at, elements, some, ends_block);
      }
    }
    sums.store_logarithms(to, count);
  }
}

template <class... Ts>
void enter_row_softmax(TileTable& table) {
  (enter_row<Ts>(table, Row::kSoftmax, &softmax<Ts>), ...);
  (enter_row<Ts>(table, Row::kLogSoftmax, &log_softmax<Ts>), ...);
  (enter_row<Ts>(table, Row::kLogsumexp, &logsumexp<Ts>), ...);
  (enter_accumulate<Ts>(table, Row::kLogsumexp, &logsumexp_columns<Ts>), ...);
}
}  // namespace

void row_softmax(TileTable& table) { enter_row_softmax<float, double, Half, BFloat16>(table); }

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(row_softmax);
void add_row_softmax(TileTable& table) { HWY_DYNAMIC_DISPATCH(row_softmax)(table); }
}  // namespace mindtorch::cpu
#endif
