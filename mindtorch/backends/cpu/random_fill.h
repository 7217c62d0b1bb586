#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"
#include "mindtorch/tensor/generator.h"

namespace mindtorch::cpu {

// Random numbers into `n` contiguous elements: the numbers torch's CPU kernels give for the same
// generator state, leaving the same state behind. Each call holds the generator's lock throughout
// and throws RuntimeError for a generator of another device. Ranges and parameters are the caller's
// to check; a dtype without such numbers throws NotImplementedError with torch's text.
//
// For a tensor that is not contiguous, torch draws in the order of the elements in memory (strides
// ascending, for any permutation of a dense tensor): fill a temporary in that order.

// Uniform in [from, to); float dtypes.
void fill_uniform(Generator& generator, DType dtype, void* out, int64_t n, double from, double to);

// Normal; float dtypes. torch uses other draws for fewer than 16 elements and for tensors that are
// not contiguous: the latter are what fill_normal_serial gives, for any n.
void fill_normal(Generator& generator, DType dtype, void* out, int64_t n, double mean, double std);
void fill_normal_serial(
    Generator& generator, DType dtype, void* out, int64_t n, double mean, double std);

// Integers of [base, base + range) converted to any dtype; range >= 1. randint and random_(from,
// to).
void fill_random_range(
    Generator& generator, DType dtype, void* out, int64_t n, int64_t base, uint64_t range);
// random_() without arguments: [0, max] of an integer dtype, [0, 2^digits] of a float dtype.
void fill_random_full(Generator& generator, DType dtype, void* out, int64_t n);
// random_(from=-2^63, to=None): all 64 bits. Dtypes int64, float64, float32 and bfloat16.
void fill_random_full64(Generator& generator, DType dtype, void* out, int64_t n);

// A permutation of 0 .. n - 1; any dtype but bool.
void fill_permutation(Generator& generator, DType dtype, void* out, int64_t n);

// 1 with probability p, else 0; any dtype.
void fill_bernoulli(Generator& generator, DType dtype, void* out, int64_t n, double p);
// The same with a probability of its own for each element, in a float dtype. Throws RuntimeError
// for one outside [0, 1].
void fill_bernoulli(
    Generator& generator, DType dtype, void* out, int64_t n, DType p_dtype, const void* p);

// Float dtypes.
void fill_exponential(Generator& generator, DType dtype, void* out, int64_t n, double lambda);
void fill_cauchy(
    Generator& generator, DType dtype, void* out, int64_t n, double median, double sigma);
void fill_log_normal(
    Generator& generator, DType dtype, void* out, int64_t n, double mean, double std);

// The number of the first success; any dtype but bool.
void fill_geometric(Generator& generator, DType dtype, void* out, int64_t n, double p);

// Draws `samples` indices for each of `rows` rows of `categories` weights (contiguous, a float
// dtype) into out[rows][samples]. Without replacement, samples <= categories. Throws torch's
// RuntimeError for weights that are no distribution; no number is drawn then, save with
// replacement. `by_columns`: the random numbers of a draw without it, one for each weight, come
// column by column.
void sample_multinomial(Generator& generator,
                        DType dtype,
                        const void* weights,
                        int64_t rows,
                        int64_t categories,
                        int64_t samples,
                        bool replacement,
                        bool by_columns,
                        int64_t* out);

}  // namespace mindtorch::cpu
