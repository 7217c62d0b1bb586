#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu {

// From float16 or bfloat16 to float32 and back.
struct HalfConversion {
  explicit HalfConversion(DType dtype)
      : widen(find_cast(dtype, DType::kFloat32)), narrow(find_cast(DType::kFloat32, dtype)) {}
  CastFn widen;
  CastFn narrow;
};

// out = round(alpha * sums + beta * out); spoils the sums.
void store_halves(const HalfConversion& convert,
                  int64_t n,
                  float* sums,
                  uint16_t* out,
                  int64_t stride,
                  float alpha,
                  float beta);

}  // namespace mindtorch::cpu
