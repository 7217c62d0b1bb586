#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/gemm.h"
#include "mindtorch/backends/cpu/transpose.h"

namespace mindtorch::cpu {

template <typename T>
void copy_matrix(int64_t rows, int64_t cols, ConstMatrix from, Matrix to) {
  constexpr auto kSize = static_cast<int64_t>(sizeof(T));
  const int64_t shape[] = {rows, cols};
  const int64_t from_strides[] = {from.row_stride * kSize, from.col_stride * kSize};
  const int64_t to_strides[] = {to.row_stride * kSize, to.col_stride * kSize};
  copy_strided(kSize, shape, 2, from.data, from_strides, to.data, to_strides);
}

}  // namespace mindtorch::cpu
