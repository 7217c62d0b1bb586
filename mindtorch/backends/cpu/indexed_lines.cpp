#include "mindtorch/backends/cpu/indexed_lines.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>
#include <type_traits>

#include "mindtorch/backends/cpu/memory_unit.h"
#include "mindtorch/backends/cpu/tile.h"

// This file is compiled once per instruction set, for the machine's own conversions of float16.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/indexed_lines.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Several elements are under way at a time; each waits for memory more than for anything else.
#define MT_UNROLL _Pragma("GCC unroll 4")

// out[i] = at(i). The machine can load more often than it can store, so small elements are put
// together first.
template <typename T, typename At>
HWY_INLINE void store_all(T* out, int64_t count, const At& at) {
  constexpr int64_t kPack = static_cast<int64_t>(sizeof(uint64_t) / sizeof(T));
  int64_t i = 0;
  if constexpr (kPack > 1 && std::endian::native == std::endian::little) {
    MT_UNROLL for (; i + kPack <= count; i += kPack) {
      uint64_t word = at(i);
      for (int64_t k = 1; k < kPack; ++k) {
        word |= uint64_t{at(i + k)} << (static_cast<int64_t>(sizeof(T)) * 8 * k);
      }
      std::memcpy(out + i, &word, sizeof(word));
    }
  }
  for (; i < count; ++i) out[i] = at(i);
}

template <typename T>
void gather_line(const IndexedLine& line, const void* self, const int64_t* index, void* out) {
  // Copies, since T may be any integer: a store could change what `line` refers to.
  const auto [count, place, self_step, index_step, other_step, size] = line;
  const T* from = static_cast<const T*>(self);
  T* to = static_cast<T*>(out);
  if (index_step != 1 || other_step != 1) {
    MT_UNROLL for (int64_t i = 0; i < count; ++i) {
      to[i * other_step] = from[index[i * index_step] * place + i * self_step];
    }
  } else if (self_step == 0 && place == 1) {
    store_all(to, count, [=](int64_t i) HWY_ATTR { return from[index[i]]; });
  } else {
    store_all(to, count, [=, place = place, self_step = self_step](int64_t i) HWY_ATTR {
      return from[index[i] * place + i * self_step];
    });
  }
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
HWY_INLINE float widened(Half value) {
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(value.bits)));
}
HWY_INLINE Half narrowed(float value) {
  const __m128i bits = _mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_NO_EXC);
  return Half::from_bits(static_cast<uint16_t>(_mm_cvtsi128_si32(bits)));
}
#else
HWY_INLINE float widened(Half value) { return value; }
HWY_INLINE Half narrowed(float value) { return Half(value); }
#endif
HWY_INLINE float widened(BFloat16 value) { return value; }

template <Combine kHow, typename T>
HWY_INLINE T combined(T a, T b) {
  if constexpr (kHow == Combine::kSet) {
    return b;
  } else if constexpr (std::is_same_v<T, Half>) {
    return narrowed(combined<kHow>(widened(a), widened(b)));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(combined<kHow>(widened(a), widened(b)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return kHow == Combine::kAdd || kHow == Combine::kMax ? a | b : a & b;
  } else if constexpr (kHow == Combine::kAdd || kHow == Combine::kMultiply) {
    using U = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    const U x = static_cast<U>(a);
    const U y = static_cast<U>(b);
    return static_cast<T>(kHow == Combine::kAdd ? x + y : x * y);
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (HWY_UNLIKELY(b != b)) return b;
    }
    return (kHow == Combine::kMax ? a < b : a > b) ? b : a;  // a where that is NaN
  }
}

// Values of S fall on elements of T: the same type, or a 16-bit float on a float32.
template <Combine kHow, typename T, typename S = T>
void scatter_line(const IndexedLine& line, void* self, const int64_t* index, const void* values) {
  const auto [count, place, self_step, index_step, other_step, size] = line;
  T* to = static_cast<T*>(self);
  const S* from = static_cast<const S*>(values);
  const auto add = [](T& target, S value) HWY_ATTR {
    if constexpr (std::is_same_v<S, T>) {
      target = combined<kHow>(target, value);
    } else {
      target = combined<kHow>(target, widened(value));
    }
  };
  if (index_step != 1 || other_step != 1) {
    for (int64_t i = 0; i < count; ++i) {
      add(to[index[i * index_step] * place + i * self_step], from[i * other_step]);
    }
  } else if (self_step == 0 && place == 1) {
    for (int64_t i = 0; i < count; ++i) add(to[index[i]], from[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) add(to[index[i] * place + i * self_step], from[i]);
  }
}

// The float32 that a 16-bit float would hold.
HWY_INLINE float rounded_to(Half, float value) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_NO_EXC)));
#else
  return Half(value);
#endif
}
HWY_INLINE float rounded_to(BFloat16, float value) {
  // NaN stays one: sums of bfloat16 leave the lower half of its bits zero.
  const hn::CappedTag<uint32_t, 1> d;
  const hn::CappedTag<float, 1> df;
  const auto bits = hn::BitCast(d, hn::Set(df, value));
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto sum = hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fff)));
  return hn::GetLane(hn::BitCast(df, hn::And(sum, hn::Set(d, 0xffff0000u))));
}

// A row of 16-bit floats as float32. Whole vectors, of which the last may overlap the one
// before; rows shorter than that go element by element.
template <typename T>
void widen_row(const T* from, float* to, int64_t n) {
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::Rebind<uint16_t, decltype(d)> d16;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* bits = reinterpret_cast<const uint16_t*>(from);
  const auto widen = [&](int64_t at) HWY_ATTR {
    const auto narrow = hn::LoadU(d16, bits + at);
    if constexpr (std::is_same_v<T, Half>) {
      const hn::Rebind<hwy::float16_t, decltype(d)> dh;
      hn::StoreU(hn::PromoteTo(d, hn::BitCast(dh, narrow)), d, to + at);
    } else {
      const hn::RebindToUnsigned<decltype(d)> d32;
      hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(d32, narrow))), d, to + at);
    }
  };
  if (n >= lanes) {
    for (int64_t at = 0; at + lanes <= n; at += lanes) widen(at);
    if (n % lanes != 0) widen(n - lanes);
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) to[i] = widened(from[i]);
}

// A dense line of 16-bit floats, as float32 on the way.
template <Combine kHow, typename T, bool kOnce>
void scatter_dense_line(const IndexedLine& line,
                        void* self,
                        const int64_t* index,
                        const void* values) {
  constexpr int64_t kMost = 4096;
  constexpr int64_t kBlock = 1024;
  HWY_ALIGN float wide[kMost];
  HWY_ALIGN float block[kBlock];
  widen_row(static_cast<const T*>(self), wide, line.size);
  for (int64_t begin = 0; begin < line.count; begin += kBlock) {
    const int64_t n = std::min(kBlock, line.count - begin);
    const int64_t* at = index + begin;
    widen_row(static_cast<const T*>(values) + begin, block, n);
    MT_UNROLL for (int64_t i = 0; i < n; ++i) {
      const float value = combined<kHow>(wide[at[i]], block[i]);
      wide[at[i]] = kOnce ? value : rounded_to(T(), value);
    }
  }
  find_cast(DType::kFloat32, DTypeOf<T>::value)(wide, self, line.size);
}
template <Combine kHow, typename T>
void scatter_half_line(const IndexedLine& line,
                       void* self,
                       const int64_t* index,
                       const void* values) {
  if (line.is_dense()) return scatter_dense_line<kHow, T, false>(line, self, index, values);
  scatter_line<kHow, T>(line, self, index, values);
}
#undef MT_UNROLL

GatherLineFn FindGatherLine(int64_t element_size_bytes) {
  switch (element_size_bytes) {
    case 1:
      return &gather_line<uint8_t>;
    case 2:
      return &gather_line<uint16_t>;
    case 4:
      return &gather_line<uint32_t>;
    case 8:
      return &gather_line<uint64_t>;
    default:
      return &gather_line<Bytes16Unaligned>;
  }
}

// make(Combine) with the number as a type.
template <typename Make>
ScatterLineFn with_combine(Combine how, const Make& make) {
  switch (how) {
    case Combine::kMultiply:
      return make(std::integral_constant<Combine, Combine::kMultiply>());
    case Combine::kMax:
      return make(std::integral_constant<Combine, Combine::kMax>());
    case Combine::kMin:
      return make(std::integral_constant<Combine, Combine::kMin>());
    default:
      return make(std::integral_constant<Combine, Combine::kAdd>());
  }
}

ScatterLineFn FindScatterLine(Combine how, DType self, DType values, bool rounds_once) {
  if (how == Combine::kSet) {
    switch (size_bytes(self)) {
      case 1:
        return &scatter_line<Combine::kSet, uint8_t>;
      case 2:
        return &scatter_line<Combine::kSet, uint16_t>;
      case 4:
        return &scatter_line<Combine::kSet, uint32_t>;
      case 8:
        return &scatter_line<Combine::kSet, uint64_t>;
      default:
        return &scatter_line<Combine::kSet, Bytes16Unaligned>;
    }
  }
  return with_combine(how, [&](auto constant) -> ScatterLineFn {
    constexpr Combine kHow = decltype(constant)::value;
    if (self == DType::kFloat32 && values == DType::kFloat16) {
      return &scatter_line<kHow, float, Half>;
    }
    if (self == DType::kFloat32 && values == DType::kBFloat16) {
      return &scatter_line<kHow, float, BFloat16>;
    }
    if constexpr (kHow == Combine::kAdd || kHow == Combine::kMultiply) {
      if (self == DType::kComplex64) return &scatter_line<kHow, std::complex<float>>;
      if (self == DType::kComplex128) return &scatter_line<kHow, std::complex<double>>;
    }
    return visit_dtype(self, [&]<typename T>() -> ScatterLineFn {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
        return rounds_once ? &scatter_dense_line<kHow, T, true> : &scatter_half_line<kHow, T>;
      } else {
        return &scatter_line<kHow, T>;
      }
    });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace mindtorch::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(FindGatherLine);
HWY_EXPORT(FindScatterLine);

GatherLineFn find_gather_line(int64_t element_size_bytes) {
  return HWY_DYNAMIC_DISPATCH(FindGatherLine)(element_size_bytes);
}
ScatterLineFn find_scatter_line(Combine how, DType self, DType values, bool rounds_once) {
  return HWY_DYNAMIC_DISPATCH(FindScatterLine)(how, self, values, rounds_once);
}

}  // namespace mindtorch::cpu
#endif
