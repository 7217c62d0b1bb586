#include "mindtorch/backends/cpu/indexed_lines.h"

#include <cmath>
#include <type_traits>

// This file is compiled once per instruction set, for the machine's own conversions of float16.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/indexed_lines.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu {
namespace HWY_NAMESPACE {

template <typename T>
void gather_line(const IndexedLine& line, const void* self, const int64_t* index, void* out) {
  const int64_t place = line.place_step;
  const T* from = static_cast<const T*>(self);
  T* to = static_cast<T*>(out);
  if (line.index_step != 1 || line.other_step != 1) {
    for (int64_t i = 0; i < line.count; ++i) {
      to[i * line.other_step] = from[index[i * line.index_step] * place + i * line.self_step];
    }
  } else if (line.self_step == 0 && place == 1) {
    for (int64_t i = 0; i < line.count; ++i) to[i] = from[index[i]];
  } else {
    for (int64_t i = 0; i < line.count; ++i) to[i] = from[index[i] * place + i * line.self_step];
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

template <Combine kHow, typename T>
HWY_INLINE T combined(T a, T b) {
  if constexpr (kHow == Combine::kSet) {
    return b;
  } else if constexpr (std::is_same_v<T, Half>) {
    return narrowed(combined<kHow>(widened(a), widened(b)));
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(combined<kHow>(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_same_v<T, bool>) {
    return kHow == Combine::kAdd || kHow == Combine::kMax ? a | b : a & b;
  } else if constexpr (kHow == Combine::kAdd || kHow == Combine::kMultiply) {
    using U = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
    const U x = static_cast<U>(a);
    const U y = static_cast<U>(b);
    return static_cast<T>(kHow == Combine::kAdd ? x + y : x * y);
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (std::isnan(a)) return a;
      if (std::isnan(b)) return b;
    }
    return (kHow == Combine::kMax ? a > b : a < b) ? a : b;
  }
}

template <Combine kHow, typename T>
void scatter_line(const IndexedLine& line, void* self, const int64_t* index, const void* values) {
  const int64_t place = line.place_step;
  T* to = static_cast<T*>(self);
  const T* from = static_cast<const T*>(values);
  const auto add = [](T& target, T value) HWY_ATTR { target = combined<kHow>(target, value); };
  if (line.index_step != 1 || line.other_step != 1) {
    for (int64_t i = 0; i < line.count; ++i) {
      add(to[index[i * line.index_step] * place + i * line.self_step], from[i * line.other_step]);
    }
  } else if (line.self_step == 0 && place == 1) {
    for (int64_t i = 0; i < line.count; ++i) add(to[index[i]], from[i]);
  } else {
    for (int64_t i = 0; i < line.count; ++i)
      add(to[index[i] * place + i * line.self_step], from[i]);
  }
}

GatherLineFn FindGatherLine(int64_t element_size_bytes) {
  switch (element_size_bytes) {
    case 1:
      return &gather_line<uint8_t>;
    case 2:
      return &gather_line<uint16_t>;
    case 4:
      return &gather_line<uint32_t>;
    default:
      return &gather_line<uint64_t>;
  }
}

ScatterLineFn FindScatterLine(Combine how, DType dtype) {
  if (how == Combine::kSet) {
    switch (size_bytes(dtype)) {
      case 1:
        return &scatter_line<Combine::kSet, uint8_t>;
      case 2:
        return &scatter_line<Combine::kSet, uint16_t>;
      case 4:
        return &scatter_line<Combine::kSet, uint32_t>;
      default:
        return &scatter_line<Combine::kSet, uint64_t>;
    }
  }
  return visit_dtype(dtype, [how]<typename T>() -> ScatterLineFn {
    switch (how) {
      case Combine::kMultiply:
        return &scatter_line<Combine::kMultiply, T>;
      case Combine::kMax:
        return &scatter_line<Combine::kMax, T>;
      case Combine::kMin:
        return &scatter_line<Combine::kMin, T>;
      default:
        return &scatter_line<Combine::kAdd, T>;
    }
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
ScatterLineFn find_scatter_line(Combine how, DType dtype) {
  return HWY_DYNAMIC_DISPATCH(FindScatterLine)(how, dtype);
}

}  // namespace mindtorch::cpu
#endif
