#pragma once

#include "mindtorch/backends/cpu/fusion_generated.h"
#include "mindtorch/backends/cpu/fusion_loop.h"
#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/backends/cpu/tiles/row.h"
#include "mindtorch/backends/cpu/tiles/short_lines.h"

namespace mindtorch::cpu {

// Bytes that a buffer has beyond a tile's.
inline constexpr int64_t kBufferLine = 64;

// One thing that a program does for every tile. All that can be known beforehand is: which function
// runs, on which values, how wide. Values are slots, the same for every tile: a slot holds the
// address of a tensor's elements, which moves on with the tiles, or of a buffer.
//
// The interpreter knows nothing but `run`, so that whatever computes slots from slots can be an
// action: a function of one step, or machine code that does many steps in one go.
struct FusionAction {
  using Run = void (*)(const FusionAction& action, char* const* slots, const FusionTile& tile);

  Run run = nullptr;
  union {
    TileFn tile = nullptr;
    CastFn cast;
    GatherFn gather;
    ScatterFn scatter;
    RowFn row;
    LinesFn lines;
  };
  const ops::PointwiseParams* params = nullptr;
  const FusionView* view = nullptr;  // of what is gathered or scattered
  uint16_t out = 0;
  uint16_t in[ops::kMaxOperands] = {};
  Width width = Width::kWhole;               // of the result
  uint8_t out_size = 0;                      // bytes of an element
  uint8_t in_sizes[ops::kMaxOperands] = {};  // the same; of a whole row, but for `single`
  int8_t single = -1;                        // the operand with one element a row
  bool takes_root = false;
  GeneratedSteps* generated = nullptr;  // what is read and written is in there, not in `in`, `out`

  // Calls body(slot) for what the action reads, and writes.
  template <typename Body>
  void for_reads(const Body& body) {
    if (generated == nullptr) {
      for (uint16_t& slot : in) body(slot);
    } else {
      for (GeneratedSteps::Line& line : generated->in) body(line.slot);
    }
  }
  template <typename Body>
  void for_writes(const Body& body) {
    if (generated == nullptr) return body(out);
    for (GeneratedSteps::Line& line : generated->out) body(line.slot);
  }
};

// What `run` can be.
void run_tile(const FusionAction& action, char* const* slots, const FusionTile& tile);
// A function of two operands of which one has one element a row, called row by row.
void run_tile_rows(const FusionAction& action, char* const* slots, const FusionTile& tile);
void run_cast(const FusionAction& action, char* const* slots, const FusionTile& tile);
// One element becomes a tile, or one a row become rows.
void run_spread(const FusionAction& action, char* const* slots, const FusionTile& tile);
void run_gather(const FusionAction& action, char* const* slots, const FusionTile& tile);
void run_scatter(const FusionAction& action, char* const* slots, const FusionTile& tile);

// A row function, row by row.
void run_row(const FusionAction& action, char* const* slots, const FusionTile& tile);
// The same for a function of two operands of which one has one element a row: run_tile_rows for
// rows so short that a call each would cost more than their arithmetic.
void run_lines(const FusionAction& action, char* const* slots, const FusionTile& tile);
// Variances of rows, or their roots.
template <typename T>
void run_variance(const FusionAction& action, char* const* slots, const FusionTile& tile);
double variance(const Moments& moments, double correction, bool takes_root);
// A sum a row divided by the row's length.
template <typename T>
void run_mean(const FusionAction& action, char* const* slots, const FusionTile& tile);

}  // namespace mindtorch::cpu
