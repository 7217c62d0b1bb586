// Compiled once for each instruction set, by including itself through foreach_target.h.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/runs.cpp"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
//
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "mindtorch/backends/cpu/memory_unit.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/processors.h"
#include "mindtorch/backends/cpu/runs.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

// Any address will do. Read and written through pointers: GCC copies what memcpy gets of vectors
// wider than 16 bytes through the stack.
template <size_t kBytes>
using VectorOf [[gnu::vector_size(kBytes), gnu::aligned(1), gnu::may_alias]] = uint8_t;
#if HWY_TARGET <= HWY_AVX3
constexpr size_t kVectorBytes = 64;
#elif HWY_TARGET <= HWY_AVX2
constexpr size_t kVectorBytes = 32;
#else
constexpr size_t kVectorBytes = 16;
#endif
constexpr int64_t kLineBytes = 64;

struct Line {
  VectorOf<kVectorBytes> parts[kLineBytes / kVectorBytes];
};
struct QuarterLine {
  VectorOf<16> parts[1];
};

template <typename Vectors>
inline void move(const uint8_t* from, uint8_t* to) {
  const auto* const in = reinterpret_cast<const Vectors*>(from);
  auto* const out = reinterpret_cast<Vectors*>(to);
  Vectors value;
  for (size_t i = 0; i < std::size(value.parts); ++i) value.parts[i] = in->parts[i];
  for (size_t i = 0; i < std::size(value.parts); ++i) out->parts[i] = value.parts[i];
}
template <>
inline void move<uint64_t>(const uint8_t* from, uint8_t* to) {
  copy_unit<8>(from, to);
}
template <>
inline void move<uint32_t>(const uint8_t* from, uint8_t* to) {
  copy_unit<4>(from, to);
}

// Any length of at least one vector: the last one reaches back.
template <typename Vector>
inline void copy_by(const uint8_t* from, uint8_t* to, int64_t bytes) {
  constexpr auto kStep = static_cast<int64_t>(sizeof(Vector));
  for (int64_t i = 0; i < bytes - kStep; i += kStep) move<Vector>(from + i, to + i);
  move<Vector>(from + bytes - kStep, to + bytes - kStep);
}

inline void copy_short(const uint8_t* from, uint8_t* to, int64_t bytes) {
  if (bytes >= 64) return copy_by<Line>(from, to, bytes);
  if (bytes >= 16) return copy_by<QuarterLine>(from, to, bytes);
  if (bytes >= 8) return copy_by<uint64_t>(from, to, bytes);
  if (bytes >= 4) return copy_by<uint32_t>(from, to, bytes);
  for (int64_t i = 0; i < bytes; ++i) to[i] = from[i];
}

template <size_t kSize>
void copy_units(const Runs& runs) {
  for (int64_t i = 0; i < runs.count; ++i) {
    copy_unit<kSize>(runs.from + i * runs.from_step, runs.to + i * runs.to_step);
  }
}

void copy(const Runs& runs, int64_t bytes) {
  switch (bytes) {
    case 1:
      return copy_units<1>(runs);
    case 2:
      return copy_units<2>(runs);
    case 4:
      return copy_units<4>(runs);
    case 8:
      return copy_units<8>(runs);
    case 16:
      return copy_units<16>(runs);
    default:
      break;
  }
  const uint8_t* from = runs.from;
  uint8_t* to = runs.to;
  for (int64_t i = 0; i < runs.count; ++i, from += runs.from_step, to += runs.to_step) {
    copy_short(from, to, bytes);
  }
}

void fill(const Runs& runs, int64_t element_size, int64_t bytes) {
  const uint8_t* from = runs.from;
  uint8_t* to = runs.to;
  for (int64_t i = 0; i < runs.count; ++i, from += runs.from_step, to += runs.to_step) {
    if (bytes < 64 || 64 % element_size != 0) {
      for (int64_t at = 0; at < bytes; at += element_size) copy_short(from, to + at, element_size);
      continue;
    }
    uint8_t pattern[64];
    for (int64_t at = 0; at < 64; at += element_size) copy_short(from, pattern + at, element_size);
    const Line line = *reinterpret_cast<const Line*>(pattern);
    const auto store = [&](uint8_t* at) HWY_ATTR {
      auto* const out = reinterpret_cast<Line*>(at);
      for (size_t k = 0; k < std::size(line.parts); ++k) out->parts[k] = line.parts[k];
    };
    for (int64_t at = 0; at < bytes - kLineBytes; at += kLineBytes) store(to + at);
    store(to + bytes - kLineBytes);  // begins at a whole element
  }
}

void stream(const Runs& runs, int64_t bytes) {
  const uint8_t* from = runs.from;
  uint8_t* to = runs.to;
  for (int64_t i = 0; i < runs.count; ++i, from += runs.from_step, to += runs.to_step) {
    const auto misaligned = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % 64);
    int64_t at = misaligned == 0 ? 0 : std::min(bytes, 64 - misaligned);
    copy_short(from, to, at);
#if HWY_TARGET == HWY_SCALAR
    for (; at + 64 <= bytes; at += 64) move<Line>(from + at, to + at);
#else
    constexpr hwy::HWY_NAMESPACE::CappedTag<uint8_t, 64> d;
    constexpr auto kStep = static_cast<int64_t>(hwy::HWY_NAMESPACE::MaxLanes(d));
    for (; at + 64 <= bytes; at += 64) {
      for (int64_t part = at; part < at + 64; part += kStep) {
        hwy::HWY_NAMESPACE::Stream(hwy::HWY_NAMESPACE::LoadU(d, from + part), d, to + part);
      }
    }
#endif
    copy_short(from + at, to + at, bytes - at);
  }
#if HWY_TARGET != HWY_SCALAR
  hwy::FlushStream();
#endif
}

}  // namespace
}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {

HWY_EXPORT(copy);
HWY_EXPORT(fill);
HWY_EXPORT(stream);

bool exceeds_caches(int64_t bytes) {
  static const int64_t limit = last_level_cache_bytes() / 4 * 3;
  return bytes > limit;
}

namespace {

// From so many bytes on the start of a string instruction does not matter.
constexpr int64_t kStringBytes = 8 << 10;

bool uses_strings(int64_t bytes) {
  static const bool is_fast = has_fast_string_copies();
  return bytes >= kStringBytes && is_fast;
}

void copy_by_strings([[maybe_unused]] const Runs& runs, [[maybe_unused]] int64_t bytes) {
#if defined(__x86_64__)
  for (int64_t i = 0; i < runs.count; ++i) {
    const uint8_t* from = runs.from + i * runs.from_step;
    uint8_t* to = runs.to + i * runs.to_step;
    int64_t left = bytes;
    asm volatile("rep movsb" : "+S"(from), "+D"(to), "+c"(left) : : "memory");
  }
#endif
}

}  // namespace

void copy_runs(const Runs& runs, int64_t bytes) {
  if (uses_strings(bytes)) return copy_by_strings(runs, bytes);
  if (bytes <= kCachedBytes) return HWY_DYNAMIC_DISPATCH(copy)(runs, bytes);
  for (int64_t i = 0; i < runs.count; ++i) {
    std::memcpy(runs.to + i * runs.to_step, runs.from + i * runs.from_step,
                static_cast<size_t>(bytes));
  }
}

void clear_run(void* to, int64_t bytes) {
  constexpr uint64_t kZero[8] = {};
  constexpr int64_t kShort = 32 << 10;
  if (bytes < kShort || bytes > kCachedBytes) {
    std::memset(to, 0, static_cast<size_t>(bytes));
    return;
  }
  const Runs run = {reinterpret_cast<const uint8_t*>(kZero), 0, static_cast<uint8_t*>(to), 0, 1};
  HWY_DYNAMIC_DISPATCH(fill)(run, 1, bytes);
}

void copy_bytes(const void* from, void* to, int64_t bytes) {
  const bool streams = exceeds_caches(2 * bytes);
  parallel_for(0, bytes, kCopyGrainBytes, [&](int64_t begin, int64_t end) {
    const Runs part = {static_cast<const uint8_t*>(from) + begin, 0,
                       static_cast<uint8_t*>(to) + begin, 0, 1};
    streams ? stream_runs(part, end - begin) : copy_runs(part, end - begin);
  });
}

void fill_runs(const Runs& runs, int64_t element_size, int64_t bytes) {
  HWY_DYNAMIC_DISPATCH(fill)(runs, element_size, bytes);
}

void stream_runs(const Runs& runs, int64_t bytes) {
  uses_strings(bytes) ? copy_by_strings(runs, bytes) : HWY_DYNAMIC_DISPATCH(stream)(runs, bytes);
}

}  // namespace mindtorch::cpu
#endif  // HWY_ONCE
