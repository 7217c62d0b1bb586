#include "mindtorch/ops/dtype_limits.h"

#include <cfloat>
#include <cmath>
#include <limits>

namespace mindtorch::ops {
namespace {

template <typename T>
constexpr DTypeLimits limits_of(std::string_view cpp_name, std::string_view type_name) {
  using L = std::numeric_limits<T>;
  return {static_cast<double>(L::lowest()), static_cast<double>(L::max()),
          L::is_integer ? 0 : L::digits, cpp_name, type_name};
}

// In the order of DType.
constexpr DTypeLimits kLimits[kDTypeCount] = {
    limits_of<bool>("bool", "bool"),
    limits_of<uint8_t>("uint8_t", "unsigned char"),
    limits_of<int8_t>("int8_t", "signed char"),
    limits_of<int16_t>("int16_t", "short int"),
    limits_of<int32_t>("int", "int"),
    limits_of<int64_t>("int64_t", "long int"),
    {-65504, 65504, 11, "c10::Half", "c10::Half"},
    {-0x1.fep127, 0x1.fep127, 8, "c10::BFloat16", "c10::BFloat16"},
    limits_of<float>("float", "float"),
    limits_of<double>("double", "double"),
    {-65504, 65504, 11, "c10::complex<c10::Half>", "c10::complex<c10::Half>"},
    {-FLT_MAX, FLT_MAX, 24, "c10::complex<float>", "c10::complex<float>"},
    {-DBL_MAX, DBL_MAX, 53, "c10::complex<double>", "c10::complex<double>"},
    limits_of<uint16_t>("uint16_t", "short unsigned int"),
    limits_of<uint32_t>("uint32_t", "unsigned int"),
    limits_of<uint64_t>("uint64_t", "long unsigned int"),
    {-448, 448, 4, "c10::Float8_e4m3fn", "c10::Float8_e4m3fn"},
    {-57344, 57344, 3, "c10::Float8_e5m2", "c10::Float8_e5m2"},
    {-240, 240, 4, "c10::Float8_e4m3fnuz", "c10::Float8_e4m3fnuz"},
    {-57344, 57344, 3, "c10::Float8_e5m2fnuz", "c10::Float8_e5m2fnuz"},
    {0x1p-127, 0x1p127, 1, "c10::Float8_e8m0fnu", "c10::Float8_e8m0fnu"},
};

}  // namespace

const DTypeLimits& limits(DType dtype) { return kLimits[static_cast<int>(dtype)]; }

bool is_in_range(const Scalar& value, DType dtype) {
  if (dtype == DType::kBool) return true;
  if (value.is_complex()) {
    if (!is_complex(dtype)) return value.imag() == 0 && is_in_range(value.to_double(), dtype);
    return is_in_range(value.to_double(), real_dtype(dtype)) &&
           is_in_range(value.imag(), real_dtype(dtype));
  }
  const double number = value.to_double();
  if (value.is_floating_point() && !std::isfinite(number)) return is_differentiable(dtype);
  // A double cannot tell the largest int64 from the number after it.
  if (dtype == DType::kInt64 && value.is_integral()) return value.kind() != Scalar::Kind::kUnsigned;
  const DTypeLimits& limit = limits(dtype);
  const bool wraps = !is_signed(dtype) && !value.is_floating_point();
  return number >= (wraps ? -limit.largest : limit.lowest) && number <= limit.largest;
}

void check_in_range(const Scalar& value, DType dtype) {
  MT_CHECK(is_in_range(value, dtype), RuntimeError, "value cannot be converted to type ",
           limits(dtype).cpp_name, " without overflow");
}

}  // namespace mindtorch::ops
