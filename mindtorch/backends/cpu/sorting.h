#pragma once

#include <cstdint>
#include <functional>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu {

// Sorting, selection and unique on contiguous rows. All functions share one order: numbers
// ascending, -0.0 equal to 0.0, NaN equal to NaN and larger than everything, false before true.
// Inputs and outputs must not overlap. Every function is safe to call from many threads at once;
// scratch memory is per thread and bounded (scratch.h).

// Sorts one row of n >= 0 elements. Equal elements keep their order, also when descending, whether
// or not `stable` asks for it. A null `indices_out` sorts values only, a null `values_out` gives
// argsort; both are faster than the full sort.
void sort_row(DType dtype,
              const void* in,
              int64_t n,
              bool descending,
              bool stable,
              void* values_out,
              int64_t* indices_out);

// The k (0 <= k <= n) largest or smallest elements. Among equal elements the lowest index wins.
// Sorted output is best first, equal elements by index; unsorted output has some fixed order.
void topk_row(DType dtype,
              const void* in,
              int64_t n,
              int64_t k,
              bool largest,
              bool sorted,
              void* values_out,
              int64_t* indices_out);

// The k-th smallest element, 1 <= k <= n, and the lowest index that holds it. `index_out` may be
// null here and below.
void kthvalue_row(
    DType dtype, const void* in, int64_t n, int64_t k, void* value_out, int64_t* index_out);
// The lower median of n >= 1 elements, and the index that a stable sort would bring to its place;
// the first NaN where there is one.
void median_row(DType dtype, const void* in, int64_t n, void* value_out, int64_t* index_out);
// The lower median of what is not NaN; element 0 when everything is.
void nanmedian_row(DType dtype, const void* in, int64_t n, void* value_out, int64_t* index_out);
// The most frequent of n >= 1 elements, the smallest one of those equally frequent, and the last
// index that holds it. NaNs count one by one.
void mode_row(DType dtype, const void* in, int64_t n, void* value_out, int64_t* index_out);

// How the functions below get memory once they know how many results there are: called exactly
// once with that count (which may be 0), and gives room for as many. An empty function says that
// this output is not wanted. Pointers handed in must stay valid until the call returns.
using Allocate = std::function<void*(int64_t count)>;

// The distinct values, ascending. `inverse` (n long, or null) names each element's value; `counts`
// (of int64) how often each occurs. A zero is represented by its first occurrence; each NaN is a
// value of its own. Returns the number of distinct values.
int64_t unique_flat(DType dtype,
                    const void* in,
                    int64_t n,
                    const Allocate& values,
                    int64_t* inverse,
                    const Allocate& counts);

// The same over `rows` contiguous rows of `row_length` elements, compared element by element.
// Rows that hold a NaN equal no other. `values` is asked for rows, not elements.
int64_t unique_rows(DType dtype,
                    const void* in,
                    int64_t rows,
                    int64_t row_length,
                    const Allocate& values,
                    int64_t* inverse,
                    const Allocate& counts);

// Drops rows equal to the row before; order is kept. row_length 1 serves the flat case.
int64_t unique_consecutive(DType dtype,
                           const void* in,
                           int64_t rows,
                           int64_t row_length,
                           const Allocate& values,
                           int64_t* inverse,
                           const Allocate& counts);

}  // namespace mindtorch::cpu
