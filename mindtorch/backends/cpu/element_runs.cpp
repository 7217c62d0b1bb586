#include "mindtorch/backends/cpu/element_runs.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/element_runs.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

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

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
namespace {

HWY_EXPORT(reverse8);
HWY_EXPORT(reverse16);
HWY_EXPORT(reverse32);
HWY_EXPORT(reverse64);

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
    default:
      return body(uint64_t{});
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
  // The first block is then copied on and on: memcpy has the widest stores of the machine, and its
  // source stays in the first-level cache.
  constexpr int64_t kBlockBytes = 4096;
  visit_size(element_size, [&]<typename T>(T element) {
    std::memcpy(&element, value, sizeof(T));
    constexpr int64_t kBlock = kBlockBytes / static_cast<int64_t>(sizeof(T));
    T* out = static_cast<T*>(to);
    std::fill_n(out, std::min(n, kBlock), element);
    for (int64_t done = kBlock; done < n; done += kBlock) {
      std::memcpy(out + done, out, static_cast<size_t>(std::min(n - done, kBlock)) * sizeof(T));
    }
  });
}

void reverse_elements(int64_t element_size, const void* from, void* to, int64_t n) {
  switch (element_size) {
    case 1:
      return HWY_DYNAMIC_DISPATCH(reverse8)(from, to, n);
    case 2:
      return HWY_DYNAMIC_DISPATCH(reverse16)(from, to, n);
    case 4:
      return HWY_DYNAMIC_DISPATCH(reverse32)(from, to, n);
    default:
      return HWY_DYNAMIC_DISPATCH(reverse64)(from, to, n);
  }
}

void repeat_elements(int64_t element_size, const void* from, void* to, int64_t n, int64_t count) {
  visit_size(element_size, [&]<typename T>(T) {
    repeat(static_cast<const T*>(from), static_cast<T*>(to), n, count);
  });
}

}  // namespace mindtorch::cpu
#endif  // HWY_ONCE
