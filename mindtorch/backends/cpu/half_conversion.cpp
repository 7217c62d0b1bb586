#include "mindtorch/backends/cpu/half_conversion.h"

#include <algorithm>

namespace mindtorch::cpu {

void store_halves(const HalfConversion& convert,
                  int64_t n,
                  float* sums,
                  uint16_t* out,
                  int64_t stride,
                  float alpha,
                  float beta) {
  constexpr int64_t kPiece = 512;
  uint16_t gathered[kPiece];
  float before[kPiece];
  for (int64_t i = 0; i < n; i += kPiece) {
    const int64_t count = std::min(kPiece, n - i);
    uint16_t* narrow = stride == 1 ? out + i : gathered;
    for (int64_t j = 0; j < count && alpha != 1; ++j) sums[i + j] *= alpha;
    if (beta != 0) {
      for (int64_t j = 0; j < count && stride != 1; ++j) narrow[j] = out[(i + j) * stride];
      convert.widen(narrow, before, count);
      for (int64_t j = 0; j < count; ++j) sums[i + j] += beta * before[j];
    }
    convert.narrow(sums + i, narrow, count);
    for (int64_t j = 0; j < count && stride != 1; ++j) out[(i + j) * stride] = narrow[j];
  }
}

}  // namespace mindtorch::cpu
