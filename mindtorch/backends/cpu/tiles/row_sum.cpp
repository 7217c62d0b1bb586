// Sums, products and moments of a row.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/row_sum.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct Plain {
  template <class V>
  HWY_INLINE V operator()(V sum, V x) const {
    return hn::Add(sum, x);
  }
};
struct Squares {
  template <class V>
  HWY_INLINE V operator()(V sum, V x) const {
    return hn::MulAdd(x, x, sum);
  }
};
struct Magnitudes {
  template <class V>
  HWY_INLINE V operator()(V sum, V x) const {
    return hn::Add(sum, hn::Abs(x));
  }
};

// Four sums side by side, then added in pairs. The loop is as long as a block: 32 additions in a
// row are the most that any element goes through here. With more sums GCC does not read in order of
// addresses, which halves what comes from the second-level cache.
constexpr size_t kWays = 4;
constexpr size_t kRounds = 32;

template <class Term, class T, class D>
HWY_INLINE hn::Vec<D> sum_block(D d, const T* in, size_t n) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  const Term term;
  auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
  size_t at = 0;
  for (; at + kWays * kLanes <= n; at += kWays * kLanes) {
    s0 = term(s0, load_wide(d, in + at));
    s1 = term(s1, load_wide(d, in + at + kLanes));
    s2 = term(s2, load_wide(d, in + at + 2 * kLanes));
    s3 = term(s3, load_wide(d, in + at + 3 * kLanes));
  }
  for (; at + kLanes <= n; at += kLanes) s0 = term(s0, load_wide(d, in + at));
  if (at < n && n >= kLanes) {  // the last vector, without what others have had
    const auto had = hn::FirstN(d, kLanes - (n - at));
    s1 = term(s1, hn::IfThenZeroElse(had, load_wide(d, in + n - kLanes)));
  } else if (at < n) {
    s1 = term(s1, load_wide_first(d, in + at, n - at, T()));
  }
  return hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
}

// Adds neighbours, then neighbours of what that gives, until one is left.
template <class D>
HWY_INLINE hn::Vec<D> add_pairwise(D d, hn::TFromD<D> (*sums)[hn::MaxLanes(D())], size_t count) {
  for (; count > 1; count = (count + 1) / 2) {
    for (size_t i = 0; i < count / 2; ++i) {
      hn::Store(hn::Add(hn::Load(d, sums[2 * i]), hn::Load(d, sums[2 * i + 1])), d, sums[i]);
    }
    if (count % 2 != 0) hn::Store(hn::Load(d, sums[count - 1]), d, sums[count / 2]);
  }
  return hn::Load(d, sums[0]);
}

// Sums of blocks, of a group of them, and of the groups of groups are added in pairs: the error
// grows with the logarithm of n. A group at a time, so that no branch depends on how many blocks
// there were before: a binary counter of them took as long as the additions.
template <class Term, class T>
void sum_float(const void* from, void* to, int64_t size) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  using D = decltype(d);
  constexpr size_t kBlock = kWays * kRounds * hn::MaxLanes(D());
  constexpr size_t kGroup = 32;
  constexpr int kLevels = 10;  // kBlock * kGroup^kLevels is more than can be addressed
  const T* in = static_cast<const T*>(from);
  const size_t n = static_cast<size_t>(size);
  if (HWY_LIKELY(n <= kBlock)) {
    *static_cast<W*>(to) = sum_lanes(d, sum_block<Term>(d, in, n));
    return;
  }
  HWY_ALIGN W sums[kLevels][kGroup][hn::MaxLanes(D())];
  size_t counts[kLevels] = {};
  for (size_t at = 0; at < n; at += kBlock) {
    hn::Store(sum_block<Term>(d, in + at, std::min(kBlock, n - at)), d, sums[0][counts[0]++]);
    for (int level = 0; counts[level] == kGroup; ++level) {
      counts[level] = 0;
      hn::Store(add_pairwise(d, sums[level], kGroup), d, sums[level + 1][counts[level + 1]++]);
    }
  }
  auto total = hn::Zero(d);
  for (int level = 0; level < kLevels; ++level) {
    if (counts[level] > 0) total = hn::Add(total, add_pairwise(d, sums[level], counts[level]));
  }
  *static_cast<W*>(to) = sum_lanes(d, total);
}

// Small integers are summed in int32 for as long as that cannot overflow.
template <class T>
void sum_int(const void* from, void* to, int64_t n) {
  const auto* in = static_cast<const Held<T>*>(from);
  uint64_t total = 0;
  if constexpr (sizeof(T) <= 2) {
    constexpr int64_t kBlock = 4096;
    for (int64_t begin = 0; begin < n; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, n);
      int32_t sum = 0;
      for (int64_t i = begin; i < end; ++i) sum += in[i];
      total += static_cast<uint64_t>(static_cast<int64_t>(sum));
    }
  } else if constexpr (sizeof(T) == 8) {
    const hn::ScalableTag<int64_t> d;
    constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(decltype(d)()));
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    int64_t at = 0;
    for (; at + 4 * kLanes <= n; at += 4 * kLanes) {
      s0 = hn::Add(s0, hn::LoadU(d, in + at));
      s1 = hn::Add(s1, hn::LoadU(d, in + at + kLanes));
      s2 = hn::Add(s2, hn::LoadU(d, in + at + 2 * kLanes));
      s3 = hn::Add(s3, hn::LoadU(d, in + at + 3 * kLanes));
    }
    HWY_ALIGN int64_t lanes[hn::MaxLanes(decltype(d)())];
    hn::Store(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), d, lanes);
    for (const int64_t lane : lanes) total += static_cast<uint64_t>(lane);
    for (; at < n; ++at) total += static_cast<uint64_t>(in[at]);
  } else {
    for (int64_t i = 0; i < n; ++i) total += static_cast<uint64_t>(static_cast<int64_t>(in[i]));
  }
  *static_cast<int64_t*>(to) = static_cast<int64_t>(total);
}

template <class T>
void product_float(const void* from, void* to, int64_t size) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const T* in = static_cast<const T*>(from);
  const size_t n = static_cast<size_t>(size);
  const auto one = hn::Set(d, W{1});
  auto p0 = one, p1 = one, p2 = one, p3 = one;
  size_t at = 0;
  for (; at + 4 * kLanes <= n; at += 4 * kLanes) {
    p0 = hn::Mul(p0, load_wide(d, in + at));
    p1 = hn::Mul(p1, load_wide(d, in + at + kLanes));
    p2 = hn::Mul(p2, load_wide(d, in + at + 2 * kLanes));
    p3 = hn::Mul(p3, load_wide(d, in + at + 3 * kLanes));
  }
  for (; at + kLanes <= n; at += kLanes) p0 = hn::Mul(p0, load_wide(d, in + at));
  if (at < n) p1 = hn::Mul(p1, load_wide_first(d, in + at, n - at, T(1.0f)));
  HWY_ALIGN W lanes[kLanes];
  hn::Store(hn::Mul(hn::Mul(p0, p1), hn::Mul(p2, p3)), d, lanes);
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] *= lanes[i + half];
  }
  *static_cast<W*>(to) = lanes[0];
}

template <class T>
void product_int(const void* from, void* to, int64_t n) {
  const auto* in = static_cast<const Held<T>*>(from);
  const auto wide = [](Held<T> x) { return static_cast<uint64_t>(static_cast<int64_t>(x)); };
  // Side by side, because a product takes long.
  constexpr int64_t kProducts = 32;
  uint64_t products[kProducts];
  std::fill_n(products, kProducts, uint64_t{1});
  int64_t at = 0;
  for (; at + kProducts <= n; at += kProducts) {
    for (int64_t k = 0; k < kProducts; ++k) products[k] *= wide(in[at + k]);
  }
  for (; at < n; ++at) products[at % kProducts] *= wide(in[at]);
  uint64_t product = 1;
  for (const uint64_t part : products) product *= part;
  *static_cast<int64_t*>(to) = static_cast<int64_t>(product);
}

// Two passes over a block that fits the first-level cache, in double; blocks are then combined.
template <class T>
Moments moments_of_block(const T* in, size_t n) {
  const hn::ScalableTag<double> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  constexpr size_t kBlock = 512;
  HWY_ALIGN double wide[kBlock];
  for (size_t i = 0; i < n; ++i) wide[i] = static_cast<double>(static_cast<Wide<T>>(in[i]));
  for (size_t i = n; i < kBlock && i % kLanes != 0; ++i) wide[i] = 0;

  auto s0 = hn::Zero(d), s1 = s0;
  size_t at = 0;
  for (; at + 2 * kLanes <= n; at += 2 * kLanes) {
    s0 = hn::Add(s0, hn::Load(d, wide + at));
    s1 = hn::Add(s1, hn::Load(d, wide + at + kLanes));
  }
  for (; at < n; at += kLanes) s0 = hn::Add(s0, hn::Load(d, wide + at));
  const double mean = sum_lanes(d, hn::Add(s0, s1)) / static_cast<double>(n);

  const auto center = hn::Set(d, mean);
  auto q0 = hn::Zero(d), q1 = q0;
  at = 0;
  for (; at + 2 * kLanes <= n; at += 2 * kLanes) {
    const auto a = hn::Sub(hn::Load(d, wide + at), center);
    const auto b = hn::Sub(hn::Load(d, wide + at + kLanes), center);
    q0 = hn::MulAdd(a, a, q0);
    q1 = hn::MulAdd(b, b, q1);
  }
  double m2 = sum_lanes(d, hn::Add(q0, q1));
  for (; at < n; ++at) m2 += (wide[at] - mean) * (wide[at] - mean);
  return {mean, m2, static_cast<int64_t>(n)};
}

template <class T>
void moments(const void* from, void* to, int64_t size) {
  constexpr size_t kBlock = 512;
  const T* in = static_cast<const T*>(from);
  const size_t n = static_cast<size_t>(size);
  Moments total;
  for (size_t at = 0; at < n; at += kBlock) {
    total += moments_of_block(in + at, std::min(kBlock, n - at));
  }
  *static_cast<Moments*>(to) = total;
}

template <class... Ts>
void enter_floats(TileTable& table) {
  (enter_row<Ts>(table, Row::kSum, &sum_float<Plain, Ts>), ...);
  (enter_row<Ts>(table, Row::kSumSquares, &sum_float<Squares, Ts>), ...);
  (enter_row<Ts>(table, Row::kSumAbs, &sum_float<Magnitudes, Ts>), ...);
  (enter_row<Ts>(table, Row::kProd, &product_float<Ts>), ...);
  (enter_row<Ts>(table, Row::kMoments, &moments<Ts>), ...);
}
template <class... Ts>
void enter_ints(TileTable& table) {
  (enter_row<Ts>(table, Row::kSum, &sum_int<Ts>), ...);
  (enter_row<Ts>(table, Row::kProd, &product_int<Ts>), ...);
}

}  // namespace

void row_sums(TileTable& table) {
  enter_floats<float, double, Half, BFloat16>(table);
  enter_ints<bool, uint8_t, int8_t, int16_t, int32_t, int64_t>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(row_sums);
void add_row_sums(TileTable& table) { HWY_DYNAMIC_DISPATCH(row_sums)(table); }
}  // namespace mindtorch::cpu
#endif
