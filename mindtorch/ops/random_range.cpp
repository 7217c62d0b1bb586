#include "mindtorch/ops/random_range.h"

#include <cstdlib>
#include <string_view>

#include "mindtorch/base/error.h"
#include "mindtorch/base/warning.h"
#include "mindtorch/ops/dtype_limits.h"

namespace mindtorch::ops {
namespace {

// The number nearest to `value` that a float dtype holds.
int64_t rounded(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kFloat16:
      return static_cast<int64_t>(static_cast<float>(Half(static_cast<float>(value))));
    case DType::kBFloat16:
      return static_cast<int64_t>(static_cast<float>(BFloat16(static_cast<float>(value))));
    case DType::kFloat32:
      return static_cast<int64_t>(static_cast<float>(value));
    default:
      return static_cast<int64_t>(static_cast<double>(value));
  }
}

// The distance of neighbours in a float dtype at `value`, which is beyond its exact integers.
int64_t spacing(DType dtype, int64_t value) {
  int bits = 0;
  for (int64_t rest = std::abs(value); rest > 1; rest >>= 1) ++bits;
  return int64_t{1} << (bits - limits(dtype).digits + 1);
}

// Bounds that stay in range when they are rounded.
int64_t round_from(DType dtype, int64_t from) {
  const int64_t next = rounded(dtype, from + 1);
  return next < from ? next + spacing(dtype, from + 1) : from;
}
int64_t round_to(DType dtype, int64_t to) {
  const int64_t last = rounded(dtype, to - 1);
  return last >= to ? last - spacing(dtype, to - 1) : to;
}

void check_bound(DType dtype, int64_t value, std::string_view name) {
  const DTypeLimits& limit = limits(dtype);
  const auto number = static_cast<double>(value);
  MT_CHECK(number >= limit.lowest && number <= limit.largest, RuntimeError, name,
           " is out of bounds for ", limit.type_name);
}

}  // namespace

RandomRange random_range(DType dtype, int64_t from, std::optional<int64_t> to) {
  const bool fractional = is_floating_point(dtype);
  if (to) {
    MT_CHECK(from < *to, RuntimeError,
             "random_ expects 'from' to be less than 'to', but got from=", from, " >= to=", *to);
    int64_t end = *to;
    if (fractional) {
      from = round_from(dtype, from);
      end = round_to(dtype, end);
      MT_CHECK(from < end, RuntimeError,
               "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but "
               "got from=",
               from, " >= to=", end);
    }
    check_bound(dtype, from, "from");
    check_bound(dtype, end - 1, "to - 1");
    return {from, static_cast<uint64_t>(end) - static_cast<uint64_t>(from)};
  }
  if (from == INT64_MIN) {
    MT_CHECK(dtype == DType::kInt64 || (fractional && dtype != DType::kFloat16), RuntimeError,
             "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16");
    return {from, 0};
  }
  int64_t last = INT64_MAX;
  if (fractional) {
    last = int64_t{1} << limits(dtype).digits;
    from = round_from(dtype, from);
    MT_CHECK(from < last, RuntimeError,
             "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted "
             "to dtype, but got from=",
             from, " > to_inc=", last);
  } else if (dtype != DType::kInt64) {
    last = static_cast<int64_t>(limits(dtype).largest);
  }
  check_bound(dtype, from, "from");
  return {from, static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1};
}

void warn_if_imprecise(DType dtype, const RandomRange& range) {
  const DTypeLimits& limit = limits(dtype);
  if (limit.digits == 0 || range.range == 0) return;
  const int64_t exact = int64_t{1} << limit.digits;
  const auto last = static_cast<int64_t>(static_cast<uint64_t>(range.from) + range.range - 1);
  const auto warn_about = [&](int64_t bound, std::string_view name) {
    if (bound >= -exact && bound <= exact) return;
    warn(mindtorch::detail::concat(
        name, " is out of bounds [-(2^", limit.digits, "), 2^", limit.digits,
        "]. Due to precision limitations ", limit.type_name,
        " can support discrete uniform distribution only within this range. This "
        "warning will become an error in version 1.7 release, please fix the code "
        "in advance"));
  };
  warn_about(range.from, "from");
  warn_about(last, "to - 1");
}

}  // namespace mindtorch::ops
