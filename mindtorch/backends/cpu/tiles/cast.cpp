// Conversions between dtypes. The loops are plain: the compiler vectorises them for each target.
// Those of float16 are written out, since the language has no such type. 16-bit floats are
// converted through float32, which is also how torch rounds them; most of them in blocks.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/cast.cpp"
#include <bit>
#include <cmath>
#include <limits>

#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "mindtorch/backends/cpu/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// bool is held as bytes of 0 and 1.
template <class T>
using Held = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// Out of range and NaN: the lowest integer, which is what x86 makes of them. Arm would saturate.
template <class To, class From>
HWY_INLINE To to_integer(From value) {
#if HWY_ARCH_X86
  return static_cast<To>(value);
#else
  constexpr From kLimit = sizeof(To) == 4 ? From{0x1p31} : From{0x1p63};
  return value >= -kLimit && value < kLimit ? static_cast<To>(value)
                                            : std::numeric_limits<To>::min();
#endif
}

template <class From, class To>
HWY_INLINE Held<To> convert(Held<From> value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != 0 ? 1 : 0;
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // One conversion, then for short integers the low bits: so out-of-range values become 0.
    return static_cast<To>(to_integer<std::conditional_t<sizeof(To) < 8, int32_t, int64_t>>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
HWY_NOINLINE void cast(const void* from, void* to, int64_t n) {
  const auto* HWY_RESTRICT in = static_cast<const Held<From>*>(from);
  auto* HWY_RESTRICT out = static_cast<Held<To>*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = convert<From, To>(in[i]);
}

// torch converts floats to uint8 through int64, where other small integers go through int32. Both
// agree below 2^31, which is checked per block because only AVX-512 converts to int64.
template <class From>
HWY_NOINLINE void cast_to_uint8(const void* from, void* to, int64_t n) {
  const auto* HWY_RESTRICT in = static_cast<const From*>(from);
  auto* HWY_RESTRICT out = static_cast<uint8_t*>(to);
  constexpr int64_t kBlock = 1024;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = begin + kBlock < n ? kBlock : n - begin;
    const From* HWY_RESTRICT block = in + begin;
    uint8_t* HWY_RESTRICT result = out + begin;
    int32_t outside = 0;
    for (int64_t i = 0; i < count; ++i) {
      outside += std::fabs(block[i]) < From{0x1p31} ? 0 : 1;  // also counts NaN
    }
    if (outside == 0) {
      for (int64_t i = 0; i < count; ++i) {
        result[i] = static_cast<uint8_t>(static_cast<int32_t>(block[i]));
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        result[i] = static_cast<uint8_t>(to_integer<int64_t>(block[i]));
      }
    }
  }
}

HWY_INLINE float widen_bits(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}
HWY_INLINE uint16_t round_bits(float value) {
  const uint32_t word = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
  const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
  return static_cast<uint16_t>(is_nan ? 0x7fc0u : rounded);
}

// To and from numbers of 4 or 8 bytes.
template <class To>
HWY_NOINLINE void widen_bfloat16(const void* from, void* to, int64_t n) {
  const auto* HWY_RESTRICT in = static_cast<const uint16_t*>(from);
  auto* HWY_RESTRICT out = static_cast<To*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = convert<float, To>(widen_bits(in[i]));
}
template <class From>
HWY_NOINLINE void round_bfloat16(const void* from, void* to, int64_t n) {
  const auto* HWY_RESTRICT in = static_cast<const From*>(from);
  auto* HWY_RESTRICT out = static_cast<uint16_t*>(to);
  for (int64_t i = 0; i < n; ++i) out[i] = round_bits(convert<From, float>(in[i]));
}

HWY_NOINLINE void widen_float16(const void* from, void* to, int64_t size) {
  const size_t n = static_cast<size_t>(size);
  float* out = static_cast<float*>(to);
#if HWY_TARGET == HWY_SCALAR
  const auto* in = static_cast<const Half*>(from);
  for (size_t i = 0; i < n; ++i) out[i] = in[i];
#else
  const auto* in = static_cast<const hwy::float16_t*>(from);
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    hn::StoreU(hn::PromoteTo(d, hn::LoadU(d16, in + at)), d, out + at);
  }
  if (at < n) {
    HWY_ALIGN uint16_t rest[kLanes] = {};
    std::memcpy(rest, in + at, (n - at) * sizeof(uint16_t));
    const auto half = hn::Load(d16, reinterpret_cast<const hwy::float16_t*>(rest));
    store_first(d, hn::PromoteTo(d, half), out + at, n - at);
  }
#endif
}

HWY_NOINLINE void round_float16(const void* from, void* to, int64_t size) {
  const size_t n = static_cast<size_t>(size);
  const float* in = static_cast<const float*>(from);
#if HWY_TARGET == HWY_SCALAR
  auto* out = static_cast<Half*>(to);
  for (size_t i = 0; i < n; ++i) out[i] = Half(in[i]);
#else
  auto* out = static_cast<hwy::float16_t*>(to);
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    hn::StoreU(hn::DemoteTo(d16, hn::LoadU(d, in + at)), d16, out + at);
  }
  if (at < n) {
    HWY_ALIGN uint16_t rest[kLanes];
    hn::Store(hn::DemoteTo(d16, load_first(d, in + at, n - at)), d16,
              reinterpret_cast<hwy::float16_t*>(rest));
    std::memcpy(out + at, rest, (n - at) * sizeof(uint16_t));
  }
#endif
}

// Two conversions through a block of float32 on the stack.
template <CastFn kFirst, CastFn kSecond, size_t kFromBytes, size_t kToBytes>
void cast_through_float(const void* from, void* to, int64_t n) {
  constexpr int64_t kBlock = 512;
  HWY_ALIGN float block[kBlock];
  const auto* in = static_cast<const unsigned char*>(from);
  auto* out = static_cast<unsigned char*>(to);
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = n - begin < kBlock ? n - begin : kBlock;
    kFirst(in + static_cast<size_t>(begin) * kFromBytes, block, count);
    kSecond(block, out + static_cast<size_t>(begin) * kToBytes, count);
  }
}

template <size_t kBytes>
void copy(const void* from, void* to, int64_t n) {
  if (n > 0) std::memcpy(to, from, static_cast<size_t>(n) * kBytes);
}

constexpr CastFn widen(DType dtype) {
  return dtype == DType::kFloat16 ? &widen_float16 : &widen_bfloat16<float>;
}
constexpr CastFn round(DType dtype) {
  return dtype == DType::kFloat16 ? &round_float16 : &round_bfloat16<float>;
}

template <class From, class To>
constexpr CastFn choose_cast() {
  if constexpr (std::is_same_v<From, To>) {
    return &copy<sizeof(From)>;
  } else if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, uint8_t>) {
    return &cast_to_uint8<From>;
  } else {
    return &cast<From, To>;
  }
}

template <class From, class To>
void enter_plain(TileTable& table) {
  table.casts[static_cast<int>(DTypeOf<From>::value)][static_cast<int>(DTypeOf<To>::value)] =
      choose_cast<From, To>();
}

// All conversions between `T` and the 16-bit float `kHalf`.
template <DType kHalf, class T>
void enter_half(TileTable& table) {
  constexpr int kOther = static_cast<int>(DTypeOf<T>::value);
  constexpr int kIndex = static_cast<int>(kHalf);
  if constexpr (std::is_same_v<T, float>) {
    table.casts[kIndex][kOther] = widen(kHalf);
    table.casts[kOther][kIndex] = round(kHalf);
  } else if constexpr (kHalf == DType::kBFloat16 && sizeof(T) >= 4) {
    table.casts[kIndex][kOther] = &widen_bfloat16<T>;
    table.casts[kOther][kIndex] = &round_bfloat16<T>;
  } else {
    table.casts[kIndex][kOther] =
        &cast_through_float<widen(kHalf), choose_cast<float, T>(), 2, sizeof(T)>;
    table.casts[kOther][kIndex] =
        &cast_through_float<choose_cast<T, float>(), round(kHalf), sizeof(T), 2>;
  }
}

template <class From>
void enter_cast(TileTable& table) {
  enter_plain<From, bool>(table);
  enter_plain<From, uint8_t>(table);
  enter_plain<From, int8_t>(table);
  enter_plain<From, int16_t>(table);
  enter_plain<From, int32_t>(table);
  enter_plain<From, int64_t>(table);
  enter_plain<From, float>(table);
  enter_plain<From, double>(table);
  enter_half<DType::kFloat16, From>(table);
  enter_half<DType::kBFloat16, From>(table);
}

}  // namespace

void casts(TileTable& table) {
  enter_cast<bool>(table);
  enter_cast<uint8_t>(table);
  enter_cast<int8_t>(table);
  enter_cast<int16_t>(table);
  enter_cast<int32_t>(table);
  enter_cast<int64_t>(table);
  enter_cast<float>(table);
  enter_cast<double>(table);
  constexpr int kHalf = static_cast<int>(DType::kFloat16);
  constexpr int kBrain = static_cast<int>(DType::kBFloat16);
  table.casts[kHalf][kHalf] = &copy<2>;
  table.casts[kBrain][kBrain] = &copy<2>;
  table.casts[kHalf][kBrain] = &cast_through_float<&widen_float16, &round_bfloat16<float>, 2, 2>;
  table.casts[kBrain][kHalf] = &cast_through_float<&widen_bfloat16<float>, &round_float16, 2, 2>;
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(casts);
void add_casts(TileTable& table) { HWY_DYNAMIC_DISPATCH(casts)(table); }
}  // namespace mindtorch::cpu
#endif
