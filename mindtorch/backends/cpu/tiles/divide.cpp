// Division that rounds, and the remainders that belong to it, on floats.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/divide.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include <cmath>
#include <limits>

#include "mindtorch/backends/cpu/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

template <class D, class V>
HWY_INLINE V fmod(D, V a, V b) {
  return V(std::fmod(a.raw, b.raw));
}
template <class D, class V>
HWY_INLINE V trunc(D, V a) {
  return V(std::trunc(a.raw));
}
template <class D, class V>
HWY_INLINE V floor(D, V a) {
  return V(std::floor(a.raw));
}

#else

template <class D, class V>
HWY_NOINLINE V fmod_by_lane(D d, V a, V b) {
  HWY_ALIGN hn::TFromD<D> x[hn::MaxLanes(d)];
  HWY_ALIGN hn::TFromD<D> y[hn::MaxLanes(d)];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  for (size_t i = 0; i < hn::MaxLanes(d); ++i) x[i] = std::fmod(x[i], y[i]);
  return hn::Load(d, x);
}

// While the quotient fits the mantissa, a fused multiply-subtract gives the remainder exactly,
// except that the rounded quotient may be one too large. Longer quotients, infinities and zero
// divisors are left to the C library.
template <class D, class V>
HWY_INLINE V fmod(D d, V a, V b) {
  using T = hn::TFromD<D>;
  constexpr T kLimit = sizeof(T) == 4 ? T{0x1p23} : T{0x1p52};
  const V quotient = hn::Trunc(hn::Div(a, b));
  const auto easy = hn::And(hn::Lt(hn::Abs(quotient), hn::Set(d, kLimit)),
                            hn::Lt(hn::Abs(b), hn::Set(d, std::numeric_limits<T>::infinity())));
  if (HWY_UNLIKELY(!hn::AllTrue(d, easy))) return fmod_by_lane(d, a, b);
  const V rest = hn::NegMulAdd(quotient, b, a);
  const auto too_far = hn::Lt(hn::CopySign(rest, hn::Xor(rest, a)), hn::Zero(d));
  const V corrected = hn::Add(rest, hn::CopySign(b, a));
  return hn::CopySign(hn::IfThenElse(too_far, corrected, rest), a);
}
template <class D, class V>
HWY_INLINE V trunc(D, V a) {
  return hn::Trunc(a);
}
template <class D, class V>
HWY_INLINE V floor(D, V a) {
  return hn::Floor(a);
}

#endif

// Whether a remainder must move by one divisor to take the divisor's sign.
template <class D, class V>
HWY_INLINE hn::Mask<D> signs_differ(D d, V rest, V b) {
  const V zero = hn::Zero(d);
  return hn::And(not_equal(rest, zero), hn::Xor(hn::Lt(b, zero), hn::Lt(rest, zero)));
}

struct TruncDivide {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return trunc(d, hn::Div(a, b));
  }
};
struct Fmod {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    return fmod(d, a, b);
  }
};
struct Remainder {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const V rest = fmod(d, a, b);
    return hn::IfThenElse(signs_differ(d, rest, b), hn::Add(rest, b), rest);
  }
};
// Python's rule: a quotient that agrees with remainder(), repaired where the division rounded up.
struct FloorDivide {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    using T = hn::TFromD<D>;
    const V zero = hn::Zero(d);
    const V one = hn::Set(d, T{1});
    const V plain = hn::Div(a, b);
    const V rest = fmod(d, a, b);
    V quotient = hn::Div(hn::Sub(a, rest), b);
    quotient = hn::IfThenElse(signs_differ(d, rest, b), hn::Sub(quotient, one), quotient);
    const V whole = floor(d, quotient);
    const auto above = hn::Gt(hn::Sub(quotient, whole), hn::Set(d, T{0.5}));
    const V nearest = hn::IfThenElse(above, hn::Add(whole, one), whole);
    const V signed_zero = hn::CopySign(zero, plain);
    const V result = hn::IfThenElse(hn::Eq(quotient, zero), signed_zero, nearest);
    return hn::IfThenElse(hn::Eq(b, zero), plain, result);
  }
};

template <class T>
void enter_divide(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.override(Pointwise::kTruncDivide, kDType, &map_tile<TruncDivide, T>, Numbers::kStepwise);
  table.add(Pointwise::kFmod, kDType, &map_tile<Fmod, T, 1>);
  table.add(Pointwise::kRemainder, kDType, &map_tile<Remainder, T, 1>);
  table.add(Pointwise::kFloorDivide, kDType, &map_tile<FloorDivide, T, 1>);
}

}  // namespace

void divide(TileTable& table) {
  enter_divide<float>(table);
  enter_divide<double>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(divide);
void add_divide(TileTable& table) { HWY_DYNAMIC_DISPATCH(divide)(table); }
}  // namespace mindtorch::cpu
#endif
