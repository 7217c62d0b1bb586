#pragma once

#include <cstdint>

#include "mindtorch/ops/pointwise.h"
#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu {

// Computes `n` elements of one pointwise function. Operands are contiguous and of the compute dtype
// (a condition is bool; comparisons and predicates write bool). `out` may be exactly one of the
// inputs and otherwise overlaps none. Any n >= 0, any alignment of at least the element size.
using TileFn = void (*)(const void* const* inputs,
                        void* out,
                        int64_t n,
                        const ops::PointwiseParams& params);

// The tile for a function and a compute dtype; null where torch has no such kernel. Elements of
// float16 and bfloat16 are widened to float32 on load and rounded once on store; the functions that
// have tiles of their own for them are in tiles/half_arithmetic.h. Chosen for this machine's
// instruction set at first use; the look-up is one load.
TileFn find_tile(ops::Pointwise function, DType compute);

// What a tile gives that takes the place of an expression.
enum class Numbers : uint8_t {
  kExact,     // closer to the function than its steps are, or in another order
  kStepwise,  // those of its steps, products and sums in one rounding
};
// Whether code made of the function's expression gives what find_tile() gives.
bool gives_its_steps(ops::Pointwise function, DType compute);

// Converts `n` contiguous elements. Float to int truncates; out-of-range and NaN follow torch on
// x86; anything to bool is `!= 0`. Same-dtype conversion is a plain copy.
using CastFn = void (*)(const void* from, void* to, int64_t n);
CastFn find_cast(DType from, DType to);

// Strided gather and scatter of elements of 1, 2, 4, 8 or 16 bytes; strides in bytes.
using GatherFn = void (*)(const void* from, int64_t stride_bytes, void* to, int64_t n);
using ScatterFn = void (*)(const void* from, void* to, int64_t stride_bytes, int64_t n);
GatherFn find_gather(int64_t element_size_bytes);
ScatterFn find_scatter(int64_t element_size_bytes);

}  // namespace mindtorch::cpu
