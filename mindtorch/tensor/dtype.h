#pragma once

#include <complex>
#include <cstdint>
#include <string_view>

#include "mindtorch/base/error.h"
#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/float16.h"
#include "mindtorch/tensor/float8.h"

namespace mindtorch {

// Element types. The values index kernel tables; they are pickled by name, never by number.
enum class DType : uint8_t {
  // What every kernel of numbers takes.
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  // What only those kernels take that say so (Kernel::takes).
  kComplex32,
  kComplex64,
  kComplex128,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat8E4M3fn,
  kFloat8E5M2,
  kFloat8E4M3fnuz,
  kFloat8E5M2fnuz,
  kFloat8E8M0fnu,
};
inline constexpr int kDTypeCount = 21;
// The dtypes of the first kind have numbers below this one.
inline constexpr int kCommonDTypeCount = 10;
constexpr bool is_common(DType dtype) { return static_cast<int>(dtype) < kCommonDTypeCount; }

// Ordered as promotion goes up.
enum class DTypeKind : uint8_t { kBool, kInteger, kFloat, kComplex };

struct DTypeInfo {
  std::string_view name;         // torch's spelling: "float32"
  std::string_view legacy_name;  // the storage and tensor class prefix: "Float"
  uint8_t size_bytes;
  DTypeKind kind;
  bool is_signed;
};

inline constexpr DTypeInfo kDTypeInfo[kDTypeCount] = {
    {"bool", "Bool", 1, DTypeKind::kBool, false},
    {"uint8", "Byte", 1, DTypeKind::kInteger, false},
    {"int8", "Char", 1, DTypeKind::kInteger, true},
    {"int16", "Short", 2, DTypeKind::kInteger, true},
    {"int32", "Int", 4, DTypeKind::kInteger, true},
    {"int64", "Long", 8, DTypeKind::kInteger, true},
    {"float16", "Half", 2, DTypeKind::kFloat, true},
    {"bfloat16", "BFloat16", 2, DTypeKind::kFloat, true},
    {"float32", "Float", 4, DTypeKind::kFloat, true},
    {"float64", "Double", 8, DTypeKind::kFloat, true},
    {"complex32", "ComplexHalf", 4, DTypeKind::kComplex, true},
    {"complex64", "ComplexFloat", 8, DTypeKind::kComplex, true},
    {"complex128", "ComplexDouble", 16, DTypeKind::kComplex, true},
    {"uint16", "UInt16", 2, DTypeKind::kInteger, false},
    {"uint32", "UInt32", 4, DTypeKind::kInteger, false},
    {"uint64", "UInt64", 8, DTypeKind::kInteger, false},
    {"float8_e4m3fn", "Float8_e4m3fn", 1, DTypeKind::kFloat, true},
    {"float8_e5m2", "Float8_e5m2", 1, DTypeKind::kFloat, true},
    {"float8_e4m3fnuz", "Float8_e4m3fnuz", 1, DTypeKind::kFloat, true},
    {"float8_e5m2fnuz", "Float8_e5m2fnuz", 1, DTypeKind::kFloat, true},
    {"float8_e8m0fnu", "Float8_e8m0fnu", 1, DTypeKind::kFloat, true},
};

constexpr const DTypeInfo& info(DType dtype) { return kDTypeInfo[static_cast<int>(dtype)]; }
constexpr int64_t size_bytes(DType dtype) { return info(dtype).size_bytes; }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
constexpr bool is_floating_point(DType dtype) { return info(dtype).kind == DTypeKind::kFloat; }
constexpr bool is_complex(DType dtype) { return info(dtype).kind == DTypeKind::kComplex; }
constexpr bool is_integral(DType dtype, bool include_bool = false) {
  return info(dtype).kind == DTypeKind::kInteger || (include_bool && dtype == DType::kBool);
}
constexpr bool is_signed(DType dtype) { return info(dtype).is_signed; }
constexpr bool is_float8(DType dtype) { return is_floating_point(dtype) && size_bytes(dtype) == 1; }
// Gradients flow through floats and complex numbers.
constexpr bool is_differentiable(DType dtype) { return info(dtype).kind >= DTypeKind::kFloat; }
// The dtype of the parts of a complex number; other dtypes are their own.
constexpr DType real_dtype(DType dtype) {
  return dtype == DType::kComplex32    ? DType::kFloat16
         : dtype == DType::kComplex64  ? DType::kFloat32
         : dtype == DType::kComplex128 ? DType::kFloat64
                                       : dtype;
}
// The complex dtype of such parts: float64 becomes complex128, float16 complex32, others complex64.
constexpr DType complex_dtype(DType dtype) {
  if (is_complex(dtype)) return dtype;
  return dtype == DType::kFloat64   ? DType::kComplex128
         : dtype == DType::kFloat16 ? DType::kComplex32
                                    : DType::kComplex64;
}

// "Float", "Long", ...: how torch's error texts name a dtype.
constexpr std::string_view legacy_name(DType dtype) { return info(dtype).legacy_name; }

// The smallest dtype both can be converted to without leaving their category.
MT_API DType promote_types(DType a, DType b);
// False where torch refuses "result type X can't be cast to the desired output type Y".
MT_API bool can_cast(DType from, DType to);

// The dtype of float literals and of integer ops that give floats. Process-wide, like torch's.
MT_API DType default_dtype();
MT_API void set_default_dtype(DType dtype);

// float16 parts, real first.
struct ComplexHalf {
  Half real;
  Half imag;
};

template <DType kDType>
struct CppType;
template <typename T>
struct DTypeOf;
#define MT_DTYPE_PAIR(dtype, cpp_type)    \
  template <>                             \
  struct CppType<dtype> {                 \
    using type = cpp_type;                \
  };                                      \
  template <>                             \
  struct DTypeOf<cpp_type> {              \
    static constexpr DType value = dtype; \
  };
MT_DTYPE_PAIR(DType::kBool, bool)
MT_DTYPE_PAIR(DType::kUInt8, uint8_t)
MT_DTYPE_PAIR(DType::kInt8, int8_t)
MT_DTYPE_PAIR(DType::kInt16, int16_t)
MT_DTYPE_PAIR(DType::kInt32, int32_t)
MT_DTYPE_PAIR(DType::kInt64, int64_t)
MT_DTYPE_PAIR(DType::kFloat16, Half)
MT_DTYPE_PAIR(DType::kBFloat16, BFloat16)
MT_DTYPE_PAIR(DType::kFloat32, float)
MT_DTYPE_PAIR(DType::kFloat64, double)
MT_DTYPE_PAIR(DType::kComplex32, ComplexHalf)
MT_DTYPE_PAIR(DType::kComplex64, std::complex<float>)
MT_DTYPE_PAIR(DType::kComplex128, std::complex<double>)
MT_DTYPE_PAIR(DType::kUInt16, uint16_t)
MT_DTYPE_PAIR(DType::kUInt32, uint32_t)
MT_DTYPE_PAIR(DType::kUInt64, uint64_t)
MT_DTYPE_PAIR(DType::kFloat8E4M3fn, Float8E4M3fn)
MT_DTYPE_PAIR(DType::kFloat8E5M2, Float8E5M2)
MT_DTYPE_PAIR(DType::kFloat8E4M3fnuz, Float8E4M3fnuz)
MT_DTYPE_PAIR(DType::kFloat8E5M2fnuz, Float8E5M2fnuz)
MT_DTYPE_PAIR(DType::kFloat8E8M0fnu, Float8E8M0fnu)
#undef MT_DTYPE_PAIR

// Calls `body.template operator()<T>()` with the C++ type of `dtype`, one of the common ones. Use
// it in .cpp files only: every use instantiates the body ten times.
template <typename Body>
decltype(auto) visit_dtype(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kBool:
      return body.template operator()<bool>();
    case DType::kUInt8:
      return body.template operator()<uint8_t>();
    case DType::kInt8:
      return body.template operator()<int8_t>();
    case DType::kInt16:
      return body.template operator()<int16_t>();
    case DType::kInt32:
      return body.template operator()<int32_t>();
    case DType::kInt64:
      return body.template operator()<int64_t>();
    case DType::kFloat16:
      return body.template operator()<Half>();
    case DType::kBFloat16:
      return body.template operator()<BFloat16>();
    case DType::kFloat32:
      return body.template operator()<float>();
    case DType::kFloat64:
      return body.template operator()<double>();
    default:
      break;
  }
  MT_THROW(NotImplementedError, "not implemented for '", legacy_name(dtype), "'");
}

// The same for all dtypes.
template <typename Body>
decltype(auto) visit_any_dtype(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kComplex32:
      return body.template operator()<ComplexHalf>();
    case DType::kComplex64:
      return body.template operator()<std::complex<float>>();
    case DType::kComplex128:
      return body.template operator()<std::complex<double>>();
    case DType::kUInt16:
      return body.template operator()<uint16_t>();
    case DType::kUInt32:
      return body.template operator()<uint32_t>();
    case DType::kUInt64:
      return body.template operator()<uint64_t>();
    case DType::kFloat8E4M3fn:
      return body.template operator()<Float8E4M3fn>();
    case DType::kFloat8E5M2:
      return body.template operator()<Float8E5M2>();
    case DType::kFloat8E4M3fnuz:
      return body.template operator()<Float8E4M3fnuz>();
    case DType::kFloat8E5M2fnuz:
      return body.template operator()<Float8E5M2fnuz>();
    case DType::kFloat8E8M0fnu:
      return body.template operator()<Float8E8M0fnu>();
    default:
      return visit_dtype(dtype, body);
  }
}

}  // namespace mindtorch
