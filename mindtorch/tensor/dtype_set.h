#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch {

// A set of dtypes, one bit each; wide enough for quantised ones, too.
using DTypeSet = uint32_t;

constexpr DTypeSet bit(DType dtype) { return DTypeSet{1} << static_cast<int>(dtype); }
constexpr bool contains(DTypeSet set, DType dtype) { return (set & bit(dtype)) != 0; }

inline constexpr DTypeSet kBoolType = bit(DType::kBool);
inline constexpr DTypeSet kIntTypes = bit(DType::kUInt8) | bit(DType::kInt8) | bit(DType::kInt16) |
                                      bit(DType::kInt32) | bit(DType::kInt64);
inline constexpr DTypeSet kHalfTypes = bit(DType::kFloat16) | bit(DType::kBFloat16);
inline constexpr DTypeSet kFloatTypes = kHalfTypes | bit(DType::kFloat32) | bit(DType::kFloat64);
inline constexpr DTypeSet kRealTypes = kIntTypes | kFloatTypes;
// The common dtypes; those below are taken only where an op or a function says so.
inline constexpr DTypeSet kAllTypes = kBoolType | kRealTypes;
inline constexpr DTypeSet kComplexTypes = bit(DType::kComplex64) | bit(DType::kComplex128);
inline constexpr DTypeSet kAllOrComplex = kAllTypes | kComplexTypes;
inline constexpr DTypeSet kWideUnsignedTypes =
    bit(DType::kUInt16) | bit(DType::kUInt32) | bit(DType::kUInt64);
inline constexpr DTypeSet kFloat8Types = bit(DType::kFloat8E4M3fn) | bit(DType::kFloat8E5M2) |
                                         bit(DType::kFloat8E4M3fnuz) | bit(DType::kFloat8E5M2fnuz) |
                                         bit(DType::kFloat8E8M0fnu);
// Every dtype there is: for ops that move elements and do not look at them.
inline constexpr DTypeSet kAnyType = (DTypeSet{1} << kDTypeCount) - 1;

}  // namespace mindtorch
