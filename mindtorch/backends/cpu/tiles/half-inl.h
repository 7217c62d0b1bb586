// Functions of float16 and bfloat16 that widen, compute and round in registers, compiled once per
// instruction set.

#include "mindtorch/backends/cpu/tiles/half_arithmetic.h"
#include "mindtorch/backends/cpu/tiles/row-inl.h"

#if defined(MT_TILES_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef MT_TILES_HALF_INL_H_
#undef MT_TILES_HALF_INL_H_
#else
#define MT_TILES_HALF_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace mindtorch::cpu::HWY_NAMESPACE {

template <class Op, class T>
void half_tile(const void* const* inputs, void* to, int64_t size, const PointwiseParams& params) {
  const hn::ScalableTag<float> d;
  using D = decltype(d);
  constexpr size_t kLanes = hn::MaxLanes(D());
  constexpr int kArity = Arity<Op, D>::value;
  const Op op = make_op<Op>(params);
  const Inputs<T, kArity> from(inputs);
  const auto apply = [&](const auto& load) HWY_ATTR {
    if constexpr (kArity == 1) {
      return op(d, load(from.in[0]));
    } else if constexpr (kArity == 2) {
      return op(d, load(from.in[0]), load(from.in[1]));
    } else {
      return op(d, load(from.in[0]), load(from.in[1]), load(from.in[2]));
    }
  };
  auto* out = static_cast<T*>(to);
  const auto n = static_cast<size_t>(size);
  size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    store_wide(d, apply([&](const T* in) HWY_ATTR { return load_wide(d, in + at); }), out + at);
  }
  if (at == n) return;
  const auto load_rest = [&](const T* in)
                             HWY_ATTR { return load_wide_first(d, in + at, n - at, T(1.0f)); };
  store_wide_first(d, apply(load_rest), out + at, n - at);
}

template <class Op>
void enter_half(HalfTable& table, Pointwise function, Numbers numbers = Numbers::kStepwise) {
  table.tiles[static_cast<int>(function)][0] = &half_tile<Op, Half>;
  table.tiles[static_cast<int>(function)][1] = &half_tile<Op, BFloat16>;
  table.is_exact[static_cast<int>(function)] = numbers == Numbers::kExact;
}

}  // namespace mindtorch::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard per target
