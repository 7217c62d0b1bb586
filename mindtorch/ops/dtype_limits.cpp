#include "mindtorch/ops/dtype_limits.h"

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
};

}  // namespace

const DTypeLimits& limits(DType dtype) { return kLimits[static_cast<int>(dtype)]; }

bool is_in_range(const Scalar& value, DType dtype) {
  if (dtype == DType::kBool) return true;
  const double number = value.to_double();
  if (value.is_floating_point() && !std::isfinite(number)) return is_floating_point(dtype);
  // A double cannot tell the largest int64 from the number after it.
  if (dtype == DType::kInt64 && !value.is_floating_point()) return true;
  const DTypeLimits& limit = limits(dtype);
  const bool wraps = dtype == DType::kUInt8 && !value.is_floating_point();
  return number >= (wraps ? -limit.largest : limit.lowest) && number <= limit.largest;
}

void check_in_range(const Scalar& value, DType dtype) {
  MT_CHECK(is_in_range(value, dtype), RuntimeError, "value cannot be converted to type ",
           limits(dtype).cpp_name, " without overflow");
}

}  // namespace mindtorch::ops
