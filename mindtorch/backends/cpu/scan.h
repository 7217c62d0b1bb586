#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu {

enum class ScanOp : uint8_t { kSum, kProd, kMax, kMin, kLogSumExp };

// Cumulative operations along lines of strided memory. Strides count elements. `out` may be `in`
// with the same strides; otherwise they do not overlap. n >= 0.
//
// kSum and kProd accumulate as torch does: integers in int64 and wrapped to the dtype, float16 and
// bfloat16 in float32, float32 and float64 in float64; each element is rounded once from there. On
// bool they are "any so far" and "all so far".
// kMax and kMin keep NaN once seen; `indices_out` (null: not wanted) says where the element came
// from, the latest of equal ones.
// kLogSumExp is log(sum(exp(x))), for floats only; other dtypes raise NotImplementedError.
void scan_line(DType dtype,
               ScanOp op,
               const void* in,
               int64_t n,
               int64_t in_stride,
               void* out,
               int64_t out_stride,
               int64_t* indices_out,
               int64_t indices_stride);

// The same over `lines` neighbouring lines, one element apart in all three arrays: cumsum over any
// dimension but the last. Faster than line by line, because memory is read in order.
void scan_lines(DType dtype,
                ScanOp op,
                const void* in,
                int64_t n,
                int64_t in_stride,
                void* out,
                int64_t out_stride,
                int64_t* indices_out,
                int64_t indices_stride,
                int64_t lines);

// The same over `lines` lines of neighbouring elements, one line after the other in all three
// arrays. Faster than line by line, because several are under way at a time.
void scan_rows(DType dtype,
               ScanOp op,
               const void* in,
               int64_t n,
               void* out,
               int64_t* indices_out,
               int64_t lines);

}  // namespace mindtorch::cpu
