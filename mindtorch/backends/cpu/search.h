#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu {

// out[i] = how many elements of the ascending row `sorted` come before values[i]: those less than
// it, or with `right` those not greater. `sorter` (null: none) gives the ascending order of a row
// that is not sorted itself; its indices lie in [0, n). Looking for NaN gives n. A row that ends in
// NaNs is searched with torch's probes, and so gives torch's answers.
void searchsorted_row(DType dtype,
                      const void* sorted,
                      int64_t n,
                      const void* values,
                      int64_t m,
                      bool right,
                      const int64_t* sorter,
                      int64_t* out);

// The number of bins bincount needs: max(minlength, largest element + 1); -1 when some element is
// negative. For integer dtypes and n >= 0.
int64_t bincount_size(DType dtype, const void* in, int64_t n, int64_t minlength);
// For elements all in [0, bins): with `out_dtype` int64 how often each occurs; with float32 or
// float64 the sum of the weights, which have that dtype, at each element, added in order.
void bincount(DType dtype,
              const void* in,
              int64_t n,
              const void* weights,
              DType out_dtype,
              void* out,
              int64_t bins);

// The range histc uses: [min, max], or that of the n elements when min equals max, made one wider
// on both sides when that is empty. Raises RuntimeError as torch does when it is not finite, or
// when max < min.
void histc_range(DType dtype, const void* in, int64_t n, double* min, double* max);
// Counts the elements of [min, max] in `bins` bins of equal width, the last one closed; others are
// ignored. For floats; `out` has the dtype of the input.
void histc(DType dtype, const void* in, int64_t n, int64_t bins, double min, double max, void* out);

}  // namespace mindtorch::cpu
