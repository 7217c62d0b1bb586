// layer_norm and rms_norm of a row.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/row_norm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct Value {
  template <class V>
  HWY_INLINE V operator()(V sum, V x) const {
    return hn::Add(sum, x);
  }
};
template <class V>
struct SquareFrom {
  V center;
  HWY_INLINE V operator()(V sum, V x) const {
    const V distance = hn::Sub(x, center);
    return hn::MulAdd(distance, distance, sum);
  }
};

// The sum of a row's terms. Float32 sums move into a double after each block, before rounding
// errors add up.
template <class T, class D, class Term>
HWY_INLINE double sum_terms(D d, const T* in, size_t n, const Term& term) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  constexpr size_t kBlock = 128 * kLanes;
  double total = 0;
  size_t at = 0;
  while (at + 4 * kLanes <= n) {
    auto s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    const size_t end = std::min(n, at + kBlock);
    for (; at + 4 * kLanes <= end; at += 4 * kLanes) {
      s0 = term(s0, load_wide(d, in + at));
      s1 = term(s1, load_wide(d, in + at + kLanes));
      s2 = term(s2, load_wide(d, in + at + 2 * kLanes));
      s3 = term(s3, load_wide(d, in + at + 3 * kLanes));
    }
    total += static_cast<double>(sum_lanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
  }
  auto rest = hn::Zero(d);
  for (; at + kLanes <= n; at += kLanes) rest = term(rest, load_wide(d, in + at));
  if (at < n) {
    const size_t count = n - at;
    const auto last = term(hn::Zero(d), load_wide_first(d, in + at, count, T()));
    rest = hn::Add(rest, hn::IfThenElseZero(hn::FirstN(d, count), last));
  }
  return total + static_cast<double>(sum_lanes(d, rest));
}

template <bool kCenter, bool kWeight, bool kBias, class T>
void write_row(const T* in, T* out, size_t n, Wide<T> mean, Wide<T> factor, const NormParams& p) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const auto* weight = static_cast<const W*>(p.weight);
  const auto* bias = static_cast<const W*>(p.bias);
  const auto center = hn::Set(d, mean);
  const auto scale = hn::Set(d, factor);
  const auto value = [&](auto x, const auto& weight_of, const auto& bias_of) HWY_ATTR {
    if constexpr (kCenter) x = hn::Sub(x, center);
    x = hn::Mul(x, scale);
    if constexpr (kWeight && kBias) return hn::MulAdd(x, weight_of(), bias_of());
    if constexpr (kWeight) return hn::Mul(x, weight_of());
    if constexpr (kBias) return hn::Add(x, bias_of());
    return x;
  };
  size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    const auto y = value(
        load_wide(d, in + at), [&]() HWY_ATTR { return hn::LoadU(d, weight + at); },
        [&]() HWY_ATTR { return hn::LoadU(d, bias + at); });
    store_wide(d, y, out + at);
  }
  if (at < n) {
    const size_t count = n - at;
    const auto first = [&](const W* from)
                           HWY_ATTR { return load_wide_first(d, from + at, count, W()); };
    const auto y = value(
        load_wide_first(d, in + at, count, T()), [&]() HWY_ATTR { return first(weight); },
        [&]() HWY_ATTR { return first(bias); });
    store_wide_first(d, y, out + at, count);
  }
}

template <bool kCenter, class T>
void norm_row(const void* from, void* to, int64_t size, const NormParams& p) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const size_t n = static_cast<size_t>(size);
  const double share = 1 / static_cast<double>(n);
  const W mean = kCenter ? static_cast<W>(sum_terms(d, in, n, Value()) * share) : W{0};
  const SquareFrom<hn::Vec<decltype(d)>> square{hn::Set(d, mean)};
  const double squares = sum_terms(d, in, n, square) * share;
  const W factor = static_cast<W>(1 / std::sqrt(squares + p.eps));
  if (p.weight != nullptr && p.bias != nullptr) {
    write_row<kCenter, true, true>(in, out, n, mean, factor, p);
  } else if (p.weight != nullptr) {
    write_row<kCenter, true, false>(in, out, n, mean, factor, p);
  } else if (p.bias != nullptr) {
    write_row<kCenter, false, true>(in, out, n, mean, factor, p);
  } else {
    write_row<kCenter, false, false>(in, out, n, mean, factor, p);
  }
}

template <class... Ts>
void enter(TileTable& table) {
  const auto at = [&](Norm norm, DType dtype) -> NormFn& {
    return table.norms[static_cast<int>(norm)][static_cast<int>(dtype)];
  };
  ((at(Norm::kLayer, DTypeOf<Ts>::value) = &norm_row<true, Ts>), ...);
  ((at(Norm::kRootMeanSquare, DTypeOf<Ts>::value) = &norm_row<false, Ts>), ...);
}

}  // namespace

void row_norms(TileTable& table) { enter<float, double, Half, BFloat16>(table); }

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(row_norms);
void add_row_norms(TileTable& table) { HWY_DYNAMIC_DISPATCH(row_norms)(table); }
}  // namespace mindtorch::cpu
#endif
