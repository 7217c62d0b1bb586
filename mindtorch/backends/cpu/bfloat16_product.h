#pragma once

#include <cstdint>

#include "mindtorch/backends/cpu/gemm_impl.h"

namespace mindtorch::cpu {

// A matrix of bfloat16 that many products share, packed once by the panels of Note [Products of
// bfloat16], for products whose results stay in float. Only where bfloat16_tiles() are.
class PackedBFloat16 {
 public:
  // Has room for a matrix of terms x columns.
  PackedBFloat16(int64_t terms, int64_t columns);
  // Packs a matrix of at most these terms and columns.
  void read(ConstMatrix b, int64_t terms, int64_t columns);

  // sums = a @ b, or sums += a @ b, for `columns` columns of b from `first` on, a multiple of
  // kPanelCols, and for its first `terms` terms. Whole panels of sums are written: their rows have
  // room for them. Runs on the calling thread.
  void multiply(ConstMatrix a,
                int64_t rows,
                int64_t terms,
                int64_t first,
                int64_t columns,
                float* sums,
                int64_t stride,
                bool add) const;

 private:
  int64_t panel_words() const;

  int64_t terms_;  // padded
  Scratch<uint32_t> panels_;
};

}  // namespace mindtorch::cpu
