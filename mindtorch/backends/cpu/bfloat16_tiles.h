#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/gemm.h"

namespace mindtorch::cpu {

// Note [Products of bfloat16]
// AVX512_BF16 and AMX add products of pairs of neighbouring terms to float sums. Both take b packed
// the same way: by panels of kPanelCols columns, a line for each pair of terms, a 32-bit word for
// each column, with the earlier term in its low half. Terms are padded with zeros to whole steps
// of an instruction, and columns to whole panels. How rows of a are packed is each instruction
// set's own matter: the sums of one tile stay in registers while both packed operands are read in
// order.
inline constexpr int64_t kPanelCols = 32;

struct BFloat16Tiles {
  int64_t rows;        // of a strip: of a that are multiplied at a time
  int64_t step_terms;  // that an instruction adds
  // Packs rows x terms of a: rows are at most those of a strip, and are padded to them.
  void (*pack_strip)(ConstMatrix a, int64_t rows, int64_t terms, uint16_t* packed);
  // sums[r * stride + c] (+)= strip @ panel, for every row of a strip and every column of `panels`
  // panels, which lie panel_words apart.
  void (*multiply_strip)(const uint16_t* strip,
                         const uint32_t* panel,
                         int64_t panel_words,
                         int64_t panels,
                         int64_t terms,
                         float* sums,
                         int64_t stride,
                         bool add);
};

// Null where the machine has no such instructions.
const BFloat16Tiles* avx512_bfloat16_tiles();
const BFloat16Tiles* amx_bfloat16_tiles();

// The faster of them; null on machines with neither.
inline const BFloat16Tiles* bfloat16_tiles() {
  static const BFloat16Tiles* const found =
      amx_bfloat16_tiles() != nullptr ? amx_bfloat16_tiles() : avx512_bfloat16_tiles();
  return found;
}

// Packs columns of b, at most kPanelCols of them, into a panel of `padded_terms`.
void pack_bfloat16_panel(
    ConstMatrix b, int64_t cols, int64_t terms, int64_t padded_terms, uint32_t* panel);

// out[j * rows + i] = the sum of w[j * w_stride + t] * x[i * x_stride + t] over t < k, for j < n
// and i < rows <= kMostDotRows. Rows of `x` are padded with zeros to a multiple of kDotPadding.
// Packs nothing: for few rows, where reading w once is most of the work. Needs AVX512_BF16.
void bfloat16_dots(int64_t n,
                   const uint16_t* w,
                   int64_t w_stride,
                   int64_t rows,
                   const uint16_t* x,
                   int64_t x_stride,
                   int64_t k,
                   float* out);

}  // namespace mindtorch::cpu
