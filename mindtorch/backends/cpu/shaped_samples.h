#pragma once

#include <span>

#include "mindtorch/tensor/dtype.h"
#include "mindtorch/tensor/generator.h"

namespace mindtorch::cpu {

// Samples of distributions that have a shape of their own for each element, by rejection: the
// numbers torch's CPU kernels give for the same generator state. All tensors are contiguous, of
// float dtypes, and have `n` elements.

// Gamma distributions of scale 1.
void sample_gamma(Generator& generator, DType dtype, const void* shape, void* out, int64_t n);
// Rows of `categories` samples, each of which add up to 1.
void sample_dirichlet(Generator& generator,
                      DType dtype,
                      const void* concentration,
                      void* out,
                      int64_t n,
                      int64_t categories);
void sample_poisson(Generator& generator, DType dtype, const void* rate, void* out, int64_t n);
// `count` and `chance` are of the same dtype.
void sample_binomial(
    Generator& generator, DType dtype, const void* count, const void* chance, void* out, int64_t n);

}  // namespace mindtorch::cpu
