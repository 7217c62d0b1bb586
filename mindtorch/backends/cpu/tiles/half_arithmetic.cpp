#include "mindtorch/backends/cpu/tiles/half_arithmetic.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mindtorch/backends/cpu/tiles/half_arithmetic.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "mindtorch/backends/cpu/tiles/arithmetic-inl.h"
#include "mindtorch/backends/cpu/tiles/half-inl.h"
#include "mindtorch/backends/cpu/tiles/rounding-inl.h"

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {
namespace {

struct HalfQuotient {
  template <class D, class V>
  HWY_INLINE V operator()(D, V a, V b) const {
    return hn::Div(a, b);
  }
};

// The sign is one bit, whatever the format.
struct FlipSign {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return hn::Xor(a, hn::Set(d, uint16_t{0x8000}));
  }
};
struct ClearSign {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a) const {
    return hn::And(a, hn::Set(d, uint16_t{0x7fff}));
  }
};

struct CopySign {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V a, V b) const {
    const V sign = hn::Set(d, uint16_t{0x8000});
    return hn::Or(hn::And(sign, b), hn::AndNot(sign, a));
  }
};

template <class Op, class T, int kWhich>
void number_tile(const void* const* inputs, void* to, int64_t size, const PointwiseParams&) {
  const hn::ScalableTag<float> d;
  constexpr size_t kLanes = hn::MaxLanes(decltype(d)());
  const Op op;
  const auto number = hn::Set(d, *static_cast<const float*>(inputs[kWhich]));
  const auto apply = [&](auto v) HWY_ATTR {
    if constexpr (kWhich == 0) {
      return op(d, number, v);
    } else {
      return op(d, v, number);
    }
  };
  const auto* in = static_cast<const T*>(inputs[1 - kWhich]);
  auto* out = static_cast<T*>(to);
  const auto n = static_cast<size_t>(size);
  size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) store_wide(d, apply(load_wide(d, in + at)), out + at);
  if (at == n) return;
  store_wide_first(d, apply(load_wide_first(d, in + at, n - at, T(1.0f))), out + at, n - at);
}

template <class Op>
void enter_binary(HalfTable& table, Pointwise function) {
  enter_half<Op>(table, function);
  auto& numbers = table.numbers[static_cast<int>(function)];
  numbers[0][0] = &number_tile<Op, Half, 0>;
  numbers[0][1] = &number_tile<Op, Half, 1>;
  numbers[1][0] = &number_tile<Op, BFloat16, 0>;
  numbers[1][1] = &number_tile<Op, BFloat16, 1>;
}
template <class Op>
void enter_bits(HalfTable& table, Pointwise function) {
  for (TileFn& tile : table.tiles[static_cast<int>(function)]) {
    tile = &map_tile<Op, uint16_t, 2>;
  }
}

}  // namespace

void half_arithmetic(HalfTable& table) {
  enter_binary<Add>(table, Pointwise::kAdd);
  enter_binary<Sub>(table, Pointwise::kSub);
  enter_binary<Mul>(table, Pointwise::kMul);
  enter_binary<HalfQuotient>(table, Pointwise::kDiv);
  enter_binary<Maximum>(table, Pointwise::kMaximum);
  enter_binary<Minimum>(table, Pointwise::kMinimum);
  enter_half<Addcmul>(table, Pointwise::kAddcmul);
  enter_half<Ceil>(table, Pointwise::kCeil);
  enter_half<Floor>(table, Pointwise::kFloor);
  enter_half<Round>(table, Pointwise::kRound);
  enter_half<Trunc>(table, Pointwise::kTrunc);
  enter_half<Square>(table, Pointwise::kSquare);
  enter_half<Reciprocal>(table, Pointwise::kReciprocal);
  enter_half<Sqrt>(table, Pointwise::kSqrt);
  enter_half<Rsqrt>(table, Pointwise::kRsqrt);
  enter_half<Relu>(table, Pointwise::kRelu);
  enter_bits<FlipSign>(table, Pointwise::kNeg);
  enter_bits<ClearSign>(table, Pointwise::kAbs);
  enter_bits<CopySign>(table, Pointwise::kCopysign);
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mindtorch::cpu {
HWY_EXPORT(half_arithmetic);

HalfTable build_half_table() {
  HalfTable table;
  HWY_DYNAMIC_DISPATCH(half_arithmetic)(table);
  add_half_activation(table);
  return table;
}

namespace {
const HalfTable& half_table() {
  static const HalfTable table = build_half_table();
  return table;
}
int place(DType dtype) { return dtype == DType::kFloat16 ? 0 : 1; }
}  // namespace

TileFn find_half_tile(ops::Pointwise function, DType dtype) {
  if (MT_UNLIKELY(!ops::is_built_in(function))) return nullptr;
  return half_table().tiles[static_cast<int>(function)][place(dtype)];
}
bool is_rounded_float(ops::Pointwise function) {
  return !ops::is_built_in(function) || !half_table().is_exact[static_cast<int>(function)];
}
TileFn find_half_number_tile(ops::Pointwise function, DType dtype, int which) {
  if (MT_UNLIKELY(!ops::is_built_in(function))) return nullptr;
  return half_table().numbers[static_cast<int>(function)][place(dtype)][which];
}
}  // namespace mindtorch::cpu
#endif
