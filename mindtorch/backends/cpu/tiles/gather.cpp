// Strided gather and scatter. The elements come from far apart, so the loads are scalar; what
// counts is that four of them are under way at a time. Strides of 0, of one and of two elements are
// common enough to be worth their own loops.

#include <cstring>

#include "mindtorch/backends/cpu/element_runs.h"
#include "mindtorch/backends/cpu/memory_unit.h"
#include "mindtorch/backends/cpu/tiles/table.h"

namespace mindtorch::cpu {
namespace {

template <class T>
T load(const unsigned char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void gather(const void* from, int64_t stride_bytes, void* to, int64_t n) {
  const auto* in = static_cast<const unsigned char*>(from);
  T* out = static_cast<T*>(to);
  if (n <= 0) return;
  if (stride_bytes == static_cast<int64_t>(sizeof(T))) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  if (stride_bytes == 0) {
    const T value = load<T>(in);
    for (int64_t i = 0; i < n; ++i) out[i] = value;
    return;
  }
  if (sizeof(T) <= 8 && stride_bytes == 2 * static_cast<int64_t>(sizeof(T))) {
    take_every_other(sizeof(T), from, to, n);
    return;
  }
  int64_t i = 0;
  for (; i + 4 <= n; i += 4, in += 4 * stride_bytes) {
    const T v0 = load<T>(in);
    const T v1 = load<T>(in + stride_bytes);
    const T v2 = load<T>(in + 2 * stride_bytes);
    const T v3 = load<T>(in + 3 * stride_bytes);
    out[i] = v0;
    out[i + 1] = v1;
    out[i + 2] = v2;
    out[i + 3] = v3;
  }
  for (; i < n; ++i, in += stride_bytes) out[i] = load<T>(in);
}

template <class T>
void scatter(const void* from, void* to, int64_t stride_bytes, int64_t n) {
  const T* in = static_cast<const T*>(from);
  auto* out = static_cast<unsigned char*>(to);
  if (n <= 0) return;
  if (stride_bytes == static_cast<int64_t>(sizeof(T))) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
    return;
  }
  for (int64_t i = 0; i < n; ++i, out += stride_bytes) std::memcpy(out, in + i, sizeof(T));
}

}  // namespace

void add_gathers(TileTable& table) {
  table.gathers[0] = &gather<uint8_t>;
  table.gathers[1] = &gather<uint16_t>;
  table.gathers[2] = &gather<uint32_t>;
  table.gathers[3] = &gather<uint64_t>;
  table.gathers[4] = &gather<Bytes16Unaligned>;
  table.scatters[4] = &scatter<Bytes16Unaligned>;
  table.scatters[0] = &scatter<uint8_t>;
  table.scatters[1] = &scatter<uint16_t>;
  table.scatters[2] = &scatter<uint32_t>;
  table.scatters[3] = &scatter<uint64_t>;
}

}  // namespace mindtorch::cpu
