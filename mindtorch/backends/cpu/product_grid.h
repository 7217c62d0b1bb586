#pragma once

#include <cstdint>

namespace mindtorch::cpu {

// How a product is divided among threads: a grid over c, and where c is small, over the terms too.
struct ProductGrid {
  int64_t rows = 1;
  int64_t cols = 1;
  int64_t terms = 1;
  int64_t blocks() const { return rows * cols * terms; }
};

struct GridLimits {
  int64_t work;   // multiplications that are worth a thread
  int64_t block;  // rows or columns of a block, at least
  int64_t terms;  // of a block, at least, where terms are divided
};

ProductGrid choose_grid(int64_t m, int64_t n, int64_t k, const GridLimits& limits);

// The i-th of `count` nearly equal pieces of `size` begins here, at a multiple of `unit`.
inline int64_t piece_begin(int64_t size, int64_t count, int64_t i, int64_t unit) {
  return i == count ? size : size * i / count / unit * unit;
}

}  // namespace mindtorch::cpu
