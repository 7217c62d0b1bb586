#pragma once

#include <cstdint>

namespace mindtorch::cpu::product {

// Rows at distances of a multiple of so many bytes compete for the same lines of the first cache.
inline constexpr int64_t kCompetingBytes = 2048;
// Bytes of a short row: many stay in the first cache.
inline constexpr int64_t kShortRowBytes = 1024;
// b of so many bytes is not expected in the second cache.
inline constexpr int64_t kFarBytes = int64_t{1} << 20;

struct Size {
  int64_t batch;
  int64_t m;
  int64_t n;
  int64_t k;
};

// What the choice of a plan depends on, beside the sizes.
struct Traits {
  int64_t rows;          // of a tile
  int64_t panel;         // columns of a panel of b
  int64_t element_size;  // of a sum
  bool transposes_b;     // b is packed from columns
  bool packs_b;
  bool keeps_sums;  // beside c: sums of a block of c stay in a workspace until they are complete
};

// Note [Division of products]
// Every product of a batch is divided into row_pieces x col_pieces blocks of c. Terms are added up
// by blocks of the same `depth`, one after the other; where c is small and there are many terms,
// part_blocks of them make a part whose sums are kept apart, and the parts are added at the end, in
// their order. Blocks and parts of terms depend on the sizes alone, so that the result does not
// depend on the number of threads. A unit is one part of one block of c.
struct Plan {
  int64_t row_pieces = 1;
  int64_t col_pieces = 1;
  int64_t depth = 0;   // terms of a block
  int64_t blocks = 1;  // of terms
  int64_t part_blocks = 1;
  int64_t parts = 1;
  int64_t threads = 1;
  bool shares_panels = false;  // of packed b among threads; else each packs what it needs

  int64_t tiles() const { return row_pieces * col_pieces; }
};

Plan make_plan(const Size& size, const Traits& traits);

}  // namespace mindtorch::cpu::product
