#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/gemm.h"

namespace mindtorch::cpu {

// The sizes of tiles that multiply_bfloat16 computes: sums need room for whole tiles.
inline constexpr int64_t kBFloat16TileRows = 14;
inline constexpr int64_t kBFloat16TileCols = 32;

// Whether this machine multiplies pairs of bfloat16 in one instruction (AVX512_BF16).
bool has_bfloat16_multiply();

// sums[r * stride + c] = a @ b in float32, for a of rows x terms and b of terms x cols, any
// strides. `stride` is at least cols rounded up to whole tiles, and so is the number of rows in
// `sums`. Runs on the calling thread. Only where has_bfloat16_multiply().
void multiply_bfloat16(int64_t rows,
                       int64_t cols,
                       int64_t terms,
                       ConstMatrix a,
                       ConstMatrix b,
                       float* sums,
                       int64_t stride);

// out[j * rows + i] = the sum of w[j * w_stride + t] * x[i * x_stride + t] over t < k, for j < n
// and i < rows <= kMostDotRows. Rows of `x` are padded with zeros to a multiple of kDotPadding.
// Packs nothing: for few rows, where reading w once is most of the work.
void bfloat16_dots(int64_t n,
                   const uint16_t* w,
                   int64_t w_stride,
                   int64_t rows,
                   const uint16_t* x,
                   int64_t x_stride,
                   int64_t k,
                   float* out);

}  // namespace mindtorch::cpu
