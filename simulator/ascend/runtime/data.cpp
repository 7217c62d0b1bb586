// Sizes of dtypes, and conversion of half precision.
#include <bit>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "mindtorch/backends/ascend/acl_abi.h"

size_t aclDataTypeSize(aclDataType dataType) {
  switch (dataType) {
    case ACL_INT8:
    case ACL_UINT8:
    case ACL_BOOL:
      return 1;
    case ACL_FLOAT16:
    case ACL_BF16:
    case ACL_INT16:
    case ACL_UINT16:
      return 2;
    case ACL_FLOAT:
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_COMPLEX32:
      return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64:
      return 8;
    case ACL_COMPLEX128:
      return 16;
    default:
      return 0;
  }
}

float aclFloat16ToFloat(aclFloat16 value) {
  const uint32_t sign = (value & 0x8000U) << 16;
  const uint32_t exponent = value >> 10 & 0x1f;
  const uint32_t fraction = value & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13);
  if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
  const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
  return sign ? -magnitude : magnitude;
}

aclFloat16 aclFloatToFloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<aclFloat16>(sign | 0x7e00);
  if (magnitude >= 65520.0F) return static_cast<aclFloat16>(sign | 0x7c00);
  if (magnitude < 6.103515625e-05F) {  // subnormal: steps of 2^-24
    return static_cast<aclFloat16>(
        sign | static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 24))));
  }
  const uint32_t rebased = (bits & 0x7fffffffU) - (112U << 23);
  return static_cast<aclFloat16>(sign | ((rebased + 0xfff + (rebased >> 13 & 1)) >> 13));
}

void aclAppLog(
    aclLogLevel logLevel, const char* func, const char* file, uint32_t line, const char* fmt, ...) {
  if (logLevel < ACL_ERROR && !std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT")) return;
  std::fprintf(stderr, "[%s:%u %s] ", file ? file : "", line, func ? func : "");
  va_list arguments;
  va_start(arguments, fmt);
  std::vfprintf(stderr, fmt, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
}
