#pragma once

#include <cstdint>
#include <string_view>

#include "mindtorch/base/error.h"
#include "mindtorch/base/macros.h"
#include "mindtorch/tensor/float16.h"

namespace mindtorch {

// Element types, ordered as torch orders them in promotion: bool, integers, floats. The values are
// stable: they index kernel tables and are pickled by name, never by number.
enum class DType : uint8_t {
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
  // Room for kComplex64 and kComplex128.
};
inline constexpr int kDTypeCount = 10;

struct DTypeInfo {
  std::string_view name;         // torch's spelling: "float32"
  std::string_view legacy_name;  // the storage and tensor class prefix: "Float"
  uint8_t size_bytes;
  bool is_floating_point;
  bool is_signed;
};

inline constexpr DTypeInfo kDTypeInfo[kDTypeCount] = {
    {"bool", "Bool", 1, false, false},   {"uint8", "Byte", 1, false, false},
    {"int8", "Char", 1, false, true},    {"int16", "Short", 2, false, true},
    {"int32", "Int", 4, false, true},    {"int64", "Long", 8, false, true},
    {"float16", "Half", 2, true, true},  {"bfloat16", "BFloat16", 2, true, true},
    {"float32", "Float", 4, true, true}, {"float64", "Double", 8, true, true},
};

constexpr const DTypeInfo& info(DType dtype) { return kDTypeInfo[static_cast<int>(dtype)]; }
constexpr int64_t size_bytes(DType dtype) { return info(dtype).size_bytes; }
constexpr std::string_view name(DType dtype) { return info(dtype).name; }
constexpr bool is_floating_point(DType dtype) { return info(dtype).is_floating_point; }
constexpr bool is_integral(DType dtype, bool include_bool = false) {
  return !is_floating_point(dtype) && (include_bool || dtype != DType::kBool);
}
constexpr bool is_signed(DType dtype) { return info(dtype).is_signed; }

// "Float", "Long", ...: how torch's error texts name a dtype.
constexpr std::string_view legacy_name(DType dtype) { return info(dtype).legacy_name; }

// The smallest dtype both can be converted to without leaving their category.
MT_API DType promote_types(DType a, DType b);
// False where torch refuses "result type X can't be cast to the desired output type Y".
MT_API bool can_cast(DType from, DType to);

// The dtype of float literals and of integer ops that give floats. Process-wide, like torch's.
MT_API DType default_dtype();
MT_API void set_default_dtype(DType dtype);

template <DType kDType>
struct CppType;
template <>
struct CppType<DType::kBool> {
  using type = bool;
};
template <>
struct CppType<DType::kUInt8> {
  using type = uint8_t;
};
template <>
struct CppType<DType::kInt8> {
  using type = int8_t;
};
template <>
struct CppType<DType::kInt16> {
  using type = int16_t;
};
template <>
struct CppType<DType::kInt32> {
  using type = int32_t;
};
template <>
struct CppType<DType::kInt64> {
  using type = int64_t;
};
template <>
struct CppType<DType::kFloat16> {
  using type = Half;
};
template <>
struct CppType<DType::kBFloat16> {
  using type = BFloat16;
};
template <>
struct CppType<DType::kFloat32> {
  using type = float;
};
template <>
struct CppType<DType::kFloat64> {
  using type = double;
};

// Calls `body.template operator()<T>()` with the C++ type of `dtype`. Use it in .cpp files only:
// every use instantiates the body ten times.
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
  }
  MT_THROW(RuntimeError, "invalid dtype");
}

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kUInt8;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::kInt8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::kInt16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::kFloat16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::kBFloat16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kFloat64;
};

}  // namespace mindtorch
