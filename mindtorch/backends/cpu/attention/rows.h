#pragma once

#include "mindtorch/backends/cpu/attention/tiles.h"
#include "mindtorch/backends/cpu/gemm_impl.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::cpu::attention {

// Where one matrix of a batch lies: the last two dims of a tensor of any float dtype.
struct Rows {
  std::byte* data;
  DType dtype;
  int64_t count;
  int64_t width;
  int64_t row_stride;
  int64_t col_stride;

  // `number` counts the matrices of the batch.
  Rows(const Tensor& tensor, int64_t number);

  std::byte* at(int64_t row) const { return data + row * row_stride * itemsize(); }
  int64_t itemsize() const { return size_bytes(dtype); }
  ConstMatrix matrix(int64_t first) const { return {at(first), row_stride, col_stride}; }
};

// `count` rows as T, `stride` apart and filled up with zeros.
template <typename T>
void load(const Rows& from, int64_t first, int64_t count, T* to, int64_t stride);

// Rounds to the dtype of `to`.
template <typename T>
void store(const T* from, int64_t stride, const Rows& to, int64_t first, int64_t count);

inline int64_t padded(int64_t width, int64_t unit) { return ceil_div(width, unit) * unit; }

// Rows as the tiles take them: of T, in whole vectors. They are read where they lie if they are
// like that, else they are copied.
template <typename T>
class PackedRows {
 public:
  explicit PackedRows(int64_t width) : width_(padded(width, tiles<T>().lanes)) {}

  // Rows far apart compete for the same places in a cache: those that are read again and again are
  // better `dense`.
  void read(const Rows& from, int64_t first, int64_t count, bool dense = true) {
    if (from.dtype == DTypeOf<T>::value && from.width == width_ && from.col_stride == 1 &&
        (from.row_stride == width_ || !dense)) {
      data_ = reinterpret_cast<const T*>(from.at(first));
      stride_ = from.row_stride;
      return;
    }
    const int64_t size = count * width_;
    if (size > room_) {
      copy_.allocate(size);
      room_ = size;
    }
    load(from, first, count, copy_.get(), width_);
    data_ = copy_.get();
    stride_ = width_;
  }
  const T* row(int64_t i) const { return data_ + i * stride_; }
  int64_t width() const { return width_; }
  int64_t stride() const { return stride_; }

 private:
  int64_t width_;
  int64_t stride_ = 0;
  const T* data_ = nullptr;
  Scratch<T> copy_;
  int64_t room_ = 0;
};

// Rows turned into columns, by the panels that Product::b takes: column j holds row j, times
// `factor`. Columns that fill up the last panel are 0.
template <typename T>
class PackedColumns {
 public:
  PackedColumns(int64_t count, int64_t width)
      : width_(width), panel_(tiles<T>().panel_columns), columns_(padded(count, panel_) * width) {}

  void read(const PackedRows<T>& from, int64_t count, T factor);
  // The panel that begins with column j, a multiple of panel_columns.
  const T* panel(int64_t j) const { return columns_.get() + j * width_; }
  int64_t panel_stride() const { return panel_ * width_; }

 private:
  int64_t width_;
  int64_t panel_;
  Scratch<T> columns_;
};

}  // namespace mindtorch::cpu::attention
