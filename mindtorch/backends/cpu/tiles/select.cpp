// Choosing and mixing: clamp, where, lerp, addcmul, addcdiv and the activations that only compare.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/select.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <limits>

#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

template <class T>
HWY_INLINE T nan_or_zero(bool is_nan) {
  if constexpr (hwy::IsFloat<T>()) return is_nan ? std::numeric_limits<T>::quiet_NaN() : T{0};
  return T{0};
}

// A NaN operand wins because it stands second; a NaN bound is or-ed into every result.
template <bool kMin, bool kMax>
struct ClampScalar {
  explicit ClampScalar(const PointwiseParams& p)
      : params(p), nan_bound((kMin && p.f[0] != p.f[0]) || (kMax && p.f[1] != p.f[1])) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    using T = hn::TFromD<D>;
    V v = a;
    if constexpr (kMin) v = max_or_second(d, hn::Set(d, param<T>(params, 0)), v);
    if constexpr (kMax) v = min_or_second(d, hn::Set(d, param<T>(params, kMin ? 1 : 0)), v);
    if constexpr (hwy::IsFloat<T>()) v = hn::Or(v, hn::Set(d, nan_or_zero<T>(nan_bound)));
    return v;
  }
  PointwiseParams params;
  bool nan_bound;
};
struct ClampMaxScalar : ClampScalar<false, true> {
  explicit ClampMaxScalar(const PointwiseParams& p) : ClampScalar<false, true>(p) {
    nan_bound = p.f[0] != p.f[0];
  }
};
struct Clamp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V low, V high) const {
    return Minimum()(d, Maximum()(d, a, low), high);
  }
};

// The half of the interval that holds the weight decides from which end to start, so that weights 0
// and 1 give the ends exactly.
template <class D, class V>
HWY_INLINE V lerp(D d, V start, V end, V weight) {
  using T = hn::TFromD<D>;
  const V span = hn::Sub(end, start);
  const V from_start = hn::MulAdd(weight, span, start);
  const V from_end = hn::NegMulAdd(hn::Sub(hn::Set(d, T{1}), weight), span, end);
  return hn::IfThenElse(hn::Lt(hn::Abs(weight), hn::Set(d, T{0.5})), from_start, from_end);
}
struct Lerp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b, V c) const {
    return lerp(d, a, b, c);
  }
};
struct LerpScalar {
  explicit LerpScalar(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return lerp(d, a, b, hn::Set(d, param<hn::TFromD<D>>(params, 0)));
  }
  PointwiseParams params;
};

struct Addcdiv {
  explicit Addcdiv(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b, V c) const {
    const V scaled = hn::Mul(hn::Set(d, param<hn::TFromD<D>>(params, 0)), b);
    return hn::Add(a, hn::Div(scaled, c));
  }
  PointwiseParams params;
};

struct LeakyRelu {
  explicit LeakyRelu(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V slope = hn::Set(d, param<hn::TFromD<D>>(params, 0));
    return hn::IfThenElse(hn::Gt(a, hn::Zero(d)), a, hn::Mul(a, slope));
  }
  PointwiseParams params;
};
struct Prelu {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return hn::IfThenElse(hn::Gt(a, hn::Zero(d)), a, hn::Mul(b, a));
  }
};
struct Threshold {
  explicit Threshold(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    using T = hn::TFromD<D>;
    const V bound = hn::Set(d, param<T>(params, 0));
    const V value = hn::Set(d, param<T>(params, 1));
    if constexpr (hwy::IsFloat<T>()) {
      return hn::IfThenElse(hn::Le(a, bound), value, a);  // this way round NaN passes, as in torch
    } else {
      return hn::IfThenElse(hn::Gt(a, bound), a, value);
    }
  }
  PointwiseParams params;
};
struct Hardshrink {
  explicit Hardshrink(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V lambda = hn::Set(d, param<hn::TFromD<D>>(params, 0));
    const auto inside = hn::And(hn::Ge(a, hn::Neg(lambda)), hn::Le(a, lambda));
    return hn::IfThenZeroElse(inside, a);
  }
  PointwiseParams params;
};
struct Softshrink {
  explicit Softshrink(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    const V lambda = hn::Set(d, param<hn::TFromD<D>>(params, 0));
    const V minus = hn::Neg(lambda);
    const V above = hn::Sub(a, lambda);
    const V below = hn::Add(a, lambda);
    const V outside = hn::IfThenElse(hn::Gt(a, lambda), above, below);
    const V inside = hn::Mul(a, hn::Zero(d));  // keeps the sign, as torch does
    return hn::IfThenElse(hn::And(hn::Ge(a, minus), hn::Le(a, lambda)), inside, outside);
  }
  PointwiseParams params;
};
struct Hardsigmoid {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    using T = hn::TFromD<D>;
    const V shifted = hn::Add(a, hn::Set(d, T{3}));
    const V clamped = min_or_second(d, hn::Set(d, T{6}), max_or_second(d, hn::Zero(d), shifted));
    return hn::Div(clamped, hn::Set(d, T{6}));
  }
};
struct Hardswish {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    using T = hn::TFromD<D>;
    const V shifted = hn::Add(a, hn::Set(d, T{3}));
    const V clamped = min_or_second(d, hn::Set(d, T{6}), max_or_second(d, hn::Zero(d), shifted));
    return hn::Div(hn::Mul(a, clamped), hn::Set(d, T{6}));
  }
};

// where: the condition's bytes widen to one mask per element.
#if HWY_TARGET == HWY_SCALAR
template <class D>
HWY_INLINE hn::Mask<D> condition(D d, const uint8_t* bytes) {
  return hn::FirstN(d, bytes[0] != 0 ? 1 : 0);
}
#else
template <class D>
HWY_INLINE hn::Mask<D> condition(D d, const uint8_t* bytes) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint8_t, D> d8;
  const auto narrow = hn::LoadU(d8, bytes);
  if constexpr (sizeof(hn::TFromD<D>) == 1) {
    return hn::RebindMask(d, not_equal(narrow, hn::Zero(d8)));
  } else if constexpr (sizeof(hn::TFromD<D>) == 8) {
    const hn::Rebind<uint32_t, D> d32;
    return hn::RebindMask(d,
                          not_equal(hn::PromoteTo(du, hn::PromoteTo(d32, narrow)), hn::Zero(du)));
  } else {
    return hn::RebindMask(d, not_equal(hn::PromoteTo(du, narrow), hn::Zero(du)));
  }
}
#endif

// Bits are chosen, whatever they stand for: T is only a size.
template <class T>
void where_tile(const void* const* inputs, void* to, int64_t size, const PointwiseParams&) {
  const hn::ScalableTag<T> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const auto* bytes = static_cast<const uint8_t*>(inputs[0]);
  const T* yes = static_cast<const T*>(inputs[1]);
  const T* no = static_cast<const T*>(inputs[2]);
  T* out = static_cast<T*>(to);
  const size_t n = static_cast<size_t>(size);
  size_t at = 0;
  for (; at + 2 * kLanes <= n; at += 2 * kLanes) {
    const auto v0 =
        hn::IfThenElse(condition(d, bytes + at), hn::LoadU(d, yes + at), hn::LoadU(d, no + at));
    const auto v1 = hn::IfThenElse(condition(d, bytes + at + kLanes),
                                   hn::LoadU(d, yes + at + kLanes), hn::LoadU(d, no + at + kLanes));
    hn::StoreU(v0, d, out + at);
    hn::StoreU(v1, d, out + at + kLanes);
  }
  for (; at < n; ++at) out[at] = bytes[at] != 0 ? yes[at] : no[at];
}

template <class... Ts>
void enter_all(TileTable& table) {
  add_steps<ClampScalar<true, true>, Ts...>(table, Pointwise::kClampScalar);
  add_steps<ClampScalar<true, false>, Ts...>(table, Pointwise::kClampMinScalar);
  add_steps<ClampMaxScalar, Ts...>(table, Pointwise::kClampMaxScalar);
  add_steps<Clamp, Ts...>(table, Pointwise::kClamp);
  add_steps<Addcmul, Ts...>(table, Pointwise::kAddcmul);
  add_steps<Threshold, Ts...>(table, Pointwise::kThreshold);
}

template <class... Ts>
void enter_float(TileTable& table) {
  add_steps<Lerp, Ts...>(table, Pointwise::kLerp);
  add_steps<LerpScalar, Ts...>(table, Pointwise::kLerpScalar);
  add_steps<Addcdiv, Ts...>(table, Pointwise::kAddcdiv);
  add_steps<LeakyRelu, Ts...>(table, Pointwise::kLeakyRelu);
  add_steps<Prelu, Ts...>(table, Pointwise::kPrelu);
  add_steps<Hardshrink, Ts...>(table, Pointwise::kHardshrink);
  add_steps<Softshrink, Ts...>(table, Pointwise::kSoftshrink);
  add_steps<Hardsigmoid, Ts...>(table, Pointwise::kHardsigmoid);
  add_steps<Hardswish, Ts...>(table, Pointwise::kHardswish);
}

}  // namespace

void select(TileTable& table) {
  enter_all<uint8_t, int8_t, int16_t, int32_t, int64_t, float, double>(table);
  enter_float<float, double>(table);
  table.add(Pointwise::kWhere, DType::kBool, &where_tile<uint8_t>);
  table.add(Pointwise::kWhere, DType::kUInt8, &where_tile<uint8_t>);
  table.add(Pointwise::kWhere, DType::kInt8, &where_tile<uint8_t>);
  table.add(Pointwise::kWhere, DType::kInt16, &where_tile<uint16_t>);
  table.add(Pointwise::kWhere, DType::kInt32, &where_tile<uint32_t>);
  table.add(Pointwise::kWhere, DType::kInt64, &where_tile<uint64_t>);
  table.add(Pointwise::kWhere, DType::kFloat32, &where_tile<uint32_t>);
  table.add(Pointwise::kWhere, DType::kFloat64, &where_tile<uint64_t>);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(select);
void add_select(TileTable& table) { HWY_DYNAMIC_DISPATCH(select)(table); }
}  // namespace mindtorch::cpu
#endif
