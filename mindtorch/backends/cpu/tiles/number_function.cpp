// Special functions without a vector form: one number after the other, in float64.
#include "mindtorch/backends/cpu/tiles/table.h"
#include "mindtorch/ops/functions/special_functions.h"

namespace mindtorch::cpu {
namespace {

using ops::Pointwise;
using ops::PointwiseParams;

// A tile is a plain function: each of these has one that knows its number.
template <Pointwise kFunction, typename T>
void run_number_function(const void* const* inputs, void* to, int64_t n, const PointwiseParams&) {
  static const ops::special::NumberFunction kCalled = ops::special::number_function(kFunction);
  const auto at = [&](int operand, int64_t i) {
    return static_cast<double>(static_cast<const T*>(inputs[operand])[i]);
  };
  T* const out = static_cast<T*>(to);
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (ops::info(kFunction).arity == 1) {
      out[i] = static_cast<T>(kCalled.of_one(at(0, i)));
    } else if constexpr (ops::info(kFunction).arity == 2) {
      out[i] = static_cast<T>(kCalled.of_two(at(0, i), at(1, i)));
    } else {
      out[i] = static_cast<T>(kCalled.of_three(at(0, i), at(1, i), at(2, i)));
    }
  }
}

template <int... kOffsets>
void enter_functions(TileTable& table, std::integer_sequence<int, kOffsets...>) {
  constexpr int kFirst = static_cast<int>(Pointwise::kErfcx);
  (table.add(static_cast<Pointwise>(kFirst + kOffsets), DType::kFloat32,
             &run_number_function<static_cast<Pointwise>(kFirst + kOffsets), float>),
   ...);
  (table.add(static_cast<Pointwise>(kFirst + kOffsets), DType::kFloat64,
             &run_number_function<static_cast<Pointwise>(kFirst + kOffsets), double>),
   ...);
}

}  // namespace

void add_number_functions(TileTable& table) {
  constexpr int kCount =
      static_cast<int>(Pointwise::kLegendreP) - static_cast<int>(Pointwise::kErfcx) + 1;
  enter_functions(table, std::make_integer_sequence<int, kCount>());
}

}  // namespace mindtorch::cpu
