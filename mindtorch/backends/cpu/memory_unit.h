#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mindtorch::cpu {

// An element of 1, 2, 4, 8 or 16 bytes whose meaning does not matter.
using Bytes16 [[gnu::vector_size(16)]] = uint64_t;
template <size_t kSize>
struct UnitOf;
template <>
struct UnitOf<1> {
  using type = uint8_t;
};
template <>
struct UnitOf<2> {
  using type = uint16_t;
};
template <>
struct UnitOf<4> {
  using type = uint32_t;
};
template <>
struct UnitOf<8> {
  using type = uint64_t;
};
template <>
struct UnitOf<16> {
  using type = Bytes16;
};

// The same for elements that are aligned as their parts are.
using Bytes16Unaligned [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = uint64_t;

// Copies one unit; neither address needs to be aligned.
template <size_t kSize>
inline __attribute__((always_inline)) void copy_unit(const uint8_t* from, uint8_t* to) {
  typename UnitOf<kSize>::type value;
  std::memcpy(&value, from, kSize);
  std::memcpy(to, &value, kSize);
}

}  // namespace mindtorch::cpu
