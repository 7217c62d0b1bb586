#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/product/product.h"
#include "mindtorch/backends/cpu/product/tiles.h"

namespace mindtorch::cpu::product {

// Note [Products of few rows]
// One row of a, or a few, against a matrix that is read once: from main memory that takes as long
// as the arithmetic, or longer. Where columns of b are contiguous, sums are dot products of them
// with rows of a; else multiples of whole rows of b are added up. Long columns are divided into
// parts of fixed lengths, whose sums are added in their order, so that the result does not depend
// on the number of threads.

// Whether multiply_few_rows() takes it: no more than kMostDotRows rows, or one.
bool has_few_rows(const Problem& problem);

template <typename S>  // float, double, Half, BFloat16
void multiply_few_rows(const Problem& problem);

// Columns times rows, without anything added, whose rows are contiguous. False, and nothing is
// computed, for other products.
template <typename S>
bool multiply_if_outer(const Problem& problem);

// The sum of x[t * x_stride] * y[t * y_stride] over t < n.
template <typename S>
typename SumOf<S>::type sum_of_products(
    int64_t n, const S* x, int64_t x_stride, const S* y, int64_t y_stride);

}  // namespace mindtorch::cpu::product
