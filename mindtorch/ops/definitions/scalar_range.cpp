#include "mindtorch/ops/definitions/scalar_range.h"

#include <cmath>
#include <limits>

namespace mindtorch::ops {
namespace {

struct Range {
  double lowest;
  double largest;
  std::string_view cpp_name;
};

template <typename T>
constexpr Range range_of(std::string_view name) {
  return {static_cast<double>(std::numeric_limits<T>::lowest()),
          static_cast<double>(std::numeric_limits<T>::max()), name};
}

// In the order of DType.
constexpr Range kRanges[kDTypeCount] = {
    range_of<bool>("bool"),       range_of<uint8_t>("uint8_t"),
    range_of<int8_t>("int8_t"),   range_of<int16_t>("int16_t"),
    range_of<int32_t>("int"),     range_of<int64_t>("int64_t"),
    {-65504, 65504, "c10::Half"}, {-0x1.fep127, 0x1.fep127, "c10::BFloat16"},
    range_of<float>("float"),     range_of<double>("double"),
};

const Range& range(DType dtype) { return kRanges[static_cast<int>(dtype)]; }

bool is_in_range(const Scalar& value, DType dtype) {
  if (dtype == DType::kBool) return true;
  const double number = value.to_double();
  if (value.is_floating_point() && !std::isfinite(number)) return is_floating_point(dtype);
  // int64 numbers that a double cannot hold are in range of int64 and of the wide floats only.
  if (dtype == DType::kInt64 && !value.is_floating_point()) return true;
  const bool wraps = dtype == DType::kUInt8 && !value.is_floating_point();
  const double lowest = wraps ? -range(dtype).largest : range(dtype).lowest;
  return number >= lowest && number <= range(dtype).largest;
}

}  // namespace

void check_in_range(const Scalar& value, DType dtype) {
  MT_CHECK(is_in_range(value, dtype), RuntimeError, "value cannot be converted to type ",
           cpp_name(dtype), " without overflow");
}

double lowest_value(DType dtype) { return range(dtype).lowest; }
double largest_value(DType dtype) { return range(dtype).largest; }
std::string_view cpp_name(DType dtype) { return range(dtype).cpp_name; }

}  // namespace mindtorch::ops
