#pragma once

#include "mindtorch/backends/cpu/tile.h"
#include "mindtorch/backends/cpu/tiles/row.h"
#include "mindtorch/tensor/dtype_set.h"

namespace mindtorch::cpu {

// Every tile of one instruction set. Each family file enters its own functions; empty entries are
// null. build_tables() picks the instruction set; tests build one per set that the CPU supports.
struct TileTable {
  TileFn tiles[ops::kMaxFunctions][kDTypeCount] = {};
  DTypeSet stepwise[ops::kMaxFunctions] = {};
  CastFn casts[kDTypeCount][kDTypeCount] = {};
  GatherFn gathers[5] = {};  // by log2 of the element size
  ScatterFn scatters[5] = {};
  RowFn rows[kRowCount][kDTypeCount] = {};
  AccumulateFn accumulates[kRowCount][kDTypeCount] = {};
  AccumulateArgFn accumulate_args[kRowCount][kDTypeCount] = {};

  void add(ops::Pointwise function, DType dtype, TileFn tile) {
    tiles[static_cast<int>(function)][static_cast<int>(dtype)] = tile;
  }
  // A tile in place of the steps of any function's expression.
  void override(ops::Pointwise function, DType dtype, TileFn tile, Numbers numbers) {
    add(function, dtype, tile);
    if (numbers == Numbers::kStepwise) stepwise[static_cast<int>(function)] |= bit(dtype);
  }
};

void add_arithmetic(TileTable& table);
void add_arithmetic_int(TileTable& table);
void add_divide(TileTable& table);
void add_divide_int(TileTable& table);
void add_compare(TileTable& table);
void add_predicate(TileTable& table);
void add_bits(TileTable& table);
void add_rounding(TileTable& table);
void add_select(TileTable& table);
void add_exponential(TileTable& table);
void add_power(TileTable& table);
void add_trigonometry(TileTable& table);
void add_hyperbolic(TileTable& table);
void add_error_function(TileTable& table);
void add_special(TileTable& table);
void add_number_functions(TileTable& table);
void add_activation(TileTable& table);
void add_losses(TileTable& table);
void add_complex(TileTable& table);
void add_complex_functions(TileTable& table);
void add_casts(TileTable& table);
void add_storage_casts(TileTable& table);
void add_gathers(TileTable& table);
void add_row_sums(TileTable& table);
void add_row_extremes(TileTable& table);
void add_row_softmax(TileTable& table);
void add_row_accumulates(TileTable& table);

TileTable build_tables();

}  // namespace mindtorch::cpu
