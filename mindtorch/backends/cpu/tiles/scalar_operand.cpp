#include "mindtorch/backends/cpu/tiles/scalar_operand.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/scalar_operand.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"
#include "mindtorch/backends/cpu/tiles/compare-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct Quotient {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Div(a, b);
  }
};

// A function of two operands with one of them fixed: a function of one.
template <class Op, int kWhich>
struct Fixed {
  explicit Fixed(const PointwiseParams& p) : params(p) {}
  template <class D, class V>
  HWY_INLINE auto operator()(D d, V a) const {
    const V value = hn::Set(d, param<hn::TFromD<D>>(params, 0));
    if constexpr (kWhich == 0) {
      return Op()(d, value, a);
    } else {
      return Op()(d, a, value);
    }
  }
  PointwiseParams params;
};

template <class Op, class T, int kWhich, bool kTest>
void tile(const void* const* inputs, void* to, int64_t n, const PointwiseParams&) {
  PointwiseParams params{};
  const T value = *static_cast<const T*>(inputs[kWhich]);
  if constexpr (std::is_floating_point_v<T>) {
    params.f[0] = value;
  } else {
    params.i[0] = value;
  }
  const void* const rest[1] = {inputs[1 - kWhich]};
  if constexpr (kTest) {
    test_tile<Fixed<Op, kWhich>, T>(rest, to, n, params);
  } else {
    map_tile<Fixed<Op, kWhich>, T, 2>(rest, to, n, params);
  }
}

// `mirrored` is the function that gives the same with its operands exchanged.
template <class Op, class T, bool kTest>
void enter_scalar_operand(ScalarOperandTable& table, Pointwise function, Pointwise mirrored) {
  const auto dtype = static_cast<int>(DTypeOf<T>::value);
  table.tiles[static_cast<int>(function)][dtype][1] = &tile<Op, T, 1, kTest>;
  table.tiles[static_cast<int>(mirrored)][dtype][0] = [](const void* const* inputs, void* to,
                                                         int64_t n, const PointwiseParams& params) {
    const void* const exchanged[2] = {inputs[1], inputs[0]};
    tile<Op, T, 1, kTest>(exchanged, to, n, params);
  };
}
// The same for a function without one.
template <class Op, class T>
void enter_both(ScalarOperandTable& table, Pointwise function) {
  auto& tiles = table.tiles[static_cast<int>(function)][static_cast<int>(DTypeOf<T>::value)];
  tiles[0] = &tile<Op, T, 0, false>;
  tiles[1] = &tile<Op, T, 1, false>;
}

template <class T>
void enter_all(ScalarOperandTable& table) {
  enter_scalar_operand<Add, T, false>(table, Pointwise::kAdd, Pointwise::kAdd);
  enter_scalar_operand<Mul, T, false>(table, Pointwise::kMul, Pointwise::kMul);
  enter_both<Sub, T>(table, Pointwise::kSub);
  enter_both<Maximum, T>(table, Pointwise::kMaximum);
  enter_both<Minimum, T>(table, Pointwise::kMinimum);
  if constexpr (std::is_floating_point_v<T>) enter_both<Quotient, T>(table, Pointwise::kDiv);
  enter_scalar_operand<Eq, T, true>(table, Pointwise::kEq, Pointwise::kEq);
  enter_scalar_operand<Ne, T, true>(table, Pointwise::kNe, Pointwise::kNe);
  enter_scalar_operand<Lt, T, true>(table, Pointwise::kLt, Pointwise::kGt);
  enter_scalar_operand<Le, T, true>(table, Pointwise::kLe, Pointwise::kGe);
}

// a > s is s < a.
template <class Op, class T>
void enter_reverse(ScalarOperandTable& table, Pointwise function, Pointwise mirrored) {
  const auto dtype = static_cast<int>(DTypeOf<T>::value);
  table.tiles[static_cast<int>(mirrored)][dtype][0] = &tile<Op, T, 0, true>;
  table.tiles[static_cast<int>(function)][dtype][1] = [](const void* const* inputs, void* to,
                                                         int64_t n, const PointwiseParams& params) {
    const void* const exchanged[2] = {inputs[1], inputs[0]};
    tile<Op, T, 0, true>(exchanged, to, n, params);
  };
}

template <class... Ts>
void enter_types(ScalarOperandTable& table) {
  (enter_all<Ts>(table), ...);
  (enter_reverse<Lt, Ts>(table, Pointwise::kGt, Pointwise::kLt), ...);
  (enter_reverse<Le, Ts>(table, Pointwise::kGe, Pointwise::kLe), ...);
}

}  // namespace

void scalar_operand(ScalarOperandTable& table) {
  enter_types<float, double, int32_t, int64_t, uint8_t>(table);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(scalar_operand);

ScalarOperandTable build_scalar_operand_table() {
  ScalarOperandTable table;
  HWY_DYNAMIC_DISPATCH(scalar_operand)(table);
  return table;
}

TileFn find_scalar_operand_tile(ops::Pointwise function, DType compute, int which) {
  if (MT_UNLIKELY(!ops::is_built_in(function))) return nullptr;
  static const ScalarOperandTable table = build_scalar_operand_table();
  return table.tiles[static_cast<int>(function)][static_cast<int>(compute)][which];
}
}  // namespace mindtorch::cpu
#endif
