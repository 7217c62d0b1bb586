// Loading and storing rows of any float dtype as float32 or float64 vectors, compiled once per
// instruction set.

#include <algorithm>
#include <bit>
#include <type_traits>

#include "mindtorch/backends/cpu/tiles/tile-inl.h"

#if defined(MT_TILES_ROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_ROW_INL_H_
#undef MT_TILES_ROW_INL_H_
#else
#define MT_TILES_ROW_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

// The type in which a row of T is computed.
template <class T>
using Wide = std::conditional_t<kIsHalf<T>, float, T>;

// bool is held as bytes of 0 and 1.
template <class T>
using Held = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

#if HWY_TARGET != HWY_SCALAR
// The 16-bit lanes that belong to the lanes of D.
template <class D>
using Bits16 = hn::Rebind<uint16_t, D>;

#if HWY_TARGET == HWY_EMU128
// Highway's own conversions neither round there nor know infinities and NaN.
template <class D>
HWY_INLINE hn::Vec<D> widen_half(D d, hn::Vec<Bits16<D>> bits) {
  const hn::RebindToUnsigned<D> du;
  const auto wide = hn::PromoteTo(du, bits);
  const auto sign = hn::ShiftLeft<16>(hn::And(wide, hn::Set(du, 0x8000)));
  const auto number = hn::ShiftLeft<13>(hn::And(wide, hn::Set(du, 0x7fff)));
  const auto normal = hn::Add(number, hn::Set(du, (127 - 15) << 23));
  // Of 2^-14 and the number, less 2^-14: no step sees a subnormal, which may be flushed.
  const auto least = hn::Set(du, (127 - 14) << 23);
  const auto small =
      hn::BitCast(du, hn::Sub(hn::BitCast(d, hn::Add(number, least)), hn::BitCast(d, least)));
  const auto special = hn::Or(number, hn::Set(du, 0x7f800000));
  const auto finite = hn::IfThenElse(hn::Lt(number, hn::Set(du, 1 << 23)), small, normal);
  const auto is_special = hn::Ge(number, hn::Set(du, 0x1f << 23));
  return hn::BitCast(d, hn::Or(sign, hn::IfThenElse(is_special, special, finite)));
}

template <class D>
HWY_INLINE hn::Vec<Bits16<D>> round_half(D d, hn::Vec<D> v) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, v);
  const auto number = hn::And(bits, hn::Set(du, 0x7fffffff));
  const auto sign = hn::ShiftRight<16>(hn::Xor(bits, number));
  const auto odd = hn::And(hn::ShiftRight<13>(number), hn::Set(du, 1));
  const auto normal = hn::ShiftRight<13>(
      hn::Add(hn::Sub(number, hn::Set(du, (127 - 15) << 23)), hn::Add(odd, hn::Set(du, 0xfff))));
  // Adding 0.5 leaves the ten bits of a subnormal half at the end, rounded.
  const auto half = hn::Set(d, 0.5F);
  const auto small =
      hn::Sub(hn::BitCast(du, hn::Add(hn::BitCast(d, number), half)), hn::BitCast(du, half));
  const auto payload = hn::And(hn::ShiftRight<13>(number), hn::Set(du, 0x3ff));
  const auto nan = hn::Or(hn::Set(du, 0x7e00), payload);
  const auto finite = hn::IfThenElse(hn::Lt(number, hn::Set(du, 0x38800000)), small, normal);
  const auto at_most_infinity =
      hn::IfThenElse(hn::Ge(number, hn::Set(du, 0x477ff000)), hn::Set(du, 0x7c00), finite);
  const auto rounded =
      hn::IfThenElse(hn::Gt(number, hn::Set(du, 0x7f800000)), nan, at_most_infinity);
  return hn::TruncateTo(Bits16<D>(), hn::Or(sign, rounded));
}
#else
template <class D>
HWY_INLINE hn::Vec<D> widen_half(D d, hn::Vec<Bits16<D>> bits) {
  return hn::PromoteTo(d, hn::BitCast(hn::Rebind<hwy::float16_t, D>(), bits));
}

template <class D>
HWY_INLINE hn::Vec<Bits16<D>> round_half(D, hn::Vec<D> v) {
  return hn::BitCast(Bits16<D>(), hn::DemoteTo(hn::Rebind<hwy::float16_t, D>(), v));
}
#endif

template <class T, class D>
HWY_INLINE hn::Vec<D> widen_bits(D d, hn::Vec<Bits16<D>> bits) {
  if constexpr (std::is_same_v<T, Half>) {
    return widen_half(d, bits);
  } else {
    const hn::RebindToUnsigned<D> d32;
    return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, bits)));
  }
}

// Rounds to nearest even.
template <class T, class D>
HWY_INLINE hn::Vec<Bits16<D>> round_bits(D d, hn::Vec<D> v) {
  if constexpr (std::is_same_v<T, Half>) {
    return round_half(d, v);
  } else {
    const hn::RebindToUnsigned<D> du;
    const auto bits = hn::BitCast(du, v);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(du, 1));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(du, 0x7fff))));
    const auto nan = hn::RebindMask(du, hn::IsNaN(v));
    return hn::TruncateTo(Bits16<D>(), hn::IfThenElse(nan, hn::Set(du, 0x7fc0), rounded));
  }
}
#endif

template <class T, class D>
HWY_INLINE hn::Vec<D> load_wide(D d, const T* from) {
  if constexpr (!kIsHalf<T>) {
    return hn::LoadU(d, from);
  } else {
#if HWY_TARGET == HWY_SCALAR
    return hn::Set(d, static_cast<float>(*from));
#else
    return widen_bits<T>(d, hn::LoadU(Bits16<D>(), reinterpret_cast<const uint16_t*>(from)));
#endif
  }
}

template <class T, class D>
HWY_INLINE void store_wide(D d, hn::Vec<D> v, T* to) {
  if constexpr (!kIsHalf<T>) {
    hn::StoreU(v, d, to);
  } else {
#if HWY_TARGET == HWY_SCALAR
    *to = T(hn::GetLane(v));
#else
    hn::StoreU(round_bits<T>(d, v), Bits16<D>(), reinterpret_cast<uint16_t*>(to));
#endif
  }
}

#if HWY_TARGET <= HWY_AVX3

// Up to one vector's worth; the lanes beyond `count` hold `fill`.
template <class T, class D>
HWY_INLINE hn::Vec<D> load_wide_first(D d, const T* from, size_t count, T fill) {
  const auto first = hn::FirstN(d, count);
  hn::Vec<D> v;
  if constexpr (kIsHalf<T>) {
    const Bits16<D> d16;
    const auto* bits = reinterpret_cast<const uint16_t*>(from);
    v = widen_bits<T>(d, hn::MaskedLoad(hn::FirstN(d16, count), d16, bits));
  } else {
    v = hn::MaskedLoad(first, d, from);
  }
  return hn::IfThenElse(first, v, hn::Set(d, static_cast<Wide<T>>(fill)));
}

template <class T, class D>
HWY_INLINE void store_wide_first(D d, hn::Vec<D> v, T* to, size_t count) {
  if constexpr (kIsHalf<T>) {
    const Bits16<D> d16;
    auto* bits = reinterpret_cast<uint16_t*>(to);
    hn::BlendedStore(round_bits<T>(d, v), hn::FirstN(d16, count), d16, bits);
  } else {
    hn::BlendedStore(v, hn::FirstN(d, count), d, to);
  }
}

#else

template <class T, class D>
HWY_INLINE hn::Vec<D> load_wide_first(D d, const T* from, size_t count, T fill) {
  HWY_ALIGN T lanes[hn::MaxLanes(D())];
  for (size_t i = 0; i < hn::MaxLanes(D()); ++i) lanes[i] = fill;
  std::memcpy(lanes, from, count * sizeof(T));
  return load_wide(d, lanes);
}

template <class T, class D>
HWY_INLINE void store_wide_first(D d, hn::Vec<D> v, T* to, size_t count) {
  HWY_ALIGN T lanes[hn::MaxLanes(D())];
  store_wide(d, v, lanes);
  std::memcpy(to, lanes, count * sizeof(T));
}

#endif

// The sum of all lanes, added in pairs.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE T sum_lanes(D d, hn::Vec<D> v) {
  return hn::GetLane(hn::SumOfLanes(d, v));
}

template <class T>
void enter_row(TileTable& table, Row function, RowFn row) {
  table.rows[static_cast<int>(function)][static_cast<int>(DTypeOf<T>::value)] = row;
}
template <class T>
void enter_accumulate(TileTable& table, Row function, AccumulateFn::RowsFn step) {
  table.accumulates[static_cast<int>(function)][static_cast<int>(DTypeOf<T>::value)] = {step};
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
