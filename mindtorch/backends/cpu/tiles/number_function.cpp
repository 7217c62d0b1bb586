// Special functions without a vector form: one number after the other, in float64.
#include <iterator>
#include <utility>

#include "mindtorch/backends/cpu/tiles/table.h"
#include "mindtorch/ops/functions/special_functions.h"

namespace mindtorch::cpu {
namespace {

using ops::PointwiseParams;
using ops::special::kNumberFunctions;
using ops::special::NumberFunction;

// A tile is a plain function: each row has one that knows its place.
template <size_t kRow, typename T>
void run_number_function(const void* const* inputs, void* to, int64_t n, const PointwiseParams&) {
  constexpr NumberFunction kCalled = kNumberFunctions[kRow];
  const auto at = [&](int operand, int64_t i) {
    return static_cast<double>(static_cast<const T*>(inputs[operand])[i]);
  };
  T* const out = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kCalled.operands == 1) {
      out[i] = static_cast<T>(kCalled.of_one(at(0, i)));
    } else if constexpr (kCalled.operands == 2) {
      out[i] = static_cast<T>(kCalled.of_two(at(0, i), at(1, i)));
    } else {
      out[i] = static_cast<T>(kCalled.of_three(at(0, i), at(1, i), at(2, i)));
    }
  }
}

template <size_t... kRows>
void enter_functions(TileTable& table, std::index_sequence<kRows...>) {
  (table.add(kNumberFunctions[kRows].function, DType::kFloat32, &run_number_function<kRows, float>),
   ...);
  (table.add(kNumberFunctions[kRows].function, DType::kFloat64,
             &run_number_function<kRows, double>),
   ...);
}

}  // namespace

void add_number_functions(TileTable& table) {
  enter_functions(table, std::make_index_sequence<std::size(kNumberFunctions)>());
}

}  // namespace mindtorch::cpu
