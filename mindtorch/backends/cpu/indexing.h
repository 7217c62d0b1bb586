#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu {

// Kernels of indexing on contiguous memory, for this machine's instruction set. No kernel checks
// bounds but the one made for it.

// The number of elements that are not zero; -0.0 is zero, NaN is not.
int64_t count_nonzero(DType dtype, const void* in, int64_t n);

// Elements [begin, end) of a contiguous array of any number of dims.
struct ArrayPart {
  DType dtype;
  const void* data;  // of the whole array
  const int64_t* sizes;
  int64_t dims;
  int64_t begin;
  int64_t end;
};
// Where the elements of the part that are not zero lie, in the order of memory: coordinate d of
// number i is out[d * step + i].
void find_nonzero(const ArrayPart& part, int64_t* out, int64_t step);

// Copies the elements of 1, 2, 4 or 8 bytes (or any other size) whose mask byte is not zero, and
// gives their number. `out` has room for exactly as many as the mask selects.
int64_t masked_select_contiguous(
    int64_t element_size_bytes, const void* in, const uint8_t* mask, int64_t n, void* out);

// The first position whose index is not in [-size, size), or -1 when all are. On several threads
// where that pays.
int64_t check_indices(const int64_t* index, int64_t n, int64_t size);
// The same for [0, size).
int64_t check_positive_indices(const int64_t* index, int64_t n, int64_t size);

// out[i] = row index[i] of `src`, for `count` indices in [-src_rows, src_rows). Output rows are
// contiguous; source rows lie `src_row_stride_bytes` apart.
void gather_rows(const void* src,
                 int64_t row_bytes,
                 const int64_t* index,
                 int64_t count,
                 int64_t src_rows,
                 int64_t src_row_stride_bytes,
                 void* out);

}  // namespace mindtorch::cpu
