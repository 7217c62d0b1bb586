#include "mindtorch/backends/cpu/tiles/table.h"

#include <atomic>
#include <bit>

#include "mindtorch/backends/cpu/expression_tile.h"

namespace mindtorch::cpu {

TileTable build_tables() {
  TileTable table;
  add_arithmetic(table);
  add_arithmetic_int(table);
  add_divide(table);
  add_divide_int(table);
  add_compare(table);
  add_predicate(table);
  add_bits(table);
  add_rounding(table);
  add_select(table);
  add_exponential(table);
  add_power(table);
  add_trigonometry(table);
  add_hyperbolic(table);
  add_error_function(table);
  add_number_functions(table);
  add_special(table);  // vectors take the place of some functions of numbers
  add_activation(table);
  add_losses(table);
  add_complex(table);
  add_complex_functions(table);
  add_casts(table);
  add_storage_casts(table);
  add_gathers(table);
  add_row_sums(table);
  add_row_extremes(table);
  add_row_softmax(table);
  add_row_accumulates(table);
  return table;
}

namespace {

// Made at first use; calls read the pointer alone.
std::atomic<const TileTable*> g_tables{nullptr};

[[gnu::noinline, gnu::cold]] const TileTable& make_tables() {
  static const TileTable table = build_tables();
  g_tables.store(&table, std::memory_order_release);
  return table;
}
inline const TileTable& tables() {
  const TileTable* const made = g_tables.load(std::memory_order_acquire);
  return MT_LIKELY(made != nullptr) ? *made : make_tables();
}

int size_index(int64_t element_size_bytes) {
  MT_ASSERT(std::has_single_bit(static_cast<uint64_t>(element_size_bytes)) &&
            element_size_bytes <= 16);
  return std::countr_zero(static_cast<uint64_t>(element_size_bytes));
}

}  // namespace

TileFn find_tile(ops::Pointwise function, DType compute) {
  const TileFn tile = tables().tiles[static_cast<int>(function)][static_cast<int>(compute)];
  if (MT_UNLIKELY(tile == nullptr && !ops::is_built_in(function))) {
    return find_expression_tile(function, compute);
  }
  return tile;
}
bool gives_its_steps(ops::Pointwise function, DType compute) {
  const bool has_tile = tables().tiles[static_cast<int>(function)][static_cast<int>(compute)];
  if (!has_tile) return !ops::is_built_in(function);
  return contains(tables().stepwise[static_cast<int>(function)], compute);
}
CastFn find_cast(DType from, DType to) {
  return tables().casts[static_cast<int>(from)][static_cast<int>(to)];
}
GatherFn find_gather(int64_t element_size_bytes) {
  return tables().gathers[size_index(element_size_bytes)];
}
ScatterFn find_scatter(int64_t element_size_bytes) {
  return tables().scatters[size_index(element_size_bytes)];
}
RowFn find_row(Row function, DType dtype) {
  return tables().rows[static_cast<int>(function)][static_cast<int>(dtype)];
}
AccumulateFn find_accumulate(Row function, DType dtype) {
  return tables().accumulates[static_cast<int>(function)][static_cast<int>(dtype)];
}
AccumulateArgFn find_accumulate_arg(Row function, DType dtype) {
  return tables().accumulate_args[static_cast<int>(function)][static_cast<int>(dtype)];
}

}  // namespace mindtorch::cpu
