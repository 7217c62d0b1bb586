#pragma once

#include "mindtorch/ops/registry.h"
#include "mindtorch/tensor/dtype_set.h"

// Which dtypes CANN's ops take, and what to do about the others.
namespace mindtorch::ascend {

using DTypes = DTypeSet;

inline constexpr DTypes kHalves = bit(DType::kFloat16) | bit(DType::kBFloat16);
inline constexpr DTypes kFloats = kHalves | bit(DType::kFloat32);  // "F" in CANN's documents
inline constexpr DTypes kDouble = bit(DType::kFloat64);
inline constexpr DTypes kI8 = bit(DType::kInt8);
inline constexpr DTypes kU8 = bit(DType::kUInt8);
inline constexpr DTypes kI32 = bit(DType::kInt32);
inline constexpr DTypes kI64 = bit(DType::kInt64);
inline constexpr DTypes kInts = kI8 | kU8 | bit(DType::kInt16) | kI32 | kI64;  // "I"
inline constexpr DTypes kBool = bit(DType::kBool);
inline constexpr DTypes kAny = kFloats | kDouble | kInts | kBool;
inline constexpr DTypes kComplex = kComplexTypes;  // "C"
inline constexpr DTypes kAnyOrComplex = kAny | kComplex;

// The cubeMathType of CANN's products: compute in the dtype of the operands.
inline constexpr int8_t kKeepDtype = 0;
// That of products of matrices, as the program wants them: float32 may keep ten bits after the
// point; other dtypes are as they are.
int8_t float32_math();
// The chips before the 910B multiply matrices of float32 with the bits of float16 only.
ops::KernelStatement& takes_products(ops::KernelStatement&& kernel);

// The dtype to compute in, on the device, for an op that takes `taken`: `dtype`, or a wider one
// that gives the same result once it is cast back. None: throws NotImplementedError.
DType computable(const ops::Launch& on, const char* op, DType dtype, DTypes taken);

// Throws NotImplementedError: "Could not run 'mm' on device npu:0 for torch.int64: <reason>".
[[noreturn]] void refuse(const ops::Launch& on, const char* op, DType dtype, const char* reason);

}  // namespace mindtorch::ascend
