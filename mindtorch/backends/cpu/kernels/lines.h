#pragma once

#include "mindtorch/backends/cpu/pointwise.h"
#include "mindtorch/tensor/tensor.h"

namespace mindtorch::cpu {

// Kernels that work on whole lines of one dimension see it as the last one.

inline size_t line_dim(const Tensor& self, int64_t dim) {
  return static_cast<size_t>(wrap_dim(dim, self.dim()));
}
inline int64_t line_length(const Tensor& self, int64_t dim) {
  return self.dim() == 0 ? 1 : self.sizes()[line_dim(self, dim)];
}

// The same tensor with `dim` moved to the end.
inline Tensor with_dim_last(const Tensor& self, int64_t dim) {
  if (self.dim() == 0) return self;
  const size_t d = line_dim(self, dim);
  Shape sizes = self.sizes();
  Shape strides = self.strides();
  std::rotate(sizes.begin() + d, sizes.begin() + d + 1, sizes.end());
  std::rotate(strides.begin() + d, strides.begin() + d + 1, strides.end());
  return self.alias(std::move(sizes), std::move(strides), self.storage_offset());
}

// Contiguous lines of `dim`: the tensor itself where it has them, else a copy.
inline Tensor as_lines(const Tensor& self, int64_t dim) {
  const Tensor moved = with_dim_last(self, dim);
  if (moved.is_contiguous()) return moved;
  const Tensor lines = Tensor::make(moved.sizes(), self.dtype());
  copy(moved, lines);
  return lines;
}

// Memory for result lines: `out` itself where its lines are contiguous, else a temporary that
// finish() copies into place.
class OutputLines {
 public:
  OutputLines(const Tensor& out, int64_t dim) : target_(with_dim_last(out, dim)) {
    lines_ = target_.is_contiguous() ? target_ : Tensor::make(target_.sizes(), out.dtype());
  }
  char* data() const { return lines_.data<char>(); }
  void finish() const {
    if (!lines_.is_same(target_)) copy(lines_, target_);
  }

 private:
  Tensor target_;
  Tensor lines_;
};

inline Tensor as_contiguous(const Tensor& self) {
  if (self.is_contiguous()) return self;
  const Tensor result = Tensor::make(self.sizes(), self.dtype());
  copy(self, result);
  return result;
}

// Index tensors as int64, contiguous.
inline Tensor as_index(const Tensor& index) {
  if (index.dtype() == DType::kInt64 && index.is_contiguous()) return index;
  const Tensor result = Tensor::make(index.sizes(), DType::kInt64);
  copy(index, result);
  return result;
}

}  // namespace mindtorch::cpu
