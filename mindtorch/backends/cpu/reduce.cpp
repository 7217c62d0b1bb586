#include "mindtorch/backends/cpu/reduce.h"

#include <cstring>
#include <memory>

#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/tile.h"

namespace mindtorch::cpu {
namespace {

constexpr int64_t kGrain = 32 * 1024;   // elements a thread should get at least
constexpr int64_t kColumnBlock = 1024;  // accumulators that stay in the L1 cache
constexpr int64_t kRowBlock = 128;      // rows added before a partial sum is carried over

// What one output element of a row function takes.
int64_t output_size(Row function, DType dtype) {
  switch (function) {
    case Row::kSum:
    case Row::kProd:
    case Row::kSumSquares:
    case Row::kSumAbs:
    case Row::kLogsumexp:
      return size_bytes(accumulate_dtype(dtype));
    case Row::kMax:
    case Row::kMin:
      return size_bytes(dtype);
    case Row::kArgmax:
    case Row::kArgmin:
      return 8;
    case Row::kAny:
    case Row::kAll:
      return 1;
    case Row::kMoments:
      return sizeof(Moments);
    case Row::kSoftmax:
    case Row::kLogSoftmax:
      return size_bytes(dtype);
  }
  return 0;
}

DType output_dtype(Row function, DType dtype) {
  switch (function) {
    case Row::kMax:
    case Row::kMin:
      return dtype;
    case Row::kAny:
    case Row::kAll:
      return DType::kBool;
    default:
      return accumulate_dtype(dtype);
  }
}

bool is_sum(Row function) {
  return function == Row::kSum || function == Row::kSumSquares || function == Row::kSumAbs;
}

// The tensor as [kept..., reduced...], and how many elements each part has.
struct Split {
  Shape sizes;
  Shape strides;
  int64_t kept = 1;
  int64_t reduced = 1;
  size_t kept_dims = 0;
};

Split split_dims(const Tensor& self, uint64_t mask) {
  Split split;
  for (const bool reduced : {false, true}) {
    for (size_t i = 0; i < self.sizes().size(); ++i) {
      if (((mask >> i & 1) != 0) != reduced) continue;
      split.sizes.push_back(self.sizes()[i]);
      split.strides.push_back(self.strides()[i]);
      (reduced ? split.reduced : split.kept) *= self.sizes()[i];
    }
    if (!reduced) split.kept_dims = split.sizes.size();
  }
  return split;
}

void fill_identity(Row function, DType dtype, char* out, int64_t count, int64_t element) {
  // What the row function gives for no elements at all.
  char one[sizeof(Moments)] = {};
  find_row(function, dtype)(nullptr, one, 0);
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(out + i * element, one, static_cast<size_t>(element));
  }
}

// One long row: partial results of the threads are combined by the same function.
void reduce_one(Row function, DType dtype, const char* in, int64_t n, char* out) {
  const RowFn row = find_row(function, dtype);
  const int64_t element = output_size(function, dtype);
  const bool combines = function == Row::kSum || function == Row::kMax || function == Row::kMin ||
                        function == Row::kProd || function == Row::kAny || function == Row::kAll ||
                        function == Row::kSumSquares || function == Row::kSumAbs ||
                        function == Row::kMoments;
  const int64_t chunks = combines ? std::min<int64_t>(num_threads(), n / kGrain) : 1;
  if (chunks <= 1 || in_parallel_region()) {
    row(in, out, n);
    return;
  }
  const int64_t step = (n + chunks - 1) / chunks;
  const auto partial = std::make_unique<char[]>(static_cast<size_t>(chunks * element));
  parallel_for(0, chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      row(in + c * step * size_bytes(dtype), partial.get() + c * element,
          std::min(step, n - c * step));
    }
  });
  if (function == Row::kMoments) {
    auto& total = *reinterpret_cast<Moments*>(out);
    total = {};
    for (int64_t c = 0; c < chunks; ++c) total += reinterpret_cast<Moments*>(partial.get())[c];
    return;
  }
  const Row combine = is_sum(function) ? Row::kSum : function;
  find_row(combine, output_dtype(function, dtype))(partial.get(), out, chunks);
}

// Kept elements lie side by side: rows of them are accumulated. Sums of floats go through blocks of
// rows, so that the error grows with the number of blocks and not of rows.
void accumulate_columns(Row function,
                        DType dtype,
                        const char* in,
                        int64_t rows,
                        int64_t row_stride,
                        int64_t columns,
                        char* out) {
  const AccumulateFn accumulate = find_accumulate(function, dtype);
  const DType acc_dtype = output_dtype(function, dtype);
  const int64_t element = size_bytes(acc_dtype);
  const bool in_blocks = is_sum(function) && rows > 2 * kRowBlock;
  const AccumulateFn carry = in_blocks ? find_accumulate(Row::kSum, acc_dtype) : nullptr;
  alignas(64) char block[kColumnBlock * 8];
  for (int64_t start = 0; start < columns; start += kColumnBlock) {
    const int64_t n = std::min(kColumnBlock, columns - start);
    char* acc = out + start * element;
    const char* from = in + start * size_bytes(dtype);
    int64_t row = 0;
    if (function == Row::kMax || function == Row::kMin) {
      std::memcpy(acc, from, static_cast<size_t>(n * element));
      row = 1;
    } else {
      fill_identity(function, dtype, acc, n, element);
    }
    if (!in_blocks) {
      for (; row < rows; ++row) accumulate(from + row * row_stride, acc, n);
      continue;
    }
    while (row < rows) {
      const int64_t stop = std::min(rows, row + kRowBlock);
      fill_identity(function, dtype, block, n, element);
      for (; row < stop; ++row) accumulate(from + row * row_stride, block, n);
      carry(block, acc, n);
    }
  }
}

Tensor packed(const Tensor& self, const Split& split) {
  const Tensor permuted = self.alias(split.sizes, split.strides, self.storage_offset());
  if (permuted.is_contiguous()) return permuted;
  const Tensor result = Tensor::make(split.sizes, self.dtype());
  copy(permuted, result);
  return result;
}

// Strides of the kept dims must continue one contiguous inner block, and the reduced dims must form
// a single stride.
bool kept_is_inner(const Split& split, int64_t& row_stride) {
  const size_t kept = split.kept_dims;
  if (kept == 0 || split.reduced <= 1) return false;
  if (!is_contiguous(IntList(split.sizes).first(kept), IntList(split.strides).first(kept))) {
    return false;
  }
  row_stride = 0;
  int64_t expected = -1;  // no reduced dim seen yet
  for (size_t i = split.sizes.size(); i-- > kept;) {
    if (split.sizes[i] == 1) continue;
    if (expected < 0) {
      row_stride = split.strides[i];
    } else if (split.strides[i] != expected) {
      return false;
    }
    expected = split.strides[i] * split.sizes[i];
  }
  return true;
}

// Reduced dims in the middle: [outer kept, reduced, inner kept] with the inner part contiguous.
struct Middle {
  int64_t outer = 0;
  int64_t outer_stride = 0;
  int64_t inner = 0;
  int64_t row_stride = 0;
};

bool is_middle(const Tensor& self, uint64_t mask, Middle& middle) {
  if (!self.is_contiguous() || mask == 0) return false;
  const auto first = static_cast<size_t>(std::countr_zero(mask));
  const auto last = static_cast<size_t>(63 - std::countl_zero(mask));
  if (static_cast<size_t>(std::popcount(mask)) != last - first + 1) return false;
  middle = {1, 1, 1, 1};
  for (size_t i = 0; i < first; ++i) middle.outer *= self.sizes()[i];
  for (size_t i = first; i < self.sizes().size(); ++i) middle.outer_stride *= self.sizes()[i];
  for (size_t i = last + 1; i < self.sizes().size(); ++i) middle.inner *= self.sizes()[i];
  middle.row_stride = middle.inner;
  return middle.inner >= 16;  // shorter rows are better copied together
}

}  // namespace

void reduce_rows(Row function, const Tensor& self, uint64_t mask, void* out) {
  const DType dtype = self.dtype();
  MT_CHECK(find_row(function, dtype) != nullptr, NotImplementedError,
           "this reduction is not implemented for '", legacy_name(dtype), "'");
  auto* to = static_cast<char*>(out);
  const int64_t element = output_size(function, dtype);
  const Split split = split_dims(self, mask);
  if (split.kept == 0) return;
  if (split.reduced == 0) {
    fill_identity(function, dtype, to, split.kept, element);
    return;
  }
  const int64_t size = size_bytes(dtype);
  const auto* data = self.data<char>();
  if (split.kept == 1) {
    // Order does not matter to any of these functions but for rounding, so dense is enough.
    const bool dense = is_dense(self.sizes(), self.strides()) && function != Row::kArgmax &&
                       function != Row::kArgmin;
    const Tensor whole = dense ? self : packed(self, split);
    reduce_one(function, dtype, whole.data<char>(), split.reduced, to);
    return;
  }
  if (find_accumulate(function, dtype) != nullptr) {
    Middle middle;
    int64_t row_stride = 0;
    if (kept_is_inner(split, row_stride)) middle = {1, 0, split.kept, row_stride};
    if (middle.outer == 1 || is_middle(self, mask, middle)) {
      // Units of one column block each.
      const int64_t blocks = (middle.inner + kColumnBlock - 1) / kColumnBlock;
      const int64_t per_unit = split.reduced * std::min(middle.inner, kColumnBlock);
      const int64_t acc_size = size_bytes(output_dtype(function, dtype));
      parallel_for(0, middle.outer * blocks, std::max<int64_t>(1, kGrain / per_unit),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t unit = begin; unit < end; ++unit) {
                       const int64_t outer = unit / blocks;
                       const int64_t start = unit % blocks * kColumnBlock;
                       accumulate_columns(function, dtype,
                                          data + (outer * middle.outer_stride + start) * size,
                                          split.reduced, middle.row_stride * size,
                                          std::min(kColumnBlock, middle.inner - start),
                                          to + (outer * middle.inner + start) * acc_size);
                     }
                   });
      return;
    }
  }
  const Tensor rows = packed(self, split);
  const RowFn row = find_row(function, dtype);
  const auto* from = rows.data<char>();
  parallel_for(0, split.kept, std::max<int64_t>(1, kGrain / split.reduced),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   row(from + i * split.reduced * size, to + i * element, split.reduced);
                 }
               });
}

void reduce_arg(Row function, const Tensor& self, uint64_t mask, void* values, int64_t* indices) {
  const DType dtype = self.dtype();
  const int64_t size = size_bytes(dtype);
  auto* to = static_cast<char*>(values);
  const Split split = split_dims(self, mask);
  if (split.kept == 0) return;
  Middle middle;
  if (is_middle(self, mask, middle)) {
    const AccumulateArgFn accumulate = find_accumulate_arg(function, dtype);
    const auto* data = self.data<char>();
    const int64_t blocks = (middle.inner + kColumnBlock - 1) / kColumnBlock;
    const int64_t per_unit = split.reduced * std::min(middle.inner, kColumnBlock);
    parallel_for(0, middle.outer * blocks, std::max<int64_t>(1, kGrain / per_unit),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t unit = begin; unit < end; ++unit) {
                     const int64_t outer = unit / blocks;
                     const int64_t start = unit % blocks * kColumnBlock;
                     const int64_t n = std::min(kColumnBlock, middle.inner - start);
                     const char* from = data + (outer * middle.outer_stride + start) * size;
                     char* value = to + (outer * middle.inner + start) * size;
                     int64_t* index = indices + outer * middle.inner + start;
                     std::memcpy(value, from, static_cast<size_t>(n * size));
                     std::fill_n(index, n, 0);
                     for (int64_t row = 1; row < split.reduced; ++row) {
                       accumulate(from + row * middle.row_stride * size, value, index, row, n);
                     }
                   }
                 });
    return;
  }
  reduce_rows(function, self, mask, indices);
  const Tensor rows = packed(self, split);
  for (int64_t i = 0; i < split.kept; ++i) {
    std::memcpy(to + i * size, rows.data<char>() + (i * split.reduced + indices[i]) * size,
                static_cast<size_t>(size));
  }
}

}  // namespace mindtorch::cpu
