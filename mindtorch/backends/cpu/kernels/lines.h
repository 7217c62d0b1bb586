#pragma once

#include <functional>
#include <initializer_list>

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

// Note [Lines by blocks]
// Lines that are not contiguous are gathered into working memory of the thread, a few at a time,
// and results scattered from it. No copy of a whole tensor is made; neighbouring lines share cache
// lines, so that one at a time would read memory many times over.

// A tensor whose lines along `dim` are read, or written.
struct LineOperand {
  LineOperand(const Tensor& tensor, int64_t dim, bool is_output);

  Tensor lines;  // the dim last; undefined for an operand that is absent
  int64_t line_bytes = 0;
  bool is_output = false;
  bool is_direct = true;  // lines lie one behind the other
};
inline LineOperand input_lines(const Tensor& tensor, int64_t dim) { return {tensor, dim, false}; }
inline LineOperand output_lines(const Tensor& tensor, int64_t dim) { return {tensor, dim, true}; }

// body(data, first, count): the lines [first, first + count) of every operand, contiguous, at
// data[operand]; null for one that is absent. Runs in parallel. The operands' shapes differ along
// `dim` only. `nested_bytes` is what the body takes of the thread's working memory (Scratch).
using LineBody = std::function<void(char* const* data, int64_t first, int64_t count)>;
void for_line_blocks(std::initializer_list<LineOperand> operands,
                     size_t nested_bytes,
                     const LineBody& body);

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
