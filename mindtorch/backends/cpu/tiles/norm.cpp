// layer_norm and rms_norm of a row, and their gradients.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/norm.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/norm.h"
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
NormStatistics norm_row(const void* from, void* to, int64_t size, const NormParams& p) {
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
  return {static_cast<double>(mean), static_cast<double>(factor)};
}

// With h = (x - mean) * rstd, w = grad * weight, and the means over the row of w and of w * h:
// the gradient of x is rstd * (w - mean(w) - h * mean(w * h)). Without a centre mean(w) is not
// part of it.
template <bool kCenter, bool kWeight, bool kSums, class T>
void norm_gradient(const T* grad, const T* in, T* out, size_t n, const NormGradientParams& p) {
  using W = Wide<T>;
  const hn::ScalableTag<W> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  constexpr size_t kBlock = 128 * kLanes;
  const auto* weight = static_cast<const W*>(p.weight);
  auto* weight_sums = static_cast<W*>(p.weight_sums);
  auto* bias_sums = static_cast<W*>(p.bias_sums);
  const auto center = hn::Set(d, static_cast<W>(p.statistics.mean));
  const auto rstd = hn::Set(d, static_cast<W>(p.statistics.rstd));
  const auto normal = [&](auto x) HWY_ATTR {
    if constexpr (kCenter) x = hn::Sub(x, center);
    return hn::Mul(x, rstd);
  };

  double sum = 0;
  double dot = 0;
  size_t at = 0;
  while (at + kLanes <= n) {
    auto s0 = hn::Zero(d), s1 = s0;
    const size_t end = std::min(n, at + kBlock);
    for (; at + kLanes <= end; at += kLanes) {
      auto g = load_wide(d, grad + at);
      const auto h = normal(load_wide(d, in + at));
      if constexpr (kSums) {
        hn::StoreU(hn::MulAdd(g, h, hn::LoadU(d, weight_sums + at)), d, weight_sums + at);
        hn::StoreU(hn::Add(g, hn::LoadU(d, bias_sums + at)), d, bias_sums + at);
      }
      if constexpr (kWeight) g = hn::Mul(g, hn::LoadU(d, weight + at));
      if constexpr (kCenter) s0 = hn::Add(s0, g);
      s1 = hn::MulAdd(g, h, s1);
    }
    if constexpr (kCenter) sum += static_cast<double>(sum_lanes(d, s0));
    dot += static_cast<double>(sum_lanes(d, s1));
  }
  const size_t rest = n - at;
  if (rest > 0) {
    // Lanes beyond the row have a gradient of 0.
    auto g = load_wide_first(d, grad + at, rest, T());
    const auto h = normal(load_wide_first(d, in + at, rest, T()));
    if constexpr (kSums) {
      const auto old_weight = load_wide_first(d, weight_sums + at, rest, W());
      const auto old_bias = load_wide_first(d, bias_sums + at, rest, W());
      store_wide_first(d, hn::MulAdd(g, h, old_weight), weight_sums + at, rest);
      store_wide_first(d, hn::Add(g, old_bias), bias_sums + at, rest);
    }
    if constexpr (kWeight) g = hn::Mul(g, load_wide_first(d, weight + at, rest, W()));
    if constexpr (kCenter) sum += static_cast<double>(sum_lanes(d, g));
    dot += static_cast<double>(sum_lanes(d, hn::Mul(g, h)));
  }
  if (out == nullptr) return;

  const double share = 1 / static_cast<double>(n);
  const auto mean_sum = hn::Set(d, static_cast<W>(sum * share));
  const auto mean_dot = hn::Set(d, static_cast<W>(dot * share));
  const auto value = [&](auto g, auto x) HWY_ATTR {
    if constexpr (kCenter) g = hn::Sub(g, mean_sum);
    return hn::Mul(rstd, hn::NegMulAdd(normal(x), mean_dot, g));
  };
  for (at = 0; at + kLanes <= n; at += kLanes) {
    auto g = load_wide(d, grad + at);
    if constexpr (kWeight) g = hn::Mul(g, hn::LoadU(d, weight + at));
    store_wide(d, value(g, load_wide(d, in + at)), out + at);
  }
  if (rest > 0) {
    auto g = load_wide_first(d, grad + at, rest, T());
    if constexpr (kWeight) g = hn::Mul(g, load_wide_first(d, weight + at, rest, W()));
    store_wide_first(d, value(g, load_wide_first(d, in + at, rest, T())), out + at, rest);
  }
}

template <bool kCenter, class T>
void norm_gradient_row(
    const void* grad, const void* from, void* to, int64_t size, const NormGradientParams& p) {
  const T* g = static_cast<const T*>(grad);
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  const auto n = static_cast<size_t>(size);
  const bool sums = p.weight_sums != nullptr;
  if (p.weight != nullptr && sums) {
    norm_gradient<kCenter, true, true>(g, in, out, n, p);
  } else if (p.weight != nullptr) {
    norm_gradient<kCenter, true, false>(g, in, out, n, p);
  } else if (sums) {
    norm_gradient<kCenter, false, true>(g, in, out, n, p);
  } else {
    norm_gradient<kCenter, false, false>(g, in, out, n, p);
  }
}

template <class T>
void enter_norm(NormTable& tiles) {
  constexpr auto kDType = static_cast<int>(DTypeOf<T>::value);
  constexpr auto kLayer = static_cast<int>(Norm::kLayer);
  constexpr auto kRoot = static_cast<int>(Norm::kRootMeanSquare);
  tiles.norms[kLayer][kDType] = &norm_row<true, T>;
  tiles.norms[kRoot][kDType] = &norm_row<false, T>;
  tiles.norm_gradients[kLayer][kDType] = &norm_gradient_row<true, T>;
  tiles.norm_gradients[kRoot][kDType] = &norm_gradient_row<false, T>;
}

}  // namespace

void norms(NormTable& tiles) {
  enter_norm<float>(tiles);
  enter_norm<double>(tiles);
  enter_norm<Half>(tiles);
  enter_norm<BFloat16>(tiles);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(norms);
void add_norms(NormTable& tiles) { HWY_DYNAMIC_DISPATCH(norms)(tiles); }
}  // namespace mindtorch::cpu
#endif
