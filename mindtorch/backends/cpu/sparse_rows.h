#pragma once

#include <cstdint>

namespace mindtorch::cpu {

// The rows of a sparse matrix: row r has the entries order[begins[r]] up to order[begins[r + 1]].
struct SparseRows {
  const int64_t* begins;
  const int64_t* order;    // null: the entries lie in the order of rows
  const int64_t* columns;  // by entry
};

// out[r] = the sum of values[e] * dense[columns[e]] over the entries e of row r, for rows
// [from, to). Rows of `dense` have n elements and lie `stride` apart; those of `out` lie n apart.
void multiply_rows(const SparseRows& rows,
                   const float* values,
                   const float* dense,
                   int64_t stride,
                   int64_t n,
                   float* out,
                   int64_t from,
                   int64_t to);
void multiply_rows(const SparseRows& rows,
                   const double* values,
                   const double* dense,
                   int64_t stride,
                   int64_t n,
                   double* out,
                   int64_t from,
                   int64_t to);

// begins[r] = the first entry whose row is not before r, for rows after that of entry from - 1, or
// all, up to that of entry to - 1. False, and begins may be anything, unless rows ascend.
bool find_rows(const int64_t* row, int64_t from, int64_t to, int64_t* begins);

// The sum of a[i] * b[i] over i < n.
float dot_rows(const float* a, const float* b, int64_t n);
double dot_rows(const double* a, const double* b, int64_t n);

}  // namespace mindtorch::cpu
