#pragma once

#include <algorithm>
#include <cstdint>

#include "mindtorch/backends/cpu/ceil_div.h"
#include "mindtorch/backends/cpu/gemm.h"

namespace mindtorch::cpu {

// Note [Products of bfloat16]
// AVX512_BF16 and AMX add products of pairs of neighbouring terms to float sums. Both take b packed
// the same way: by panels of kPanelCols columns, a line for each pair of terms, a 32-bit word for
// each column, with the earlier term in its low half. Terms are padded with zeros to whole steps
// of an instruction, and columns to whole panels. Rows of a are read where they lie, if they lie
// close together, or are packed in a way that is each instruction set's own matter: the sums of one
// tile stay in registers while both operands are read in order, and are rounded from there.
inline constexpr int64_t kPanelCols = 32;

// Some rows of a, as pack_strip leaves them for multiply_strip.
struct BFloat16Rows {
  const uint16_t* data;
  int64_t row_stride;
  int64_t step_stride;  // from the terms of one step to those of the next
};

// A product of some rows of a with columns of b. Sums over earlier terms are in `sums` if `add`,
// and so are the results if there is no `out`.
struct BFloat16Strip {
  BFloat16Rows a;
  int64_t rows;
  int64_t terms;
  const uint32_t* panels;
  int64_t panel_words;  // from one panel to the next
  int64_t cols;
  float* sums;  // of whole panels
  int64_t sums_stride;
  bool add;
  uint16_t* out;  // by rows; `addend`, if there is one, is added before sums are rounded
  int64_t out_stride;
  const uint16_t* addend;
  int64_t addend_stride;
};

struct BFloat16Tiles {
  int64_t rows;           // of a strip, at most
  int64_t row_unit;       // it makes no difference how many rows fill it
  int64_t step_terms;     // that an instruction adds
  int64_t strip_terms;    // of a strip that stays in the first cache
  int64_t unpacked_rows;  // the most with which it is not worth packing b
  int64_t packed_strips;  // whose columns are packed at once, which are apart by row_stride then
  // Rows and terms of a, with which `panels` of b will be multiplied; `packed` has room for whole
  // strips and steps.
  BFloat16Rows (*pack_strip)(
      ConstMatrix a, int64_t rows, int64_t terms, int64_t panels, uint16_t* packed);
  void (*multiply_strip)(const BFloat16Strip& strip);
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

// The rows of a strip where there are m: equal ones, as far as the tiles allow.
inline int64_t strip_rows(const BFloat16Tiles& tiles, int64_t m) {
  const int64_t strips = ceil_div(m, tiles.rows);
  const int64_t even = ceil_div(m, strips);
  return std::min(tiles.rows, ceil_div(even, tiles.row_unit) * tiles.row_unit);
}

// The functions below need AVX512_BF16, which machines with AMX have, too.

// Packs columns of b, at most kPanelCols of them, into a panel of `padded_terms`.
void pack_bfloat16_panel(
    ConstMatrix b, int64_t cols, int64_t terms, int64_t padded_terms, uint32_t* panel);

// The most rows of a that multiply_unpacked takes.
inline constexpr int64_t kMostUnpackedRows = 14;
// multiply_strip of AVX512_BF16 for b as it lies by rows: strip.panels and panel_words count for
// nothing.
void multiply_unpacked(const BFloat16Strip& strip, const uint16_t* b, int64_t b_stride);

// out[c * stride + r] = the sum in row r and column c, rounded; with `add`, plus what was there.
void store_transposed(const float* sums,
                      int64_t sums_stride,
                      int64_t rows,
                      int64_t cols,
                      uint16_t* out,
                      int64_t stride,
                      bool add);

inline constexpr int64_t kMostDotRows = 8;
inline constexpr int64_t kDotPadding = 64;
// out[j * rows + i] = the sum of w[j * w_stride + t] * x[i * x_stride + t] over t < k, for j < n
// and i < rows <= kMostDotRows. Rows of `x` are padded with zeros to a multiple of kDotPadding.
// Packs nothing: for few rows, where reading w once is most of the work.
void bfloat16_dots(int64_t n,
                   const uint16_t* w,
                   int64_t w_stride,
                   int64_t rows,
                   const uint16_t* x,
                   int64_t x_stride,
                   int64_t k,
                   float* out);

}  // namespace mindtorch::cpu
