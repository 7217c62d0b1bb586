#include "mindtorch/backends/cpu/reduce.h"

#include <cstring>
#include <memory>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/parallel.h"
#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/backends/cpu/runs.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/backends/cpu/transpose.h"

namespace mindtorch::cpu {
namespace {

// Note [Dividing a reduction]
// Columns are independent of each other, so any number of them may go to a thread. Rows that are
// divided, because there are few columns or none, give partial results which are then combined: how
// they are divided depends on the shape alone, so that a sum does not depend on the number of
// threads.

constexpr int64_t kGrain = 32 * 1024;       // elements a thread should get at least, of functions
constexpr int64_t kIndexGrain = 16 * 1024;  // that find where something is,
constexpr int64_t kSlowGrain = 4 * 1024;    // and that take their time for each
constexpr int64_t kWholeRow = 16 * 1024;    // fused loops divide none, and give the same bits
constexpr int64_t kColumnBlock = 1024;      // accumulators that stay in the L1 cache
constexpr int64_t kRowBlock = 128;          // rows added before a partial sum is carried over
constexpr int64_t kNarrowBytes = 128;       // of each row a thread should read at least
constexpr int64_t kFewColumns = 512;        // up to this many are divided by rows,
constexpr int64_t kFewMoments = 64;         // or this many where combining takes its time
constexpr int64_t kMostPieces = 64;         // into which a row, or rows, are divided

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

int64_t grain_of(Row function) {
  if (function == Row::kMoments || function == Row::kLogsumexp) return kSlowGrain;
  return function == Row::kArgmax || function == Row::kArgmin ? kIndexGrain : kGrain;
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
  fill_runs({reinterpret_cast<const uint8_t*>(one), 0, reinterpret_cast<uint8_t*>(out), 0, 1},
            element, count * element);
}

// The function that makes one of several partial results.
Row combining(Row function) { return is_sum(function) ? Row::kSum : function; }

// One row. Long ones are divided, Note [Dividing a reduction].
void reduce_one(Row function, DType dtype, const char* in, int64_t n, char* out) {
  const RowFn row = find_row(function, dtype);
  const int64_t pieces = std::min(kMostPieces, n / grain_of(function));
  if (pieces <= 1 || n <= kWholeRow) return row(in, out, n);
  const bool is_index = function == Row::kArgmax || function == Row::kArgmin;
  if (is_index) function = function == Row::kArgmax ? Row::kMax : Row::kMin;
  const int64_t size = size_bytes(dtype);
  const int64_t element = output_size(function, dtype);
  const int64_t step = ceil_div(n, pieces);
  const RowFn part = find_row(function, dtype);
  alignas(64) char partial[kMostPieces * sizeof(Moments)];
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      part(in + i * step * size, partial + i * element, std::min(step, n - i * step));
    }
  });
  if (is_index) {  // of the extreme in the first piece that has it
    int64_t piece = 0;
    row(partial, &piece, pieces);
    int64_t index = 0;
    row(in + piece * step * size, &index, std::min(step, n - piece * step));
    *reinterpret_cast<int64_t*>(out) = piece * step + index;
  } else if (function == Row::kMoments) {
    auto& total = *reinterpret_cast<Moments*>(out);
    total = {};
    for (int64_t i = 0; i < pieces; ++i) total += reinterpret_cast<Moments*>(partial)[i];
  } else {
    find_row(combining(function), output_dtype(function, dtype))(partial, out, pieces);
  }
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
  const AccumulateFn carry = find_accumulate(Row::kSum, acc_dtype);
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
      accumulate.rows(from + row * row_stride, row_stride, rows - row, acc, n);
      continue;
    }
    for (; row < rows; row += kRowBlock) {
      fill_identity(function, dtype, block, n, element);
      accumulate.rows(from + row * row_stride, row_stride, std::min(kRowBlock, rows - row), block,
                      n);
      carry(block, acc, n);
    }
  }
}

// to[i] becomes the result for the elements behind it and those behind other[i].
void combine_columns(Row function, DType dtype, const char* other, char* to, int64_t columns) {
  const DType acc_dtype = output_dtype(function, dtype);
  const AccumulateFn combine = find_accumulate(combining(function), acc_dtype);
  if (combine) return combine(other, to, columns);
  for (int64_t i = 0; i < columns; ++i) {
    reinterpret_cast<Moments*>(to)[i] += reinterpret_cast<const Moments*>(other)[i];
  }
}

// Moments have no step from row to row: columns become rows that fit in the cache.
void find_moments(
    DType dtype, const char* in, int64_t rows, int64_t row_stride, int64_t columns, Moments* out) {
  constexpr int64_t kPanelBytes = 64 * 1024;
  const int64_t size = size_bytes(dtype);
  const int64_t width = std::min(columns, kNarrowBytes / size);
  const int64_t most_rows = kPanelBytes / (width * size);
  const RowFn row = find_row(Row::kMoments, dtype);
  alignas(64) char panel[kPanelBytes];
  for (int64_t start = 0; start < columns; start += width) {
    const int64_t n = std::min(width, columns - start);
    std::fill_n(out + start, n, Moments{});
    for (int64_t at = 0; at < rows; at += most_rows) {
      const int64_t length = std::min(most_rows, rows - at);
      const int64_t shape[] = {n, length};
      const int64_t from_strides[] = {size, row_stride};
      const int64_t to_strides[] = {length * size, size};
      copy_strided(size, shape, 2, in + start * size + at * row_stride, from_strides, panel,
                   to_strides);
      for (int64_t i = 0; i < n; ++i) {
        Moments part;
        row(panel + i * length * size, &part, length);
        out[start + i] += part;
      }
    }
  }
}

// The same. Rows of very few columns that lie side by side are taken several at a time.
void reduce_columns(Row function,
                    DType dtype,
                    const char* in,
                    int64_t rows,
                    int64_t row_stride,
                    int64_t columns,
                    char* out) {
  if (function == Row::kMoments) {
    return find_moments(dtype, in, rows, row_stride, columns, reinterpret_cast<Moments*>(out));
  }
  constexpr int64_t kNarrow = 64;
  constexpr int64_t kWide = 512;
  const int64_t together = kWide / columns;
  if (columns > kNarrow || row_stride != columns * size_bytes(dtype) || rows < 4 * together) {
    return accumulate_columns(function, dtype, in, rows, row_stride, columns, out);
  }
  const DType acc_dtype = output_dtype(function, dtype);
  const int64_t width = columns * size_bytes(acc_dtype);
  const AccumulateFn combine = find_accumulate(combining(function), acc_dtype);
  alignas(64) char wide[kWide * 8];
  const int64_t times = rows / together;
  accumulate_columns(function, dtype, in, times, row_stride * together, columns * together, wide);
  std::memcpy(out, wide, static_cast<size_t>(width));
  for (int64_t i = 1; i < together; ++i) combine(wide + i * width, out, columns);
  if (times * together == rows) return;
  accumulate_columns(function, dtype, in + times * together * row_stride, rows - times * together,
                     row_stride, columns, wide);
  combine(wide, out, columns);
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
  int64_t rows = 0;

  int64_t kept() const { return outer * inner; }
};

bool is_middle(const Tensor& self, uint64_t mask, Middle& middle) {
  if (!self.is_contiguous() || mask == 0) return false;
  const auto first = static_cast<size_t>(std::countr_zero(mask));
  const auto last = static_cast<size_t>(63 - std::countl_zero(mask));
  if (static_cast<size_t>(std::popcount(mask)) != last - first + 1) return false;
  middle = {1, 1, 1, 1, 1};
  for (size_t i = 0; i < first; ++i) middle.outer *= self.sizes()[i];
  for (size_t i = first; i < self.sizes().size(); ++i) middle.outer_stride *= self.sizes()[i];
  for (size_t i = last + 1; i < self.sizes().size(); ++i) middle.inner *= self.sizes()[i];
  for (size_t i = first; i <= last; ++i) middle.rows *= self.sizes()[i];
  middle.row_stride = middle.inner;
  return middle.inner >= 16;  // shorter rows are better copied together
}

// Into how many pieces the rows of few columns are divided.
int64_t row_pieces(Row function, const Middle& middle) {
  const bool is_slow = function == Row::kMoments || function == Row::kLogsumexp;
  if (middle.kept() > (is_slow ? kFewMoments : kFewColumns)) return 1;
  return std::clamp<int64_t>(middle.kept() * middle.rows / grain_of(function), 1, kMostPieces);
}

// body(outer, first column, columns) for blocks of columns: as wide as the accumulators may be, or
// narrower where threads would be idle.
template <typename Body>
void for_column_blocks(Row function, const Middle& middle, int64_t size, const Body& body) {
  const int64_t work = middle.kept() * middle.rows;
  const int64_t least = grain_of(function);
  const int64_t threads = std::clamp<int64_t>(work / least, 1, num_threads());
  const int64_t share = ceil_div(middle.inner, ceil_div(threads, middle.outer));
  const int64_t narrow = kNarrowBytes / size;
  const int64_t width = std::min(kColumnBlock, ceil_div(share, narrow) * narrow);
  const int64_t blocks = ceil_div(middle.inner, width);
  const int64_t grain = ceil_div(least, middle.rows * std::min(width, middle.inner));
  parallel_for(0, middle.outer * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t first = unit % blocks * width;
      body(unit / blocks, first, std::min(width, middle.inner - first));
    }
  });
}

// body(piece, first row, rows) for all pieces.
template <typename Body>
void for_row_pieces(const Middle& middle, int64_t pieces, const Body& body) {
  const int64_t step = ceil_div(middle.rows, pieces);
  parallel_for(0, pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      body(i, i * step, std::min(step, middle.rows - i * step));
    }
  });
}

void reduce_middle(Row function, DType dtype, const char* data, const Middle& middle, char* out) {
  const int64_t size = size_bytes(dtype);
  const int64_t element = output_size(function, dtype);
  const int64_t stride = middle.row_stride * size;
  const int64_t pieces = row_pieces(function, middle);
  if (pieces == 1) {
    for_column_blocks(function, middle, size, [&](int64_t outer, int64_t first, int64_t columns) {
      reduce_columns(function, dtype, data + (outer * middle.outer_stride + first) * size,
                     middle.rows, stride, columns, out + (outer * middle.inner + first) * element);
    });
    return;
  }
  const int64_t width = middle.kept() * element;
  const auto partial = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(pieces * width));
  for_row_pieces(middle, pieces, [&](int64_t piece, int64_t first, int64_t rows) {
    for (int64_t outer = 0; outer < middle.outer; ++outer) {
      reduce_columns(function, dtype, data + outer * middle.outer_stride * size + first * stride,
                     rows, stride, middle.inner,
                     partial.get() + piece * width + outer * middle.inner * element);
    }
  });
  std::memcpy(out, partial.get(), static_cast<size_t>(width));
  for (int64_t i = 1; i < pieces; ++i) {
    combine_columns(function, dtype, partial.get() + i * width, out, middle.kept());
  }
}

// One block of columns of reduce_arg.
void find_extremes(AccumulateArgFn accumulate,
                   ArgRows rows,
                   int64_t size,
                   int64_t columns,
                   char* values,
                   int64_t* indices) {
  std::memcpy(values, rows.in, static_cast<size_t>(columns * size));
  std::fill_n(indices, columns, rows.first_row);
  rows.in = static_cast<const char*>(rows.in) + rows.row_stride_bytes;
  --rows.rows;
  ++rows.first_row;
  accumulate(rows, values, indices, columns);
}

void reduce_arg_middle(
    Row function, DType dtype, const char* data, const Middle& middle, char* values, int64_t* to) {
  const int64_t size = size_bytes(dtype);
  const int64_t stride = middle.row_stride * size;
  const AccumulateArgFn accumulate = find_accumulate_arg(function, dtype);
  const int64_t pieces = row_pieces(function, middle);
  if (pieces == 1) {
    for_column_blocks(function, middle, size, [&](int64_t outer, int64_t first, int64_t columns) {
      const int64_t at = outer * middle.inner + first;
      const char* from = data + (outer * middle.outer_stride + first) * size;
      find_extremes(accumulate, {from, stride, middle.rows, 0}, size, columns, values + at * size,
                    to + at);
    });
    return;
  }
  const int64_t kept = middle.kept();
  const auto best =
      std::make_unique_for_overwrite<char[]>(static_cast<size_t>(pieces * kept * size));
  const auto where = std::make_unique_for_overwrite<int64_t[]>(static_cast<size_t>(pieces * kept));
  for_row_pieces(middle, pieces, [&](int64_t piece, int64_t first, int64_t rows) {
    for (int64_t outer = 0; outer < middle.outer; ++outer) {
      const int64_t at = piece * kept + outer * middle.inner;
      const char* from = data + outer * middle.outer_stride * size + first * stride;
      find_extremes(accumulate, {from, stride, rows, first}, size, middle.inner,
                    best.get() + at * size, where.get() + at);
    }
  });
  // In which piece they are first, and then where in it.
  find_extremes(accumulate, {best.get(), kept * size, pieces, 0}, size, kept, values, to);
  for (int64_t i = 0; i < kept; ++i) to[i] = where[static_cast<size_t>(to[i] * kept + i)];
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
  if (find_accumulate(function, dtype) || function == Row::kMoments) {
    Middle middle;
    int64_t row_stride = 0;
    if (kept_is_inner(split, row_stride)) middle = {1, 0, split.kept, row_stride, split.reduced};
    if (middle.outer == 1 || is_middle(self, mask, middle)) {
      return reduce_middle(function, dtype, data, middle, to);
    }
  }
  const Tensor rows = packed(self, split);
  const auto* from = rows.data<char>();
  const int64_t row_bytes = split.reduced * size;
  const int64_t grain = grain_of(function);
  const bool is_long = split.reduced >= 2 * grain;
  const RowFn row = find_row(function, dtype);
  const auto reduce_some = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && is_long; ++i) {
      reduce_one(function, dtype, from + i * row_bytes, split.reduced, to + i * element);
    }
    for (int64_t i = begin; i < end && !is_long; ++i) {
      row(from + i * row_bytes, to + i * element, split.reduced);
    }
  };
  if (is_long && split.kept < num_threads()) return reduce_some(0, split.kept);
  parallel_for(0, split.kept, ceil_div(grain, split.reduced), reduce_some);
}

void reduce_arg(Row function, const Tensor& self, uint64_t mask, void* values, int64_t* indices) {
  const DType dtype = self.dtype();
  const int64_t size = size_bytes(dtype);
  auto* to = static_cast<char*>(values);
  const Split split = split_dims(self, mask);
  if (split.kept == 0) return;
  Middle middle;
  if (is_middle(self, mask, middle)) {
    return reduce_arg_middle(function, dtype, self.data<char>(), middle, to, indices);
  }
  const Tensor rows = packed(self, split);
  // The reduced dims are the last ones now.
  const auto reduced = static_cast<int>(rows.sizes().size() - split.kept_dims);
  const uint64_t last = reduced == 0 ? 0 : (~uint64_t{0} >> (64 - reduced)) << split.kept_dims;
  reduce_rows(function, rows, last, indices);
  const auto* from = rows.data<char>();
  parallel_for(0, split.kept, kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      std::memcpy(to + i * size, from + (i * split.reduced + indices[i]) * size,
                  static_cast<size_t>(size));
    }
  });
}

}  // namespace mindtorch::cpu
