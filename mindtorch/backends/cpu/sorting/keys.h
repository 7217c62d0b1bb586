#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu::sorting {

// Note [Order-preserving keys]
// Every sort and selection works on unsigned keys whose order is torch's order of the values:
// signed integers with the sign bit turned, floats with negative ones mirrored, -0.0 as 0.0 and
// every NaN as the largest key. A descending sort complements the keys, so "smallest key first,
// then lowest index" is the one order all algorithms implement. Keys give their value back except
// for zeros and NaNs, which share a key: their bytes are read again from the input.

template <int kBytes>
struct UnsignedOf;
template <>
struct UnsignedOf<1> {
  using type = uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = uint16_t;
};
template <>
struct UnsignedOf<4> {
  using type = uint32_t;
};
template <>
struct UnsignedOf<8> {
  using type = uint64_t;
};

template <typename T>
using KeyOf = typename UnsignedOf<sizeof(T)>::type;

template <typename T>
inline constexpr bool kIsFloat =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

template <typename T>
inline constexpr KeyOf<T> kSignBit = static_cast<KeyOf<T>>(KeyOf<T>{1} << (8 * sizeof(T) - 1));

// The bits of +infinity; a magnitude above them is NaN. Only for floats.
template <typename T>
constexpr KeyOf<T> infinity_bits() {
  if constexpr (std::is_same_v<T, Half>)
    return 0x7c00;
  else if constexpr (std::is_same_v<T, BFloat16>)
    return 0x7f80;
  else if constexpr (std::is_same_v<T, float>)
    return 0x7f800000u;
  else
    return 0x7ff0000000000000u;
}

// The ascending keys of -0.0 and 0.0, and of every NaN.
template <typename T>
inline constexpr KeyOf<T> kZeroKey = kSignBit<T>;
template <typename T>
inline constexpr KeyOf<T> kNanKey = static_cast<KeyOf<T>>(~KeyOf<T>{0});

// `bits` are the bits of a T. Branch-free, so that loops over it vectorise.
template <typename T>
constexpr KeyOf<T> key_of_bits(KeyOf<T> bits) {
  using Key = KeyOf<T>;
  if constexpr (kIsFloat<T>) {
    using Signed = std::make_signed_t<Key>;
    const Key magnitude = static_cast<Key>(bits & static_cast<Key>(~kSignBit<T>));
    const Key mirror = static_cast<Key>(static_cast<Signed>(bits) >> (8 * sizeof(T) - 1));
    const Key ordered = static_cast<Key>(bits ^ static_cast<Key>(mirror | kSignBit<T>));
    const Key number = magnitude == 0 ? kZeroKey<T> : ordered;
    return magnitude > infinity_bits<T>() ? kNanKey<T> : number;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(bits ^ kSignBit<T>);
  } else {
    return bits;
  }
}

// The bits of the value of `key`; not for the keys of zero and NaN of a float.
template <typename T>
constexpr KeyOf<T> bits_of_key(KeyOf<T> key) {
  using Key = KeyOf<T>;
  if constexpr (kIsFloat<T>) {
    const bool positive = (key & kSignBit<T>) != 0;
    return static_cast<Key>(positive ? key ^ kSignBit<T> : ~key);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(key ^ kSignBit<T>);
  } else {
    return key;
  }
}

// Complements keys when a descending order is wanted.
template <typename Key>
constexpr Key direction_mask(bool descending) {
  return descending ? static_cast<Key>(~Key{0}) : Key{0};
}

// Arrays of keys hold 8-byte values as uint64_t and all smaller ones as uint32_t.
template <typename T>
using WideKey = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

constexpr bool has_long_keys(DType dtype) { return size_bytes(dtype) == 8; }

}  // namespace mindtorch::cpu::sorting
