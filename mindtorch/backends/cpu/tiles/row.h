#pragma once

#include <cstdint>

#include "mindtorch/tensor/dtype.h"

namespace mindtorch::cpu {

// Functions of one contiguous row of `n` elements. Like the pointwise tiles they are chosen for
// this machine's instruction set at first use, take any n >= 0 unless said otherwise, and any
// alignment of at least the element size. float16 and bfloat16 rows are widened to float32 inside.
enum class Row : uint8_t {
  // One element of accumulate_dtype(in), so that partial results can be combined before they are
  // rounded to the output's dtype. n = 0 gives 0 (kProd: 1, kLogsumexp: -inf).
  kSum,         // float: blocked pairwise summation; int: wraps
  kProd,        // int: wraps
  kSumSquares,  // float dtypes only
  kSumAbs,      // float dtypes only
  kLogsumexp,   // float dtypes only; infinities as torch
  // One element of the row's own dtype; n >= 1. NaN wins.
  kMax,
  kMin,
  // One int64: the first index of the largest or smallest element, or of the first NaN; n >= 1.
  kArgmax,
  kArgmin,
  // One bool; NaN counts as true.
  kAny,
  kAll,
  // One Moments; float dtypes only.
  kMoments,
  // n elements of the row's own dtype; `out` may be `in`. Float dtypes only.
  kSoftmax,
  kLogSoftmax,
};
inline constexpr int kRowCount = 14;

using RowFn = void (*)(const void* in, void* out, int64_t n);

// Null where the dtype is not supported.
RowFn find_row(Row function, DType dtype);

// The dtype in which sums and products of a dtype are held: float32 for float16 and bfloat16, int64
// for integers and bool, otherwise the dtype itself.
constexpr DType accumulate_dtype(DType dtype) {
  if (dtype == DType::kFloat64) return DType::kFloat64;
  return is_floating_point(dtype) ? DType::kFloat32 : DType::kInt64;
}

// Mean and sum of squared distances from it, always in double: var = m2 / (count - correction).
struct Moments {
  double mean = 0;
  double m2 = 0;
  int64_t count = 0;

  // The moments of both rows together.
  Moments& operator+=(const Moments& other) {
    if (other.count == 0) return *this;
    const double total = static_cast<double>(count + other.count);
    const double delta = other.mean - mean;
    const double share = static_cast<double>(other.count) / total;
    m2 += other.m2 + delta * delta * static_cast<double>(count) * share;
    mean += delta * share;
    count += other.count;
    return *this;
  }
};

// acc[i] = op(acc[i], in[i]): the step of a reduction over an outer dimension. `acc` holds
// accumulate_dtype(in) for kSum, kProd, kSumSquares, kSumAbs and kLogsumexp, the row's dtype for
// kMax and kMin, bool for kAny and kAll; other functions have no such step. The caller fills `acc`
// first and, where it adds very many float rows, adds them in blocks to keep the error low.
struct AccumulateFn {
  using RowsFn =
      void (*)(const void* in, int64_t row_stride_bytes, int64_t rows, void* acc, int64_t n);
  RowsFn rows = nullptr;  // one row after the other, `row_stride_bytes` apart

  void operator()(const void* in, void* acc, int64_t n) const { rows(in, 0, 1, acc, n); }
  explicit operator bool() const { return rows != nullptr; }
};
AccumulateFn find_accumulate(Row function, DType dtype);

// For kArgmax and kArgmin, and rows that lie `row_stride_bytes` apart: where an element of row r
// beats value[i] (or is the first NaN), value[i] becomes it and index[i] = first_row + r. Rows come
// in ascending order, so that the first of equals stays.
struct ArgRows {
  const void* in;
  int64_t row_stride_bytes;
  int64_t rows;
  int64_t first_row;
};
using AccumulateArgFn = void (*)(const ArgRows& from, void* value, int64_t* index, int64_t n);
AccumulateArgFn find_accumulate_arg(Row function, DType dtype);

inline void softmax_row(DType dtype, const void* in, void* out, int64_t n) {
  find_row(Row::kSoftmax, dtype)(in, out, n);
}
inline void log_softmax_row(DType dtype, const void* in, void* out, int64_t n) {
  find_row(Row::kLogSoftmax, dtype)(in, out, n);
}
inline void logsumexp_row(DType dtype, const void* in, void* out, int64_t n) {
  find_row(Row::kLogsumexp, dtype)(in, out, n);
}
inline void sum_row(DType dtype, const void* in, void* out, int64_t n) {
  find_row(Row::kSum, dtype)(in, out, n);
}

}  // namespace mindtorch::cpu
