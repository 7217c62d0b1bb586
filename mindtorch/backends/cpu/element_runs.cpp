#include "mindtorch/backends/cpu/element_runs.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/element_runs.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "mindtorch/backends/cpu/memory_unit.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// `pattern` holds the element as often as it fits; `bytes` may end within it.
void fill_pattern(uint64_t pattern, uint8_t* to, int64_t bytes) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint64_t> d;
  const hn::Repartition<uint8_t, decltype(d)> d8;
  const auto step = static_cast<int64_t>(hn::Lanes(d8));
  const auto v = hn::BitCast(d8, hn::Set(d, pattern));
  for (; i + 4 * step <= bytes; i += 4 * step) {
    for (int64_t j = 0; j < 4; ++j) hn::StoreU(v, d8, to + i + j * step);
  }
#endif
  for (; i < bytes; i += 8) {
    std::memcpy(to + i, &pattern, static_cast<size_t>(std::min<int64_t>(8, bytes - i)));
  }
}

// Highway reverses no bytes: pairs of them are reversed, and then the two of each pair.
template <typename D>
HWY_INLINE hn::Vec<D> reversed(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return v;
  } else if constexpr (sizeof(hn::TFromD<D>) == 1) {
    const hn::RepartitionToWide<D> pairs;
    const auto turned = hn::Reverse(pairs, hn::BitCast(pairs, v));
    return hn::BitCast(d, hn::Or(hn::ShiftLeft<8>(turned), hn::ShiftRight<8>(turned)));
  } else {
    return hn::Reverse(d, v);
  }
}

template <typename T>
void reverse(const void* from, void* to, int64_t n) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(reversed(d, hn::LoadU(d, in + n - lanes - i)), d, out + i);
  }
  for (; i < n; ++i) std::memcpy(out + i, in + n - 1 - i, sizeof(T));
}

void reverse8(const void* from, void* to, int64_t n) { reverse<uint8_t>(from, to, n); }
void reverse16(const void* from, void* to, int64_t n) { reverse<uint16_t>(from, to, n); }
void reverse32(const void* from, void* to, int64_t n) { reverse<uint32_t>(from, to, n); }
void reverse64(const void* from, void* to, int64_t n) { reverse<uint64_t>(from, to, n); }

template <typename T>
void interleave(const void* const* arrays, int64_t count, void* out, int64_t n) {
  const T* from[4] = {};
  for (int64_t j = 0; j < count; ++j) from[j] = static_cast<const T*>(arrays[j]);
  T* to = static_cast<T*>(out);
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes <= n; i += lanes) {
    const auto a = hn::LoadU(d, from[0] + i);
    const auto b = hn::LoadU(d, from[1] + i);
    if (count == 2) {
      hn::StoreInterleaved2(a, b, d, to + 2 * i);
      continue;
    }
    const auto c = hn::LoadU(d, from[2] + i);
    if (count == 3) {
      hn::StoreInterleaved3(a, b, c, d, to + 3 * i);
    } else {
      hn::StoreInterleaved4(a, b, c, hn::LoadU(d, from[3] + i), d, to + 4 * i);
    }
  }
#endif
  for (; i < n; ++i) {
    for (int64_t j = 0; j < count; ++j) std::memcpy(to + i * count + j, from[j] + i, sizeof(T));
  }
}

void interleave8(const void* const* from, int64_t count, void* to, int64_t n) {
  interleave<uint8_t>(from, count, to, n);
}
void interleave16(const void* const* from, int64_t count, void* to, int64_t n) {
  interleave<uint16_t>(from, count, to, n);
}
void interleave32(const void* const* from, int64_t count, void* to, int64_t n) {
  interleave<uint32_t>(from, count, to, n);
}
void interleave64(const void* const* from, int64_t count, void* to, int64_t n) {
  interleave<uint64_t>(from, count, to, n);
}

// The last element has none behind it that might be read.
template <typename T>
void take_even(const void* from, void* to, int64_t n) {
  const T* in = static_cast<const T*>(from);
  T* out = static_cast<T*>(to);
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (; i + lanes < n; i += lanes) {
    const auto first = hn::LoadU(d, in + 2 * i);
    const auto second = hn::LoadU(d, in + 2 * i + lanes);
    hn::StoreU(hn::ConcatEven(d, second, first), d, out + i);
  }
#endif
  for (; i < n; ++i) std::memcpy(out + i, in + 2 * i, sizeof(T));
}

void take_even8(const void* from, void* to, int64_t n) { take_even<uint8_t>(from, to, n); }
void take_even16(const void* from, void* to, int64_t n) { take_even<uint16_t>(from, to, n); }
void take_even32(const void* from, void* to, int64_t n) { take_even<uint32_t>(from, to, n); }
void take_even64(const void* from, void* to, int64_t n) { take_even<uint64_t>(from, to, n); }

template <typename T>
void space(double base, double step, int64_t first, int64_t turn, T* to, int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> narrow;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto sign = static_cast<double>(turn);
  const auto offsets = hn::Mul(hn::Set(d, sign), hn::Iota(d, 0.0));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto index = hn::Add(hn::Set(d, static_cast<double>(first + i * turn)), offsets);
    const auto number = hn::Add(hn::Set(d, base), hn::Mul(hn::Set(d, step), index));
    if constexpr (sizeof(T) == sizeof(double)) {
      hn::StoreU(number, d, to + i);
    } else {
      hn::StoreU(hn::DemoteTo(narrow, number), narrow, to + i);
    }
  }
  for (; i < n; ++i) to[i] = static_cast<T>(base + step * static_cast<double>(first + i * turn));
}

void space_floats(double base, double step, int64_t first, int64_t turn, float* to, int64_t n) {
  space(base, step, first, turn, to, n);
}
void space_doubles(double base, double step, int64_t first, int64_t turn, double* to, int64_t n) {
  space(base, step, first, turn, to, n);
}

template <typename T>
void count(uint64_t base, uint64_t step, void* out, int64_t n) {
  T* const to = static_cast<T*>(out);
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN T first[hn::MaxLanes(d)];
  for (int64_t j = 0; j < lanes; ++j) {
    first[j] = static_cast<T>(base + step * static_cast<uint64_t>(j));
  }
  auto numbers = hn::Load(d, first);
  const auto by = hn::Set(d, static_cast<T>(step * static_cast<uint64_t>(lanes)));
  for (; i + lanes <= n; i += lanes, numbers = hn::Add(numbers, by)) {
    hn::StoreU(numbers, d, to + i);
  }
#endif
  for (; i < n; ++i) {
    const T number = static_cast<T>(base + step * static_cast<uint64_t>(i));
    std::memcpy(to + i, &number, sizeof(T));
  }
}

void count8(uint64_t base, uint64_t step, void* to, int64_t n) {
  count<uint8_t>(base, step, to, n);
}
void count16(uint64_t base, uint64_t step, void* to, int64_t n) {
  count<uint16_t>(base, step, to, n);
}
void count32(uint64_t base, uint64_t step, void* to, int64_t n) {
  count<uint32_t>(base, step, to, n);
}
void count64(uint64_t base, uint64_t step, void* to, int64_t n) {
  count<uint64_t>(base, step, to, n);
}

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {

HWY_EXPORT(fill_pattern);
HWY_EXPORT(reverse8);
HWY_EXPORT(reverse16);
HWY_EXPORT(reverse32);
HWY_EXPORT(reverse64);
HWY_EXPORT(interleave8);
HWY_EXPORT(interleave16);
HWY_EXPORT(interleave32);
HWY_EXPORT(interleave64);
HWY_EXPORT(take_even8);
HWY_EXPORT(take_even16);
HWY_EXPORT(take_even32);
HWY_EXPORT(take_even64);
HWY_EXPORT(count8);
HWY_EXPORT(count16);
HWY_EXPORT(count32);
HWY_EXPORT(count64);
HWY_EXPORT(space_floats);
HWY_EXPORT(space_doubles);

// Calls body(T{}) with the unsigned type of that size.
template <typename Body>
void visit_size(int64_t element_size, const Body& body) {
  switch (element_size) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    case 8:
      return body(uint64_t{});
    default:
      return body(Bytes16{});
  }
}

template <typename T>
void repeat(const T* from, T* to, int64_t n, int64_t count) {
  const auto fixed = [&]<int64_t kCount>() {
    for (int64_t i = 0; i < n; ++i, to += kCount) {
      for (int64_t j = 0; j < kCount; ++j) to[j] = from[i];
    }
  };
  // Counts known to the compiler become vector stores.
  switch (count) {
    case 2:
      return fixed.template operator()<2>();
    case 3:
      return fixed.template operator()<3>();
    case 4:
      return fixed.template operator()<4>();
    default:
      for (int64_t i = 0; i < n; ++i) to = std::fill_n(to, count, from[i]);
  }
}

}  // namespace

void fill_elements(int64_t element_size, const void* value, void* to, int64_t n) {
  if (element_size == 16) {
    Bytes16 element;
    std::memcpy(&element, value, sizeof(element));
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(static_cast<char*>(to) + i * 16, &element, sizeof(element));
    }
    return;
  }
  uint64_t pattern = 0;
  for (int64_t at = 0; at < 8; at += element_size) {
    std::memcpy(reinterpret_cast<char*>(&pattern) + at, value, static_cast<size_t>(element_size));
  }
  HWY_DYNAMIC_DISPATCH(fill_pattern)(pattern, static_cast<uint8_t*>(to), n * element_size);
}

void reverse_elements(int64_t element_size, const void* from, void* to, int64_t n) {
  switch (element_size) {
    case 1:
      return HWY_DYNAMIC_DISPATCH(reverse8)(from, to, n);
    case 2:
      return HWY_DYNAMIC_DISPATCH(reverse16)(from, to, n);
    case 4:
      return HWY_DYNAMIC_DISPATCH(reverse32)(from, to, n);
    case 8:
      return HWY_DYNAMIC_DISPATCH(reverse64)(from, to, n);
    default:
      for (int64_t i = 0; i < n; ++i) {
        copy_unit<16>(static_cast<const uint8_t*>(from) + (n - 1 - i) * 16,
                      static_cast<uint8_t*>(to) + i * 16);
      }
  }
}

void interleave_elements(
    int64_t element_size, const void* const* from, int64_t count, void* to, int64_t n) {
  switch (element_size) {
    case 1:
      return HWY_DYNAMIC_DISPATCH(interleave8)(from, count, to, n);
    case 2:
      return HWY_DYNAMIC_DISPATCH(interleave16)(from, count, to, n);
    case 4:
      return HWY_DYNAMIC_DISPATCH(interleave32)(from, count, to, n);
    default:
      return HWY_DYNAMIC_DISPATCH(interleave64)(from, count, to, n);
  }
}

void take_every_other(int64_t element_size, const void* from, void* to, int64_t n) {
  switch (element_size) {
    case 1:
      return HWY_DYNAMIC_DISPATCH(take_even8)(from, to, n);
    case 2:
      return HWY_DYNAMIC_DISPATCH(take_even16)(from, to, n);
    case 4:
      return HWY_DYNAMIC_DISPATCH(take_even32)(from, to, n);
    default:
      return HWY_DYNAMIC_DISPATCH(take_even64)(from, to, n);
  }
}

void repeat_elements(int64_t element_size, const void* from, void* to, int64_t n, int64_t count) {
  visit_size(element_size, [&]<typename T>(T) {
    repeat(static_cast<const T*>(from), static_cast<T*>(to), n, count);
  });
}

void count_elements(int64_t element_size, uint64_t base, uint64_t step, void* to, int64_t n) {
  switch (element_size) {
    case 1:
      return HWY_DYNAMIC_DISPATCH(count8)(base, step, to, n);
    case 2:
      return HWY_DYNAMIC_DISPATCH(count16)(base, step, to, n);
    case 4:
      return HWY_DYNAMIC_DISPATCH(count32)(base, step, to, n);
    default:
      return HWY_DYNAMIC_DISPATCH(count64)(base, step, to, n);
  }
}

void space_numbers(double base, double step, int64_t first, int64_t turn, float* to, int64_t n) {
  HWY_DYNAMIC_DISPATCH(space_floats)(base, step, first, turn, to, n);
}
void space_numbers(double base, double step, int64_t first, int64_t turn, double* to, int64_t n) {
  HWY_DYNAMIC_DISPATCH(space_doubles)(base, step, first, turn, to, n);
}

}  // namespace mindtorch::cpu
#endif  // HWY_ONCE
