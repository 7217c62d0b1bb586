#pragma once

#include "mindtorch/backends/cpu/tiles/row.h"

namespace mindtorch::cpu {

// Functions of contiguous rows, as in row.h, that norms and softmax and their gradients are made
// of. Float dtypes only.

// A row brought to one scale, and then to that of `weight` and `bias`. Those hold
// accumulate_dtype(in); null: there is none. n >= 1; `out` may be `in`.
enum class Norm : uint8_t {
  kLayer,           // (x - mean) / sqrt(variance + eps)
  kRootMeanSquare,  // x / sqrt(mean of squares + eps); takes no bias
};
inline constexpr int kNormCount = 2;
struct NormParams {
  const void* weight;
  const void* bias;
  double eps;
};
struct NormStatistics {
  double mean;  // 0 for Norm::kRootMeanSquare
  double rstd;  // what the row was multiplied by
};
using NormRowFn = NormStatistics (*)(const void* in,
                                     void* out,
                                     int64_t n,
                                     const NormParams& params);
NormRowFn find_norm_row(Norm norm, DType dtype);

// The gradient of such a row, from that of the result and what the norm returned. `out` may be
// null. The sums for weight and bias, of accumulate_dtype(in), are added to; both may be null.
struct NormGradientParams {
  const void* weight;
  NormStatistics statistics;
  void* weight_sums;
  void* bias_sums;
};
using NormGradientFn = void (*)(
    const void* grad, const void* in, void* out, int64_t n, const NormGradientParams& params);
NormGradientFn find_norm_gradient(Norm norm, DType dtype);

enum class Softmax : uint8_t { kPlain, kLog };
inline constexpr int kSoftmaxCount = 2;

// The gradient of a row, from that of its softmax and that result. `out` may be `grad`.
using RowGradientFn = void (*)(const void* grad, const void* result, void* out, int64_t n);
RowGradientFn find_softmax_gradient(Softmax softmax, DType dtype);

// The softmax of `width` neighbouring columns of `n` elements that lie `stride` elements apart, and
// its gradient. All operands lie alike; `out` may be `in` or `grad`. For the softmax itself, n is
// at most kLongestSoftmaxColumn.
inline constexpr int64_t kLongestSoftmaxColumn = 1024;
using ColumnsFn = void (*)(const void* in, void* out, int64_t n, int64_t width, int64_t stride);
using ColumnsGradientFn = void (*)(
    const void* grad, const void* result, void* out, int64_t n, int64_t width, int64_t stride);
ColumnsFn find_softmax_columns(Softmax softmax, DType dtype);
ColumnsGradientFn find_softmax_columns_gradient(Softmax softmax, DType dtype);

// Rows of one channel (kOne), whose parameters are one number each, or rows with an element of each
// channel (kEach), which have as many. Parameters and sums hold accumulate_dtype(in). `out` may be
// `in` or `grad`.
enum class ChannelsOfRow : uint8_t { kOne, kEach };
inline constexpr int kChannelsOfRowCount = 2;
struct ChannelFns {
  // out = in * scale + shift
  void (*scale)(const void* in, void* out, int64_t n, const void* scale, const void* shift);
  // squares += (in - center)^2
  void (*squares)(const void* in, int64_t n, const void* center, void* squares);
  // sum += grad, dot += grad * (in - center)
  void (*sums)(
      const void* grad, const void* in, int64_t n, const void* center, void* sum, void* dot);
  // out = grad * by_grad + (in - center) * by_input + shift
  void (*gradient)(const void* grad,
                   const void* in,
                   void* out,
                   int64_t n,
                   const void* center,
                   const void* by_grad,
                   const void* by_input,
                   const void* shift);
};
const ChannelFns& find_channels(ChannelsOfRow channels, DType dtype);

// Those of one instruction set. build_norm_table() picks it; tests build one per set that the CPU
// supports.
struct NormTable {
  NormRowFn norms[kNormCount][kDTypeCount] = {};
  NormGradientFn norm_gradients[kNormCount][kDTypeCount] = {};
  RowGradientFn softmax_gradients[kSoftmaxCount][kDTypeCount] = {};
  ColumnsFn softmax_columns[kSoftmaxCount][kDTypeCount] = {};
  ColumnsGradientFn softmax_columns_gradients[kSoftmaxCount][kDTypeCount] = {};
  ChannelFns channels[kChannelsOfRowCount][kDTypeCount] = {};
};
void add_norms(NormTable& tiles);
void add_softmax_gradients(NormTable& tiles);
void add_softmax_columns(NormTable& tiles);
void add_channels(NormTable& tiles);
NormTable build_norm_table();

}  // namespace mindtorch::cpu
