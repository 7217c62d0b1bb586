// The loops under every pointwise tile, compiled once per instruction set.
//
// A function is a struct with a call operator on vectors: `op(d, a, b)`. It may take the scalar
// parameters in its constructor. map_tile and test_tile turn it into a TileFn.

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "mindtorch/backends/cpu/tiles/table.h"

#if defined(MT_TILES_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_TILE_INL_H_
#undef MT_TILES_TILE_INL_H_
#else
#define MT_TILES_TILE_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using ops::Pointwise;
using ops::PointwiseParams;

// Up to one vector's worth of elements; the lanes beyond `count` are zero.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_first(D d, const T* from, size_t count) {
#if HWY_TARGET <= HWY_AVX3
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)] = {};
  std::memcpy(lanes, from, count * sizeof(T));
  return hn::Load(d, lanes);
#endif
}

template <class D, class T = hn::TFromD<D>>
HWY_INLINE void store_first(D d, hn::Vec<D> v, T* to, size_t count) {
#if HWY_TARGET <= HWY_AVX3
  hn::BlendedStore(v, hn::FirstN(d, count), d, to);
#else
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  std::memcpy(to, lanes, count * sizeof(T));
#endif
}

// Scalar parameter `index` in the reading that suits T.
template <class T>
HWY_INLINE T param(const PointwiseParams& params, int index) {
  if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(params.f[index]);
  } else {
    return static_cast<T>(params.i[index]);
  }
}

// The larger or smaller of two; the second when either is NaN. That is what MAXPS and MINPS do, and
// neither NEON nor Highway's one-lane target does.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V max_or_second(D, V a, V b) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Max(a, b);
#else
  return hn::IfThenElse(hn::Gt(a, b), a, b);
#endif
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V min_or_second(D, V a, V b) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Min(a, b);
#else
  return hn::IfThenElse(hn::Lt(a, b), a, b);
#endif
}

// a != b, true when either is NaN, which Highway's own is not on AVX-512.
template <class V>
HWY_INLINE auto not_equal(V a, V b) {
  if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
    return hn::Not(hn::Eq(a, b));
  } else {
    return hn::Ne(a, b);
  }
}

template <class Op>
HWY_INLINE Op make_op(const PointwiseParams& params) {
  if constexpr (std::is_constructible_v<Op, const PointwiseParams&>) {
    return Op(params);
  } else {
    return Op();
  }
}

template <class Op, class D>
struct Arity {
  using V = hn::Vec<D>;
  static constexpr int value = std::is_invocable_v<Op, D, V>         ? 1
                               : std::is_invocable_v<Op, D, V, V>    ? 2
                               : std::is_invocable_v<Op, D, V, V, V> ? 3
                                                                     : 0;
};

// The op applied to one vector, all of it or its first `count` lanes.
template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE auto apply(const Op& op, D d, const T* const (&in)[3], size_t at) {
  if constexpr (Arity<Op, D>::value == 1) {
    return op(d, hn::LoadU(d, in[0] + at));
  } else if constexpr (Arity<Op, D>::value == 2) {
    return op(d, hn::LoadU(d, in[0] + at), hn::LoadU(d, in[1] + at));
  } else {
    return op(d, hn::LoadU(d, in[0] + at), hn::LoadU(d, in[1] + at), hn::LoadU(d, in[2] + at));
  }
}

template <class Op, class D, class T = hn::TFromD<D>>
HWY_INLINE auto apply_first(const Op& op, D d, const T* const (&in)[3], size_t at, size_t count) {
  if constexpr (Arity<Op, D>::value == 1) {
    return op(d, load_first(d, in[0] + at, count));
  } else if constexpr (Arity<Op, D>::value == 2) {
    return op(d, load_first(d, in[0] + at, count), load_first(d, in[1] + at, count));
  } else {
    return op(d, load_first(d, in[0] + at, count), load_first(d, in[1] + at, count),
              load_first(d, in[2] + at, count));
  }
}

template <class T, int kArity>
struct Inputs {
  const T* in[3];
  explicit HWY_INLINE Inputs(const void* const* inputs) : in{} {
    for (int i = 0; i < kArity; ++i) in[i] = static_cast<const T*>(inputs[i]);
  }
};

// out[i] = op(in[i]...), elements of T throughout. kUnroll vectors are in flight: all of them are
// computed before the first is stored, which is what lets the compiler interleave them.
template <class Op, class T, int kUnroll = 4, class D = hn::ScalableTag<T>>
void map_tile(const void* const* inputs, void* to, int64_t size, const PointwiseParams& params) {
  const D d;
  constexpr size_t kLanes = hn::MaxLanes(D());
  const Op op = make_op<Op>(params);
  const Inputs<T, Arity<Op, D>::value> from(inputs);
  T* out = static_cast<T*>(to);
  const size_t n = static_cast<size_t>(size);

  size_t at = 0;
  if constexpr (kUnroll >= 4) {
    for (; at + 4 * kLanes <= n; at += 4 * kLanes) {
      const auto v0 = apply(op, d, from.in, at);
      const auto v1 = apply(op, d, from.in, at + kLanes);
      const auto v2 = apply(op, d, from.in, at + 2 * kLanes);
      const auto v3 = apply(op, d, from.in, at + 3 * kLanes);
      hn::StoreU(v0, d, out + at);
      hn::StoreU(v1, d, out + at + kLanes);
      hn::StoreU(v2, d, out + at + 2 * kLanes);
      hn::StoreU(v3, d, out + at + 3 * kLanes);
    }
  } else if constexpr (kUnroll == 2) {
    for (; at + 2 * kLanes <= n; at += 2 * kLanes) {
      const auto v0 = apply(op, d, from.in, at);
      const auto v1 = apply(op, d, from.in, at + kLanes);
      hn::StoreU(v0, d, out + at);
      hn::StoreU(v1, d, out + at + kLanes);
    }
  }
  for (; at + kLanes <= n; at += kLanes) hn::StoreU(apply(op, d, from.in, at), d, out + at);
  if (at < n) {
    const size_t count = n - at;
    store_first(d, apply_first(op, d, from.in, at, count), out + at, count);
  }
}

// The same for functions without a vector form: `op(a, b)` on scalars. An element of `out` is at
// most the element of the same index of an input, so the compiler may vectorise what it can.
template <class Op, class T, int kArity>
void scalar_tile(const void* const* inputs, void* to, int64_t n, const PointwiseParams& params) {
  const Op op = make_op<Op>(params);
  const Inputs<T, kArity> from(inputs);
  T* out = static_cast<T*>(to);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kArity == 1) {
      out[i] = op(from.in[0][i]);
    } else {
      out[i] = op(from.in[0][i], from.in[1][i]);
    }
  }
}

// Functions that change nothing in this dtype, such as floor of an integer.
template <class T>
void copy_tile(const void* const* inputs, void* to, int64_t n, const PointwiseParams&) {
  if (to != inputs[0] && n > 0) std::memcpy(to, inputs[0], static_cast<size_t>(n) * sizeof(T));
}

// a ** p0: two exponents are no work, `kOther` does the rest.
template <class T, TileFn kOther>
void pow_scalar_tile(const void* const* inputs,
                     void* to,
                     int64_t n,
                     const PointwiseParams& params) {
  constexpr bool kFloat = !std::is_integral_v<T>;
  if (kFloat ? params.f[0] == 1 : params.i[0] == 1) return copy_tile<T>(inputs, to, n, params);
  if (kFloat ? params.f[0] != 0 : params.i[0] != 0) return kOther(inputs, to, n, params);
  if constexpr (kFloat && sizeof(T) == 2) {
    const T one(1.0f);
    std::fill_n(static_cast<uint16_t*>(to), n, one.bits);
  } else {
    std::fill_n(static_cast<T*>(to), n, T{1});
  }
}

#if HWY_TARGET <= HWY_AVX3

// The bits of a mask. GCC 12 can spill a 32-bit mask as 32 bits and load it back as 64, so shorter
// masks are widened in a general register.
template <class M>
HWY_INLINE uint64_t mask_bits(M mask) {
  if constexpr (sizeof(mask.raw) == sizeof(uint64_t)) {
    return mask.raw;
  } else {
    uint32_t word = mask.raw;
    asm("" : "+r"(word));
    return word;
  }
}

// A vector of 0 and 1 bytes out of the op's masks for that many elements of T.
template <class Op, class D, class D8, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D8> test_bytes(const Op& op, D d, D8 d8, const T* const (&in)[3], size_t at) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  uint64_t bits = 0;
  for (size_t k = 0; k < sizeof(T); ++k) {
    bits |= mask_bits(apply(op, d, in, at + k * kLanes)) << (k * kLanes % 64);
  }
  return hn::IfThenElseZero(hn::Mask512<uint8_t>{static_cast<__mmask64>(bits)}, hn::Set(d8, 1));
}

template <class Op, class D, class D8, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D8> test_bytes_first(
    const Op& op, D d, D8 d8, const T* const (&in)[3], size_t at, size_t count) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  uint64_t bits = 0;
  for (size_t k = 0; k < count; k += kLanes) {
    bits |= mask_bits(apply_first(op, d, in, at + k, count - k)) << k;
  }
  return hn::IfThenElseZero(hn::Mask512<uint8_t>{static_cast<__mmask64>(bits)}, hn::Set(d8, 1));
}

#elif HWY_TARGET == HWY_SCALAR

template <class Op, class D, class D8, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D8> test_bytes(const Op& op, D d, D8 d8, const T* const (&in)[3], size_t at) {
  return hn::Set(d8, hn::AllTrue(d, apply(op, d, in, at)) ? uint8_t{1} : uint8_t{0});
}

template <class Op, class D, class D8, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D8> test_bytes_first(
    const Op& op, D d, D8 d8, const T* const (&in)[3], size_t at, size_t) {
  return test_bytes(op, d, d8, in, at);
}

#else

// Keeps the lower half of every lane: the lanes of lo, then those of hi.
template <class D, class V = hn::Vec<D>>
HWY_INLINE hn::Vec<hn::RepartitionToNarrow<D>> halve_masks(D, V lo, V hi) {
  const hn::RepartitionToNarrow<D> dn;
  return hn::ConcatEven(dn, hn::BitCast(dn, hi), hn::BitCast(dn, lo));
}

template <class D, class Op, class T>
HWY_INLINE hn::Vec<hn::RebindToSigned<D>> test_lanes(const Op& op,
                                                     D d,
                                                     const T* const (&in)[3],
                                                     size_t at) {
  return hn::BitCast(hn::RebindToSigned<D>(), hn::VecFromMask(d, apply(op, d, in, at)));
}

template <class Op, class D, class D8, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D8> test_bytes(const Op& op, D d, D8 d8, const T* const (&in)[3], size_t at) {
  constexpr size_t kLanes = hn::MaxLanes(D());
  const hn::Repartition<int16_t, D8> di16;
  const hn::Repartition<int32_t, D8> di32;
  const hn::Repartition<int64_t, D8> di64;
  const auto one = hn::Set(d8, 1);
  if constexpr (sizeof(T) == 1) {
    return hn::And(hn::BitCast(d8, test_lanes(op, d, in, at)), one);
  } else if constexpr (sizeof(T) == 2) {
    const auto v0 = test_lanes(op, d, in, at);
    const auto v1 = test_lanes(op, d, in, at + kLanes);
    return hn::And(hn::BitCast(d8, halve_masks(di16, v0, v1)), one);
  } else if constexpr (sizeof(T) == 4) {
    const auto v0 =
        halve_masks(di32, test_lanes(op, d, in, at), test_lanes(op, d, in, at + kLanes));
    const auto v1 = halve_masks(di32, test_lanes(op, d, in, at + 2 * kLanes),
                                test_lanes(op, d, in, at + 3 * kLanes));
    return hn::And(hn::BitCast(d8, halve_masks(di16, v0, v1)), one);
  } else {
    hn::Vec<decltype(di32)> quarters[4];
    for (size_t k = 0; k < 4; ++k) {
      quarters[k] = halve_masks(di64, test_lanes(op, d, in, at + 2 * k * kLanes),
                                test_lanes(op, d, in, at + (2 * k + 1) * kLanes));
    }
    const auto v0 = halve_masks(di32, quarters[0], quarters[1]);
    const auto v1 = halve_masks(di32, quarters[2], quarters[3]);
    return hn::And(hn::BitCast(d8, halve_masks(di16, v0, v1)), one);
  }
}

template <class Op, class D, class D8, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D8> test_bytes_first(
    const Op& op, D d, D8 d8, const T* const (&in)[3], size_t at, size_t count) {
  constexpr size_t kBytes = hn::MaxLanes(D8());
  HWY_ALIGN T rest[3][kBytes];
  const T* padded[3] = {rest[0], rest[1], rest[2]};
  for (int k = 0; k < Arity<Op, D>::value; ++k) {
    std::memcpy(rest[k], in[k] + at, count * sizeof(T));
    std::memset(rest[k] + count, 0, (kBytes - count) * sizeof(T));
  }
  return test_bytes(op, d, d8, padded, 0);
}

#endif

// out[i] = op(in[i]...) where the op gives a mask and out is bool.
template <class Op, class T>
void test_tile(const void* const* inputs, void* to, int64_t size, const PointwiseParams& params) {
  const hn::ScalableTag<T> d;
  const hn::ScalableTag<uint8_t> d8;
  using D = decltype(d);
  constexpr int kArity = Arity<Op, D>::value;
  constexpr size_t kBytes = hn::MaxLanes(decltype(d8)());
  const Op op = make_op<Op>(params);
  const Inputs<T, kArity> from(inputs);
  uint8_t* out = static_cast<uint8_t*>(to);
  const size_t n = static_cast<size_t>(size);

  size_t at = 0;
  for (; at + kBytes <= n; at += kBytes) {
    hn::StoreU(test_bytes(op, d, d8, from.in, at), d8, out + at);
  }
  if (at < n) {
    const size_t count = n - at;
    store_first(d8, test_bytes_first(op, d, d8, from.in, at, count), out + at, count);
  }
}

// Enters `Op`, a function of a few instructions, for each of the listed element types.
template <class Op, class... Ts>
void add_map(TileTable& table, Pointwise function) {
  (table.add(function, DTypeOf<Ts>::value, &map_tile<Op, Ts, 2>), ...);
}
// The same in place of the function's expression, whose steps it takes.
template <class Op, class... Ts>
void add_steps(TileTable& table, Pointwise function) {
  (table.override(function, DTypeOf<Ts>::value, &map_tile<Op, Ts, 2>, Numbers::kStepwise), ...);
}
template <class Op, class... Ts>
void add_test(TileTable& table, Pointwise function) {
  (table.add(function, DTypeOf<Ts>::value, &test_tile<Op, Ts>), ...);
}
template <class Op, class... Ts>
void add_test_steps(TileTable& table, Pointwise function) {
  (table.override(function, DTypeOf<Ts>::value, &test_tile<Op, Ts>, Numbers::kStepwise), ...);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
