#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/gemm.h"

namespace mindtorch::cpu::product {

// Sums of a block of c, whose rows lie `stride` apart.
template <typename T>
struct Sums {
  T* data;
  int64_t stride;
};

// total += part
template <typename T>
void add_sums(int64_t rows, int64_t columns, Sums<T> part, Sums<T> total) {
  for (int64_t i = 0; i < rows; ++i) {
    const T* const from = part.data + i * part.stride;
    T* const to = total.data + i * total.stride;
    for (int64_t j = 0; j < columns; ++j) to[j] += from[j];
  }
}

// c = alpha * sums + beta * addend, rounded once; without data there is no addend. Spoils the sums.
template <typename S, typename T>
void store_sums(
    int64_t rows, int64_t columns, Sums<T> sums, Matrix c, ConstMatrix addend, T alpha, T beta);

}  // namespace mindtorch::cpu::product
