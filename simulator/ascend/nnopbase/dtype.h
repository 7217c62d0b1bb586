#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mindtorch/backends/ascend/acl_abi.h"
#include "simulator/ascend/core/export.h"

namespace sim {

using DType = aclDataType;

// A set of dtypes, one bit for each.
using Types = uint64_t;

constexpr Types only(DType dtype) { return Types{1} << static_cast<int>(dtype); }
constexpr bool contains(Types types, DType dtype) {
  return dtype >= 0 && (types >> static_cast<int>(dtype) & 1) != 0;
}

// The letters that CANN's documents use for the dtypes of an op.
inline constexpr Types kF = only(ACL_FLOAT) | only(ACL_FLOAT16) | only(ACL_BF16);
inline constexpr Types kI =
    only(ACL_INT8) | only(ACL_UINT8) | only(ACL_INT16) | only(ACL_INT32) | only(ACL_INT64);
inline constexpr Types kU = only(ACL_UINT16) | only(ACL_UINT32) | only(ACL_UINT64);
inline constexpr Types kC = only(ACL_COMPLEX64) | only(ACL_COMPLEX128);
inline constexpr Types kF32 = only(ACL_FLOAT);
inline constexpr Types kF16 = only(ACL_FLOAT16);
inline constexpr Types kBF16 = only(ACL_BF16);
inline constexpr Types kF64 = only(ACL_DOUBLE);
inline constexpr Types kI4 = only(ACL_INT4);
inline constexpr Types kI8 = only(ACL_INT8);
inline constexpr Types kU8 = only(ACL_UINT8);
inline constexpr Types kI16 = only(ACL_INT16);
inline constexpr Types kI32 = only(ACL_INT32);
inline constexpr Types kI64 = only(ACL_INT64);
inline constexpr Types kBool = only(ACL_BOOL);
inline constexpr Types kIndex = kI32 | kI64;
inline constexpr Types kAll = kF | kI | kU | kC | kF64 | kBool;

enum class Category { kBool, kInteger, kFloating, kComplex };

SIM_API size_t item_bytes(DType dtype);  // 0: not a dtype of whole bytes
SIM_API const char* dtype_name(DType dtype);
SIM_API std::string type_names(Types types);
SIM_API Category category(DType dtype);

// The dtype in which two tensors meet; ACL_DT_UNDEFINED when CANN has none for the pair.
SIM_API DType promote(DType a, DType b);
// The same for a tensor and a scalar: inside a category the tensor's dtype wins.
SIM_API DType promote_scalar(DType tensor, DType scalar);
// Whether a result computed in `from` may be stored as `to`.
SIM_API bool castable(DType from, DType to);

}  // namespace sim
