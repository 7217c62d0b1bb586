// Bitwise functions and shifts, on integers and bool.

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/bits.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "mindtorch/backends/cpu/tiles/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct BitwiseAnd {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::And(a, b);
  }
};
struct BitwiseOr {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Or(a, b);
  }
};
struct BitwiseXor {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Xor(a, b);
  }
};
struct BitwiseNot {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a) const {
    return hn::Not(a);
  }
};
struct BoolNot {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return hn::Xor(a, hn::Set(d, 1));
  }
};

// A count below 0 or beyond the width gives what shifting one bit at a time would give.
struct ShiftLeft {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    using U = std::make_unsigned_t<T>;
    constexpr int kBits = static_cast<int>(sizeof(T) * 8);
    const bool outside = b < 0 || b >= kBits;
    return outside ? T{0} : static_cast<T>(static_cast<U>(a) << (b & (kBits - 1)));
  }
};
struct ShiftRight {
  template <class T>
  HWY_INLINE T operator()(T a, T b) const {
    constexpr int kBits = static_cast<int>(sizeof(T) * 8);
    if constexpr (std::is_signed_v<T>) {
      const bool outside = b < 0 || b >= kBits;
      return static_cast<T>(a >> (outside ? kBits - 1 : b));
    } else {
      return b >= kBits ? T{0} : static_cast<T>(a >> (b & (kBits - 1)));
    }
  }
};

template <class T>
void enter_bits(TileTable& table) {
  constexpr DType kDType = DTypeOf<T>::value;
  table.add(Pointwise::kBitwiseAnd, kDType, &map_tile<BitwiseAnd, T>);
  table.add(Pointwise::kBitwiseOr, kDType, &map_tile<BitwiseOr, T>);
  table.add(Pointwise::kBitwiseXor, kDType, &map_tile<BitwiseXor, T>);
  table.add(Pointwise::kBitwiseNot, kDType, &map_tile<BitwiseNot, T>);
  table.add(Pointwise::kShiftLeft, kDType, &scalar_tile<ShiftLeft, T, 2>);
  table.add(Pointwise::kShiftRight, kDType, &scalar_tile<ShiftRight, T, 2>);
}

}  // namespace

void bits(TileTable& table) {
  enter_bits<uint8_t>(table);
  enter_bits<int8_t>(table);
  enter_bits<int16_t>(table);
  enter_bits<int32_t>(table);
  enter_bits<int64_t>(table);
  table.add(Pointwise::kBitwiseAnd, DType::kBool, &map_tile<BitwiseAnd, uint8_t>);
  table.add(Pointwise::kBitwiseOr, DType::kBool, &map_tile<BitwiseOr, uint8_t>);
  table.add(Pointwise::kBitwiseXor, DType::kBool, &map_tile<BitwiseXor, uint8_t>);
  table.add(Pointwise::kBitwiseNot, DType::kBool, &map_tile<BoolNot, uint8_t>);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(bits);
void add_bits(TileTable& table) { HWY_DYNAMIC_DISPATCH(bits)(table); }
}  // namespace mindtorch::cpu
#endif
