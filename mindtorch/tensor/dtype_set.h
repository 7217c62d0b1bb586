#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch {

// A set of dtypes, one bit each; wide enough for complex and quantised ones.
using DTypeSet = uint32_t;

constexpr DTypeSet bit(DType dtype) { return DTypeSet{1} << static_cast<int>(dtype); }
constexpr bool contains(DTypeSet set, DType dtype) { return (set & bit(dtype)) != 0; }

inline constexpr DTypeSet kBoolType = bit(DType::kBool);
inline constexpr DTypeSet kIntTypes = bit(DType::kUInt8) | bit(DType::kInt8) | bit(DType::kInt16) |
                                      bit(DType::kInt32) | bit(DType::kInt64);
inline constexpr DTypeSet kHalfTypes = bit(DType::kFloat16) | bit(DType::kBFloat16);
inline constexpr DTypeSet kFloatTypes = kHalfTypes | bit(DType::kFloat32) | bit(DType::kFloat64);
inline constexpr DTypeSet kRealTypes = kIntTypes | kFloatTypes;
inline constexpr DTypeSet kAllTypes = kBoolType | kRealTypes;

}  // namespace mindtorch
