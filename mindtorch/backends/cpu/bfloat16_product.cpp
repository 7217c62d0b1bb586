#include "mindtorch/backends/cpu/bfloat16_product.h"

#include <algorithm>

#include "mindtorch/backends/cpu/bfloat16_tiles.h"

namespace mindtorch::cpu {

PackedBFloat16::PackedBFloat16(int64_t terms, int64_t columns)
    : terms_(ceil_div(terms, bfloat16_tiles()->step_terms) * bfloat16_tiles()->step_terms),
      panels_(ceil_div(columns, kPanelCols) * panel_words()) {}

int64_t PackedBFloat16::panel_words() const { return terms_ / 2 * kPanelCols; }

void PackedBFloat16::read(ConstMatrix b, int64_t terms, int64_t columns) {
  for (int64_t j = 0; j < columns; j += kPanelCols) {
    pack_bfloat16_panel(offset<uint16_t>(b, 0, j), std::min(kPanelCols, columns - j), terms, terms_,
                        panels_.get() + j / kPanelCols * panel_words());
  }
}

void PackedBFloat16::multiply(ConstMatrix a,
                              int64_t rows,
                              int64_t terms,
                              int64_t first,
                              int64_t columns,
                              float* sums,
                              int64_t stride,
                              bool add) const {
  const BFloat16Tiles& tiles = *bfloat16_tiles();
  const int64_t height = strip_rows(tiles, rows);
  const Scratch<uint16_t> packed(tiles.rows * std::min(terms_, tiles.strip_terms));
  BFloat16Strip strip = {};
  strip.panel_words = panel_words();
  strip.cols = columns;
  strip.sums_stride = stride;
  for (int64_t row = 0; row < rows; row += height) {
    strip.rows = std::min(height, rows - row);
    strip.sums = sums + row * stride;
    for (int64_t term = 0; term < terms; term += tiles.strip_terms) {
      strip.terms = std::min(tiles.strip_terms, terms - term);
      strip.a = tiles.pack_strip(offset<uint16_t>(a, row, term), strip.rows, strip.terms,
                                 ceil_div(columns, kPanelCols), packed.get());
      strip.panels = panels_.get() + first / kPanelCols * panel_words() + term / 2 * kPanelCols;
      strip.add = add || term > 0;
      tiles.multiply_strip(strip);
    }
  }
}

}  // namespace mindtorch::cpu
